"""What the server makes of every file in ``cypher/``: kind, columns, and a plan that stays cheap as data grow."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, LiteralString

import pytest
from scenario import Database, Row

from graph import queries, words
from graph.commands import read_command
from graph.errors import KnowledgeError
from graph.knowledge import Actor, ActorType
from graph.queries import Query
from graph.store import Store

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WRITER = Actor("tests", "writer", ActorType.HUMAN)
EVIDENCE = {"type": "file", "source": "s", "hash": "sha256:ab", "artifact_ref": "x", "metadata": {"a": 1}}

# One of everything: every transition, relation and kind, every label and property that the model declares.
JOURNAL: list[Row] = [
    *(
        {
            "transition": "proposed",
            "key": key,
            "reason": "seen",
            "execution": {"run": "1"},
            "payload": {
                "proposition": f"says {key}",
                "kind": "observation" if key == "b" else "claim",
                "lineage": {"sources": ["x"], "method": "read"},
                "evidence": [EVIDENCE],
            },
        }
        for key in "abcdefgh"
    ),
    *(
        {"transition": "linked", "key": key, "payload": {"relation": relation, "to": to}}
        for key, relation, to in (
            ("b", "depends_on", "a"),
            ("c", "derived_from", "b"),
            ("c", "supports", "d"),
            ("e", "contradicts", "d"),
            ("e", "related_to", "f"),
            ("f", "depends_on", "g"),
        )
    ),
    {"transition": "confirmed", "key": "c", "payload": {"evidence": [EVIDENCE]}},
    {"transition": "unlinked", "key": "e", "payload": {"relation": "related_to", "to": "f"}},
    {"transition": "forgotten", "key": "h", "caused_by": ["event-1"]},
    {"transition": "corrected", "key": "g", "reason": "wrong", "payload": {"proposition": "says other"}},
    {"transition": "superseded", "key": "d", "payload": {"by": "e"}},
    {"transition": "invalidated", "key": "a", "reason": "wrong"},
    {"transition": "used", "key": "c"},
    {"transition": "hinted", "key": "e", "payload": {"outcome": "helpful"}},
    {"transition": "proposed", "key": "concept", "payload": {"concept": {"type": "fact", "body": "[[later]]"}}},
    {"transition": "sighted", "key": "concept", "payload": {"verdict": "same", "said": {"type": "fact", "body": "x"}}},
]
CROWD: tuple[LiteralString, ...] = (
    """
    UNWIND range(1, 2000) AS i
    CREATE (n:Knowledge:Claim:Confirmed {project: 'p', key: 'n' + i, generation: 1, created_seq: 100 + i}),
      (n)<-[:ABOUT]-(e:Event {project: 'p', seq: 100 + i, event_id: 'n' + i}),
      (n)-[:EVIDENCED_BY {seq: 100 + i}]->(:Evidence {project: 'p', key: 'n' + i})
    SET e.recorded_at = datetime('2026-11-01T00:00:00Z') + duration({minutes: i}),
      n.state = 'confirmed', n.kind = 'claim', n.forgotten = false, n.updated_seq = 100 + i
    """,
    """
    UNWIND range(6, 2000) AS i
    MATCH (n:Knowledge {project: 'p', key: 'n' + i, generation: 1})
    MATCH (t:Knowledge {project: 'p', key: 'n' + (i - 5), generation: 1})
    CREATE (n)-[:DEPENDS_ON {turns: [100 + i]}]->(t)
    """,
    """
    MATCH (n:Knowledge {project: 'p'})
    WHERE n.key STARTS WITH 'n'
    CREATE (n)-[:REPRESENTED_BY]->(:Representation:Model {project: 'p', model: 'Model', key: n.key, generation: 1,
      model_name: 'm', model_sha256: 'a', text_sha256: 'b', vector: [1.0, 0.0]})
    """,
    "CREATE (:Aging {project: 'p', since: datetime('2026-11-01T00:00:00Z'), seconds: 60})",
    "CREATE (:Replay {project: 'p', session: 's'})",
    """
    CREATE (:AccessToken {token_id: 't1', hash: 'h', label: 'l', projects: ['p'], role: 'reader', issuer: 'i',
      subject: 's', type: 'agent', rate: 1, created_at: datetime('2026-11-01T00:00:00Z'),
      expires_at: datetime('2026-12-01T00:00:00Z'), revoked_at: datetime('2026-11-02T00:00:00Z')})
    """,
    "CREATE (:Policy {project: 'p', kept: ['email'], types: ['fact']})",
    "CREATE (:Filling {project: 'p', model: 'Model', model_name: 'm', seq: 20, index: 'Model'})",
    "MATCH (p:Project {name: 'p'}) SET p.rebuilding = false",
)
SETTLED: tuple[LiteralString, ...] = (
    "CALL db.awaitIndexes(60)",
    "CALL db.resampleOutdatedIndexes()",
    "CALL db.clearQueryCaches()",
)

GIVEN: Row = {
    "after": 3,
    "after_generation": 1,
    "after_key": "b",
    "asked": 100,
    "depth": 6,
    "dimensions": 2,
    "ended": True,
    "event_ids": ["event-1", "event-2"],
    "created_at": "2026-11-01T00:00:00Z",
    "expires_at": "2026-12-01T00:00:00Z",
    "issuer": "tests",
    "label": "l",
    "projects": ["p"],
    "rate": 10,
    "revoked_at": "2026-11-02T00:00:00Z",
    "role": "reader",
    "subject": "s",
    "token_id": "t1",
    "token_ids": ["t1", "t2"],
    "type": "agent",
    "before": "2026-11-01T00:00:00Z",
    "schema_version": 1,
    "journal_version": 1,
    "written_by": "1.0.0",
    "edges_max": 50,
    "evidence_max": 3,
    "nodes_max": 100,
    "evidence": True,
    "filters": {
        "states": ["proposed", "confirmed"],
        "kinds": ["claim", "observation"],
        "at_risk": True,
        "stale": False,
        "aged": "2026-10-01T00:00:00Z",
        "updated_after": "2026-10-01T00:00:00Z",
        "valid_at": "2026-10-01T00:00:00Z",
    },
    "first": 100,
    "generation": 1,
    "hash": "0" * 64,
    "ids": [["c", 1], ["d", 1]],
    "index": "Model",
    "instant": "2026-11-01T00:00:00Z",
    "highest": 1,
    "kept": ["email"],
    "key": "c",
    "keys": ["c", "d"],
    "limit": 10,
    "lowest": 1,
    "max_nodes": 1000,
    "model": "Model",
    "model_hash": "a",
    "model_name": "m",
    "most": 1000,
    "now": True,
    "prefix": "n",
    "project": "p",
    "rebuilding": True,
    "recorded_at": "2026-11-01T00:00:00Z",
    "rows": [{}, {}],
    "lasts": 60,
    "least": 0.9,
    "scanned_max": 10000,
    "seq": 20,
    "seqs": [1, 2, 3],
    "session": "s",
    "shared_max": 20,
    "since": "2026-11-01T00:00:00Z",
    "surplus": ["Retired"],
    "together": [{"project": "p", "key": "c", "least": 1, "most": 9}],
    "types": ["DEPENDS_ON", "DERIVED_FROM", "SUPPORTS"],
    "until": 20,
    "upstream": True,
    "downstream": True,
    "vector": [1.0, 0.0],
    "vectors": [[1.0, 0.0], [0.0, 1.0]],
    "wanted": {
        "keys": ["c", "d"],
        "generations": [["g", 1], ["g", 2]],
        "edges": [["c", "DERIVED_FROM", "b"], ["b", "DEPENDS_ON", "a"]],
        "superseded": ["c", "d"],
        "evidence_keys": ["e1", "e2"],
        "standing": ["c", "d"],
        "awaited": ["c", "d"],
        "event_ids": ["event-1", "event-2"],
    },
    "texts": [words.worded(["says"], "p"), words.worded(["other"], "p")],
    "words": words.query(["says"], "p"),
}

# Reads the heads, policies or fillings of projects, or all tokens, of which there are few; and what has no project or
# no key.
UNINDEXED = frozenset(
    {
        "project_list",
        "journal_totals",
        "store_format_get",
        "store_format_put",
        "projects_rebuilding",
        "audit_census",
        "repair_nameless_drop",
        "representations_due",
    }
    | {"representations_fillings", "policies_kept", "access_tokens_page"}
)
# Where the answer or the work is a whole project's, as the bounds say, or where any of a project's will do.
WHOLE = frozenset(
    {
        "evidence_count",
        "export_counts",
        "project_counts",
        "relation_counts",
        "risk_marked",
    }
)
IN_INDEX_ORDER = frozenset(
    {
        "audit_events",
        "audit_evidence_keys",
        "audit_node_ids",
        "events_followed",
        "export_edges",
        "export_nodes",
        "journal_page",
        "knowledge_page",
        "unverified_page",
    }
)
# A page of each of a few values, which are put in order together.
MERGED = frozenset({"knowledge_page_of_kinds", "knowledge_page_of_states"})

ENTRY = re.compile(r"Scan|Seek|ById|Lookup")
SEEK = re.compile(r"Node(Unique)?IndexSeek(\(Locking\))?")
ANY_OF_THE_PROJECT = re.compile(r"project = \S+ AND \w+ IS NOT NULL")
WALK = re.compile(r"\*\d*\.\.\d+(?=\])|\)[+*](?=\s*\()")


@dataclass(frozen=True, slots=True)
class Operator:
    name: str
    details: str


@dataclass(frozen=True, slots=True)
class Explained:
    """What the server says of a statement that it does not run."""

    query: Query
    variant: str
    columns: tuple[str, ...]
    type: str
    warnings: list[str]
    operators: list[Operator]

    def named(self, part: str) -> list[Operator]:
        return [operator for operator in self.operators if part in operator.name]


def nullable(name: str) -> list[str]:
    """The parameters that the header says may be null."""
    header = " ".join(line.removeprefix("//") for line in queries.load(name).text.splitlines() if line.startswith("//"))
    params = header.partition("params:")[2].partition("returns:")[0]
    return re.findall(r"(\w+): [^,]*? or null", params)


CASES = [
    *((name, "all given") for name in queries.names()),
    *((name, "nulls") for name in queries.names() if nullable(name)),
    *((name, "young") for name in queries.names() if queries.load(name).kind != "schema"),
]


class Planner:
    """Asks the server for the plan of each statement once: while the database is young, and on a crowd that is alike.

    A plan that was made on the first day is kept for a while when the data comes, so it must be as good.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[tuple[str, str], Explained] = {}

    def prepare(self) -> None:
        self._database.query("MATCH (n) DETACH DELETE n")
        self._settle()
        for name, variant in CASES:
            if variant == "young":
                self(name, variant)
        self._fill()
        self._settle()

    def _settle(self) -> None:
        """Let the server know how many there are of what, and forget the plans that it made before it did."""
        for text in SETTLED:
            self._database.query(text)

    def _fill(self) -> None:
        commands = [
            read_command({"event_id": f"event-{at}", "project": "p"} | line, actor=WRITER)
            for at, line in enumerate(JOURNAL, start=1)
        ]
        taken = self._database.loop.run(self._database.store.append(commands, NOW, seconds=60))
        assert [answer for answer in taken if isinstance(answer, KnowledgeError)] == []
        for text in CROWD:
            self._database.query(text)

    def __call__(self, name: str, variant: str) -> Explained:
        if (name, variant) not in self._known:
            params = {param: GIVEN[param] for param in queries.load(name).params}
            if variant == "nulls":
                params |= dict.fromkeys(nullable(name))
            self._known[name, variant] = self._database.loop.run(self._ask(queries.load(name), variant, params))
        return self._known[name, variant]

    async def _ask(self, query: Query, variant: str, params: Row) -> Explained:
        driver: Any = self._database.store.driver  # its sessions take what they are set to untyped
        named = {"database": self._database.store.database, "notifications_min_severity": "WARNING"}
        async with driver.session(**named) as session:
            result = await session.run("EXPLAIN " + query.text, params)
            columns = tuple(result.keys())
            summary = await result.consume()
        warnings = [str(status.status_description) for status in summary.gql_status_objects if status.is_notification]
        return Explained(query, variant, columns, summary.query_type, warnings, list(flat(summary.plan)))


