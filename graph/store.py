"""Runs the statements of ``cypher/`` and turns rows into nouns; the one place that knows the driver.

Writing goes one way: lock the heads of the projects concerned, load the slice that the commands touch, decide and
fold one command after the other, write what changed, move the heads, commit. A batch is one transaction, in which a
refused command leaves nothing and does not hinder its neighbours.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar, cast

import neo4j
from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction
from neo4j.exceptions import (
    AuthError,
    ClientError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    ServiceUnavailable,
)

from graph import lifecycle, queries, risk, schema
from graph.errors import (
    InDoubtError,
    InternalError,
    KnowledgeError,
    LimitError,
    NotFoundError,
    UnavailableError,
)
from graph.journal import GENESIS_HASH, Command, Event, Head, Json, canonical
from graph.knowledge import (
    Actor,
    ActorType,
    Edge,
    Evidence,
    Kind,
    Node,
    NodeId,
    Relation,
    State,
    Transition,
    instant_text,
)
from graph.lifecycle import Needs, Slice

READ_SECONDS = 10.0  # an answer that takes longer is of no use to the caller who waits for it
WRITE_SECONDS = 10.0
BATCH_SECONDS = 120.0  # imports and rebuilds: a thousand events, or a large retirement, on a busy machine
RETRY_SECONDS = 5.0  # the driver's own retries of deadlocks and lost leaders stay inside the deadline
_SLACK_SECONDS = 1.0  # the server is given the deadline, the client this much more to hear of it
_LOG = logging.getLogger("whence.store")

T = TypeVar("T")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a command.

    ``key`` and ``generation`` name the node that the answering event is about. ``applied`` is False for a repeat and
    for a proposal of the same claim; then ``seq`` and ``event_id`` are those of the event that was there already.
    """

    project: str
    key: str
    generation: int
    seq: int
    event_id: str
    applied: bool
    newly_at_risk: int = 0


@dataclass(slots=True)
class _Batch:
    """One transaction's work in one project: the slice, and what is still to be written of it."""

    here: Slice
    depended: set[NodeId] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    newly: dict[int, int] = field(default_factory=dict)


class _NothingTaken(Exception):
    """Rolls back a transaction in which no event was appended, so that not even a project is left behind."""


