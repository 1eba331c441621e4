"""What of a thing in the database is not as its journal makes it: every property, label and relationship of it.

Rows are what the ``audit_*`` statements return: things just as they are stored, whatever became of them. Nothing here
trusts them; values are compared with their types, and instants digit by digit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graph.journal import Event, Head
from graph.knowledge import Edge, Evidence, Node, NodeId, instant_text
from graph.rows import Row, about_row, edge_row, event_of, event_row, evidence_row, labels_of, node_row

Tie = tuple[str, str, str, int | None]
"""A relationship's type and the thing that it leads to: label, key (an event's id) and generation (of a node)."""

NODE_INSTANTS = ("valid_from", "valid_to", "created_at", "updated_at", "verified_at")
EDGE_INSTANTS = ("since", "until")
EVENT_INSTANTS = ("time", "recorded_at")


@dataclass(frozen=True, slots=True)
class Wrong:
    """What of one thing is not as the journal makes it.

    Attributes:
        sentences: Each names the thing and what is wrong with it.
        itself: Whether the thing is missing or too many, or has wrong properties or labels.
        dropped: Whether what is stored of it must go, since the journal makes no such thing or only one.
        surplus: Labels that it must lose.
        ties: Relationships from it that are missing, too many, doubled or altered.
        strays: Whether relationships lead from it or to it that belong to no two things of the project.
    """

    sentences: tuple[str, ...]
    itself: bool = False
    dropped: bool = False
    surplus: tuple[str, ...] = ()
    ties: tuple[Tie, ...] = ()
    strays: bool = False


def said(node_id: NodeId) -> str:
    """A node's name in a sentence."""
    key, generation = node_id
    return repr(key) if generation == 1 else f"{key!r} (generation {generation})"


def node_wrong(
    node_id: NodeId,
    rows: Sequence[Row],
    node: Node | None,
    edges: Iterable[Edge],
    stands: Iterable[tuple[str, int]],
    project: str,
) -> Wrong | None:
    """What is wrong with a node and with what leads from it; None when nothing is.

    Args:
        node_id: Its key and generation.
        rows: As it is stored: one row, none where it is missing, several where it is stored more than once.
        node: As the journal makes it, its mark included; None when the journal makes none.
        edges: Edges that lead from it.
        stands: The evidence that it stands on, each with the position of the event that said so first.
        project: Where it is.
    """
    name = f"the node {said(node_id)}"
    if node is None:
        return Wrong((f"{name} is not in the journal",), itself=True, dropped=True) if rows else None
    if len(rows) != 1:
        how = f"is there {len(rows)} times" if rows else "is missing"
        return Wrong((f"{name} {how}",), itself=True, dropped=bool(rows))
    row, expected_labels = rows[0], {"Knowledge", *labels_of(node), *(["AtRisk"] if node.risk_seq is not None else [])}
    properties = {k: v for k, v in node_row(node).items() if k != "labels"}
    properties |= {"project": project, "risk_seq": node.risk_seq or 0}
    sentences = [f"{p} of {name} differs" for p in _differing(_held(row), _expected(properties, NODE_INSTANTS))]
    surplus = tuple(sorted(set(row["labels"]) - expected_labels))
    if set(row["labels"]) != expected_labels:
        sentences.append(f"the labels of {name} differ")
    itself = bool(sentences)
    ties, stray, more = _ties_wrong(row["outgoing"], _node_ties(edges, stands), project, said(node_id))
    sentences += more
    if row["strays"]:
        sentences.append(f"{row['strays']} relationships lead to {name} from what is no knowledge of the project")
    strays = stray or row["strays"] > 0
    return Wrong(tuple(sentences), itself, surplus=surplus, ties=ties, strays=strays) if sentences else None


def evidence_wrong(key: str, rows: Sequence[Row], evidence: Evidence | None, project: str) -> Wrong | None:
    """What is wrong with a piece of evidence; None when nothing is. The arguments are like those of ``node_wrong``."""
    name = f"the evidence {key!r}"
    if evidence is None:
        return Wrong((f"{name} is not in the journal",), itself=True, dropped=True) if rows else None
    if len(rows) != 1:
        how = f"is there {len(rows)} times" if rows else "is missing"
        return Wrong((f"{name} {how}",), itself=True, dropped=bool(rows))
    row = rows[0]
    properties = _expected(evidence_row(evidence) | {"project": project}, ("timestamp",))
    sentences = [f"{p} of {name} differs" for p in _differing(_held(row), properties)]
    surplus = tuple(sorted(set(row["labels"]) - {"Evidence"}))
    if surplus:
        sentences.append(f"the labels of {name} differ")
    itself = bool(sentences)
    if row["strays"]:
        sentences.append(f"{row['strays']} relationships of {name} are not in the journal")
    return Wrong(tuple(sentences), itself, surplus=surplus, strays=row["strays"] > 0) if sentences else None


def stored_event(row: Row) -> Event | None:
    """The event that a row of ``audit_events`` holds; None when it holds none that can be read."""
    held = row["properties"] | dict[str, Any](row["instants"])
    try:
        return event_of({name: held.get(name) for name in _EVENT_COLUMNS})
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


_EVENT_COLUMNS = (
    *("project", "seq", "event_id", "transition", "key", "generation", "actor_issuer", "actor_subject", "actor_type"),
    *("time", "recorded_at", "reason", "caused_by", "execution", "payload", "state_after", "prev_hash", "hash"),
)