@pytest.fixture(scope="module")
def planner(open_store: Store, loop: asyncio.Runner) -> Iterator[Planner]:
    database = Database(open_store, loop)
    planner = Planner(database)
    planner.prepare()
    yield planner
    database.query("MATCH (n) DETACH DELETE n")


def flat(plan: Row) -> Iterator[Operator]:
    yield Operator(plan["operatorType"].partition("@")[0], str(plan["args"].get("Details", "")))
    for child in plan.get("children", ()):
        yield from flat(child)


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}, {case[1]}")
def plan(planner: Planner, request: pytest.FixtureRequest) -> Explained:
    return planner(*request.param)


def test_the_server_finds_the_kind_and_the_columns_that_the_header_names(plan: Explained) -> None:
    assert plan.type in {"read": ("r",), "write": ("rw", "w"), "schema": ("s",)}[plan.query.kind]
    assert plan.columns == plan.query.returns


def test_the_server_warns_of_nothing_once_it_has_seen_one_of_everything(plan: Explained) -> None:
    assert plan.warnings == [] or plan.variant == "young"


def test_the_graph_is_entered_by_an_index_and_a_project(plan: Explained) -> None:
    for entry in (operator for operator in plan.operators if ENTRY.search(operator.name)):
        if plan.query.name not in UNINDEXED:
            assert SEEK.fullmatch(entry.name), entry
            assert re.search(r"\bproject = |Project\(name\)|AccessToken\(token_id\)", entry.details), entry


