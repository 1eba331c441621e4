"""One transaction's work in one project: lock its head, load a slice, bring marks along, write what changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from neo4j import AsyncManagedTransaction

from graph import observed, queries, risk
from graph.errors import UnavailableError
from graph.journal import GENESIS_HASH, Event, Head
from graph.knowledge import NodeId, instant_text
from graph.rows import (
    Row,
    about_row,
    changed_node_row,
    edge_of,
    edge_row,
    event_of,
    event_row,
    evidence_of,
    evidence_row,
    instant,
    new_node_row,
    node_of,
)
from graph.slices import Needs, Slice, link_ids
from graph.untold import untold

T = TypeVar("T")
Statement = tuple[str, dict[str, Any]]
"""A statement's name and its parameters."""


@dataclass(slots=True)
class Batch:
    """One transaction's work in one project: the slice, and what is still to be written of it.

    Attributes:
        here: The slice.
        depended: Its nodes on which others rest or have rested, so that their marks may lead to others.
        events: The events to append.
        newly: How many nodes each event newly marked, by its position.
        marked: Marks that changed here and not yet in the database, 0 for none; of live nodes.
        walked: Whether a walk has changed marks in the database since the slice's own were read.
    """

    here: Slice
    depended: set[NodeId] = field(default_factory=set[NodeId])
    events: list[Event] = field(default_factory=list[Event])
    newly: dict[int, int] = field(default_factory=dict[int, int])
    marked: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    walked: bool = False


async def run(tx: AsyncManagedTransaction, name: str, **params: Any) -> list[Row]:
    """The rows of a statement in this transaction, each a map by column."""

    async def asked() -> list[Row]:
        return await (await tx.run(queries.load(name).text, untold(params))).data()

    return await observed.statement(name, asked(), len)


async def lock(tx: AsyncManagedTransaction, project: str, *, rebuilding: bool = False) -> Head:
    """Take a project's head, which is made if it is not there; other writers of the project wait.

    Raises:
        UnavailableError: the projection is being rebuilt, and not by the caller.
    """
    row = (await run(tx, "project_lock", project=project))[0]
    if row["rebuilding"] and not rebuilding:
        raise UnavailableError(f"the projection of {project!r} is being rebuilt", allowed="the same request later")
    return Head(row["seq"], row["hash"] or GENESIS_HASH, instant(row["recorded_at"]))


async def load(tx: AsyncManagedTransaction, project: str, needs: Iterable[Needs]) -> Batch:
    """The slice of a project that holds what is needed, in one statement."""
    found = list(needs)
    row = (
        await run(
            tx,
            "slice_load",
            project=project,
            wanted={
                "keys": _distinct(key for n in found for key in n.keys),
                "generations": _distinct(g for n in found for g in n.generations),
                "edges": _distinct((a, r.value.upper(), b) for n in found for a, r, b in n.edges),
                "superseded": _distinct(key for n in found for key in n.superseded),
                "evidence_keys": _distinct(key for n in found for key in n.evidence_keys),
                "standing": _distinct(key for n in found for key in n.standing),
                "event_ids": _distinct(key for n in found for key in n.event_ids),
                "awaited": _distinct(key for n in found for key, _ in n.awaited),
            },
        )
    )[0]
    here = Slice(project)
    batch = Batch(here)
    for raw in row["nodes"]:
        node = node_of(project, raw)
        here.hold(node, newest=raw["newest"])
        if raw["depended"]:
            batch.depended.add(node.id)
    for raw in row["edges"]:
        here.put_edge(edge_of(raw))
    here.evidence = {raw["key"]: evidence_of(raw) for raw in row["evidence"]}
    here.evidenced = {((raw["node"][0], raw["node"][1]), raw["evidence"]): raw["seq"] for raw in row["evidenced"]}
    for raw in row["events"]:
        here.events[raw["event_id"]] = event_of(raw)
        batch.newly[raw["seq"]] = raw["newly_at_risk"] or 0
    await _load_links(tx, batch, found)
    return batch


async def _load_links(tx: AsyncManagedTransaction, batch: Batch, needs: Sequence[Needs]) -> None:
    """Look whether the ids are free that links get which were waiting for what the batch makes."""
    ids = link_ids(needs, batch.here.waiting())
    if ids:
        for row in await run(tx, "events_named", project=batch.here.project, event_ids=ids):
            event = event_of(row["event"])
            batch.here.events[event.event_id] = event


