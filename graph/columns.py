"""What a compiled read gives of each thing, as text for the slots of the ``compiled_*`` statements.

A shape is a tuple of columns, and a thing of that shape is a list of their values in the same order, which costs the
database and the driver less than a map. Nothing that a caller wrote becomes part of a statement: every text here is put
together from the literals of this module, and pyright refuses any other. They take one parameter, ``$aged``: by
project the instant before which a live node must have been verified last to be stale.

What a COLLECT holds the database does not count, and it would run out of memory over the evidence of a page. What a
sort or an aggregation holds it counts, and refuses in time; so what is given is also the last thing sorted by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, LiteralString

from graph.knowledge import Relation

EDGES_MAX = 20_000  # edges of one node in one answer; the statement reads one more to tell
Side = Literal["upstream", "downstream", "both"]
AGED = "$aged"

_NODE: Mapping[str, LiteralString] = {
    "project": "@.project",
    "key": "@.key",
    "generation": "@.generation",
    "id": "[@.project, @.key, @.generation]",
    "proposition": "@.proposition",
    "kind": "@.kind",
    "state": "@.state",
    "at_risk": "@:AtRisk",
    "forgotten": "@.forgotten",
    "valid_from": "toString(@.valid_from)",
    "valid_to": "toString(@.valid_to)",
    "updated_at": "toString(@.updated_at)",
    "verified_at": "toString(@.verified_at)",
    "stale": "NOT @:Retired AND coalesce(@.verified_at, @.created_at) < datetime($aged[@.project])",
    "uses": "@.uses",
    "lineage": "@.lineage",
    "concept": "@.concept",
    "nothing": "null",
}
_EVIDENCE: Mapping[str, LiteralString] = {
    "key": "e.key",
    "id": "[e.project, e.key]",
    "type": "e.type",
    "source": "e.source",
    "timestamp": "toString(e.timestamp)",
    "hash": "e.hash",
    "artifact_ref": "e.artifact_ref",
    "metadata": "e.metadata",
    "nothing": "null",
}
_EDGE: Mapping[str, LiteralString] = {
    "relation": "type(r)",
    "since": "toString(r.since)",
    "until": "toString(r.until)",
    "nothing": "null",
}
_TYPES: Mapping[Relation, LiteralString] = {
    Relation.DERIVED_FROM: "DERIVED_FROM",
    Relation.SUPPORTS: "SUPPORTS",
    Relation.CONTRADICTS: "CONTRADICTS",
    Relation.DEPENDS_ON: "DEPENDS_ON",
    Relation.SUPERSEDES: "SUPERSEDES",
    Relation.RELATED_TO: "RELATED_TO",
}
_SIDES: Mapping[Side, tuple[LiteralString, LiteralString]] = {
    "upstream": ("-", "->"),
    "downstream": ("<-", "-"),
    "both": ("-", "-"),
}


@dataclass(frozen=True, slots=True)
class EvidenceColumn:
    """What a node stands on, in the order of the events that said so."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EndColumn:
    """One end of an edge."""

    end: Literal["from", "to"]
    columns: NodeColumns


@dataclass(frozen=True, slots=True)
class EdgesColumn:
    """The edges of a node, at most ``EDGES_MAX`` and one more."""

    side: Side
    relations: tuple[Relation, ...] | None
    ended: bool
    columns: EdgeColumns


NodeColumns = tuple[str | EvidenceColumn | EdgesColumn, ...]
EdgeColumns = tuple[str | EndColumn, ...]


def types(relations: Sequence[Relation] | None) -> LiteralString:
    """Relationship types as a pattern names them; all of them for None."""
    return "|".join(_TYPES[relation] for relation in (tuple(Relation) if relations is None else relations))


def of_node(columns: NodeColumns, node: LiteralString = "n") -> LiteralString:
    """The list of a node's columns; ``node`` is the statement's variable."""
    return "[" + ", ".join(_of_node(column, node) for column in columns) + "]"


def _of_node(column: str | EvidenceColumn | EdgesColumn, node: LiteralString) -> LiteralString:
    if isinstance(column, EvidenceColumn):
        found = "COLLECT { MATCH (@)-[s:EVIDENCED_BY]->(e:Evidence) RETURN £ AS given ORDER BY s.seq, e.key, given }"
        return found.replace("@", node).replace("£", of_evidence(column.columns))
    if isinstance(column, EdgesColumn):
        return _edges(column, node)
    return _NODE[column].replace("@", node)


def of_evidence(columns: Sequence[str]) -> LiteralString:
    """The list of an evidence's columns."""
    return "[" + ", ".join(_EVIDENCE[column] for column in columns) + "]"


def of_all_evidence(columns: Sequence[str]) -> LiteralString:
    """The column ``evidence`` of a walk: what its nodes stand on, each record once behind its key."""
    found = "COLLECT { UNWIND kept AS n MATCH (n)-[:EVIDENCED_BY]->(e:Evidence) WITH DISTINCT e "
    given = "RETURN [e.key, £] AS given ORDER BY given } AS evidence"
    return found + given.replace("£", of_evidence(columns))


def of_edge(columns: EdgeColumns) -> LiteralString:
    """The list of an edge's columns; its variables are ``r``, from ``a``, to ``b``."""
    parts: list[LiteralString] = []
    for column in columns:
        if isinstance(column, EndColumn):
            parts.append(of_node(column.columns, "a" if column.end == "from" else "b"))
        else:
            parts.append(_EDGE[column])
    return "[" + ", ".join(parts) + "]"


def _edges(column: EdgesColumn, node: LiteralString) -> LiteralString:
    left, right = _SIDES[column.side]
    live: LiteralString = "" if column.ended else "WHERE r.until IS NULL "
    pattern = "MATCH (" + node + ")" + left + "[r:" + types(column.relations) + "]" + right + "(:Knowledge) "
    ends = "WITH r, startNode(r) AS a, endNode(r) AS b "
    given = "RETURN " + of_edge(column.columns) + " AS given "
    order = "ORDER BY type(r), a.key, a.generation, b.key, b.generation, given LIMIT 20001 "
    return "COLLECT { " + pattern + live + ends + given + order + "}"
