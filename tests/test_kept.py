"""Kept answers: never older than a read of the same moment, whoever writes; and nothing is kept that need not be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from neo4j import AsyncGraphDatabase

from api import kept
from api.access import Everyone
from api.app import create_app
from api.kept import ANSWER_BYTES_MAX, KEPT_BYTES_MAX, REQUEST_BYTES_MAX, UNSETTLED_SECONDS, KeptAnswers, Made
from api.settings import ANONYMOUS, Settings
from graph.commands import read_command
from graph.embedded import Connection
from graph.errors import UnavailableError
from graph.knowledge import AGING, Actor, ActorType
from graph.service import Service
from graph.store import Store

WRITER = Actor("tests", "writer", ActorType.HUMAN)
ROUNDS = 12
QUERY = 'query ($key: String!) { knowledge(project: "P", key: $key) { key proposition evidence { key } } }'
LIST = 'query ($filter: KnowledgeFilter) { knowledgeList(project: "P", filter: $filter) { edges { node { key } } } }'


class Database:
    """A version that a test moves, and a count of what was asked."""

    def __init__(self) -> None:
        self.at = 1
        self.asked = 0
        self.made = 0
        self.now = 0.0
        self.down = False
        self.answers = KeptAnswers(self.version, lambda: self.now)

    async def version(self) -> str:
        self.asked += 1
        await asyncio.sleep(0)
        if self.down:
            raise UnavailableError("the database cannot be had")
        return f"v{self.at}"

    async def ask(self, request: bytes = b"q", *, body: bytes | None = None, lasting: bool = True) -> bytes | None:
        async def make() -> Made:
            self.made += 1
            return Made(b"answer %d" % self.at if body is None else body, lasting)

        made = await self.answers.answer(request, make)
        return None if made is None else made.body

    def spent(self) -> tuple[int, int]:
        """Versions asked and answers made since the last look."""
        spent = (self.asked, self.made)
        self.asked = self.made = 0
        return spent


def test_a_request_is_kept_from_its_second_time_on() -> None:
    async def story() -> None:
        database = Database()
        await database.ask()
        assert database.spent() == (0, 1), "what comes once waits for nothing"
        await database.ask()
        assert database.spent() == (1, 1)
        for _ in range(3):
            assert await database.ask() == b"answer 1"
        assert database.spent() == (3, 0)

    asyncio.run(story())


def test_those_who_wait_at_the_same_time_share_the_question() -> None:
    async def story() -> None:
        database = Database()
        for _ in range(3):
            await database.ask()
        database.spent()
        assert await asyncio.gather(*(database.ask() for _ in range(50))) == [b"answer 1"] * 50
        asked, made = database.spent()
        assert (asked <= 3, made) == (True, 0)

    asyncio.run(story())


def test_a_commit_ends_what_was_kept_and_none_is_looked_for_until_it_has_settled() -> None:
    async def story() -> None:
        database = Database()
        for _ in range(3):
            await database.ask()
        database.at = 2
        database.spent()
        assert await database.ask() == b"answer 2"
        assert database.spent() == (1, 1)
        database.at = 3
        assert await database.ask() == b"answer 3"
        assert database.spent() == (0, 1), "unsettled: read as if nothing were kept"
        database.now += UNSETTLED_SECONDS
        assert await database.ask() == b"answer 3"
        assert database.spent() == (1, 1), "what was kept under version 2 is not given under 3"
        database.now += UNSETTLED_SECONDS
        assert await database.ask() == b"answer 3"
        assert database.spent() == (1, 0)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("request_", "how"),
    [
        (b"q", {"lasting": False}),
        (b"q", {"body": b"x" * (ANSWER_BYTES_MAX + 1)}),
        (b"q" * (REQUEST_BYTES_MAX + 1), {}),
    ],
)
def test_what_tells_the_time_or_is_too_large_is_never_kept(request_: bytes, how: dict[str, Any]) -> None:
    async def story() -> None:
        database = Database()
        for _ in range(4):
            assert await database.ask(request_, **how)
        assert database.spent() == (0, 4)

    asyncio.run(story())


def test_what_has_no_answer_is_asked_anew_each_time() -> None:
    async def story() -> None:
        database, made = Database(), 0

        async def nothing() -> None:
            nonlocal made
            made += 1

        for _ in range(3):
            assert await database.answers.answer(b"mutation", nothing) is None
        assert (made, database.asked) == (3, 0)

    asyncio.run(story())


def test_a_database_that_does_not_tell_its_version_is_read() -> None:
    async def story() -> None:
        database = Database()
        for _ in range(3):
            await database.ask()
        database.down = True
        database.spent()
        for _ in range(5):
            assert await database.ask() == b"answer 1"
        assert database.spent() == (1, 5), "and is not asked again at once"

    asyncio.run(story())


def test_many_answers_take_no_more_room_than_is_granted() -> None:
    async def story() -> None:
        database, size = Database(), ANSWER_BYTES_MAX // 2
        for at in range(2 * KEPT_BYTES_MAX // size):
            for _ in range(2):
                await database.ask(b"%d" % at, body=b"x" * size)
        database.spent()
        await database.ask(b"0")
        assert database.spent() == (0, 1), "the one not asked for the longest went first"
        last = 2 * KEPT_BYTES_MAX // size - 1
        await database.ask(b"%d" % last)
        assert database.spent() == (1, 0)

    asyncio.run(story())


class Asking:
    """A service's app, asked in process."""

    def __init__(self, service: Service) -> None:
        transport = httpx.ASGITransport(create_app(service, Settings(home=Path("/nowhere")), Everyone(ANONYMOUS)))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://tests")

    async def ask(self, query: str, **variables: Any) -> Any:
        told = (await self._client.post("/graphql", json={"query": query, "variables": variables})).json()
        assert "errors" not in told, told
        return told["data"]


