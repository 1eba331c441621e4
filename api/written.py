"""Which columns a selection needs of the database, and how their values become the answer's maps.

A selected field is a column, in the selection's own order, so that a row becomes a map by laying the names over it;
only what GraphQL writes in another way than the database (``fixes``) is touched value by value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

from graphql import FieldNode

from api.fields import written_instant
from api.ids import packed
from api.selections import Asked, OrdinaryError, Selected
from graph.columns import EdgeColumns, EdgesColumn, EndColumn, EvidenceColumn, NodeColumns, Side
from graph.knowledge import ActorType, Kind, Relation, State, Transition
from graph.rows import Row

Map = dict[str, Any]
C_co = TypeVar("C_co", covariant=True)


class Written(Generic[C_co]):
    """Rows of some columns as maps of the answer.

    Args:
        columns: What is read.
        names: Under which name the answer has each of them.
        fixes: By place, what the answer holds instead of what was read.
    """

    def __init__(self, columns: C_co, names: Sequence[str], fixes: Mapping[int, Fix]) -> None:
        self.columns = columns
        self.names = names
        self.fixes = fixes
        self.each: Callable[[Iterable[Sequence[Any]]], list[Map]] = _Laying().over(self)
        """The maps of rows, in their order."""

    def one(self, row: Sequence[Any]) -> Map:
        """The map of one row."""
        return self.each((row,))[0]


@dataclass(frozen=True, slots=True)
class Inner:
    """A column that holds a thing's own row, or with ``many`` a list of such rows."""

    of: Written[Any]
    many: bool


Fix = Callable[[Any], Any] | Inner | str
"""Made of each value that is not null; the maps of inner rows; or one text whatever was read."""


class _Laying:
    """Writes one comprehension that lays names over rows and over the rows within them.

    A map that is written out is made in half the time of one that is zipped, and rows that are taken apart where they
    stand need not be turned into columns and back. Names are literals of Python, fixes are constants of the text.
    """

    def __init__(self) -> None:
        self._constants: dict[str, Any] = {}
        self._variables = 0

    def over(self, written: Written[Any]) -> Callable[[Iterable[Sequence[Any]]], list[Map]]:
        """The function that lays."""
        made = eval(f"lambda rows: {self._maps(written, 'rows')}", self._constants)  # noqa: S307  our own text
        return cast("Callable[[Iterable[Sequence[Any]]], list[Map]]", made)

    def _maps(self, written: Written[Any], rows: str) -> str:
        clauses: list[str] = []
        made = self._map(written, rows, clauses)
        return f"[{made} {' '.join(clauses)}]"

    def _map(self, written: Written[Any], rows: str, clauses: list[str]) -> str:
        variables = [self._variable() for _ in written.names]
        clauses.append(f"for [{', '.join(variables)}] in {rows}")
        values = [self._value(name, written.fixes.get(at), clauses) for at, name in enumerate(variables)]
        return "{" + ", ".join(f"{name!r}: {value}" for name, value in zip(written.names, values, strict=True)) + "}"

    def _value(self, variable: str, fix: Fix | None, clauses: list[str]) -> str:
        if fix is None:
            return variable
        if isinstance(fix, str):
            return repr(fix)
        if isinstance(fix, Inner):
            return self._maps(fix.of, variable) if fix.many else self._map(fix.of, f"({variable},)", clauses)
        constant = f"c{len(self._constants)}"
        self._constants[constant] = fix
        return f"None if {variable} is None else {constant}({variable})"

    def _variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"


_UPPER: Mapping[str, str] = {member.value: member.name for member in (*State, *Kind, *Transition, *ActorType)}
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


