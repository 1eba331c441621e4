"""Given a graph, when a statement runs, then rows and side effects: the words of the openCypher TCK, in Python.

Side effects are what an observer sees who looks at the whole graph before and after, not what the server counts: a
property that is written again with the value it had is none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pprint import pformat
from typing import Any, LiteralString, cast

import neo4j

from graph import queries
from graph.queries import Query
from graph.store import Store

PROJECT = "p"  # where everything is that does not say where it is
SECONDS_MAX = 20.0  # no statement takes as long on a graph of a test, unless it walks path by path

Row = dict[str, Any]
Params = Mapping[str, Any]
Graph = Mapping[str, frozenset[object]]
UNOBSERVED: Graph = {}

_COMPLETED = """
MATCH (n:Knowledge|Event|Evidence)
SET n.project = coalesce(n.project, 'p')
WITH count(n) AS nodes
CALL () {
  MATCH (n:Knowledge)
  SET n.generation = coalesce(n.generation, 1), n.created_seq = coalesce(n.created_seq, 1)
}
CALL () {
  MATCH (:Knowledge)-[r]->(:Knowledge)
  SET r.turns = coalesce(r.turns, [1])
}
CALL () {
  MATCH (:Knowledge)-[s:EVIDENCED_BY]->(:Evidence)
  SET s.seq = coalesce(s.seq, 1)
}
"""


class AnyOrder(list[Any]):
    """Items that an answer may hold in any order."""


def in_any_order(*items: object) -> AnyOrder:
    """The items, whichever comes first."""
    return AnyOrder(items)


def agrees(actual: Any, expected: Any) -> bool:
    """Whether an answer is what was expected; of a map only the entries count that the expectation names."""
    match expected:
        case AnyOrder():
            return isinstance(actual, list) and _paired(list(cast(list[Any], actual)), cast(list[Any], expected))
        case list():
            return isinstance(actual, list) and _each(cast(list[Any], actual), cast(list[Any], expected))
        case dict():
            return isinstance(actual, dict) and _holds(cast(Row, actual), cast(Row, expected))
        case _:
            return actual == expected and isinstance(actual, bool) == isinstance(expected, bool)


def _each(actual: list[Any], expected: list[Any]) -> bool:
    return len(actual) == len(expected) and all(map(agrees, actual, expected))


def _holds(actual: Row, expected: Row) -> bool:
    return all(name in actual and agrees(actual[name], value) for name, value in expected.items())


def _paired(left: list[Any], expected: list[Any]) -> bool:
    for item in expected:
        match = next((at for at, other in enumerate(left) if agrees(other, item)), None)
        if match is None:
            return False
        del left[match]
    return not left


class Database:
    """The session's server, spoken to in plain calls.

    Args:
        store: Open, its schema installed.
        loop: Where its driver lives.
    """

    def __init__(self, store: Store, loop: asyncio.Runner) -> None:
        self.store = store
        self.loop = loop

    def query(self, text: LiteralString, **params: Any) -> list[Row]:
        """The rows of any statement."""
        return self.loop.run(self._rows(text, params, neo4j.WRITE_ACCESS))

    def statement(self, query: Query, params: Params) -> list[Row]:
        """The rows of a statement of ours, in a session that may only do what its kind says."""
        access = neo4j.READ_ACCESS if query.kind == "read" else neo4j.WRITE_ACCESS
        return self.loop.run(self._rows(query.text, params, access))

    async def _rows(self, text: LiteralString, params: Params, access: str) -> list[Row]:
        driver: Any = self.store.driver  # its sessions take what they are set to untyped
        async with driver.session(database=self.store.database, default_access_mode=access) as session:
            return await (await session.run(neo4j.Query(text, timeout=SECONDS_MAX), dict(params))).data()

    def observed(self) -> Graph:
        """Everything there is, so that two looks can be compared."""
        nodes = self.query("MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties")
        edges = self.query("MATCH ()-[r]->() RETURN elementId(r) AS id, properties(r) AS properties")
        return {
            "nodes": frozenset(node["id"] for node in nodes),
            "relationships": frozenset(edge["id"] for edge in edges),
            "labels": frozenset((node["id"], label) for node in nodes for label in node["labels"]),
            "properties": frozenset(
                (thing["id"], name, repr(value))
                for thing in [*nodes, *edges]
                for name, value in thing["properties"].items()
            ),
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement left, for the next one to meet."""

    stage: Stage
    query: Query
    params: Params

    def again(self, *, effects: Mapping[str, int], rows: list[Any] | None = None) -> Outcome:
        """The very same once more."""
        return self.stage.run(self.query, self.params, rows, effects)

    def then(
        self, when: tuple[str, Params], *, rows: list[Any] | None = None, effects: Mapping[str, int] | None = None
    ) -> Outcome:
        """Another statement."""
        return self.stage.play(when, rows, effects or {})


class Stage:
    """Plays scenarios on a database that holds nothing else."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def __call__(
        self,
        *,
        given: LiteralString,
        when: tuple[str, Params],
        rows: list[Any],
        effects: Mapping[str, int] | None = None,
        depth: int | None = None,
    ) -> Outcome:
        """Play one.

        Args:
            given: A statement that writes the graph. What it leaves out is filled in: the project ``p``, generation 1,
                and position 1 as the one at which nodes, edges and ties to evidence began.
            when: The statement's name and its parameters; a project that is not given is ``p``.
            rows: What it answers, all columns and all rows; of a map in it only the entries that count.
            effects: How many ``nodes``, ``relationships``, ``labels`` and ``properties`` are there (``+``) and gone
                (``-``) afterwards; none unless given. A changed value is one gone and one there.
            depth: Tightens the walk.
        """
        self.given(given)
        return self.play(when, rows, effects or {}, depth)

    def given(self, text: LiteralString) -> None:
        """Empty the database and write a graph."""
        self._database.query("MATCH (n) DETACH DELETE n")
        if text:
            self._database.query(text)
            self._database.query(_COMPLETED)

    def play(
        self, when: tuple[str, Params], rows: list[Any] | None, effects: Mapping[str, int], depth: int | None = None
    ) -> Outcome:
        """Run a statement by name on what is there and compare."""
        query = queries.load(when[0])
        query = query if depth is None else query.walking(depth)
        own = {"project": PROJECT} if "project" in query.params else {}
        return self.run(query, own | dict(when[1]), rows, effects)

    def run(self, query: Query, params: Params, rows: list[Any] | None, effects: Mapping[str, int]) -> Outcome:
        """Run a statement on what is there and compare."""
        writes = query.kind == "write"  # the server lets a reading session change nothing
        before = self._database.observed() if writes else UNOBSERVED
        found = self._database.statement(query, params)
        after = self._database.observed() if writes else UNOBSERVED
        seen = Counter[str]()
        for kind in after:
            seen[f"+{kind}"] = len(after[kind] - before[kind])
            seen[f"-{kind}"] = len(before[kind] - after[kind])
        assert +seen == Counter(effects), f"{query.name} had the effects {dict(+seen)}"
        if rows is not None:
            assert all(tuple(row) == query.returns for row in found), f"{query.name} has other columns: {found[0]}"
            assert agrees(found, rows), f"{query.name} answered\n{pformat(found, width=120)}"
            assert all(row.keys() == set(query.returns) for row in rows), "a scenario names every column"
        return Outcome(self, query, params)
