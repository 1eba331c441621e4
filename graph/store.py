"""The database: the one place that holds the driver.

Writing goes one way: lock the heads of the projects concerned, load the slices that the commands touch, decide and fold
one command after the other, write what changed, move the heads, commit. A batch is one transaction, in which a refused
command leaves nothing and does not hinder its neighbours.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction
from neo4j.exceptions import AuthError, ConfigurationError, DriverError, Neo4jError

from graph import lifecycle, observed, projection, queries, received, schema, store_format
from graph.batch import Batch, Statement, load, lock, mark, run, write
from graph.commands import Command
from graph.concept import Verdict, verdict_of
from graph.errors import KnowledgeError, LimitError, NotFoundError, UnavailableError, ValidationError
from graph.journal import Event, Head
from graph.knowledge import NodeId
from graph.lifecycle import Decision
from graph.queries import Query
from graph.rows import Row, event_of
from graph.scope import Scope
from graph.slices import Needs, Slice, gather, projects
from graph.store_format import StoreFormat
from graph.transactions import Transactions, ours

SINGLE_SECONDS = 10.0  # a compiled read; the executor may ask once more within a request's time
VERSION_SECONDS = 2.0  # who waits for it has a statement to ask yet
READ_SECONDS = 20.0  # an answer that takes longer is of no use to the caller who waits for it
WRITE_SECONDS = 30.0  # the first write of a server that has just started plans a dozen statements on a busy machine
BATCH_SECONDS = 120.0  # imports and rebuilds: two thousand events, or a large retirement, on a busy machine
RETRY_SECONDS = 5.0  # the driver's own retries of deadlocks and lost leaders stay inside the deadline
_LOG = logging.getLogger("whence.store")
T = TypeVar("T")
Run = Callable[..., Awaitable[list[Row]]]
"""Runs a statement by its name, with its parameters by theirs, and gives its rows."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a command.

    ``key`` and ``generation`` name the node that the answering event is about. ``applied`` is False for a repeat and
    for a proposal of the same claim; then ``seq`` and ``event_id`` are those of the event that was there already.
    ``verdict`` is what became of a concept at the one door; ``redacted``, how many matches of which kind were taken out
    of the command.
    """

    project: str
    key: str
    generation: int
    seq: int
    event_id: str
    applied: bool
    newly_at_risk: int = 0
    verdict: Verdict | None = None
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Decided:
    """What was decided in one project for a journal that ends with the hash ``before``; then it ends with ``after``."""

    project: str
    before: str
    after: str
    statements: Sequence[Statement]


class _NothingTakenError(Exception):
    """Rolls back a transaction in which no event was appended, so that not even a project is left behind."""


class Store:
    """A database that holds projects.

    Made by ``Store.open``; closed by leaving its context. What a store has written it reads, also from another member
    of a cluster. Reads keep to the scope, where there is one.
    """

    def __init__(self, driver: AsyncDriver, database: str, require_room: Callable[[], None] = lambda: None) -> None:
        self.driver = driver
        self.database = database
        self.require_room = require_room
        self.scope: Scope | None = None
        self._transactions = Transactions(driver, database)

    @property
    def projects(self) -> list[str] | None:
        """The names of the projects that may be seen, sorted; None for all."""
        return None if self.scope is None else self.scope.projects

    def within(self, scope: Scope) -> Store:
        """This store as a caller may see it: what lies outside the scope is not there."""
        seen = copy(self)
        seen.scope = scope
        return seen

    def seen(self, project: str) -> str:
        """A project as statements are asked for it: by a name that none has where it lies outside the scope."""
        return project if self.scope is None else self.scope.seen(project)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        uri: str,
        username: str,
        password: str,
        database: str = "neo4j",
        require_room: Callable[[], None] = lambda: None,
        *,
        install: bool = True,
    ) -> AsyncGenerator[Store]:
        """Connect, install what the schema lacks (unless told not to), and close at the end.

        Args:
            uri: The server's address, for the driver.
            username: Who signs in.
            password: With what.
            database: The one that holds the projects.
            require_room: Raises UnavailableError where there is no room for another append; called before each.
            install: Whether what the schema lacks is installed.

        Raises:
            ValidationError: the address is none that the driver knows.
            UnavailableError: no such server or database, or it refuses the credentials; or a newer Whence wrote it.
        """
        async with _driver(uri, username, password) as driver:
            try:
                await driver.verify_connectivity()  # pyright: ignore[reportUnknownMemberType]
                form = await store_format.read(driver, database)
                store_format.require_known(form)
                if install:
                    await schema.install(driver, database)
                    if not form.populated:
                        await store_format.record(driver, database)
            except AuthError as error:
                raise ours(error) from error
            except (Neo4jError, DriverError) as error:
                _LOG.debug("no database at %s: %s", uri, error)
                raise UnavailableError(
                    f"the database {database!r} at {uri} cannot be had",
                    field="NEO4J_URI",
                    allowed="the address of a server that runs, and a database of it",
                ) from error
            yield cls(driver, database, require_room)

    async def read(
        self, name: str, *, depth: int | None = None, seconds: float = READ_SECONDS, **params: Any
    ) -> list[Row]:
        """The rows of a read statement, each a map by column.

        Args:
            name: The statement.
            depth: Tightens the ceiling of its walk.
            seconds: Its deadline.
            **params: Its parameters.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        query = queries.load(name)
        query = query if depth is None else query.walking(depth)

        async def asked() -> list[list[Any]]:
            record = await self._transactions.read_repeated(query.gathered().text, self._bound(params), seconds)
            assert record is not None, "an aggregation gives a record"
            return record[0]

        rows = await observed.statement(name, asked(), len)
        return [dict(zip(query.returns, row, strict=True)) for row in rows]

    async def single(self, query: Query, **params: Any) -> list[Any] | None:
        """The columns of the one record of a read statement; None when it gives none.

        It is asked once, without the rounds of a transaction.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        asked = self._transactions.read_single(query.text, self._bound(params), SINGLE_SECONDS)
        return await observed.statement(query.name, asked, lambda record: record is not None)

    async def totals(self) -> Row:
        """How many ``projects`` there are, and how many ``events`` their journals hold together.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        return (await self.read("journal_totals"))[0]

    async def form(self) -> StoreFormat:
        """In which form the store is written.

        Raises:
            UnavailableError: the database cannot be had.
        """
        return StoreFormat(**(await self.read("store_format_get"))[0])

    async def record_form(self, schema_version: int) -> None:
        """Record that the store is of a version of its schema now.

        Raises:
            UnavailableError: the database cannot be had.
        """
        await self.project_write("store_format_put", **store_format.recorded(schema_version))

    def _bound(self, params: dict[str, Any]) -> dict[str, Any]:
        return params if self.scope is None else self.scope.bound(params)

    async def version(self) -> str:
        """What changes with every commit, whoever makes it: see ``Transactions.version``.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        return await observed.statement("version", self._transactions.version(VERSION_SECONDS), lambda _version: 1)

    async def stream(self, name: str, page: Callable[[Row | None], Mapping[str, Any]], size: int) -> AsyncIterator[Row]:
        """All rows of a paged read statement, one page in memory at a time.

        Args:
            name: A statement with a ``$first`` parameter and rows in a total order.
            page: The parameters of the page that follows a row; of the first page for None.
            size: Rows a page; fewer where they are so large that they would bring more than one request may.
        """
        last: Row | None = None
        while True:
            try:
                with received.allowed(received.ANSWER_BYTES_MAX):
                    rows = await self.read(name, seconds=BATCH_SECONDS, first=size, **page(last))
            except LimitError:
                if size == 1:
                    raise
                size = max(1, size // 10)
                continue
            for row in rows:
                yield row
            if len(rows) < size:
                return
            last = rows[-1]

    async def append(
        self,
        commands: Sequence[Command],
        now: datetime,
        *,
        restored: Mapping[str, Event] | None = None,
        seconds: float = WRITE_SECONDS,
    ) -> list[Taken | KnowledgeError]:
        """Take commands in their order, in one transaction; each has its own answer or its own refusal.

        Args:
            commands: Any projects; at most a few thousand.
            now: The recorded time; where a project's journal is ahead of it, that journal's newest is taken.
            restored: For commands read from a written journal, the event that each must come out as, by event id:
                their recorded time is kept and no event is added by rule.
            seconds: The deadline.

        Returns:
            For each command what became of it.

        Raises:
            InDoubtError: the answer to the commit was lost and the database could not be asked again in time.
            LimitError: they take more memory than the database grants one transaction; nothing was taken.
            UnavailableError: nothing was taken.
        """
        self.require_room()
        attempt = _Attempt(commands, now, restored)
        try:
            return await self._transactions.write_once(attempt.run, seconds)
        except _NothingTakenError:
            return attempt.answers

    async def rehearse(self, commands: Sequence[Command], now: datetime) -> None:
        """Take commands and undo it all: nothing stays but the server's plans for what the next append will ask.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        self.require_room()
        attempt = _Attempt(commands, now, None)

        async def work(tx: AsyncManagedTransaction) -> None:
            await attempt.run(tx)
            raise _NothingTakenError

        with contextlib.suppress(_NothingTakenError):
            await self._transactions.write(work, BATCH_SECONDS)

    async def append_decided(self, decided: Sequence[Decided], *, seconds: float = BATCH_SECONDS) -> bool:
        """Append what was decided beside the database, in one transaction, if the journals are still as they were then.

        Args:
            decided: For each project concerned.
            seconds: The deadline.

        Returns:
            False when another writer was faster in one of the projects; then nothing was appended.

        Raises:
            InDoubtError: the answer to the commit was lost and the database could not be asked again in time.
            UnavailableError: nothing was taken.
        """
        self.require_room()

        async def work(tx: AsyncManagedTransaction) -> bool:
            heads = [(await lock(tx, part.project)).hash for part in decided]
            if heads == [part.after for part in decided]:
                return True  # an earlier attempt of ours was committed although its answer was lost
            if heads != [part.before for part in decided]:
                raise _NothingTakenError
            for part in decided:
                for name, params in part.statements:
                    await run(tx, name, **params)
            return True

        try:
            return await self._transactions.write_once(work, seconds)
        except _NothingTakenError:
            return False

    async def project_write(self, name: str, *, seconds: float = BATCH_SECONDS, **params: Any) -> list[Row]:
        """The rows of a write statement that is no event: dropping or marking a projection.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        self.require_room()

        async def work(tx: AsyncManagedTransaction) -> list[Row]:
            return await run(tx, name, **params)

        return await self._transactions.write(work, seconds)

    async def peek(self, project: str, found: Sequence[Needs]) -> Slice:
        """The slice that commands would meet now; nothing is locked, so it may be old when it is used."""
        project = self.seen(project)

        async def work(tx: AsyncManagedTransaction) -> Slice:
            here = (await load(tx, project, found)).here
            heads = await run(tx, "project_head", project=project)
            if heads:
                here.head = Head(heads[0]["seq"], heads[0]["hash"], datetime.fromisoformat(heads[0]["recorded_at"]))
            return here

        return await self._transactions.read(work, BATCH_SECONDS)

    async def marked(self, project: str) -> tuple[Head, frozenset[NodeId]]:
        """A project's head and the nodes that are at risk at that very position; writers wait for the moment it takes.

        Raises:
            NotFoundError: there is no such project.
        """
        seen = self.seen(project)

        async def work(tx: AsyncManagedTransaction) -> tuple[Head, frozenset[NodeId]]:
            if not await run(tx, "project_head", project=seen):
                raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
            head = await lock(tx, seen)
            rows = await run(tx, "risk_marked", project=seen)
            return head, frozenset((row["key"], row["generation"]) for row in rows)

        return await self._transactions.write(work, READ_SECONDS)

    async def hold(self, project: str, work: Callable[[Run], Awaitable[T]], seconds: float = BATCH_SECONDS) -> T:
        """Do some work in one transaction while the writers of a project wait, also one that is being rebuilt.

        It may be a look alone, so it is done however full the disk is; who changes much asks for room first.

        Args:
            project: One that has a head.
            work: Given what runs a statement in the transaction; repeatable.
            seconds: The deadline.

        Raises:
            UnavailableError: the database cannot be had.
            InDoubtError: it did not answer in time.
        """
        seen = self.seen(project)

        async def held(tx: AsyncManagedTransaction) -> T:
            await lock(tx, seen, rebuilding=True)

            async def asked(name: str, **params: Any) -> list[Row]:
                return await run(tx, name, **self._bound(params))

            return await work(asked)

        return await self._transactions.write_once(held, seconds)


class _Attempt:
    """One run of a batch through a transaction; repeatable, since nothing in it is made anew."""

    def __init__(self, commands: Sequence[Command], now: datetime, restored: Mapping[str, Event] | None) -> None:
        self._commands = commands
        self._now = now
        self._restored = restored
        self._seen: dict[tuple[str, str], tuple[str, Taken]] = {}
        self._earlier: dict[tuple[str, str], tuple[str, Taken]] = {}
        self.answers: list[Taken | KnowledgeError] = []

    async def run(self, tx: AsyncManagedTransaction) -> list[Taken | KnowledgeError]:
        """Decide, write and answer; raises ``_NothingTakenError`` where no event came of it."""
        self.answers = []
        self._earlier, self._seen = self._earlier | self._seen, {}
        batches = await self._loaded(tx)
        slices = {name: batch.here for name, batch in batches.items()}
        for command in self._commands:
            self.answers.append(await self._take(tx, command, batches, slices))
        if not any(batch.events for batch in batches.values()):
            raise _NothingTakenError
        for batch in batches.values():
            if batch.events:
                await write(tx, batch)
            elif batch.here.head.seq == 0:
                await run(tx, "project_drop_empty", project=batch.here.project)
        return self.answers

    async def _loaded(self, tx: AsyncManagedTransaction) -> dict[str, Batch]:
        batches: dict[str, Batch] = {}

        async def one(project: str, found: Sequence[Needs]) -> Slice:
            batches[project] = await load(tx, project, found)
            return batches[project].here

        # Heads are locked in one order everywhere, so that two transfers cannot wait for each other.
        concerned = sorted(projects(self._commands, rules=self._restored is None))
        heads = {project: await lock(tx, project) for project in concerned}
        await gather(self._commands, one, rules=self._restored is None)
        for project, head in heads.items():
            batches[project].here.head = head
        return batches

    async def _take(
        self,
        tx: AsyncManagedTransaction,
        command: Command,
        batches: Mapping[str, Batch],
        slices: Mapping[str, Slice],
    ) -> Taken | KnowledgeError:
        here = slices[command.project]
        restored = None if self._restored is None else self._restored[command.event_id]
        now = restored.recorded_at if restored is not None else lifecycle.not_before(self._now, here.head)
        try:
            decision = lifecycle.decide(slices, command, now, rules=restored is None)
            if restored is not None and decision.events:
                lifecycle.refuse_other(decision.events[0], restored)
        except KnowledgeError as refusal:
            return refusal
        if decision.standing is not None:
            return await self._standing(tx, batches[command.project], command, decision)
        newly = 0
        for event in decision.events:
            batch = batches[event.project]
            projection.evolve(batch.here, event)
            batch.events.append(event)
            batch.newly[event.seq] = await mark(tx, batch, event)
            newly += batch.newly[event.seq]
        own = decision.events[0]
        # What follows by rule is part of the answer, which a repeat is given again.
        batches[own.project].newly[own.seq] = newly
        taken = _taken(command, own, (own.key, own.generation), newly, applied=True)
        self._seen[command.project, own.event_id] = (own.hash, taken)
        return taken

    async def _standing(self, tx: AsyncManagedTransaction, batch: Batch, command: Command, decision: Decision) -> Taken:
        seq, node = decision.standing, decision.node
        assert seq is not None, "a standing answer names its event"
        assert node is not None, "a standing answer names its node"
        event = next((e for e in batch.here.events.values() if e.seq == seq), None)
        newly = batch.newly.get(seq)
        if event is None or newly is None:
            rows = await run(tx, "events_at", project=command.project, seqs=[seq])
            event, newly = event_of(rows[0]["event"]), rows[0]["event"]["newly_at_risk"] or 0
        lost = self._earlier.get((command.project, event.event_id))
        if lost is not None and lost[0] == event.hash and event.event_id == command.event_id:
            # An earlier attempt of ours was committed although its answer was lost.
            return lost[1]
        return _taken(command, event, node, newly, applied=False)


def _taken(command: Command, event: Event, node: NodeId, newly: int, *, applied: bool) -> Taken:
    verdict = verdict_of(event.transition, event.payload)
    return Taken(event.project, *node, event.seq, event.event_id, applied, newly, verdict, command.redacted)


def _driver(uri: str, username: str, password: str) -> AsyncDriver:
    try:
        return AsyncGraphDatabase.driver(  # pyright: ignore[reportUnknownMemberType] (its options are untyped)
            uri,
            auth=(username, password),
            connection_timeout=3.0,
            connection_acquisition_timeout=5.0,
            max_transaction_retry_time=RETRY_SECONDS,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
            user_agent="whence",
        )
    except (ConfigurationError, ValueError) as error:
        raise ValidationError(
            "that is no address of a database",
            field="NEO4J_URI",
            allowed="bolt://, bolt+s://, bolt+ssc://, neo4j://, neo4j+s:// or neo4j+ssc://, a host and a port",
        ) from error
