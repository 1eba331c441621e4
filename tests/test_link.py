"""What becomes of a command when the link to the database breaks under it: in the middle, or behind its commit.

The link is a proxy that knows Bolt well enough to break at a chosen message. Long runs take their number of lost
answers from WHENCE_ROUNDS.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from callers import request, told
from conftest import wipe
from proxy import BEGIN, COMMIT, RUN, Break, Link
from starlette.types import ASGIApp
from strategies import Record, said

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph.commands import Command
from graph.embedded import Connection
from graph.errors import KnowledgeError
from graph.group_commit import GroupCommit
from graph.service import Service
from graph.store import Store, Taken

ROUNDS = int(os.environ.get("WHENCE_ROUNDS", "1000"))
Answer = Taken | KnowledgeError
PROOF = [{"type": "run", "source": "run:1"}]
RETRIES_SECONDS = 1.0  # for which a command is sent again over a link that is down
DOWN_SECONDS = 5.0  # longer than the pause that may begin right before the end of that


@dataclass(frozen=True)
class Ends:
    """A store at the near end of a breakable link, the queue in front of it, and a store beside the link."""

    link: Link
    store: Store
    appends: GroupCommit
    beside: Store

    async def call(self, command: Command, seconds: float = 10.0) -> Answer:
        """What the caller of one command is told; and it is told in time."""
        began = time.monotonic()
        try:
            answer = (await self.appends.append([command], seconds=seconds))[0]
        except KnowledgeError as error:
            answer = error
        assert time.monotonic() - began < seconds + 1
        return answer

    async def journal(self, project: str) -> dict[str, Record]:
        """The project's events by event id, found whole and consistent."""
        service = Service(self.beside)
        found = await service.verify(project)
        assert found["ok"], found
        events: list[Record] = []
        while len(events) < found["events"]:
            events += (await service.journal(project, len(events), 1_000)).items
        by_id = {event["event_id"]: event for event in events}
        assert len(by_id) == len(events)
        return by_id


Through = Callable[[Callable[[Ends], Coroutine[Any, Any, None]]], None]


@pytest.fixture
def through(
    neo4j: Connection, open_store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Through]:
    """Run a scenario over a link of its own, on an emptied store."""
    monkeypatch.setattr("graph.store.RETRY_SECONDS", RETRIES_SECONDS)  # so that a link that is down is told of soon

    @asynccontextmanager
    async def ends() -> AsyncGenerator[Ends]:
        async with (
            Link.to(neo4j.uri) as link,
            Store.open(link.uri, neo4j.username, neo4j.password, neo4j.database) as store,
        ):
            yield Ends(link, store, GroupCommit(store, lambda: datetime.now(UTC)), open_store)

    def run(scenario: Callable[[Ends], Coroutine[Any, Any, None]]) -> None:
        async def whole() -> None:
            await wipe(open_store)
            async with ends() as made:
                await scenario(made)

        loop.run(whole())

    yield run


def codes(answers: list[Answer]) -> Counter[str]:
    return Counter(a.code if isinstance(a, KnowledgeError) else "applied" if a.applied else "repeat" for a in answers)


def _chain(number: int) -> list[Command]:
    """Commands of every weight: a claim, one that rests on it, what moves them, and a retirement that marks."""
    a, b, project = f"a{number}", f"b{number}", "P"
    return [
        said("proposed", a, project, event_id=f"{number}-1", proposition="The gate is shut"),
        said(
            "proposed",
            b,
            project,
            event_id=f"{number}-2",
            proposition="No sheep is lost",
            relations=[{"relation": "depends_on", "to": a}],
        ),
        said("confirmed", b, project, event_id=f"{number}-3", evidence=PROOF),
        said("used", a, project, event_id=f"{number}-4"),
        said("invalidated", a, project, event_id=f"{number}-5", reason="it was open"),
    ]


