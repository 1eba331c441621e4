"""One transaction's work in one project: lock its head, load a slice, bring marks along, write what changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from neo4j import AsyncManagedTransaction

from graph import queries, risk
from graph.errors import UnavailableError
from graph.journal import GENESIS_HASH, Event, Head
from graph.knowledge import Node, NodeId, instant_text
from graph.rows import (
    Row,
    about_row,
    edge_of,
    edge_row,
    event_of,
    event_row,
    evidence_of,
    evidence_row,
    instant,
    node_of,
    node_row,
)
from graph.slices import Needs, Slice

T = TypeVar("T")


@dataclass(slots=True)
class Batch:
    """One transaction's work in one project: the slice, and what is still to be written of it."""

    here: Slice
    depended: set[NodeId] = field(default_factory=set[NodeId])
    events: list[Event] = field(default_factory=list[Event])
    newly: dict[int, int] = field(default_factory=dict[int, int])


async def run(tx: AsyncManagedTransaction, name: str, **params: Any) -> list[Row]:
    """The rows of a statement in this transaction, each a map by column."""
    return await (await tx.run(queries.load(name).text, params)).data()


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
            },
        )
    )[0]
    here = Slice(project)
    batch = Batch(here)
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


async def mark(tx: AsyncManagedTransaction, batch: Batch, event: Event) -> int:
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


async def _threaten(tx: AsyncManagedTransaction, batch: Batch, source: NodeId, target: Node) -> int:
    node, seq = batch.here.nodes[source], target.retired_seq or target.risk_seq
    if seq is None or node.retired or max(node.verified_seq or 0, node.risk_seq or 0) >= seq:
        return 0
    return await _spread(tx, batch, source, seq)


async def _spread(tx: AsyncManagedTransaction, batch: Batch, start: NodeId, seq: int) -> int:
    await flush(tx, batch)
    row = (
        await run(
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


async def _clear(tx: AsyncManagedTransaction, batch: Batch, start: NodeId) -> None:
    seq = batch.here.nodes[start].risk_seq
    if seq is None:
        return
    await flush(tx, batch)
    project = batch.here.project
    rows = await run(tx, "risk_reach", project=project, key=start[0], generation=start[1], seq=seq)
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
    settled = {node: found.get(node) for node in verified if found.get(node) != seq}
    await run(tx, "risk_settle", project=project, rows=[[*node, newer] for node, newer in settled.items()])
    for node, newer in settled.items():
        _set_risk(batch.here, node, newer)


async def write(tx: AsyncManagedTransaction, batch: Batch) -> None:
    """Append the batch's events with all that they changed, and move the head."""
    head = batch.here.head
    assert head.recorded_at is not None, "a batch that appended events has a head with a recorded time"
    await flush(tx, batch)
    await run(tx, "events_put", rows=[event_row(e, batch.newly[e.seq]) for e in batch.events])
    await attach(tx, batch)
    await run(
        tx,
        "project_advance",
        project=batch.here.project,
        seq=head.seq,
        hash=head.hash,
        recorded_at=instant_text(head.recorded_at),
    )


async def flush(tx: AsyncManagedTransaction, batch: Batch) -> None:
    """Write the nodes and edges that changed since the last time."""
    here = batch.here
    if here.changed_nodes:
        rows = [node_row(here.nodes[node]) for node in sorted(here.changed_nodes)]
        await run(tx, "nodes_put", project=here.project, rows=rows)
        here.changed_nodes.clear()
    if here.changed_edges:
        rows = [edge_row(here.edges[edge]) for edge in sorted(here.changed_edges)]
        await run(tx, "edges_put", project=here.project, rows=rows)
        here.changed_edges.clear()


async def attach(tx: AsyncManagedTransaction, batch: Batch) -> None:
    """Write new evidence, what stands on it, and what the events are about."""
    here, project = batch.here, batch.here.project
    if here.new_evidence:
        rows = [evidence_row(here.evidence[key]) for key in sorted(here.new_evidence)]
        await run(tx, "evidence_put", project=project, rows=rows)
    first = batch.events[0].seq if batch.events else 0
    stands = [
        {"key": key, "generation": generation, "evidence": evidence, "seq": seq}
        for ((key, generation), evidence), seq in here.evidenced.items()
        if seq >= first
    ]
    if stands:
        await run(tx, "evidence_attach", project=project, rows=stands)
    await run(tx, "events_attach", project=project, rows=[about_row(event) for event in batch.events])
