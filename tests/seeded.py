"""Faults of a driver, drawn from a seed, at named points of a transaction; and a database of dicts to meet them.

``FaultyDriver`` stands around any driver. ``DictDriver`` is one whose transactions are worked by the model: it locks
projects as the head lock does, repeats what the driver repeats, and knows the server that commits after the link broke.
"""

# pyright: strict
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import pickle
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from types import TracebackType
from typing import Any, Self, cast

from model import Model, Outcome
from neo4j import AsyncDriver
from neo4j.exceptions import DriverError, IncompleteCommit, Neo4jError, ServiceUnavailable, SessionExpired
from strategies import Record

from graph.commands import Command
from graph.errors import KnowledgeError
from graph.slices import projects
from graph.store import Taken
from graph.transactions import Transactions

HANGS = "hangs"
LATE = "commits late"  # the link breaks at the commit, which the server makes some time later
FAULTS: dict[str, tuple[str, ...]] = {
    "before begin": ("unavailable", "expired", "Neo.TransientError.General.DatabaseUnavailable", HANGS),
    "after read": (
        "unavailable",
        "Neo.TransientError.Transaction.DeadlockDetected",
        "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
        "Neo.ClientError.Transaction.TransactionTimedOut",
        "Neo.DatabaseError.General.UnknownError",
        HANGS,
    ),
    "before commit": (
        "incomplete",
        "Neo.ClientError.Transaction.TransactionTimedOut",
        "Neo.TransientError.Transaction.DeadlockDetected",
        "Neo.DatabaseError.Transaction.TransactionCommitFailed",
        LATE,
        HANGS,
    ),
    "after commit": ("incomplete", "Neo.DatabaseError.Transaction.TransactionCommitFailed", HANGS),
}
RETRIES_MAX = 4  # of the dict driver, a second apart
LATE_SECONDS = 3.0  # at most, until the server has made the commit of a broken link


class LateCommit(IncompleteCommit):
    """The link broke; the server is still to commit."""


class Faults:
    """What goes wrong, by a seed.

    Attributes:
        share: How probable a fault is at each point; 0 lets everything pass.
        met: How often each fault was raised.
    """

    def __init__(self, seed: int, share: float, without: Sequence[str] = ()) -> None:
        self._drawn = random.Random(seed)
        self._without = frozenset(without)
        self.share = share
        self.met: Counter[tuple[str, str]] = Counter()

    async def at(self, point: str) -> None:
        """Pass the point, or fail there as a driver may."""
        if self._drawn.random() >= self.share:
            return
        fault = self._drawn.choice([fault for fault in FAULTS[point] if fault not in self._without])
        self.met[point, fault] += 1
        if fault == HANGS:
            await asyncio.sleep(1e9)
        raise _error(fault)


def _error(fault: str) -> Neo4jError | DriverError:
    if fault.startswith("Neo."):
        return Neo4jError._hydrate_neo4j(code=fault, message="drawn from a seed")
    kinds = {"unavailable": ServiceUnavailable, "expired": SessionExpired, "incomplete": IncompleteCommit}
    return LateCommit("drawn") if fault == LATE else kinds[fault]("drawn from a seed")


class FaultyDriver:
    """A driver in whose write transactions faults happen."""

    def __init__(self, driver: Any, faults: Faults) -> None:
        self._driver = driver
        self._faults = faults

    def session(self, **settings: Any) -> _FaultySession:
        return _FaultySession(self._driver.session(**settings), self._faults)

    def as_driver(self) -> AsyncDriver:
        return cast("AsyncDriver", self)