class Store:
    """A database that holds projects.

    Made by ``Store.open``; closed by leaving its context. All sessions of a store share their bookmarks, so that what
    it has written it reads, also from another member of a cluster.
    """

    def __init__(self, driver: AsyncDriver, database: str) -> None:
        self.driver = driver
        self.database = database
        self._bookmarks = AsyncGraphDatabase.bookmark_manager()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, uri: str, username: str, password: str, database: str = "neo4j"
    ) -> AsyncIterator[Store]:
        """Connect, install what the schema lacks, and close at the end.

        Raises:
            UnavailableError: no such server, or it refuses the credentials.
        """
        driver = AsyncGraphDatabase.driver(
            uri,
            auth=(username, password),
            connection_timeout=3.0,
            connection_acquisition_timeout=5.0,
            max_transaction_retry_time=RETRY_SECONDS,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
            user_agent="whence",
        )
        async with driver:
            try:
                await driver.verify_connectivity()
                await schema.install(driver, database)
            except (Neo4jError, DriverError) as error:
                raise _unavailable(error) from error
            yield cls(driver, database)

    async def read(self, name: str, *, depth: int | None = None, seconds: float = READ_SECONDS, **params: Any) -> list[Row]:
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

        async def work(tx: AsyncManagedTransaction) -> list[Row]:
            return await (await tx.run(query.text, params)).data()

        return await self._managed(work, neo4j.READ_ACCESS, seconds)

    async def stream(self, name: str, page: Callable[[Row | None], Mapping[str, Any]], size: int) -> AsyncIterator[Row]:
        """All rows of a paged read statement, one page in memory at a time.

        Args:
            name: A statement with a ``$first`` parameter and rows in a total order.
            page: The parameters of the page that follows a row; of the first page for None.
            size: Rows a page.
        """
        last: Row | None = None
        while True:
            rows = await self.read(name, seconds=BATCH_SECONDS, first=size, **page(last))
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
            InDoubtError: the answer to the commit was lost and the database could not be asked again.
            UnavailableError: nothing was taken.
        """
        attempt = _Attempt(self, commands, now, restored)
        try:
            return await self._write(attempt.run, seconds)
        except _NothingTaken:
            return attempt.answers

    async def _write(self, work: Callable[[AsyncManagedTransaction], Awaitable[T]], seconds: float) -> T:
        """Run a write once more where the answer to its commit was lost: its event ids make that safe."""
        for last_try in (False, True):
            try:
                return await self._managed(work, neo4j.WRITE_ACCESS, seconds)
            except IncompleteCommit as error:
                if last_try:
                    raise InDoubtError(
                        "the answer to the commit was lost",
                        allowed="the same request with the same event id",
                    ) from error
        raise InternalError("unreachable")

    async def _managed(
        self, work: Callable[[AsyncManagedTransaction], Awaitable[T]], access: str, seconds: float
    ) -> T:
        timed = neo4j.unit_of_work(timeout=seconds)(work)
        try:
            async with asyncio.timeout(seconds + _SLACK_SECONDS):
                async with self.driver.session(
                    database=self.database, default_access_mode=access, bookmark_manager=self._bookmarks
                ) as session:
                    if access == neo4j.READ_ACCESS:
                        return await session.execute_read(timed)
                    return await session.execute_write(timed)
        except IncompleteCommit:
            raise
        except TimeoutError as error:
            if access == neo4j.WRITE_ACCESS:
                raise InDoubtError(
                    f"the database did not answer within {seconds:.0f} s",
                    allowed="the same request with the same event id",
                ) from error
            raise UnavailableError(f"the database did not answer within {seconds:.0f} s") from error
        except (Neo4jError, DriverError) as error:
            raise _ours(error) from error

    async def project_write(self, name: str, *, seconds: float = BATCH_SECONDS, **params: Any) -> list[Row]:
        """The rows of a write statement that is no event: dropping or marking a projection.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """

        async def work(tx: AsyncManagedTransaction) -> list[Row]:
            return await (await tx.run(queries.load(name).text, params)).data()

        return await self._managed(work, neo4j.WRITE_ACCESS, seconds)

    async def peek(self, project: str, needs: Sequence[Needs]) -> Slice:
        """The slice that commands would meet now; nothing is locked, so it may be old when it is used."""

        async def work(tx: AsyncManagedTransaction) -> Slice:
            here = (await _load(tx, project, needs)).here
            heads = await _run(tx, "project_head", project=project)
            if heads:
                here.head = Head(heads[0]["seq"], heads[0]["hash"], _at(heads[0]["recorded_at"]))
            return here

        return await self._managed(work, neo4j.READ_ACCESS, BATCH_SECONDS)

    async def marked(self, project: str) -> tuple[Head, frozenset[NodeId]]:
        """A project's head and the nodes that are at risk at that very position; writers wait for the moment it takes.

        Raises:
            NotFoundError: there is no such project.
        """

        async def work(tx: AsyncManagedTransaction) -> tuple[Head, frozenset[NodeId]]:
            if not await _run(tx, "project_head", project=project):
                raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
            head = await _lock(tx, project)
            rows = await _run(tx, "risk_marked", project=project)
            return head, frozenset((row["key"], row["generation"]) for row in rows)

        return await self._managed(work, neo4j.WRITE_ACCESS, READ_SECONDS)

    async def replay(self, project: str, events: Sequence[Event]) -> None:
        """Fold events of a project's journal into its projection again, in one transaction."""

        async def work(tx: AsyncManagedTransaction) -> None:
            await _lock(tx, project, rebuilding=True)
            batch = await _load(tx, project, [lifecycle.needs(event) for event in events])
            for event in events:
                lifecycle.evolve(batch.here, event)
                await _mark(tx, batch, event)
            batch.events = list(events)
            await _flush(tx, batch)
            await _attach(tx, batch)

        await self._managed(work, neo4j.WRITE_ACCESS, BATCH_SECONDS)


