"""What the statements of ``audit`` and ``rebuild`` answer and leave behind, on graphs just large enough to show it."""

from __future__ import annotations

import asyncio
from typing import LiteralString

import pytest
from scenario import Database, Row, Stage, in_any_order

from graph.store import Store

FIRST = "2026-01-01T00:00:00Z"


@pytest.fixture
def scenario(open_store: Store, loop: asyncio.Runner) -> Stage:
    return Stage(Database(open_store, loop))


def test_nodes_are_paged_by_what_they_are_known_by(scenario: Stage) -> None:
    given = """
    CREATE (:Knowledge {key: 'a'}), (:Knowledge {key: 'a', generation: 2}), (:Knowledge {key: 'b'}),
      (:Knowledge {project: 'q', key: 'a'}), (:Knowledge {project: 'p', generation: 1})
    """
    for after, first, keys in ((("", 0), 2, "a1 a2"), (("a", 1), 9, "a2 b1"), (("b", 1), 9, "")):
        scenario(
            given=given,
            when=("audit_node_ids", {"after_key": after[0], "after_generation": after[1], "first": first}),
            rows=[{"key": found[0], "generation": int(found[1])} for found in keys.split()],
        )


def test_a_node_is_told_as_it_is_stored_with_what_hangs_on_it(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (a:Knowledge:Mine {key: 'a', note: 'x', valid_from: datetime('2026-01-01T00:00:00Z')})
          -[:DEPENDS_ON {since: datetime('2026-01-01T00:00:00Z'), times: [datetime('2026-01-01T00:00:00Z')]}]->
          (b:Knowledge {key: 'b'}),
          (a)-[:LIKES {much: true}]->(:Person), (:Person)-[:READ]->(b), (:Event {seq: 1, event_id: 'e'})-[:ABOUT]->(b)
        """,
        when=("audit_nodes", {"ids": [["a", 1], ["b", 1], ["none", 1]]}),
        rows=[
            {
                "key": "a",
                "generation": 1,
                "labels": in_any_order("Knowledge", "Mine"),
                "properties": {"note": "x", "project": "p"},
                "instants": [["valid_from", FIRST]],
                "outgoing": in_any_order(
                    {
                        "type": "DEPENDS_ON",
                        "labels": ["Knowledge"],
                        "project": "p",
                        "key": "b",
                        "generation": 1,
                        "instants": [["since", FIRST]],
                        "times": [FIRST],
                    },
                    {
                        "type": "LIKES",
                        "labels": ["Person"],
                        "project": None,
                        "properties": {"much": True},
                        "times": None,
                    },
                ),
                "strays": 0,
            },
            {
                "key": "b",
                "generation": 1,
                "labels": ["Knowledge"],
                "properties": {"project": "p", "key": "b", "generation": 1, "created_seq": 1},
                "instants": [],
                "outgoing": [],
                "strays": 1,
            },
        ],
    )


def test_evidence_is_paged_and_told_as_it_is_stored(scenario: Stage) -> None:
    given: LiteralString = """
    CREATE (a:Evidence {key: 'a', timestamp: datetime('2026-01-01T00:00:00Z')}),
      (a)<-[:EVIDENCED_BY]-(:Knowledge {key: 'k'}),
      (b:Evidence {key: 'b'})-[:SAME]->(a), (:Evidence {project: 'q', key: 'c'})
    """
    scenario(given=given, when=("audit_evidence_keys", {"after_key": "a", "first": 9}), rows=[{"key": "b"}])
    scenario(
        given=given,
        when=("audit_evidence", {"keys": ["a", "b", "c"]}),
        rows=[
            {
                "key": "a",
                "labels": ["Evidence"],
                "properties": {"project": "p", "key": "a"},
                "instants": [["timestamp", FIRST]],
                "strays": 1,
            },
            {"key": "b", "labels": ["Evidence"], "properties": {"key": "b"}, "instants": [], "strays": 1},
        ],
    )


def test_events_are_paged_as_they_are_stored_with_their_ties(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Event {seq: 1, event_id: 'e1'})<-[:CAUSED_BY]-
          (e:Event {seq: 2, event_id: 'e2', time: datetime('2026-01-01T00:00:00Z')})-[:ABOUT]->(:Knowledge {key: 'a'}),
          (:Person)-[:READ]->(e)
        """,
        when=("audit_events", {"after": 1, "until": 9, "first": 9}),
        rows=[
            {
                "seq": 2,
                "labels": ["Event"],
                "properties": {"event_id": "e2", "project": "p"},
                "instants": [["time", FIRST]],
                "outgoing": in_any_order(
                    {"type": "CAUSED_BY", "labels": ["Event"], "project": "p", "event_id": "e1", "properties": {}},
                    {"type": "ABOUT", "labels": ["Knowledge"], "project": "p", "key": "a", "generation": 1},
                ),
                "strays": 1,
            }
        ],
    )