class _FaultySession:
    def __init__(self, session: Any, faults: Faults) -> None:
        self._session = session
        self._faults = faults

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.__aexit__(kind, value, trace)

    async def execute_read(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        return await self._session.execute_read(work)

    async def execute_write(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        @wraps(work)  # the deadline is an attribute of the work
        async def faulty(tx: Any) -> Any:
            await self._faults.at("before begin")
            result = await work(_FaultyTransaction(tx, self._faults))
            await self._faults.at("before commit")
            return result

        result = await self._session.execute_write(faulty)
        await self._faults.at("after commit")
        return result


class _FaultyTransaction:
    def __init__(self, tx: Any, faults: Faults) -> None:
        self._tx = tx
        self._faults = faults
        self._read = False

    async def run(self, *args: Any, **params: Any) -> Any:
        result = await self._tx.run(*args, **params)
        if not self._read:
            self._read = True
            await self._faults.at("after read")
        return result


# --- a database of dicts ------------------------------------------------------------------------------------


class DictDatabase:
    """Projects as the model keeps them, with a lock on each."""

    def __init__(self, seed: int) -> None:
        self.model = Model(count_risk=False)
        self.locks: dict[str, asyncio.Lock] = {}
        self.drawn = random.Random(seed)
        self.late: set[asyncio.Task[None]] = set()


class DictDriver:
    """A driver of a ``DictDatabase``."""

    def __init__(self, database: DictDatabase) -> None:
        self._database = database

    def session(self, **_settings: Any) -> _DictSession:
        return _DictSession(self._database)


class _DictSession:
    def __init__(self, database: DictDatabase) -> None:
        self._database = database

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    async def execute_write(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        for tries in range(RETRIES_MAX):
            tx = _DictTransaction(self._database)
            try:
                result = await work(tx)
            except LateCommit:
                task = asyncio.ensure_future(tx.commit_late(self._database.drawn.uniform(0, LATE_SECONDS)))
                self._database.late.add(task)
                raise
            except (Neo4jError, DriverError) as error:
                tx.end()
                if not error.is_retryable() or tries + 1 == RETRIES_MAX:
                    raise
                await asyncio.sleep(1)
            except BaseException:
                tx.end()
                raise
            else:
                tx.commit()
                return result
        raise AssertionError("the last try returns or raises")


class _DictTransaction:
    def __init__(self, database: DictDatabase) -> None:
        self._database = database
        self._held: list[asyncio.Lock] = []
        self._model = Model(count_risk=False)

    async def run(self, concerned: set[str]) -> Model:
        """Lock projects, in their order, and then read them."""
        for project in sorted(concerned):
            lock = self._database.locks.setdefault(project, asyncio.Lock())
            await lock.acquire()
            self._held.append(lock)
        books = {name: book for name, book in self._database.model._books.items() if name in concerned}
        self._model._books = pickle.loads(pickle.dumps(books))
        return self._model

    def commit(self) -> None:
        self._database.model._books |= self._model._books
        self.end()

    async def commit_late(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.commit()

    def end(self) -> None:
        while self._held:
            self._held.pop().release()


class DictStore:
    """The store's one door for writing, with the model in place of Neo4j; what runs the transactions is the store's.

    Args:
        driver: A ``DictDriver``, perhaps with faults around it.
        lines: What each command was read from, by event id.
    """

    def __init__(self, driver: AsyncDriver, lines: Mapping[str, Record]) -> None:
        self._transactions = Transactions(driver, "dicts")
        self._lines = lines

    async def append(
        self, commands: Sequence[Command], now: datetime, *, seconds: float
    ) -> list[Taken | KnowledgeError]:
        async def work(tx: Any) -> list[Taken | KnowledgeError]:
            model: Model = await tx.run(projects(commands, rules=True))
            return [
                _answer(model, command, model.run(command.project, self._lines[command.event_id], now))
                for command in commands
            ]

        return await self._transactions.write_once(work, seconds)


def _answer(model: Model, command: Command, outcome: Outcome) -> Taken | KnowledgeError:
    if outcome.code is not None:
        refusal = KnowledgeError(outcome.message, field=outcome.field)
        refusal.code = outcome.code  # pyright: ignore[reportAttributeAccessIssue]  which of the classes matters to none
        return refusal
    assert outcome.event_id is not None
    event = next(e for e in model.journal(command.project) if e["event_id"] == outcome.event_id)
    return Taken(
        command.project, event["key"], event["generation"], event["seq"], event["event_id"], applied=outcome.applied
    )