def event_altered(row: Row, event: Event) -> list[str]:
    """Names of what of a stored event is not as it was written.

    Args:
        row: Of ``audit_events``.
        event: What ``stored_event`` read in it.
    """
    held = _held(row)
    # How many nodes an event put at risk is remembered for whoever repeats it, and is no part of the event.
    newly = held.get("newly_at_risk")
    counted = newly if isinstance(newly, int) and not isinstance(newly, bool) and newly >= 0 else 0
    names = _differing(held, _expected(event_row(event, counted), EVENT_INSTANTS))
    return names + (["labels"] if row["labels"] != ["Event"] else [])


def event_wrong(row: Row, event: Event) -> Wrong | None:
    """What is wrong with the ties of an event to the nodes that it is about and to its causes."""
    about = about_row(event)
    expected: dict[Tie, Row] = {("ABOUT", "Knowledge", key, generation): {} for key, generation in about["nodes"]}
    expected |= {("CAUSED_BY", "Event", cause, None): {} for cause in event.caused_by}
    ties, strays, sentences = _ties_wrong(row["outgoing"], expected, event.project, f"event {event.seq}")
    if row["strays"]:
        sentences.append(f"{row['strays']} relationships lead to event {event.seq} from what is no event")
    return Wrong(tuple(sentences), ties=ties, strays=strays or row["strays"] > 0) if sentences else None


def head_wrong(row: Row | None, project: str, head: Head) -> Wrong | None:
    """What is wrong with a project's head, beside the position and the hash that it names."""
    if row is None:
        return Wrong((f"the head of the project {project!r} is missing",), itself=True)
    recorded = None if head.recorded_at is None else instant_text(head.recorded_at)
    properties: Row = {"name": project, "seq": head.seq, "hash": head.hash, "recorded_at": recorded}
    held = _held(row)
    sentences = [
        f"{name} of the project's head differs" for name in _differing(held, _expected(properties, ("recorded_at",)))
    ]
    if held.get("rebuilding"):
        sentences = [s for s in sentences if not s.startswith("rebuilding ")]
        sentences.append("a rebuild of the projection was begun and has not come to its end")
    surplus = tuple(sorted(set(row["labels"]) - {"Project"}))
    if surplus:
        sentences.append("the labels of the project's head differ")
    if row["strays"]:
        sentences.append(f"{row['strays']} relationships of the project's head are not in the journal")
    return Wrong(tuple(sentences), itself=True, surplus=surplus) if sentences else None


def _held(row: Row) -> Row:
    """The properties as they are stored; an instant is a pair, so that no text can pass for one."""
    return row["properties"] | {name: ("instant", text) for name, text in row["instants"]}


def _expected(properties: Mapping[str, object], instants: Sequence[str]) -> Row:
    """The properties as they should be stored: null is absent."""
    return {
        name: ("instant", value) if name in instants else value
        for name, value in properties.items()
        if value is not None
    }


def _differing(held: Row, expected: Row) -> list[str]:
    # Their written forms are compared, since to Python 1, 1.0 and True are equal.
    return [name for name in sorted(held.keys() | expected.keys()) if repr(held.get(name)) != repr(expected.get(name))]


def _node_ties(edges: Iterable[Edge], stands: Iterable[tuple[str, int]]) -> dict[Tie, Row]:
    ties: dict[Tie, Row] = {("EVIDENCED_BY", "Evidence", key, None): {"seq": seq} for key, seq in stands}
    for edge in edges:
        row = edge_row(edge)
        properties = {name: row[name] for name in ("turns", "event_ids", *EDGE_INSTANTS)}
        times = ("instants", row["times"])
        tie: Tie = (row["relation"], "Knowledge", *edge.target)
        ties[tie] = _expected(properties, EDGE_INSTANTS) | {"times": times}
    return ties


def _ties_wrong(
    outgoing: Sequence[Row], expected: Mapping[Tie, Row], project: str, start: str
) -> tuple[tuple[Tie, ...], bool, list[str]]:
    named: list[tuple[Tie, Row]] = []
    sentences: list[str] = []
    for row in outgoing:
        tie = _tie(row, project)
        if tie is None:
            ends = ":".join(sorted(row["labels"])) or "a node without a label"
            sentences.append(f"{start} {row['type']} leads to what is no knowledge of the project ({ends})")
        else:
            named.append((tie, _tied(row)))
    strays, counts = bool(sentences), Counter(tie for tie, _ in named)
    wrong: dict[Tie, str] = {tie: "is missing" for tie in expected if tie not in counts}
    for tie, properties in named:
        if tie not in expected:
            wrong[tie] = "is not in the journal"
        elif counts[tie] > 1:
            wrong[tie] = f"is there {counts[tie]} times"
        elif _differing(properties, expected[tie]):
            wrong[tie] = "differs"
    sentences += [f"the edge {start} {tie[0].lower()} {_end(tie)} {how}" for tie, how in wrong.items()]
    return tuple(wrong), strays, sentences


def _end(tie: Tie) -> str:
    _, label, key, generation = tie
    return said((key, generation)) if generation is not None else f"{label.lower()} {key!r}"


def _tie(row: Row, project: str) -> Tie | None:
    if row["project"] != project:
        return None
    for label, name in (("Knowledge", "key"), ("Evidence", "key"), ("Event", "event_id")):
        key, generation = row.get(name), row["generation"] if label == "Knowledge" else None
        if label in row["labels"] and isinstance(key, str) and (label != "Knowledge" or isinstance(generation, int)):
            return (row["type"], label, key, generation)
    return None


def _tied(row: Row) -> Row:
    properties = row["properties"] | {name: ("instant", text) for name, text in row.get("instants", ())}
    if row.get("times") is not None:
        properties["times"] = ("instants", row["times"])
    return properties
