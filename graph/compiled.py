"""Reads of the present whose statement is written for the columns that are asked: one statement, one record.

The service answers the same questions with maps of everything and can look into the past; here are the reads that
callers repeat, at what the database itself takes. Rows are lists in the order of their columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, LiteralString, NamedTuple

from graph import columns as shapes
from graph import queries
from graph.columns import EdgeColumns, NodeColumns, Side
from graph.knowledge import NodeId, Relation, instant_text
from graph.queries import Query
from graph.scope import Scope
from graph.service import Filter, Service
from graph.sharing import Shared

KEPT_STATEMENTS = 1_024  # composed texts; one more is composed anew

_WALKS: Mapping[Side, str] = {
    "upstream": "compiled_walk_upstream",
    "downstream": "compiled_walk_downstream",
    "both": "compiled_walk_both",
}
Values = list[Any]
"""The values of a thing's columns, in their order."""


class Wanted(NamedTuple):
    """A node by key: the newest generation between two, both included."""

    project: str
    key: str
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class WalkColumns:
    """What is read of a subgraph."""

    root: NodeColumns
    nodes: NodeColumns
    edges: EdgeColumns
    evidence: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Walk:
    """A subgraph: rows of its root, of its other nodes (nearest first), of its edges and of its evidence (by key)."""

    root: Values
    nodes: list[Values]
    edges: list[Values]
    evidence: list[Values]
    cut: bool
    seq: int


class CompiledReads:
    """The compiled reads of a service."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._shared = Shared[Query, Wanted, Values | None](self._knowledge)

    def within(self, scope: Scope) -> CompiledReads:
        """These reads as a caller may ask for them: other projects are not there."""
        seen = copy(self)
        seen.service = self.service.within(scope)
        return seen

    async def version(self) -> str:
        """What changes with every commit; see ``Store.version``."""
        return await self.service.store.version()

    async def knowledge(self, columns: NodeColumns, wanted: Wanted) -> Values | None:
        """A node; None when there is none. Requests for the same columns share a statement, whoever asks."""
        seen = wanted._replace(project=self.service.store.seen(wanted.project))
        return await self._shared.get(_of_nodes("compiled_knowledge", columns), seen)

    async def _knowledge(self, query: Query, together: list[Wanted]) -> list[Values | None]:
        asked = [wanted._asdict() for wanted in together]
        rows = await self._column(query, {wanted.project for wanted in together}, together=asked)
        found: list[Values | None] = [None] * len(together)
        for index, values in rows:
            found[index] = values
        return found

    async def page(
        self, columns: NodeColumns, project: str, wanted: Filter, first: int, after: NodeId | None
    ) -> list[Values]:
        """Up to ``first`` nodes that a filter lets through, by key and generation, behind the node ``after``."""
        asked = wanted.page(project, first, after, await self.service.aging.limit(project))
        return await self._column(_of_page(wanted.statement, columns), {project}, **asked)

    async def walk(
        self,
        columns: WalkColumns,
        project: str,
        key: str,
        side: Side,
        relations: tuple[Relation, ...] | None,
        depth: int,
        max_nodes: int,
    ) -> Walk | None:
        """What a node came from or rests on, or what came from it; None when there is no such node."""
        query = _of_walk(_WALKS[side], columns, relations, max(depth, 1))
        # Depth 0 keeps the root alone; whether that cuts something the walk tells all the same.
        kept = max_nodes if depth else 0
        record = await self._single(query, {project}, project=project, key=key, depth=depth, max_nodes=kept)
        if record is None:
            return None
        root, nodes, edges, evidence, cut, seq = record
        return Walk(root, nodes, edges, [row for _, row in sorted(evidence, key=_first)], cut, seq or 0)

    async def impact(
        self, columns: NodeColumns, project: str, key: str, first: int, after: NodeId | None
    ) -> tuple[int, list[Values]] | None:
        """How many nodes a retirement puts, or would put, at risk, and up to ``first`` of them; None for no node."""
        after_key, after_generation = after if after is not None else ("", 0)
        record = await self._single(
            _of_nodes("compiled_impact", columns),
            {project},
            project=project,
            key=key,
            after_key=after_key,
            after_generation=after_generation,
            first=first,
        )
        return None if record is None else (record[0], record[1])

    async def _single(self, query: Query, projects: Collection[str], **params: Any) -> Values | None:
        if shapes.AGED in query.text:
            limits = [(name, await self.service.aging.limit(name)) for name in projects]
            params["aged"] = {name: instant_text(limit) for name, limit in limits}
        return await self.service.store.single(query, **params)

    async def _column(self, query: Query, projects: Collection[str], **params: Any) -> list[Values]:
        """The rows of a statement that gives them as one list."""
        record = await self._single(query, projects, **params)
        assert record is not None, "an aggregation gives a record"
        return record[0]


def _first(row: Sequence[Any]) -> Any:
    return row[0]


@lru_cache(KEPT_STATEMENTS)
def _of_nodes(name: str, columns: NodeColumns) -> Query:
    return queries.load(name).giving({"[n.key]": shapes.of_node(columns)})


@lru_cache(KEPT_STATEMENTS)
def _of_page(name: str, columns: NodeColumns) -> Query:
    return queries.load(name).collecting(shapes.of_node(columns))


@lru_cache(KEPT_STATEMENTS)
def _of_walk(name: str, columns: WalkColumns, relations: tuple[Relation, ...] | None, depth: int) -> Query:
    slots: dict[LiteralString, LiteralString] = {
        "[root.key]": shapes.of_node(columns.root, "root"),
        "[n.key]": shapes.of_node(columns.nodes),
        "[type(r)]": shapes.of_edge(columns.edges),
    }
    if columns.evidence is not None:
        slots["[] AS evidence"] = shapes.of_all_evidence(columns.evidence)
    types = None if relations is None else shapes.types(relations)
    return queries.load(name).giving(slots, types).walking(depth)