def test_the_census_counts_what_no_index_holds(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Project {name: 'p', seq: 1}), (:Knowledge {key: 'a'}), (:Knowledge), (:Event {seq: 1, event_id: 'e'}),
          (:Evidence {project: 'q', key: 'a'})
        """,
        when=("audit_census", {"projects": None}),
        rows=[
            {"label": "Event", "project": "p", "headed": True, "nodes": 1, "named": 1},
            {"label": "Evidence", "project": "q", "headed": False, "nodes": 1, "named": 1},
            {"label": "Knowledge", "project": "p", "headed": True, "nodes": 2, "named": 1},
        ],
    )
    scenario(
        given="CREATE (:Project {name: 'p', seq: 1}), (:Evidence {project: 'p'}), (:Evidence {project: 'q'})",
        when=("audit_census", {"projects": ["p"]}),
        rows=[{"label": "Evidence", "project": "p", "headed": True, "nodes": 1, "named": 0}],
    )


def test_a_head_is_told_as_it_is_stored(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Project:Mine {name: 'p', seq: 1, recorded_at: datetime('2026-01-01T00:00:00Z')})-[:HAS]->()",
        when=("audit_project", {}),
        rows=[
            {
                "labels": in_any_order("Project", "Mine"),
                "properties": {"name": "p", "seq": 1},
                "instants": [["recorded_at", FIRST]],
                "strays": 1,
            }
        ],
    )


def test_a_node_is_written_with_exactly_what_it_should_have(scenario: Stage) -> None:
    plain: Row = {"project": "p", "key": "a", "generation": 1, "uses": 2, "lineage": None}
    row: Row = {
        "key": "a",
        "generation": 1,
        "valid_from": FIRST,
        **dict.fromkeys(("valid_to", "created_at", "updated_at", "verified_at")),
        "plain": plain,
        "labels": ["Claim", "AtRisk"],
        "surplus": ["Mine"],
    }
    scenario(
        given="CREATE (:Knowledge:Mine {key: 'a', note: 'x', created_seq: 1})-[:DEPENDS_ON]->(:Knowledge {key: 'b'})",
        when=("repair_nodes", {"rows": [row, row | {"key": "c", "plain": plain | {"key": "c"}, "surplus": []}]}),
        rows=[{"written": 2}],
        effects={"+nodes": 1, "+labels": 5, "-labels": 1, "+properties": 7, "-properties": 2},
    ).again(effects={})


def test_nodes_and_evidence_are_dropped_as_often_as_they_are_there(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge {key: 'a'})-[:EVIDENCED_BY]->(:Evidence {key: 'a'}), (:Knowledge {project: 'q', key: 'a'})
        """,
        when=("repair_nodes_drop", {"ids": [["a", 1], ["none", 1]]}),
        rows=[{"dropped": 1}],
        effects={"-nodes": 1, "-relationships": 1, "-labels": 1, "-properties": 5},
    ).then(
        ("repair_evidence_drop", {"keys": ["a", "none"]}),
        rows=[{"dropped": 1}],
        effects={"-nodes": 1, "-labels": 1, "-properties": 2},
    )


def test_evidence_is_written_with_exactly_what_it_should_have(scenario: Stage) -> None:
    row = {"key": "a", "timestamp": FIRST, "plain": {"project": "p", "key": "a", "type": "t"}, "surplus": ["Mine"]}
    scenario(
        given="CREATE (:Evidence:Mine {key: 'a', note: 'x'})",
        when=("repair_evidence", {"rows": [row]}),
        rows=[{"written": 1}],
        effects={"-labels": 1, "+properties": 2, "-properties": 1},
    ).again(effects={})


