"""Compiled answers: a checked query becomes a plan once, and its answer one statement for each root field.

A plan answers as the executor would or not at all: whatever it does not know, and whatever goes wrong (a value that
has to be coerced, a key that is refused, a node that is not there, a database that fails), the executor is asked
instead, and finds the words for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from graphql import DocumentNode, FieldNode, GraphQLSchema

from api import written
from api.fields import read_instant
from api.ids import cursor, place_after
from api.inputs import checked_prefix, instant
from api.loaders import ANSWER_OBJECTS_MAX
from api.selections import Asked, OrdinaryError, Selected, Variables
from api.wire import encoded
from api.written import Map, Written
from graph.columns import EdgesColumn, EndColumn, EvidenceColumn, NodeColumns, Side
from graph.compiled import CompiledReads, Values, Walk, WalkColumns, Wanted
from graph.errors import KnowledgeError
from graph.knowledge import Kind, NodeId, State, checked_key, spellings
from graph.service import DEPTH_MAX, FIRST_MAX, NODES_MAX, Filter
from graph.store import SINGLE_SECONDS

_LOG = logging.getLogger("whence.api")
PLAN_SECONDS = SINGLE_SECONDS + 1.0  # also for those that wait to share a statement; the executor has its own time
_GENERATION_MAX = 2**31
_STALE = "stale"  # a name that no document and no variable can write in another way once it is read
Root = Callable[[CompiledReads, Variables], Awaitable[Any]]


class Plan:
    """The compiled answer to one operation of one document.

    Args:
        schema: The schema that the document was validated against.
        document: The document.
        operation_name: Which of its operations.

    Raises:
        OrdinaryError: the executor has to answer it.
    """

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, operation_name: str | None) -> None:
        asked = Asked.of(schema, document, operation_name)
        self.name = None if asked.operation.name is None else asked.operation.name.value
        self.variables = asked.operation.variable_definitions or ()
        self._roots = {name: _root(asked, nodes) for name, nodes in asked.roots().items()}
        self._names_stale = _STALE in (document.loc.source.body if document.loc is not None else _STALE)

    def tells_time(self, variables: Variables) -> bool:
        """Whether the answer may change though nothing is committed: only where it says, or asks, what is stale."""
        return self._names_stale or _STALE.encode() in encoded(variables)

    async def answer(self, reads: CompiledReads, variables: Variables) -> Map | None:
        """The data of the answer; None where the executor has to give it."""
        try:
            async with asyncio.timeout(PLAN_SECONDS):
                if len(self._roots) == 1:
                    (only,) = self._roots.items()
                    return {only[0]: await only[1](reads, variables)}
                answers = await asyncio.gather(*(root(reads, variables) for root in self._roots.values()))
        except (OrdinaryError, KnowledgeError, TimeoutError):
            return None
        except Exception:  # noqa: BLE001  whatever it is, there is another way to the answer
            _LOG.exception("a plan failed, the executor answers in its place")
            return None
        return dict(zip(self._roots, answers, strict=True))


def _root(asked: Asked, nodes: Sequence[FieldNode]) -> Root:
    field = nodes[0].name.value
    if field == "__typename":
        return _typename
    if field not in _ROOTS:
        raise OrdinaryError
    arguments = asked.arguments(nodes[0], asked.field("Query", field))
    return _ROOTS[field](asked, nodes, arguments)


Arguments = Callable[[Variables], dict[str, Any]]


async def _typename(_reads: CompiledReads, _variables: Variables) -> str:
    return "Query"


def _knowledge(asked: Asked, nodes: Sequence[FieldNode], arguments: Arguments) -> Root:
    found = written.node(asked, asked.below(nodes, "Knowledge"))
    weigh = _scale(found.columns)

    async def read(reads: CompiledReads, variables: Variables) -> Map | None:
        given = arguments(variables)
        generation = given.get("generation")
        if "asOf" in given or (generation is not None and generation < 1):
            raise OrdinaryError
        project, key = checked_key(given["project"], "project"), checked_key(given["key"], "key")
        wanted = Wanted(project, key, generation or 1, generation or _GENERATION_MAX)
        row = await reads.knowledge(found.columns, wanted)
        if row is None and len(spellings(key)) > 1:
            raise OrdinaryError
        if row is None:
            return None
        weigh(row)
        return found.one(row)

    return read


def _scale(columns: NodeColumns) -> Callable[[Values], None]:
    """Refuses a row that holds more than an answer may; the executor finds the words for it."""
    places = [(at, column) for at, column in enumerate(columns) if isinstance(column, EdgesColumn)]

    def weigh(row: Values) -> None:
        objects = 0
        for at, column in places:
            lists = _lists_of_ends(column)
            objects += len(row[at]) + sum(len(edge[i][j]) for edge in row[at] for i, j in lists)
        if objects > ANSWER_OBJECTS_MAX:
            raise OrdinaryError

    return weigh


def _lists_of_ends(column: EdgesColumn) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, end in enumerate(column.columns)
        if isinstance(end, EndColumn)
        for j, inner in enumerate(end.columns)
        if isinstance(inner, EvidenceColumn)
    ]


def _knowledge_list(asked: Asked, nodes: Sequence[FieldNode], arguments: Arguments) -> Root:
    page = _Connection(asked, asked.below(nodes, "KnowledgeConnection"))

    async def read(reads: CompiledReads, variables: Variables) -> Map:
        given = arguments(variables)
        project = checked_key(given["project"], "project")
        within = ("knowledgeList", project)
        first, after = _first(given.get("first", 50)), _after(given.get("after"), within)
        rows = await reads.page(page.columns, project, _filter(given.get("filter", {})), first + 1, after)
        return page.map(rows, first, after, within)

    return read


def _impact(asked: Asked, nodes: Sequence[FieldNode], arguments: Arguments) -> Root:
    selected = asked.below(nodes, "Impact")
    pages = {name: of for name, of in selected.items() if of[0].name.value == "nodes"}
    if len(pages) > 1 or any(of[0].name.value not in ("count", "nodes", "__typename") for of in selected.values()):
        raise OrdinaryError
    below: Sequence[FieldNode] = next(iter(pages.values()), ())
    page = _Connection(asked, asked.below(below, "KnowledgeConnection"))
    of_page = asked.arguments(below[0], asked.field("Impact", "nodes")) if below else dict[str, Any]

    async def read(reads: CompiledReads, variables: Variables) -> Map:
        given, paging = arguments(variables), of_page(variables)
        project, key = checked_key(given["project"], "project"), checked_key(given["key"], "key")
        within = ("impact", project, key)
        first, after = _first(paging.get("first", 100 if below else 1)), _after(paging.get("after"), within)
        answer = await reads.impact(page.columns, project, key, first + 1, after)
        if answer is None:
            raise OrdinaryError
        values: Map = {"count": answer[0], "__typename": "Impact"}
        if below:
            values["nodes"] = page.map(answer[1], first, after, within)
        return {name: values[of[0].name.value] for name, of in selected.items()}

    return read


def _provenance(asked: Asked, nodes: Sequence[FieldNode], arguments: Arguments) -> Root:
    walk = _Walked(asked, asked.below(nodes, "Provenance"))

    async def read(reads: CompiledReads, variables: Variables) -> Map:
        given = arguments(variables)
        if "asOf" in given:
            raise OrdinaryError
        found = await reads.walk(
            walk.columns,
            checked_key(given["project"], "project"),
            checked_key(given["key"], "key"),
            cast(Side, given.get("direction", "UPSTREAM").lower()),
            written.relations_of(given.get("relations")),
            _within(given.get("depth", 6), 0, DEPTH_MAX),
            _within(given.get("maxNodes", 1000), 1, NODES_MAX),
        )
        if found is None:
            raise OrdinaryError
        return walk.map(found)

    return read


class _Walked:
    """How a subgraph is written; each part may be asked once."""

    def __init__(self, asked: Asked, selected: Selected) -> None:
        self.parts: list[tuple[str, str, Written[Any]]] = []
        by_field: dict[str, Written[Any]] = {}
        for name, nodes in selected.items():
            field = nodes[0].name.value
            if field in by_field:
                raise OrdinaryError
            by_field[field] = self._part(asked, field, nodes)
            self.parts.append((name, field, by_field[field]))

        def columns(field: str) -> tuple[Any, ...]:
            return by_field[field].columns if field in by_field else ()

        self.columns = WalkColumns(
            columns("root"),
            columns("nodes"),
            columns("edges"),
            columns("evidence") if "evidence" in by_field else None,
        )

    def map(self, walk: Walk) -> Map:
        """The map of a subgraph."""
        return {name: self._value(field, of, walk) for name, field, of in self.parts}

    @staticmethod
    def _value(field: str, of: Written[Any], walk: Walk) -> Any:
        if field == "root":
            return of.one(walk.root)
        rows = {"nodes": walk.nodes, "edges": walk.edges, "evidence": walk.evidence}.get(field)
        if rows is not None:
            return of.each(rows)
        return {"truncated": walk.cut, "atSeq": walk.seq, "__typename": "Provenance"}[field]

    def _part(self, asked: Asked, field: str, nodes: Sequence[FieldNode]) -> Written[Any]:
        if field in ("root", "nodes"):
            return written.node(asked, asked.below(nodes, "Knowledge"), edges=False)
        if field == "edges":
            return written.edge(asked, asked.below(nodes, "Edge"))
        if field == "evidence":
            return written.evidence(asked, asked.below(nodes, "Evidence"))
        return Written((), (), {})


class _Connection:
    """How a page of nodes is written. Its rows begin with the key and the generation, for the cursors."""

    def __init__(self, asked: Asked, selected: Selected) -> None:
        self._selected = {name: nodes[0].name.value for name, nodes in selected.items()}
        self._page_info: dict[str, dict[str, str]] = {}
        edges = [(name, nodes) for name, nodes in selected.items() if nodes[0].name.value == "edges"]
        if len(edges) > 1:
            raise OrdinaryError
        edge_fields = {name: nodes for _, edge in edges for name, nodes in asked.below(edge, "KnowledgeEdge").items()}
        of_node = [nodes for nodes in edge_fields.values() if nodes[0].name.value == "node"]
        if len(of_node) > 1:
            raise OrdinaryError
        self._node = written.node(asked, asked.below(of_node[0], "Knowledge"), edges=False) if of_node else None
        self._fields = {name: nodes[0].name.value for name, nodes in edge_fields.items()}
        for name, nodes in selected.items():
            if nodes[0].name.value == "pageInfo":
                below = asked.below(nodes, "PageInfo")
                self._page_info[name] = {key: of[0].name.value for key, of in below.items()}
        self.columns: NodeColumns = ("key", "generation", *(self._node.columns if self._node else ()))

    def map(self, rows: list[Values], first: int, after: NodeId | None, within: Sequence[object]) -> Map:
        """The connection of a page that was read with one row more."""
        page = rows[:first]
        found: Map = {}
        for name, field in self._selected.items():
            if field == "edges":
                found[name] = self._edges(page, within)
            elif field == "pageInfo":
                info = _page_info(page, within, more=len(rows) > first, before=after is not None)
                found[name] = {key: info[of] for key, of in self._page_info[name].items()}
            else:
                found[name] = "KnowledgeConnection"
        return found

    def _edges(self, page: list[Values], within: Sequence[object]) -> list[Map]:
        columns = [self._column(field, page, within) for field in self._fields.values()]
        return [dict(zip(self._fields, row, strict=True)) for row in zip(*columns, strict=True)]

    def _column(self, field: str, page: list[Values], within: Sequence[object]) -> list[Any]:
        if field == "node":
            assert self._node is not None
            return self._node.each([row[2:] for row in page])
        if field == "cursor":
            return [cursor(*within, row[0], row[1]) for row in page]
        return ["KnowledgeEdge"] * len(page)


def _page_info(page: list[Values], within: Sequence[object], *, more: bool, before: bool) -> Map:
    return {
        "hasNextPage": more,
        "hasPreviousPage": before,
        "startCursor": cursor(*within, *page[0][:2]) if page else None,
        "endCursor": cursor(*within, *page[-1][:2]) if page else None,
        "__typename": "PageInfo",
    }


def _within(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise OrdinaryError
    return value


def _first(value: int) -> int:
    return _within(value, 1, FIRST_MAX)


def _after(text: str | None, within: Sequence[object]) -> NodeId | None:
    return cast("NodeId | None", place_after(text, within, str, int))


def _filter(given: Mapping[str, Any]) -> Filter:
    return Filter(
        states=None if given.get("states") is None else tuple(State[name] for name in given["states"]),
        kinds=None if given.get("kinds") is None else tuple(Kind[name] for name in given["kinds"]),
        at_risk=given.get("atRisk"),
        stale=given.get("stale"),
        updated_after=_instant(given.get("updatedAfter")),
        valid_at=_instant(given.get("validAt")),
        key_prefix=checked_prefix(given.get("keyPrefix")),
    )


def _instant(text: str | None) -> datetime | None:
    return None if text is None else instant(read_instant(text))


_ROOTS: Mapping[str, Callable[[Asked, Sequence[FieldNode], Arguments], Root]] = {
    "knowledge": _knowledge,
    "knowledgeList": _knowledge_list,
    "provenance": _provenance,
    "impact": _impact,
}