async def _answers_lost(ends: Ends, count: int) -> None:
    for number in range(0, count, 5):
        for at, command in enumerate(_chain(number // 5)):
            ends.link.breaks = Break(COMMIT, delivered=True)
            answer = await ends.call(command)
            assert isinstance(answer, Taken), (command, answer)
            assert (answer.applied, answer.event_id, answer.seq) == (True, command.event_id, number + at + 1)
            assert answer.newly_at_risk == (1 if command.transition == "invalidated" else 0)
            again = await ends.call(command)
            assert isinstance(again, Taken)
            assert (again.applied, again.seq, again.newly_at_risk) == (False, answer.seq, answer.newly_at_risk)
    assert ends.link.broken == count
    assert len(await ends.journal("P")) == count


def test_of_a_commit_whose_answer_is_lost_the_caller_hears_that_it_was_taken(through: Through) -> None:
    through(lambda ends: _answers_lost(ends, 20))


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_of_a_thousand_commits_whose_answers_are_lost_each_was_taken_once(through: Through) -> None:
    through(lambda ends: _answers_lost(ends, ROUNDS))


async def _lost_under_several(ends: Ends, count: int) -> None:
    drawn = random.Random(count)
    number = 0
    while ends.link.broken < count:
        commands = [
            said("proposed", f"k{number}-{at}", f"p{at % 2}", event_id=f"{number}-{at}", proposition="The gate is shut")
            for at in range(6)
        ]
        ends.link.breaks = Break(COMMIT, delivered=drawn.random() < 0.7, times=drawn.choice([1, 1, 2]))
        answers = await asyncio.gather(*map(ends.call, commands))
        doubtful = [c for c, a in zip(commands, answers, strict=True) if not isinstance(a, Taken)]
        assert set(codes(answers)) <= {"applied", "IN_DOUBT", "UNAVAILABLE"}
        ends.link.breaks = None
        again = await asyncio.gather(*(ends.call(command, seconds=60.0) for command in doubtful))
        assert all(isinstance(answer, Taken) for answer in again), again
        number += 1
    for at in range(2):
        events = await ends.journal(f"p{at}")
        assert len(events) == 3 * number


def test_callers_at_once_lose_and_double_nothing(through: Through) -> None:
    through(lambda ends: _lost_under_several(ends, 20))


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_callers_at_once_lose_and_double_nothing_for_long(through: Through) -> None:
    through(lambda ends: _lost_under_several(ends, ROUNDS))


@pytest.mark.parametrize("delivered", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("message", [BEGIN, RUN, COMMIT], ids=["begin", "run", "commit"])
def test_wherever_the_link_breaks_once_the_command_is_taken_once(
    through: Through, message: bytes, *, delivered: bool
) -> None:
    async def scenario(ends: Ends) -> None:
        commands = _chain(0)[:2]  # the driver waits for a second before it tries again
        for command in commands:
            ends.link.breaks = Break(message, delivered)
            answer = await ends.call(command)
            assert isinstance(answer, Taken)
            assert (answer.applied, answer.event_id) == (True, command.event_id)
        assert ends.link.broken == len(await ends.journal("P")) == len(commands)

    through(scenario)


@pytest.mark.parametrize("delivered", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("message", [BEGIN, RUN, COMMIT], ids=["begin", "run", "commit"])
def test_when_the_link_is_down_afterwards_unavailable_means_that_nothing_was_taken(
    through: Through, message: bytes, *, delivered: bool
) -> None:
    async def scenario(ends: Ends) -> None:
        first, second = _chain(0)[:2]
        assert isinstance(await ends.call(first), Taken)
        ends.link.breaks = Break(message, delivered, down=True)
        answer = await ends.call(second, seconds=3.0)
        assert isinstance(answer, KnowledgeError)
        assert answer.code == ("IN_DOUBT" if message == COMMIT else "UNAVAILABLE")
        taken = message == COMMIT and delivered
        assert (second.event_id in await ends.journal("P")) == taken
        ends.link.up()
        again = await ends.call(second)
        assert isinstance(again, Taken)
        assert (again.applied, again.seq) == (not taken, 2)
        assert len(await ends.journal("P")) == 2

    through(scenario)


def test_over_http_an_answer_that_cannot_be_read_is_in_doubt_since_its_event_was_taken(through: Through) -> None:
    async def asked(app: ASGIApp, command: Command) -> Taken | str:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://whence", timeout=60) as client:
            return told("P", (await client.post("/graphql", json=request(command))).json())

    async def scenario(ends: Ends) -> None:
        app = create_app(Service(ends.store), Settings(home=Path("/nowhere")), Everyone(ANONYMOUS))
        first, second = _chain(0)[0], said("used", "a0", "P", event_id="0-2")
        assert isinstance(await asked(app, first), Taken)
        ends.link.breaks = Break(b"$seqs", delivered=False, down=True)  # reading the event, behind the commit
        assert await asked(app, second) == "IN_DOUBT"
        assert second.event_id in await ends.journal("P")
        assert await asked(app, second) == "UNAVAILABLE"  # this time the command itself did not get through
        ends.link.up()
        again = await asked(app, second)
        assert isinstance(again, Taken)
        assert (again.applied, again.seq) == (False, 2)

    through(scenario)


async def _under_load(ends: Ends, trouble: Callable[[Link], Coroutine[Any, Any, None]]) -> Counter[str]:
    """Six writers while something happens to the link; every answer is kept, and what failed is sent again."""
    over, told = asyncio.Event(), list[tuple[Command, Answer]]()

    async def writer(name: str) -> None:
        number = 0
        while not over.is_set():
            number += 1
            command = said("used", "a0", "P", event_id=f"{name}-{number}")
            told.append((command, await ends.call(command)))
            await asyncio.sleep(0.02)

    assert isinstance(await ends.call(_chain(0)[0]), Taken)
    writers = [asyncio.ensure_future(writer(f"w{at}")) for at in range(6)]
    await trouble(ends.link)
    over.set()
    await asyncio.gather(*writers)
    counted = codes([answer for _, answer in told])
    assert set(counted) <= {"applied", "IN_DOUBT", "UNAVAILABLE"}
    events = await ends.journal("P")
    for command, answer in told:
        if isinstance(answer, Taken):
            assert events[command.event_id]["seq"] == answer.seq
        elif answer.code == "UNAVAILABLE":
            assert command.event_id not in events
        again = await ends.call(command)
        assert isinstance(again, Taken)
        assert again.applied == (command.event_id not in events)
    assert len(await ends.journal("P")) == len(told) + 1
    return counted


def test_a_slow_link_is_only_slow(through: Through) -> None:
    async def slow(link: Link) -> None:
        link.delay = 0.02
        await asyncio.sleep(3)
        link.delay = 0.0

    async def scenario(ends: Ends) -> None:
        assert set(await _under_load(ends, slow)) == {"applied"}

    through(scenario)


def test_a_link_that_stands_still_for_seconds_delays_and_loses_nothing(through: Through) -> None:
    async def still(link: Link) -> None:
        await asyncio.sleep(0.5)
        link.still(on=True)
        await asyncio.sleep(3)
        link.still(on=False)
        await asyncio.sleep(0.5)

    async def scenario(ends: Ends) -> None:
        assert set(await _under_load(ends, still)) == {"applied"}

    through(scenario)


def test_a_link_that_is_cut_for_seconds_costs_answers_and_no_event(through: Through) -> None:
    async def cut(link: Link) -> None:
        await asyncio.sleep(0.5)
        link.down()
        await asyncio.sleep(DOWN_SECONDS)
        link.up()
        await asyncio.sleep(0.5)

    async def scenario(ends: Ends) -> None:
        counted = await _under_load(ends, cut)
        assert counted["applied"] > 0
        assert counted["UNAVAILABLE"] + counted["IN_DOUBT"] > 0

    through(scenario)
