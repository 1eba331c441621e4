"""A project's own aging time: what reads it, since when it holds, and what leaves it alone."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph import columns
from graph.aging_times import AGING_MAX, AGING_MIN, AgingTimes
from graph.commands import read_command
from graph.compiled import CompiledReads, Wanted
from graph.errors import NotFoundError, ValidationError
from graph.filters import Filter
from graph.knowledge import AGING, Actor, ActorType
from graph.retrieval import Asked, Retrieval
from graph.service import Service
from graph.store import Store

WRITER = Actor("tests", "writer", ActorType.HUMAN)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MONTH = timedelta(days=30)


class World:
    """A service whose clock a test moves, asked in plain calls; its project P has the node a."""

    def __init__(self, store: Store, loop: asyncio.Runner) -> None:
        self.now = NOW
        self.store = store
        self.wait = loop.run
        self.service = self.another()
        for project in "PQ":
            line = {"transition": "proposed", "key": "a", "payload": {"proposition": "The depot closes at six"}}
            self.wait(self.service.run(read_command(line, actor=WRITER, project=project)))

    def another(self) -> Service:
        return Service(self.store, lambda: self.now)

    def set(self, aging: timedelta, project: str = "P") -> None:
        self.wait(self.service.aging.set(project, aging))

    def stale(self, project: str = "P", as_of: datetime | None = None) -> bool:
        node = self.wait(self.service.knowledge(project, "a", as_of=as_of))
        assert node is not None
        return node["stale"]


@pytest.fixture
def world(store: Store, loop: asyncio.Runner) -> World:
    return World(store, loop)


def test_a_project_has_its_own_and_ninety_days_without_it(world: World) -> None:
    world.set(MONTH)
    assert world.wait(world.service.aging.of("P")) == MONTH
    assert world.wait(world.service.aging.of("Q")) == AGING
    world.now += MONTH
    assert (world.stale("P"), world.stale("Q")) == (False, False)
    world.now += DAY
    assert (world.stale("P"), world.stale("Q")) == (True, False)


def test_every_read_goes_by_it(world: World) -> None:
    world.set(MONTH)
    world.now += MONTH + DAY
    service, reads = world.service, CompiledReads(world.service)
    found = world.wait(Retrieval(service).search(Asked("P", "depot"), 5)).items
    assert [item.cautions for item in found] == [("unconfirmed", "stale: not verified since 2026-11-01T00:00:00Z")]
    assert world.wait(Retrieval(service).search(Asked("P", "depot", Filter(stale=False)), 5)).items == []
    for project, stale in (("P", True), ("Q", False)):
        page = world.wait(service.page(project, Filter(stale=True), 5)).items
        assert [node["stale"] for node in page] == [True] * stale
        listed = world.wait(reads.page(("key", "stale"), project, Filter(stale=True), 5, None))
        assert listed == [["a", True]] * stale
        assert world.wait(reads.knowledge(("stale",), Wanted(project, "a", 1, 9))) == [stale]
        walk = world.wait(service.provenance(project, "a"))
        assert walk["root"]["stale"] is stale


def test_requests_for_several_projects_that_share_a_statement_go_each_by_its_own(world: World) -> None:
    world.set(MONTH)
    world.now += MONTH + DAY
    reads = CompiledReads(world.service)

    async def together() -> list[Any]:
        return await asyncio.gather(*(reads.knowledge(("stale",), Wanted(name, "a", 1, 9)) for name in "PQPQ"))

    assert world.wait(together()) == [[True], [False], [True], [False]]
    assert columns.AGED in columns.of_node(("stale",)), "what tells a compiled read that it needs the limit"


def test_the_past_goes_by_what_was_set_then(world: World) -> None:
    world.now += MONTH
    world.set(DAY)
    changed = world.now
    world.now += MONTH
    world.set(AGING_MAX)
    assert not world.stale()
    assert world.stale(as_of=changed)
    assert not world.stale(as_of=changed - timedelta(seconds=1))
    assert world.stale(as_of=world.now - timedelta(seconds=1))


def test_a_clock_that_went_back_takes_nothing_from_what_is_set_last(world: World) -> None:
    world.set(MONTH)
    world.now -= DAY
    world.set(DAY)
    assert world.wait(world.service.aging.of("P")) == DAY


def test_it_outlives_a_rebuild_and_verify_finds_nothing_wrong_with_it(world: World) -> None:
    world.set(MONTH)
    world.wait(world.store.driver.execute_query("MATCH (p:Project {name: 'P'}) SET p.surplus = 1"))
    world.wait(world.service.rebuild("P"))
    assert world.wait(world.service.verify("P"))["ok"]
    assert world.wait(world.another().aging.of("P")) == MONTH


def test_what_another_process_sets_is_seen_after_a_while_and_what_is_set_here_at_once(world: World) -> None:
    other = AgingTimes(world.store, lambda: world.now, seen_seconds=0.2)
    assert world.wait(other.of("P")) == AGING
    world.set(MONTH)
    assert world.wait(world.service.aging.of("P")) == MONTH
    world.wait(asyncio.sleep(0.25))
    assert world.wait(other.of("P")) == MONTH


@pytest.mark.parametrize("aging", [timedelta(0), -DAY, AGING_MIN / 2, AGING_MAX + AGING_MIN])
def test_a_time_out_of_its_range_is_refused(world: World, aging: timedelta) -> None:
    with pytest.raises(ValidationError) as refused:
        world.set(aging)
    assert (refused.value.field, refused.value.allowed) == ("aging", "PT1S to P36500D")


def test_an_unknown_project_has_none_to_set_and_nothing_is_left_behind(world: World) -> None:
    with pytest.raises(NotFoundError):
        world.set(MONTH, "nobody")
    found = world.wait(world.store.driver.execute_query("MATCH (a:Aging) RETURN count(a)")).records
    assert found[0].values() == [0]


def test_graphql_tells_and_sets_it_and_no_kept_answer_goes_by_an_older_one(world: World) -> None:
    async def story() -> None:
        app = create_app(world.service, Settings(home=Path("/nowhere")), Everyone(ANONYMOUS))
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://whence") as client:

            async def ask(query: str) -> Any:
                return (await client.post("/graphql", json={"query": query})).json()

            node = '{ knowledge(project: "P", key: "a") { key stale } }'
            for _ in range(3):
                assert (await ask(node))["data"]["knowledge"]["stale"] is False
            told = await ask('mutation { setAgingTime(project: "P", aging: "P1D") }')
            assert told == {"data": {"setAgingTime": "P1D"}}
            world.now += 2 * DAY
            assert (await ask(node))["data"]["knowledge"]["stale"] is True
            assert await ask('{ agingTime(project: "P") }') == {"data": {"agingTime": "P1D"}}
            assert await ask('{ agingTime(project: "Q") }') == {"data": {"agingTime": "P90D"}}
            refused = await ask('mutation { setAgingTime(project: "P", aging: "soon") }')
            assert refused["errors"][0]["extensions"]["field"] == "aging"
            refused = await ask('mutation { setAgingTime(project: "nobody", aging: "P1D") }')
            assert refused["errors"][0]["extensions"]["code"] == "NOT_FOUND"

    world.wait(story())
