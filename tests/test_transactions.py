"""What is repeated, what is not, and what a caller is told of a transaction that failed; all of it on Neo4j."""

# pyright: strict
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, LiteralString

import pytest
from neo4j import AsyncManagedTransaction
from neo4j.exceptions import AuthError, Neo4jError, ServiceUnavailable, SessionExpired
from strategies import said

from graph.errors import KnowledgeError, LimitError, TooSlowError, UnavailableError
from graph.store import Store, Taken
from graph.transactions import TRANSACTIONS_MAX, Transactions

GREEDY = "UNWIND range(1, 50000000) AS x WITH collect(x) AS xs RETURN size(xs) AS size"
SLOW = "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN count(x + y) AS count"


class Worked:
    """Work that runs a statement, and counts how often it was begun."""

    def __init__(self, statement: str) -> None:
        self.statement: Any = statement
        self.times = 0

    async def __call__(self, tx: AsyncManagedTransaction) -> list[dict[str, Any]]:
        self.times += 1
        return await (await tx.run(self.statement)).data()


@pytest.fixture
def transactions(store: Store) -> Transactions:
    return Transactions(store.driver, store.database)


Way = Callable[[Transactions, Any, float], Any]
WAYS = pytest.mark.parametrize(
    "way", [Transactions.read, Transactions.write, Transactions.write_once], ids=lambda way: way.__name__
)


@WAYS
def test_what_takes_too_much_memory_is_tried_once(transactions: Transactions, loop: asyncio.Runner, way: Way) -> None:
    work = Worked(GREEDY)
    with pytest.raises(LimitError) as refused:
        loop.run(way(transactions, work, 60.0))
    assert work.times == 1
    assert refused.value.allowed == "a smaller request"
    assert loop.run(way(transactions, Worked("RETURN 1 AS one"), 60.0)) == [{"one": 1}]


@WAYS
def test_what_takes_too_long_is_tried_once(transactions: Transactions, loop: asyncio.Runner, way: Way) -> None:
    work = Worked(SLOW)
    with pytest.raises(TooSlowError):
        loop.run(way(transactions, work, 1.0))
    assert work.times == 1


@WAYS
def test_what_fails_for_a_passing_reason_is_repeated(
    transactions: Transactions, loop: asyncio.Runner, way: Way
) -> None:
    class Passing(Worked):
        async def __call__(self, tx: AsyncManagedTransaction) -> list[dict[str, Any]]:
            rows = await super().__call__(tx)
            if self.times == 1:
                raise Neo4jError._hydrate_neo4j(code="Neo.TransientError.Transaction.DeadlockDetected", message="")
            return rows

    work = Passing("RETURN 1 AS one")
    assert loop.run(way(transactions, work, 60.0)) == [{"one": 1}]
    assert work.times == 2


class Broken(Transactions):
    """Transactions whose first statements that commit themselves fail before they reach the database."""

    def __init__(self, store: Store, *errors: Exception) -> None:
        super().__init__(store.driver, store.database)
        self._errors = list(errors)

    async def read_single(self, text: LiteralString, params: dict[str, Any], seconds: float) -> list[Any] | None:
        if self._errors:
            error = self._errors.pop()
            raise UnavailableError("told to the caller") from error
        return await super().read_single(text, params, seconds)


@pytest.mark.parametrize("passing", [SessionExpired("gone"), ServiceUnavailable("gone")])
def test_a_read_on_a_connection_that_was_lost_is_asked_once_more(
    store: Store, loop: asyncio.Runner, passing: Exception
) -> None:
    assert loop.run(Broken(store, passing).read_repeated("RETURN $x AS x", {"x": 7}, 60.0)) == [7]
    assert loop.run(Broken(store, passing).read_repeated("UNWIND [] AS x RETURN x", {}, 60.0)) is None


def test_a_read_that_fails_for_good_is_not_asked_again(store: Store, loop: asyncio.Runner) -> None:
    for error in (AuthError("no"), TimeoutError()):
        with pytest.raises(UnavailableError):
            loop.run(Broken(store, error).read_repeated("RETURN 1 AS one", {}, 60.0))
    with pytest.raises(TooSlowError):
        loop.run(Transactions(store.driver, store.database).read_repeated(SLOW, {}, 1.0))
    with pytest.raises(LimitError):
        loop.run(Transactions(store.driver, store.database).read_repeated(GREEDY, {}, 60.0))


def test_a_project_that_is_held_for_long_is_told_as_slow_and_nothing_is_taken(
    store: Store, loop: asyncio.Runner
) -> None:
    async def scenario() -> None:
        await store.append([said("proposed", "a", proposition="The gate is shut")], datetime.now(UTC))
        sessions = Transactions(store.driver, store.database)
        async with sessions.session("WRITE") as session, await session.begin_transaction() as held:
            await held.run("MATCH (p:Project {name: 'P'}) SET p._lock = true REMOVE p._lock")
            with pytest.raises(TooSlowError) as told:
                await store.append([said("used", "a", event_id="u")], datetime.now(UTC), seconds=8.0)
            assert isinstance(told.value, KnowledgeError)
            await held.rollback()
        answers = await store.append([said("used", "a", event_id="u")], datetime.now(UTC))
        assert isinstance(answers[0], Taken)
        assert answers[0].applied

    loop.run(scenario())


def test_reads_of_one_statement_are_no_more_at_once_than_the_drivers_connections(
    transactions: Transactions, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that come when all are taken wait for their turn, so that there is always a connection for a write."""
    now = most = 0

    async def scenario() -> list[Any]:
        open_session = transactions.session

        @asynccontextmanager
        async def counted(access: str) -> AsyncGenerator[Any]:
            nonlocal now, most
            now += 1
            most = max(most, now)
            async with open_session(access) as session:
                yield session
            now -= 1

        monkeypatch.setattr(transactions, "session", counted)
        return await asyncio.gather(*(transactions.read_single("RETURN 1", {}, 60.0) for _ in range(150)))

    assert loop.run(scenario()) == [[1]] * 150
    assert most <= TRANSACTIONS_MAX


def test_the_drivers_log_holds_no_list_of_what_is_written_or_looked_up(
    store: Store, loop: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="neo4j")
    command = said("proposed", "quiet", proposition="The harbour pilot whispers")
    taken = loop.run(store.append([command], datetime.now(UTC)))
    rows = loop.run(store.read("propositions_worded", project="P", texts=["whispers"], first=5))
    assert isinstance(taken[0], Taken)
    assert [row["proposition"] for row in rows] == ["The harbour pilot whispers"]
    told = [record.getMessage() for record in caplog.records if "RUN" in record.msg]
    assert any("values>" in message for message in told)
    assert [message for message in told if "whispers" in message] == []
