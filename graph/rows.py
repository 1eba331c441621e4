"""Nouns as the rows that statements take, and the maps that statements return as nouns."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, cast

from graph.concept import described_by
from graph.journal import Event, Json, canonical, hash_of
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
from graph.words import scope

Row = dict[str, Any]
_HASHED_AS_KEPT = (
    *("event_id", "project", "seq", "transition", "key", "generation"),
    *("time", "reason", "caused_by", "state_after"),
)


def id_of(row: Row) -> NodeId:
    """Which node a map of one is: (key, generation)."""
    return (row["key"], row["generation"])


def about_row(event: Event) -> Row:
    """For ``events_attach``: a correction is about the node that it retires and the one that it makes."""
    nodes = [[event.key, event.generation]]
    if event.transition is Transition.CORRECTED:
        nodes.append([event.key, event.generation + 1])
    return {"seq": event.seq, "nodes": nodes, "caused_by": list(event.caused_by)}


def changed_node_row(node: Node) -> Row:
    """For ``nodes_put``: what events may change of a node, but for its mark."""
    return {
        "key": node.key,
        "generation": node.generation,
        "state": node.state.value,
        "valid_to": _text(node.valid_to),
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
        "concept": node.concept,
        "dangling": list(node.dangling) or None,
        "labels": labels_of(node),
    }


def node_row(node: Node) -> Row:
    """All properties of a node but its mark, and its labels."""
    return changed_node_row(node) | {
        "scope": scope(node.project),
        "proposition": node.proposition,
        "description": described_by(node.concept),
        "kind": node.kind.value,
        "valid_from": instant_text(node.valid_from),
        "created_at": instant_text(node.created_at),
        "created_seq": node.created_seq,
        "lineage": node.lineage,
    }


def new_node_row(node: Node) -> Row:
    """For ``nodes_create``."""
    row = node_row(node)
    labels = row.pop("labels")
    return {"node": row, "labels": labels}


def labels_of(node: Node) -> list[str]:
    """The labels that a node carries beside ``Knowledge`` and ``AtRisk``, so that analysts can colour and filter."""
    labels = [node.state.value.capitalize(), node.kind.value.capitalize()]
    concept = ["Concept"] * (node.concept is not None) + ["Dangling"] * (bool(node.dangling) and not node.retired)
    return labels + concept + ["Retired"] * node.retired + ["Forgotten"] * node.forgotten


def node_of(project: str, raw: Row) -> Node:
    """A node from the map that ``slice_load`` returns."""
    confirmed_by = raw["confirmed_by"]
    return Node(
        project=project,
        key=raw["key"],
        generation=raw["generation"],
        proposition=raw["proposition"],
        kind=Kind(raw["kind"]),
        state=State(raw["state"]),
        valid_from=_at(raw["valid_from"]),
        valid_to=instant(raw["valid_to"]),
        created_at=_at(raw["created_at"]),
        created_seq=raw["created_seq"],
        updated_at=_at(raw["updated_at"]),
        updated_seq=raw["updated_seq"],
        verified_at=instant(raw["verified_at"]),
        verified_seq=raw["verified_seq"],
        retired_seq=raw["retired_seq"],
        risk_seq=raw["risk_seq"] or None,
        uses=raw["uses"],
        helpful=raw["helpful"],
        harmful=raw["harmful"],
        unsupported=raw["unsupported"],
        forgotten=raw["forgotten"],
        confirmed_by=None if confirmed_by is None else ActorType(confirmed_by),
        lineage=raw["lineage"],
        concept=raw["concept"],
        dangling=tuple(raw["dangling"] or ()),
    )


def edge_row(edge: Edge) -> Row:
    """For ``edges_create`` and ``edges_put``."""
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
    """An edge from the map that ``slice_load`` returns."""
    return Edge(
        source=(raw["from"][0], raw["from"][1]),
        relation=Relation(raw["relation"].lower()),
        target=(raw["to"][0], raw["to"][1]),
        turns=tuple(raw["turns"]),
        times=tuple(_at(time) for time in raw["times"]),
        event_ids=tuple(raw["event_ids"]),
    )


def evidence_row(evidence: Evidence) -> Row:
    """For ``events_create``, and wherever evidence stands outside as a map."""
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
    """Evidence from the map that ``slice_load`` returns."""
    return Evidence(
        key=raw["key"],
        type=raw["type"],
        source=raw["source"],
        timestamp=_at(raw["timestamp"]),
        hash=raw["hash"],
        artifact_ref=raw["artifact_ref"],
        metadata=raw["metadata"],
    )


def event_row(event: Event, newly_at_risk: int) -> Row:
    """For ``events_create``."""
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


def chained_row(row: Row, recorded_at: str, prev_hash: str) -> Row:
    """The map of an event for ``events_create``, recorded then and after the event of that hash."""
    chained: Row = {"recorded_at": recorded_at, "prev_hash": prev_hash}
    hashed = chained | {name: row[name] for name in _HASHED_AS_KEPT}
    hashed["actor"] = {"issuer": row["actor_issuer"], "subject": row["actor_subject"], "type": row["actor_type"]}
    hashed["execution"] = None if row["execution"] is None else json.loads(row["execution"])
    return {**row, **chained, "hash": hash_of(hashed, row["payload"])}


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


def instant(text: str | None) -> datetime | None:
    """The instant that a text in a row stands for, if there is one."""
    return None if text is None else datetime.fromisoformat(text)