def _distinct(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


async def mark(tx: AsyncManagedTransaction, batch: Batch, event: Event) -> int:
    """Bring the at_risk marks to where the event leaves them; the number of nodes newly marked.

    Most events change no mark, and the slice shows which; where nothing rests on a node its own mark is all. Only for
    the others is what they rest on written out and the walk made.
    """
    here, changed = batch.here, risk.change(event)
    newly = 0
    if changed.retired is not None:
        batch.marked.pop(changed.retired, None)
        if changed.retired in batch.depended:
            newly += await _spread(tx, batch, changed.retired, event.seq)
    for source, key in changed.linked:
        target = (key, here.newest[key])
        batch.depended.add(target)
        newly += await _threaten(tx, batch, source, target)
    if changed.cleared is not None:
        await _clear(tx, batch, changed.cleared)
    return newly


async def _threaten(tx: AsyncManagedTransaction, batch: Batch, source: NodeId, target: NodeId) -> int:
    await _reread(tx, batch)
    node, threat = batch.here.nodes[source], batch.here.nodes[target]
    seq = threat.retired_seq or threat.risk_seq
    if seq is None or node.retired or max(node.verified_seq or 0, node.risk_seq or 0) >= seq:
        return 0
    if source in batch.depended:
        return await _spread(tx, batch, source, seq)
    _mark_alone(batch, source, seq)
    return node.risk_seq is None


async def _clear(tx: AsyncManagedTransaction, batch: Batch, start: NodeId) -> None:
    await _reread(tx, batch)
    node = batch.here.nodes[start]
    seq = node.risk_seq
    if seq is None:
        return
    if start not in batch.depended and (node.verified_seq or 0) > seq:
        _mark_alone(batch, start, None)
    else:
        await _walk(tx, batch, "risk_clear", start, seq)


async def _spread(tx: AsyncManagedTransaction, batch: Batch, start: NodeId, seq: int) -> int:
    return (await _walk(tx, batch, "risk_spread", start, seq))["newly"]


async def _walk(tx: AsyncManagedTransaction, batch: Batch, name: str, start: NodeId, seq: int) -> Row:
    """Change marks in the database, whatever their number; the slice's are out of date then."""
    await flush(tx, batch)
    key, generation = start
    row = (await run(tx, name, project=batch.here.project, key=key, generation=generation, seq=seq))[0]
    batch.walked = True
    return row


async def _reread(tx: AsyncManagedTransaction, batch: Batch) -> None:
    """Bring the slice's marks up to date, which only they need who look at them: telling a walk's would slow it."""
    if not batch.walked:
        return
    nodes = batch.here.nodes
    # What this batch has retired may still carry its mark in the database, and never does here.
    live = [node_id for node_id, node in nodes.items() if not node.retired]
    rows = await run(tx, "marks_get", project=batch.here.project, ids=live)
    marks = {(row["key"], row["generation"]): row["risk_seq"] for row in rows}
    for node_id in live:
        nodes[node_id] = replace(nodes[node_id], risk_seq=marks.get(node_id))
    batch.walked = False


def _mark_alone(batch: Batch, node: NodeId, seq: int | None) -> None:
    batch.here.nodes[node] = replace(batch.here.nodes[node], risk_seq=seq)
    batch.marked[node] = seq or 0


async def write(tx: AsyncManagedTransaction, batch: Batch) -> None:
    """Append the batch's events with all that they changed, and move the head."""
    for name, params in appended(batch):
        await run(tx, name, **params)


def appended(batch: Batch) -> Iterator[Statement]:
    """The statements that append the batch's events with all that they changed, and move the head."""
    here, head = batch.here, batch.here.head
    assert head.recorded_at is not None, "a batch that appended events has a head with a recorded time"
    yield from _changes(batch)
    yield from _with_rows(here, "events_create", (_event_row(batch, event) for event in batch.events))
    brought = {((event.key, event.generation), event.seq) for event in batch.events}
    yield from _with_rows(
        here,
        "evidence_attach",
        (
            row
            for row in _stands(batch)
            if ((row["key"], row["generation"]), here.new_evidence.get(row["evidence"])) not in brought
        ),
    )
    yield from _with_rows(
        here,
        "events_attach",
        (row for row in map(about_row, batch.events) if row["caused_by"] or len(row["nodes"]) > 1),
    )
    at = instant_text(head.recorded_at)
    yield "project_advance", {"project": here.project, "seq": head.seq, "hash": head.hash, "recorded_at": at}


async def flush(tx: AsyncManagedTransaction, batch: Batch) -> None:
    """Write the nodes, edges and marks that changed since the last time."""
    for name, params in _changes(batch):
        await run(tx, name, **params)
    here = batch.here
    for noted in (here.new_nodes, here.changed_nodes, here.new_edges, here.changed_edges, batch.marked):
        noted.clear()


def _changes(batch: Batch) -> Iterator[Statement]:
    here = batch.here
    nodes = (
        [here.nodes[node] for node in sorted(found)] for found in (here.new_nodes, here.changed_nodes - here.new_nodes)
    )
    edges = (
        [here.edges[edge] for edge in sorted(found)] for found in (here.new_edges, here.changed_edges - here.new_edges)
    )
    yield from _with_rows(here, "nodes_create", map(new_node_row, next(nodes)))
    yield from _with_rows(here, "nodes_put", map(changed_node_row, next(nodes)))
    yield from _with_rows(here, "edges_create", map(edge_row, next(edges)))
    yield from _with_rows(here, "edges_put", map(edge_row, next(edges)))
    yield from _with_rows(here, "marks_put", ([*node, seq] for node, seq in sorted(batch.marked.items())))


def _event_row(batch: Batch, event: Event) -> Row:
    here = batch.here
    keys = [record["key"] for record in event.payload.get("evidence", ())]
    brought = [here.evidence[key] for key in keys if here.new_evidence.get(key) == event.seq]
    return {"event": event_row(event, batch.newly[event.seq]), "evidence": list(map(evidence_row, brought))}


def _stands(batch: Batch) -> Iterator[Row]:
    first = batch.events[0].seq if batch.events else 0
    for ((key, generation), evidence), seq in batch.here.evidenced.items():
        if seq >= first:
            yield {"key": key, "generation": generation, "evidence": evidence, "seq": seq}


def _with_rows(here: Slice, name: str, rows: Iterable[object]) -> Iterator[Statement]:
    if found := list(rows):
        yield name, {"project": here.project, "rows": found}