async def propose(service: Service, key: str, proposition: str = "stands") -> None:
    line = {"transition": "proposed", "key": key, "payload": {"proposition": proposition}}
    await service.run(read_command(line, actor=WRITER, project="P"))


async def prove(service: Service, key: str, name: str) -> None:
    evidence = {"key": name, "type": "run", "source": "here"}
    line = {"transition": "confirmed", "key": key, "payload": {"evidence": [evidence]}}
    await service.run(read_command(line, actor=WRITER, project="P"))


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept answers are looked for all the time, also right after a commit."""
    monkeypatch.setattr(kept, "UNSETTLED_SECONDS", 0.0)


@pytest.fixture
def versions(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The versions that were asked of the store."""
    asked: list[str] = []
    version = store.version

    async def counted() -> str:
        asked.append(await version())
        return asked[-1]

    monkeypatch.setattr(store, "version", counted)
    return asked


@pytest.mark.usefixtures("always")
def test_what_anybody_commits_is_seen_at_once(
    service: Service, neo4j: Connection, loop: asyncio.Runner, versions: list[str]
) -> None:
    """By this service, by another one on the same database, and by a hand that changes a node without a journal."""

    async def story() -> None:
        app = Asking(service)

        async def settled(change: Callable[[], Awaitable[Any]]) -> Any:
            await change()
            answers = [await app.ask(QUERY, key="a") for _ in range(4)]
            assert all(answer == answers[0] for answer in answers)
            return answers[0]["knowledge"]

        first = await settled(lambda: propose(service, "a"))
        assert (first["proposition"], first["evidence"]) == ("stands", [])
        assert len(set(versions)) == 1
        assert len(versions) == 2, "from the second time on that its plan is asked"
        assert (await settled(lambda: prove(service, "a", "one")))["evidence"] == [{"key": "one"}]
        async with Store.open(neo4j.uri, neo4j.username, neo4j.password, neo4j.database, install=False) as other:
            assert len((await settled(lambda: prove(Service(other), "a", "two")))["evidence"]) == 2
            by_hand = "MATCH (n:Knowledge {project: 'P', key: 'a'}) SET n.proposition = 'changed by hand'"
            found = await settled(lambda: other.driver.execute_query(by_hand, database_=other.database))
            assert found["proposition"] == "changed by hand"

    loop.run(story())


@pytest.mark.usefixtures("always")
def test_nothing_acknowledged_is_missing_while_large_commits_are_under_way(
    service: Service, neo4j: Connection, loop: asyncio.Runner
) -> None:
    """Large transactions take long between their number and their end; small ones overtake them."""

    async def story() -> int:
        app, over = Asking(service), asyncio.Event()
        for key in "abc":
            await propose(service, key)
        async with (
            AsyncGraphDatabase.driver(neo4j.uri, auth=(neo4j.username, neo4j.password)) as driver,
            Store.open(neo4j.uri, neo4j.username, neo4j.password, neo4j.database, install=False) as other,
        ):
            await driver.execute_query("UNWIND range(1, 20000) AS i CREATE (:Large {at: 0})")

            async def large() -> None:
                while not over.is_set():
                    await driver.execute_query("MATCH (n:Large) SET n.at = n.at + 1")

            async def small(key: str, writer: Service) -> int:
                for at in range(1, ROUNDS + 1):
                    await prove(writer, key, f"{key}{at:03d}")
                    found = (await app.ask(QUERY, key=key))["knowledge"]["evidence"]
                    assert len(found) == at, f"{at} acknowledged, {len(found)} answered"
                    await app.ask(QUERY, key=key)
                return ROUNDS

            background = asyncio.create_task(large())
            done = await asyncio.gather(small("a", service), small("b", Service(other)), small("c", Service(other)))
            over.set()
            await background
            return sum(done)

    assert loop.run(story()) == 3 * ROUNDS


def test_what_is_stale_is_told_by_the_clock_and_not_kept(
    store: Store, loop: asyncio.Runner, versions: list[str]
) -> None:
    async def story() -> None:
        now = datetime(2026, 11, 1, tzinfo=UTC)
        service = Service(store, lambda: now)
        await propose(service, "a")
        app = Asking(service)
        text = 'query { knowledge(project: "P", key: "a") { stale } }'
        for _ in range(3):
            assert await app.ask(text) == {"knowledge": {"stale": False}}
            assert (await app.ask(LIST, filter={"stale": True}))["knowledgeList"]["edges"] == []
        now += AGING + timedelta(seconds=1)
        assert await app.ask(text) == {"knowledge": {"stale": True}}
        assert len((await app.ask(LIST, filter={"stale": True}))["knowledgeList"]["edges"]) == 1
        assert versions == []
        for _ in range(3):
            await app.ask(LIST, filter={"atRisk": False})
        assert len(versions) == 2

    loop.run(story())
