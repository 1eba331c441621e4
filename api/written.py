"""Which columns a selection needs of the database, and how their values become the answer's maps.

A selected field is a column, in the selection's own order, so that a row becomes a map by laying the names over it;
only what GraphQL writes in another way than the database (``fixes``) is touched value by value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from graphql import FieldNode

from api.fields import written_instant
from api.ids import packed
from api.selections import Asked, OrdinaryError, Selected
from graph.columns import EdgeColumns, EdgesColumn, EndColumn, EvidenceColumn, NodeColumns, Side
from graph.knowledge import Kind, Relation, State

Fix = Callable[[Any], Any]
"""What the answer holds in place of a value."""
Map = dict[str, Any]
C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Written(Generic[C_co]):
    """Rows of some columns as maps of the answer."""

    columns: C_co
    names: tuple[str, ...]
    fixes: tuple[tuple[str, Fix], ...]

    def one(self, row: Sequence[Any]) -> Map:
        """The map of one row."""
        return self.each((row,))[0]

    def each(self, rows: Sequence[Sequence[Any]]) -> list[Map]:
        """The maps of rows, in their order."""
        names = self.names
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for name, fix in self.fixes:
            for record in found:
                record[name] = fix(record[name])
        return found


_UPPER: Mapping[str, str] = {member.value: member.name for member in (*State, *Kind)}
_PLAIN = {
    "project": "project",
    "key": "key",
    "generation": "generation",
    "proposition": "proposition",
    "atRisk": "at_risk",
    "forgotten": "forgotten",
    "uses": "uses",
    "stale": "stale",
}
_INSTANTS = {
    "validFrom": "valid_from",
    "validTo": "valid_to",
    "updatedAt": "updated_at",
    "verifiedAt": "verified_at",
}
_OF_EVIDENCE = {"key": "key", "type": "type", "source": "source", "hash": "hash", "artifactRef": "artifact_ref"}


def _instant(text: str | None) -> str | None:
    return None if text is None else written_instant(text)


def _node_id(parts: Sequence[Any]) -> str:
    return packed("Knowledge", *parts)


def _evidence_id(parts: Sequence[Any]) -> str:
    return packed("Evidence", *parts)


def _metadata(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _said(text: str) -> Fix:
    return lambda _value: text


_NODE_FIXES: Mapping[str, tuple[str, Fix]] = {
    **{name: (column, _instant) for name, column in _INSTANTS.items()},
    "kind": ("kind", _UPPER.__getitem__),
    "state": ("state", _UPPER.__getitem__),
    "id": ("id", _node_id),
    "__typename": ("nothing", _said("Knowledge")),
}
_EVIDENCE_FIXES: Mapping[str, tuple[str, Fix]] = {
    "id": ("id", _evidence_id),
    "timestamp": ("timestamp", _instant),
    "metadata": ("metadata", _metadata),
    "__typename": ("nothing", _said("Evidence")),
}
_EDGE_FIXES: Mapping[str, tuple[str, Fix]] = {
    "since": ("since", _instant),
    "until": ("until", _instant),
    "__typename": ("nothing", _said("Edge")),
}


class _Columns:
    """Collects columns, names and fixes in the order of a selection."""

    def __init__(self) -> None:
        self.columns: list[Any] = []
        self.names: list[str] = []
        self.fixes: list[tuple[str, Fix]] = []

    def add(self, name: str, column: object, fix: Fix | None = None) -> None:
        self.columns.append(column)
        self.names.append(name)
        if fix is not None:
            self.fixes.append((name, fix))

    def written(self) -> Written[Any]:
        return Written(tuple(self.columns), tuple(self.names), tuple(self.fixes))


def node(asked: Asked, selected: Selected, *, edges: bool = True) -> Written[NodeColumns]:
    """How nodes are written.

    Args:
        asked: The operation.
        selected: The fields of ``Knowledge``.
        edges: Whether their edges may be among them.

    Raises:
        OrdinaryError: a field that only the executor can answer.
    """
    found = _Columns()
    for name, nodes in selected.items():
        field = nodes[0].name.value
        if field in _PLAIN:
            found.add(name, _PLAIN[field])
        elif field in _NODE_FIXES:
            found.add(name, *_NODE_FIXES[field])
        elif field == "lineage":
            found.add(name, "lineage", _lineage(asked, nodes))
        elif field == "evidence":
            records = evidence(asked, asked.below(nodes, "Evidence"))
            found.add(name, EvidenceColumn(records.columns), records.each)
        elif field == "relations" and edges:
            stated = edge(asked, asked.below(nodes, "Edge"))
            found.add(name, _edges_column(asked, nodes[0], stated.columns), stated.each)
        else:
            raise OrdinaryError
    return found.written()


def evidence(asked: Asked, selected: Selected) -> Written[tuple[str, ...]]:  # noqa: ARG001  as its siblings
    """How evidence is written; ``selected`` are fields of ``Evidence``."""
    found = _Columns()
    for name, nodes in selected.items():
        field = nodes[0].name.value
        if field in _OF_EVIDENCE:
            found.add(name, _OF_EVIDENCE[field])
        elif field in _EVIDENCE_FIXES:
            found.add(name, *_EVIDENCE_FIXES[field])
        else:
            raise OrdinaryError
    return found.written()


def edge(asked: Asked, selected: Selected) -> Written[EdgeColumns]:
    """How edges are written; ``selected`` are fields of ``Edge``.

    Raises:
        OrdinaryError: a field that only the executor can answer.
    """
    found = _Columns()
    for name, nodes in selected.items():
        field = nodes[0].name.value
        if field == "relation":
            found.add(name, "relation")
        elif field in _EDGE_FIXES:
            found.add(name, *_EDGE_FIXES[field])
        elif field in ("from", "to"):
            end = node(asked, asked.below(nodes, "Knowledge"), edges=False)
            found.add(name, EndColumn(field, end.columns), end.one)
        else:
            raise OrdinaryError
    return found.written()


def _edges_column(asked: Asked, field: FieldNode, columns: EdgeColumns) -> EdgesColumn:
    given = asked.arguments(field, asked.field("Knowledge", "relations"))({})
    if "asOf" in given or any(_holds_variable(argument.value) for argument in field.arguments or ()):
        raise OrdinaryError
    side = cast(Side, str(given.get("direction", "BOTH")).lower())
    return EdgesColumn(side, relations_of(given.get("types")), given.get("includeEnded", False), columns)


def relations_of(names: Sequence[str] | None) -> tuple[Relation, ...] | None:
    """Relations by name, None for all; OrdinaryError for none at all, which no pattern can say."""
    if names is None:
        return None
    if not names:
        raise OrdinaryError
    return tuple(Relation[name] for name in sorted(set(names)))


def _lineage(asked: Asked, nodes: Sequence[FieldNode]) -> Fix:
    fields: dict[str, Callable[[Map], Any]] = {}
    for name, of in asked.below(nodes, "Lineage").items():
        fields[name] = _lineage_field(asked, of)

    def fix(text: str | None) -> Map | None:
        if text is None:
            return None
        said: Map = json.loads(text)
        return {name: read(said) for name, read in fields.items()}

    return fix


def _lineage_field(asked: Asked, nodes: Sequence[FieldNode]) -> Callable[[Map], Any]:
    match nodes[0].name.value:
        case "sources":
            names = {name: of[0].name.value for name, of in asked.below(nodes, "LineageSource").items()}
            return lambda said: [
                {name: source.get(field, "LineageSource") for name, field in names.items()}
                for source in said["sources"]
            ]
        case "createdAt":
            return lambda said: written_instant(said["created_at"])
        case "confidence":
            return lambda said: None if said.get("confidence") is None else float(said["confidence"])
        case "__typename":
            return lambda _said: "Lineage"
        case field:
            return lambda said: said.get(field)


def _holds_variable(value: Any) -> bool:
    return any(_holds_variable(item) for item in getattr(value, "values", ())) or value.kind == "variable"
