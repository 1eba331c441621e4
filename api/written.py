"""Which columns a selection needs of the database, and how their values become the answer's maps.

A selected field is a column, in the selection's own order, so that a row becomes a map by laying the names over it;
only what GraphQL writes in another way than the database (``fixes``) is touched value by value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Generic, TypeVar, cast

from graphql import FieldNode

from api.fields import written_instant
from api.ids import packed
from api.selections import Asked, OrdinaryError, Selected
from graph.columns import EdgeColumns, EdgesColumn, EndColumn, EvidenceColumn, NodeColumns, Side
from graph.knowledge import Kind, Relation, State

Fix = Callable[[Sequence[Any]], Sequence[Any]]
"""What the answer holds in place of the values of one column."""
Map = dict[str, Any]
C_co = TypeVar("C_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Written(Generic[C_co]):
    """Rows of some columns as maps of the answer."""

    columns: C_co
    names: tuple[str, ...]
    fixes: tuple[tuple[int, Fix], ...]

    def one(self, row: Sequence[Any]) -> Map:
        """The map of one row."""
        return self.each((row,))[0]

    def each(self, rows: Sequence[Sequence[Any]]) -> list[Map]:
        """The maps of rows, in their order."""
        if not self.fixes or not rows:
            return laid(self.names, rows)
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        for at, fix in self.fixes:
            columns[at] = fix(columns[at])
        return laid(self.names, zip(*columns, strict=True))


def laid(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Map]:
    """Names laid over rows of as many values."""
    return _laying(len(names))(names, rows)


@cache
def _laying(count: int) -> Callable[[Sequence[str], Iterable[Sequence[Any]]], list[Map]]:
    """For a number of names. A map that is written out is made in half the time of one that is zipped."""
    names = "".join(f"n{i}, " for i in range(count))
    values = "".join(f"v{i}, " for i in range(count))
    pairs = ", ".join(f"n{i}: v{i}" for i in range(count))
    made = f"lambda names, rows: [{{{pairs}}} for ({names}) in (names,) for ({values}) in rows]"
    return cast("Callable[[Sequence[str], Iterable[Sequence[Any]]], list[Map]]", eval(made))  # noqa: S307  our own text


def _lists(of: Written[Any]) -> Fix:
    """Lists of rows as lists of maps; all their rows are laid in one go."""

    def fix(values: Sequence[Any]) -> Sequence[Any]:
        maps = iter(of.each([row for rows in values for row in rows]))
        return [list(islice(maps, len(rows))) for rows in values]

    return fix


def _by_value(fix: Callable[[Any], Any]) -> Fix:
    return lambda values: [None if value is None else fix(value) for value in values]


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


_instants = _by_value(written_instant)
_uppers = _by_value(_UPPER.__getitem__)


def _said(text: str) -> Fix:
    return lambda values: [text] * len(values)


_NODE_FIXES: Mapping[str, tuple[str, Fix]] = {
    **{name: (column, _instants) for name, column in _INSTANTS.items()},
    "kind": ("kind", _uppers),
    "state": ("state", _uppers),
    "id": ("id", _by_value(lambda parts: packed("Knowledge", *parts))),
    "__typename": ("nothing", _said("Knowledge")),
}
_EVIDENCE_FIXES: Mapping[str, tuple[str, Fix]] = {
    "id": ("id", _by_value(lambda parts: packed("Evidence", *parts))),
    "timestamp": ("timestamp", _instants),
    "metadata": ("metadata", _by_value(json.loads)),
    "__typename": ("nothing", _said("Evidence")),
}
_EDGE_FIXES: Mapping[str, tuple[str, Fix]] = {
    "since": ("since", _instants),
    "until": ("until", _instants),
    "__typename": ("nothing", _said("Edge")),
}


class _Columns:
    """Collects columns, names and fixes in the order of a selection."""

    def __init__(self) -> None:
        self.columns: list[Any] = []
        self.names: list[str] = []
        self.fixes: list[tuple[int, Fix]] = []

    def add(self, name: str, column: object, fix: Fix | None = None) -> None:
        self.columns.append(column)
        self.names.append(name)
        if fix is not None:
            self.fixes.append((len(self.columns) - 1, fix))

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
            found.add(name, EvidenceColumn(records.columns), _lists(records))
        elif field == "relations" and edges:
            stated = edge(asked, asked.below(nodes, "Edge"))
            found.add(name, _edges_column(asked, nodes[0], stated.columns), _lists(stated))
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
            found.add(name, EndColumn(field, end.columns), end.each)
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

    def lineage(text: str) -> Map:
        said: Map = json.loads(text)
        return {name: read(said) for name, read in fields.items()}

    return _by_value(lineage)


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