class _Attempt:
    """One run of a batch through a transaction; repeatable, since nothing in it is made anew."""

    def __init__(
        self, store: Store, commands: Sequence[Command], now: datetime, restored: Mapping[str, Event] | None
    ) -> None:
        self._commands = commands
        self._now = now
        self._restored = restored
        self._seen: dict[tuple[str, str], tuple[str, Taken]] = {}
        self.answers: list[Taken | KnowledgeError] = []

    async def run(self, tx: AsyncManagedTransaction) -> list[Taken | KnowledgeError]:
        """Decide, write and answer; raises ``_NothingTaken`` where no event came of it."""
        self.answers = []
        batches = await self._loaded(tx)
        slices = {name: batch.here for name, batch in batches.items()}
        for command in self._commands:
            self.answers.append(await self._take(tx, command, batches, slices))
        if not any(batch.events for batch in batches.values()):
            raise _NothingTaken
        for batch in batches.values():
            if batch.events:
                await _commit_batch(tx, batch)
            elif batch.here.head.seq == 0:
                await _run(tx, "project_drop_empty", project=batch.here.project)
        return self.answers

    async def _loaded(self, tx: AsyncManagedTransaction) -> dict[str, _Batch]:
        batches: dict[str, _Batch] = {}

        async def load(project: str, found: Sequence[Needs]) -> Slice:
            batches[project] = await _load(tx, project, found)
            return batches[project].here

        # Heads are locked in one order everywhere, so that two transfers cannot wait for each other.
        projects = sorted(lifecycle.projects(self._commands, rules=self._restored is None))
        heads = {project: await _lock(tx, project) for project in projects}
        await lifecycle.gather(self._commands, load, rules=self._restored is None)
        for project, head in heads.items():
            batches[project].here.head = head
        return batches

    async def _take(
        self,
        tx: AsyncManagedTransaction,
        command: Command,
        batches: Mapping[str, _Batch],
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
            return await self._standing(tx, batches[command.project], command, decision.standing)
        newly = 0
        for event in decision.events:
            batch = batches[event.project]
            lifecycle.evolve(batch.here, event)
            batch.events.append(event)
            batch.newly[event.seq] = await _mark(tx, batch, event)
            newly += batch.newly[event.seq]
        own = decision.events[0]
        return self._remember(command, own, Taken(
            own.project, own.key, own.generation, own.seq, own.event_id, applied=True, newly_at_risk=newly
        ))

    def _remember(self, command: Command, own: Event, taken: Taken) -> Taken:
        self._seen[command.project, own.event_id] = (own.hash, taken)
        return taken

    async def _standing(
        self, tx: AsyncManagedTransaction, batch: _Batch, command: Command, seq: int
    ) -> Taken:
        event = next((e for e in batch.here.events.values() if e.seq == seq), None)
        newly = batch.newly.get(seq)
        if event is None or newly is None:
            rows = await _run(tx, "events_at", project=command.project, seqs=[seq])
            event, newly = event_of(rows[0]["event"]), rows[0]["event"]["newly_at_risk"] or 0
        committed = self._seen.get((command.project, event.event_id))
        if committed is not None and committed[0] == event.hash and event.event_id == command.event_id:
            # Our own earlier attempt was committed although its answer was lost.
            return committed[1]
        return Taken(
            event.project, event.key, event.generation, event.seq, event.event_id, applied=False, newly_at_risk=newly
        )


async def _run(tx: AsyncManagedTransaction, name: str, **params: Any) -> list[Row]:
    return await (await tx.run(queries.load(name).text, params)).data()


async def _lock(tx: AsyncManagedTransaction, project: str, *, rebuilding: bool = False) -> Head:
    row = (await _run(tx, "project_lock", project=project))[0]
    if row["rebuilding"] and not rebuilding:
        raise UnavailableError(f"the projection of {project!r} is being rebuilt", allowed="the same request later")
    return Head(row["seq"], row["hash"] or GENESIS_HASH, _instant(row["recorded_at"]))


async def _load(tx: AsyncManagedTransaction, project: str, needs: Iterable[Needs]) -> _Batch:
    found = list(needs)
    row = (
        await _run(
            tx,
            "slice_load",
            project=project,
            keys=_distinct(key for n in found for key in n.keys),
            generations=_distinct(g for n in found for g in n.generations),
            edges=_distinct((a, r.value.upper(), b) for n in found for a, r, b in n.edges),
            superseded=_distinct(key for n in found for key in n.superseded),
            evidence_keys=_distinct(key for n in found for key in n.evidence_keys),
            standing=_distinct(key for n in found for key in n.standing),
            event_ids=_distinct(key for n in found for key in n.event_ids),
        )
    )[0]
    here = Slice(project)
    batch = _Batch(here)
    for raw in row["nodes"]:
        node = node_of(project, raw)
        here.nodes[node.id] = node
        here.newest[node.key] = max(raw["newest"], here.newest.get(node.key, 0))
        if raw["depended"]:
            batch.depended.add(node.id)
    for raw in row["edges"]:
        edge = edge_of(raw)
        here.edges[edge.id] = edge
    here.evidence = {raw["key"]: evidence_of(raw) for raw in row["evidence"]}
    here.evidenced = {((raw["node"][0], raw["node"][1]), raw["evidence"]): raw["seq"] for raw in row["evidenced"]}
    for raw in row["events"]:
        here.events[raw["event_id"]] = event_of(raw)
        batch.newly[raw["seq"]] = raw["newly_at_risk"] or 0
    return batch


def _distinct(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


async def _mark(tx: AsyncManagedTransaction, batch: _Batch, event: Event) -> int:
    """Bring the at_risk marks to where the event leaves them; the number of nodes newly marked.

    Most events change no mark, and the slice shows which: only for the others is what they rest on written out and
    the walk made.
    """
    here, changed = batch.here, risk.change(event)
    newly = 0
    if changed.retired is not None and changed.retired in batch.depended:
        newly += await _spread(tx, batch, changed.retired, event.seq)
    for source, key in changed.linked:
        target = here.nodes[key, here.newest[key]]
        batch.depended.add(target.id)
        newly += await _threaten(tx, batch, source, target)
    if changed.cleared is not None:
        await _clear(tx, batch, changed.cleared)
    return newly


async def _threaten(tx: AsyncManagedTransaction, batch: _Batch, source: NodeId, target: Node) -> int:
    node, seq = batch.here.nodes[source], target.retired_seq or target.risk_seq
    if seq is None or node.retired or max(node.verified_seq or 0, node.risk_seq or 0) >= seq:
        return 0
    return await _spread(tx, batch, source, seq)


async def _spread(tx: AsyncManagedTransaction, batch: _Batch, start: NodeId, seq: int) -> int:
    await _flush(tx, batch)
    row = (
        await _run(
            tx,
            "risk_spread",
            project=batch.here.project,
            key=start[0],
            generation=start[1],
            seq=seq,
            watched=[key for key, _ in batch.here.nodes],
        )
    )[0]
    for key, generation in row["seen"]:
        _set_risk(batch.here, (key, generation), seq)
    return row["newly"]


def _set_risk(here: Slice, node: NodeId, seq: int | None) -> None:
    if node in here.nodes:
        here.nodes[node] = replace(here.nodes[node], risk_seq=seq)


async def _clear(tx: AsyncManagedTransaction, batch: _Batch, start: NodeId) -> None:
    seq = batch.here.nodes[start].risk_seq
    if seq is None:
        return
    await _flush(tx, batch)
    project = batch.here.project
    rows = await _run(tx, "risk_reach", project=project, key=start[0], generation=start[1], seq=seq)
    verified: dict[NodeId, int] = {(row["key"], row["generation"]): row["verified_seq"] for row in rows}
    dependents: dict[NodeId, list[NodeId]] = {}
    threats: list[tuple[NodeId, int]] = []
    for row in rows:
        node = (row["key"], row["generation"])
        for key, generation, threat in row["rests_on"]:
            if (key, generation) in verified:
                dependents.setdefault((key, generation), []).append(node)
            else:
                threats.append((node, threat))
    found = risk.marks(verified, dependents, threats)
    settled = [[*node, found.get(node)] for node in verified if found.get(node) != seq]
    await _run(tx, "risk_settle", project=project, rows=settled)
    for key, generation, mark in settled:
        _set_risk(batch.here, (key, generation), mark)


async def _commit_batch(tx: AsyncManagedTransaction, batch: _Batch) -> None:
    head = batch.here.head
    assert head.recorded_at is not None, "a batch that appended events has a head with a recorded time"
    await _flush(tx, batch)
    await _run(tx, "events_put", rows=[_event_row(e, batch.newly[e.seq]) for e in batch.events])
    await _attach(tx, batch)
    await _run(
        tx,
        "project_advance",
        project=batch.here.project,
        seq=head.seq,
        hash=head.hash,
        recorded_at=instant_text(head.recorded_at),
    )


async def _flush(tx: AsyncManagedTransaction, batch: _Batch) -> None:
    """Write the nodes and edges that changed since the last time."""
    here = batch.here
    if here.changed_nodes:
        rows = [_node_row(here.nodes[node]) for node in sorted(here.changed_nodes)]
        await _run(tx, "nodes_put", project=here.project, rows=rows)
        here.changed_nodes.clear()
    if here.changed_edges:
        rows = [_edge_row(here.edges[edge]) for edge in sorted(here.changed_edges)]
        await _run(tx, "edges_put", project=here.project, rows=rows)
        here.changed_edges.clear()


async def _attach(tx: AsyncManagedTransaction, batch: _Batch) -> None:
    """Write new evidence, what stands on it, and what the events are about."""
    here, project = batch.here, batch.here.project
    if here.new_evidence:
        rows = [_evidence_row(here.evidence[key]) for key in sorted(here.new_evidence)]
        await _run(tx, "evidence_put", project=project, rows=rows)
    first = batch.events[0].seq if batch.events else 0
    stands = [
        {"key": key, "generation": generation, "evidence": evidence, "seq": seq}
        for ((key, generation), evidence), seq in here.evidenced.items()
        if seq >= first
    ]
    if stands:
        await _run(tx, "evidence_attach", project=project, rows=stands)
    await _run(tx, "events_attach", project=project, rows=[_about_row(event) for event in batch.events])


def _about_row(event: Event) -> Row:
    nodes = [[event.key, event.generation]]
    if event.transition is Transition.CORRECTED:
        nodes.append([event.key, event.generation + 1])
    return {"seq": event.seq, "nodes": nodes, "caused_by": list(event.caused_by)}


def _node_row(node: Node) -> Row:
    return {
        "key": node.key,
        "generation": node.generation,
        "proposition": node.proposition,
        "kind": node.kind.value,
        "state": node.state.value,
        "valid_from": instant_text(node.valid_from),
        "valid_to": _text(node.valid_to),
        "created_at": instant_text(node.created_at),
        "created_seq": node.created_seq,
        "updated_at": instant_text(node.updated_at),
        "updated_seq": node.updated_seq,
        "verified_at": _text(node.verified_at),
        "verified_seq": node.verified_seq,
        "retired_seq": node.retired_seq,
        "uses": node.uses,
        "helpful": node.helpful,
        "harmful": node.harmful,
        "unsupported": node.unsupported,
        "forgotten": node.forgotten,
        "confirmed_by": None if node.confirmed_by is None else node.confirmed_by.value,
        "lineage": node.lineage,
        "labels": labels_of(node),
    }


def labels_of(node: Node) -> list[str]:
    """The labels that a node carries beside ``Knowledge`` and ``AtRisk``, so that analysts can colour and filter."""
    labels = [node.state.value.capitalize(), node.kind.value.capitalize()]
    return labels + ["Retired"] * node.retired + ["Forgotten"] * node.forgotten


def node_of(project: str, raw: Row) -> Node:
    """A node from the map that ``slice_load`` and ``export_nodes`` return."""
    confirmed_by = raw["confirmed_by"]
    return Node(
        project=project,
        key=raw["key"],
        generation=raw["generation"],
        proposition=raw["proposition"],
        kind=Kind(raw["kind"]),
        state=State(raw["state"]),
        valid_from=_at(raw["valid_from"]),
        valid_to=_instant(raw["valid_to"]),
        created_at=_at(raw["created_at"]),
        created_seq=raw["created_seq"],
        updated_at=_at(raw["updated_at"]),
        updated_seq=raw["updated_seq"],
        verified_at=_instant(raw["verified_at"]),
        verified_seq=raw["verified_seq"],
        retired_seq=raw["retired_seq"],
        risk_seq=raw["risk_seq"],
        uses=raw["uses"],
        helpful=raw["helpful"],
        harmful=raw["harmful"],
        unsupported=raw["unsupported"],
        forgotten=raw["forgotten"],
        confirmed_by=None if confirmed_by is None else ActorType(confirmed_by),
        lineage=raw["lineage"],
    )


def _edge_row(edge: Edge) -> Row:
    return {
        "from": list(edge.source),
        "relation": edge.relation.value.upper(),
        "to": list(edge.target),
        "turns": list(edge.turns),
        "times": [instant_text(time) for time in edge.times],
        "event_ids": list(edge.event_ids),
        "since": instant_text(edge.times[-1 if edge.live else -2]),
        "until": None if edge.live else instant_text(edge.times[-1]),
    }


def edge_of(raw: Row) -> Edge:
    """An edge from the map that ``slice_load`` and ``export_edges`` return."""
    return Edge(
        source=(raw["from"][0], raw["from"][1]),
        relation=Relation(raw["relation"].lower()),
        target=(raw["to"][0], raw["to"][1]),
        turns=tuple(raw["turns"]),
        times=tuple(_at(time) for time in raw["times"]),
        event_ids=tuple(raw["event_ids"]),
    )


def _evidence_row(evidence: Evidence) -> Row:
    return {
        "key": evidence.key,
        "type": evidence.type,
        "source": evidence.source,
        "timestamp": instant_text(evidence.timestamp),
        "hash": evidence.hash,
        "artifact_ref": evidence.artifact_ref,
        "metadata": evidence.metadata,
    }


def evidence_of(raw: Row) -> Evidence:
    """Evidence from the map that ``slice_load`` and ``evidence_page`` return."""
    return Evidence(
        key=raw["key"],
        type=raw["type"],
        source=raw["source"],
        timestamp=_at(raw["timestamp"]),
        hash=raw["hash"],
        artifact_ref=raw["artifact_ref"],
        metadata=raw["metadata"],
    )


def _event_row(event: Event, newly_at_risk: int) -> Row:
    return {
        "project": event.project,
        "seq": event.seq,
        "event_id": event.event_id,
        "transition": event.transition.value,
        "key": event.key,
        "generation": event.generation,
        "actor_issuer": event.actor.issuer,
        "actor_subject": event.actor.subject,
        "actor_type": event.actor.type.value,
        "time": instant_text(event.time),
        "recorded_at": instant_text(event.recorded_at),
        "reason": event.reason,
        "caused_by": list(event.caused_by),
        "execution": None if event.execution is None else canonical(event.execution),
        "payload": canonical(event.payload),
        "state_after": event.state_after.value,
        "verifies": event.transition is Transition.CONFIRMED and "evidence" in event.payload,
        "newly_at_risk": newly_at_risk,
        "prev_hash": event.prev_hash,
        "hash": event.hash,
    }


def event_of(raw: Row) -> Event:
    """An event from the map that ``events_*`` and ``slice_load`` return."""
    return Event(
        project=raw["project"],
        seq=raw["seq"],
        event_id=raw["event_id"],
        transition=Transition(raw["transition"]),
        key=raw["key"],
        generation=raw["generation"],
        actor=Actor(raw["actor_issuer"], raw["actor_subject"], ActorType(raw["actor_type"])),
        time=_at(raw["time"]),
        recorded_at=_at(raw["recorded_at"]),
        reason=raw["reason"],
        caused_by=tuple(raw["caused_by"]),
        execution=None if raw["execution"] is None else cast(Json, json.loads(raw["execution"])),
        payload=cast(Json, json.loads(raw["payload"])),
        state_after=State(raw["state_after"]),
        prev_hash=raw["prev_hash"],
        hash=raw["hash"],
    )


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant_text(instant)


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _unavailable(error: Exception) -> UnavailableError:
    if isinstance(error, AuthError):
        return UnavailableError("the database refuses the credentials", field="NEO4J_PASSWORD")
    return UnavailableError("the database cannot be had")


def _ours(error: Neo4jError | DriverError) -> KnowledgeError:
    """The one table from the driver's errors to ours; database text goes to the log only."""
    _LOG.warning("database error %s: %s", getattr(error, "code", type(error).__name__), error)
    code = getattr(error, "code", "") or ""
    if "TransactionTimedOut" in code or "LockClient" in code:
        return UnavailableError("the database did not answer in time")
    if "MemoryPoolOutOfMemory" in code or "OutOfMemory" in code:
        return LimitError("the request needs more memory than the database grants one", allowed="a smaller request")
    if isinstance(error, ClientError) and not isinstance(error, AuthError):
        return InternalError("the database refused a statement")
    if isinstance(error, ServiceUnavailable | DriverError | AuthError | Neo4jError):
        return _unavailable(error)
    return InternalError("the database failed")