def test_what_has_no_key_is_dropped(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge {key: 'a'}), (:Knowledge), (:Knowledge {key: 5}), (:Knowledge {key: 'b', generation: 0}),
          (:Evidence), (:Evidence {key: 'a'}), (:Evidence {project: 'q'}), (:Event)
        """,
        when=("repair_nameless_drop", {}),
        rows=[{"dropped": 4}],
        effects={"-nodes": 4, "-labels": 4, "-properties": 12},
    ).again(effects={}, rows=[{"dropped": 0}])


def test_ties_are_dropped_by_type_and_end(scenario: Stage) -> None:
    given = """
    CREATE (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}), (e:Evidence {key: 'b'}),
      (a)-[:DEPENDS_ON]->(b), (a)-[:DEPENDS_ON]->(b), (a)-[:SUPPORTS]->(b), (b)-[:DEPENDS_ON]->(a),
      (a)-[:EVIDENCED_BY]->(e)
    """
    edge = {"from": ["a", 1], "type": "DEPENDS_ON", "label": "Knowledge", "to": ["b", 1]}
    tie = {"from": ["a", 1], "type": "EVIDENCED_BY", "label": "Evidence", "to": ["b", None]}
    scenario(
        given=given,
        when=("repair_ties_drop", {"rows": [edge]}),
        rows=[{"dropped": 2}],
        effects={"-relationships": 2, "-properties": 2},
    ).then(
        ("repair_ties_drop", {"rows": [tie, edge]}),
        rows=[{"dropped": 1}],
        effects={"-relationships": 1, "-properties": 1},
    )


def test_strays_are_dropped_and_nothing_else(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (a:Knowledge {key: 'a'})-[:DEPENDS_ON]->(:Knowledge {key: 'b'}),
          (a)-[:EVIDENCED_BY]->(:Evidence {key: 'e'}), (a)<-[:ABOUT]-(v:Event {seq: 1, event_id: 'e'}),
          (a)-[:DEPENDS_ON]->(:Knowledge {project: 'q', key: 'a'})-[:SUPPORTS]->(a),
          (:Person)-[:LIKES]->(a)-[:ABOUT]->(v)
        """,
        when=("repair_strays", {"ids": [["a", 1]]}),
        rows=[{"dropped": 4}],
        effects={"-relationships": 4, "-properties": 2},
    )
    scenario(
        given="""
        CREATE (e:Evidence {key: 'e'})<-[:EVIDENCED_BY]-(a:Knowledge {key: 'a'})<-[:ABOUT]-(e),
          (e)<-[:HAS]-(:Knowledge {project: 'q', key: 'a'})
        """,
        when=("repair_evidence_strays", {"keys": ["e"]}),
        rows=[{"dropped": 2}],
        effects={"-relationships": 2},
    )


def test_events_are_untied_from_all_but_those_that_they_caused(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Event {seq: 1, event_id: 'e1'})<-[:CAUSED_BY]-(e:Event {seq: 2, event_id: 'e2'})-[:ABOUT]->
          (:Knowledge {key: 'a'})-[:READ]->(e)<-[:CAUSED_BY]-(:Event {seq: 3, event_id: 'e3'})
        """,
        when=("repair_events_untie", {"seqs": [2]}),
        rows=[{"dropped": 3}],
        effects={"-relationships": 3},
    )


def test_a_head_is_written_with_exactly_what_it_should_have(scenario: Stage) -> None:
    head = {"seq": 3, "hash": "ab", "recorded_at": FIRST, "surplus": ["Mine"]}
    scenario(
        given="CREATE (:Project:Mine {name: 'p', seq: 1, rebuilding: true})-[:HAS]->(:Person)",
        when=("repair_project", head),
        rows=[{"seq": 3}],
        effects={"-labels": 1, "-relationships": 1, "+properties": 3, "-properties": 2},
    ).again(effects={})
    scenario(
        given="",
        when=("repair_project", head),
        rows=[{"seq": 3}],
        effects={"+nodes": 1, "+labels": 1, "+properties": 4},
    )