def test_only_what_is_about_a_whole_project_reads_one(plan: Explained) -> None:
    seeks = [operator for operator in plan.named("Seek") if ANY_OF_THE_PROJECT.search(operator.details)]
    assert bool(seeks) == (plan.query.name in WHOLE), seeks


def test_nothing_is_multiplied_out(plan: Explained) -> None:
    assert plan.named("CartesianProduct") == []


def test_a_walk_of_many_hops_looks_at_each_node_once(plan: Explained) -> None:
    walks = len(WALK.findall(plan.query.text))
    assert [operator.name for operator in plan.named("VarLength")] == ["VarLengthExpand(Pruning,BFS,All)"] * walks
    assert [*plan.named("Repeat"), *plan.named("Shortest"), *plan.named("Trail")] == []


def test_a_page_is_read_in_the_order_of_an_index(plan: Explained) -> None:
    if plan.query.name in IN_INDEX_ORDER:
        assert [limit.name for limit in plan.operators if "$first" in limit.details] == ["Limit"]
    if plan.query.name in MERGED:
        assert [limit.name for limit in plan.operators if "$first" in limit.details] == ["Top", "Limit"]


def test_every_parameter_has_a_plausible_value() -> None:
    asked = {param for name in queries.names() for param in queries.load(name).params}
    assert asked == set(GIVEN)