_upper = _UPPER.__getitem__
_NODE_FIXES: Mapping[str, tuple[str, Fix]] = {
    **{name: (column, written_instant) for name, column in _INSTANTS.items()},
    "kind": ("kind", _upper),
    "state": ("state", _upper),
    "id": ("id", lambda parts: packed("Knowledge", *parts)),
    "__typename": ("nothing", "Knowledge"),
}
_EVIDENCE_FIXES: Mapping[str, tuple[str, Fix]] = {
    "id": ("id", lambda parts: packed("Evidence", *parts)),
    "timestamp": ("timestamp", written_instant),
    "metadata": ("metadata", json.loads),
    "__typename": ("nothing", "Evidence"),
}
_EDGE_FIXES: Mapping[str, tuple[str, Fix]] = {
    "since": ("since", written_instant),
    "until": ("until", written_instant),
    "__typename": ("nothing", "Edge"),
}


_OF_EVENT: Mapping[str, Callable[[Row], Any]] = {
    "id": lambda row: packed("KnowledgeEvent", row["project"], row["event_id"]),
    "eventId": itemgetter("event_id"),
    "seq": itemgetter("seq"),
    "transition": lambda row: _upper(row["transition"]),
    "time": lambda row: written_instant(row["time"]),
    "recordedAt": lambda row: written_instant(row["recorded_at"]),
    "reason": itemgetter("reason"),
    "stateAfter": lambda row: _upper(row["state_after"]),
    "hash": itemgetter("hash"),
    "__typename": lambda _row: "KnowledgeEvent",
}
_OF_ACTOR: Mapping[str, Callable[[Row], Any]] = {
    "issuer": itemgetter("issuer"),
    "subject": itemgetter("subject"),
    "type": lambda actor: _upper(actor["type"]),
    "__typename": lambda _actor: "Actor",
}
_OF_EXECUTION: Mapping[str, Callable[[Row], Any]] = {
    "run": lambda execution: execution.get("run"),
    "frame": lambda execution: execution.get("frame"),
    "task": lambda execution: execution.get("task"),
    "parentRun": lambda execution: execution.get("parent_run"),
    "parentFrame": lambda execution: execution.get("parent_frame"),
    "__typename": lambda _execution: "Execution",
}
_EVENT_PARTS = {"actor": ("Actor", _OF_ACTOR), "execution": ("Execution", _OF_EXECUTION)}


class _Columns:
    """Collects columns, names and fixes in the order of a selection."""

    def __init__(self) -> None:
        self.columns: list[Any] = []
        self.names: list[str] = []
        self.fixes: dict[int, Fix] = {}

    def add(self, name: str, column: object, fix: Fix | None = None) -> None:
        self.columns.append(column)
        self.names.append(name)
        if fix is not None:
            self.fixes[len(self.columns) - 1] = fix

    def written(self) -> Written[Any]:
        return Written(tuple(self.columns), self.names, self.fixes)


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
            found.add(name, EvidenceColumn(records.columns), Inner(records, many=True))
        elif field == "relations" and edges:
            stated = edge(asked, asked.below(nodes, "Edge"))
            found.add(name, _edges_column(asked, nodes[0], stated.columns), Inner(stated, many=True))
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
            found.add(name, EndColumn(field, end.columns), Inner(end, many=False))
        else:
            raise OrdinaryError
    return found.written()


def event(asked: Asked, selected: Selected) -> Callable[[Row], Map]:
    """How an event is written from its own row; ``selected`` are fields of ``KnowledgeEvent``.

    Raises:
        OrdinaryError: a field that does not stand in the row.
    """
    reads: dict[str, Callable[[Row], Any]] = {}
    for name, nodes in selected.items():
        field = nodes[0].name.value
        if field in _EVENT_PARTS:
            kind, fields = _EVENT_PARTS[field]
            reads[name] = _part(field, {n: fields[of[0].name.value] for n, of in asked.below(nodes, kind).items()})
        elif field in _OF_EVENT:
            reads[name] = _OF_EVENT[field]
        else:
            raise OrdinaryError
    return lambda row: {name: read(row) for name, read in reads.items()}


def _part(column: str, reads: Mapping[str, Callable[[Row], Any]]) -> Callable[[Row], Map | None]:
    def part(row: Row) -> Map | None:
        found = row[column]
        return None if found is None else {name: read(found) for name, read in reads.items()}

    return part


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

    return lineage


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
