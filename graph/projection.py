"""What an event makes of the state before it: the fold whose result is the projection (rules.md sections 1 to 4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from graph.concept import Verdict, concept_of, concept_text
from graph.journal import Event, Head, canonical, evidence_of
from graph.knowledge import Edge, Kind, Node, NodeId, Relation, State, Transition
from graph.slices import Slice


def evolve(here: Slice, event: Event) -> None:
    """Fold one event into the slice; the fold of a whole journal is the projection.

    Args:
        here: Holds what ``needs(event)`` names; changed in place, the changes noted in it.
        event: The next event of the project's journal.
    """
    here.head = Head(event.seq, event.hash, event.recorded_at)
    here.events[event.event_id] = event
    _EVOLVE.get(event.transition, _touch)(here, event)
    if event.transition is Transition.CORRECTED:
        _stand_on(here, (event.key, event.generation + 1), event)
    _stand_on(here, (event.key, event.generation), event)


def _touch(here: Slice, event: Event, **changed: Any) -> None:
    node = here.nodes[event.key, event.generation]
    here.put(replace(node, state=event.state_after, updated_at=event.recorded_at, updated_seq=event.seq, **changed))


def _stand_on(here: Slice, node_id: NodeId, event: Event) -> None:
    for evidence in evidence_of(event.payload):
        if evidence.key not in here.evidence:
            here.evidence[evidence.key] = evidence
            here.new_evidence[evidence.key] = event.seq
        here.evidenced.setdefault((node_id, evidence.key), event.seq)


def _proposed(here: Slice, event: Event) -> None:
    payload = event.payload
    here.put(
        Node(
            project=event.project,
            key=event.key,
            generation=event.generation,
            proposition=payload["proposition"],
            kind=Kind(payload["kind"]),
            state=State.PROPOSED,
            valid_from=datetime.fromisoformat(payload["valid_from"]),
            valid_to=datetime.fromisoformat(payload["valid_to"]) if "valid_to" in payload else None,
            created_at=event.time,
            created_seq=event.seq,
            updated_at=event.recorded_at,
            updated_seq=event.seq,
            lineage=_json_text(payload.get("lineage")),
            concept=_json_text(payload.get("concept")),
            dangling=_dangling(here, event),
        )
    )
    _follow_links(here, event, event.generation)
    for relation in payload.get("relations", ()):
        _open_edge(here, event, (event.key, event.generation), Relation(relation["relation"]), relation["to"])


def _json_text(value: object) -> str | None:
    return None if value is None else canonical(value)


def _links(event: Event) -> list[str]:
    """What the concept in an event links to, itself left out."""
    return [to for to in event.payload.get("concept", {}).get("links", ()) if to != event.key]


def _dangling(here: Slice, event: Event) -> tuple[str, ...]:
    return tuple(to for to in _links(event) if not here.newest.get(to))


def _follow_links(here: Slice, event: Event, generation: int) -> None:
    """Open an edge to each node that the concept in an event links to and that is there."""
    for to in _links(event):
        if here.newest.get(to):
            _open_edge(here, event, (event.key, generation), Relation.RELATED_TO, to)


def _sighted(here: Slice, event: Event) -> None:
    node, payload = here.nodes[event.key, event.generation], event.payload
    assert node.concept is not None, "only a concept is sighted, or decide() would have refused it"
    counted = payload["verdict"] == Verdict.SAME
    concept = concept_of(event.key, node.concept).seen(payload["said"], counted=counted)
    _touch(here, event, concept=concept_text(concept))


def _confirmed(here: Slice, event: Event) -> None:
    if event.payload.get("evidence"):
        _touch(here, event, confirmed_by=event.actor.type, verified_at=event.time, verified_seq=event.seq)
    else:
        _touch(here, event, confirmed_by=event.actor.type)


def _retired(here: Slice, event: Event) -> None:
    node = here.nodes[event.key, event.generation]
    ends = event.time
    if event.transition is Transition.SUPERSEDED:
        successor = here.nodes[event.payload["by"], here.newest[event.payload["by"]]]
        ends = successor.valid_from
        _open_edge_between(here, event, successor.id, Relation.SUPERSEDES, node.id)
    _touch(here, event, valid_to=max(node.valid_from, ends), retired_seq=event.seq, risk_seq=None)


def _corrected(here: Slice, event: Event) -> None:
    _retired(here, event)
    old = here.nodes[event.key, event.generation]
    new = Node(
        project=old.project,
        key=old.key,
        generation=old.generation + 1,
        proposition=event.payload["proposition"],
        kind=old.kind,
        state=State.PROPOSED,
        valid_from=event.time,
        valid_to=None,
        created_at=event.time,
        created_seq=event.seq,
        updated_at=event.recorded_at,
        updated_seq=event.seq,
        concept=_json_text(event.payload.get("concept")),
        dangling=_dangling(here, event),
    )
    here.put(new)
    _follow_links(here, event, new.generation)
    _open_edge_between(here, event, new.id, Relation.SUPERSEDES, old.id)


def _used(here: Slice, event: Event) -> None:
    _touch(here, event, uses=here.nodes[event.key, event.generation].uses + 1)


def _hinted(here: Slice, event: Event) -> None:
    node, harmful = here.nodes[event.key, event.generation], event.payload["outcome"] == "harmful"
    _touch(
        here,
        event,
        helpful=node.helpful + (not harmful),
        harmful=node.harmful + harmful,
        unsupported=node.unsupported + (harmful and not event.payload["supported"]),
    )


def _forgotten(here: Slice, event: Event) -> None:
    _touch(here, event, forgotten=event.transition is Transition.FORGOTTEN)


def _linked(here: Slice, event: Event) -> None:
    source, relation, to = (event.key, event.generation), Relation(event.payload["relation"]), event.payload["to"]
    dangling = here.nodes[source].dangling
    if to in dangling and relation is Relation.RELATED_TO:
        dangling = tuple(target for target in dangling if target != to)
    _touch(here, event, dangling=dangling)
    _open_edge(here, event, source, relation, to)


def _open_edge(here: Slice, event: Event, source: NodeId, relation: Relation, to: str) -> None:
    _open_edge_between(here, event, source, relation, (to, here.newest[to]))


def _open_edge_between(here: Slice, event: Event, source: NodeId, relation: Relation, target: NodeId) -> None:
    old = here.edges.get((source, relation, target))
    event_ids, turns, times = ((), (), ()) if old is None else (old.event_ids, old.turns, old.times)
    if event.event_id not in event_ids[-1:]:
        event_ids = (*event_ids, event.event_id)
    if old is None or not old.live:
        turns, times = (*turns, event.seq), (*times, event.time)
    edge = Edge(source, relation, target, turns, times, event_ids)
    here.turn(edge)


def _unlinked(here: Slice, event: Event) -> None:
    _touch(here, event)
    relation, to = Relation(event.payload["relation"]), event.payload["to"]
    edge = here.live_edge((event.key, event.generation), relation, to)
    assert edge is not None, "an event that unlinks names a live edge, or decide() would have refused it"
    ended = replace(edge, turns=(*edge.turns, event.seq), times=(*edge.times, event.time))
    here.turn(ended)


_EVOLVE = {
    Transition.PROPOSED: _proposed,
    Transition.CONFIRMED: _confirmed,
    Transition.CORRECTED: _corrected,
    Transition.SUPERSEDED: _retired,
    Transition.INVALIDATED: _retired,
    Transition.DISPROVED: _retired,
    Transition.USED: _used,
    Transition.HINTED: _hinted,
    Transition.FORGOTTEN: _forgotten,
    Transition.RECALLED: _forgotten,
    Transition.LINKED: _linked,
    Transition.UNLINKED: _unlinked,
    Transition.SIGHTED: _sighted,
}
