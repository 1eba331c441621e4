"""What each statement answers and leaves behind, on graphs just large enough to show it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import LiteralString, cast

import pytest
from neo4j.exceptions import ConstraintError
from scenario import AnyOrder, Database, Params, Row, Stage, in_any_order

from graph import queries
from graph.knowledge import Relation
from graph.queries import Query

ALL_TYPES = [relation.value.upper() for relation in Relation]
ALWAYS = 2**53  # above every position
LATE = "2026-11-01T00:00:00Z"


def test_every_statement_has_a_scenario() -> None:
    files = [path.read_text("utf-8") for path in Path(__file__).parent.glob("test_cypher_*.py")]
    played = [found for text in files for found in re.findall(r"\(\s*\"(\w+)\",", text)]
    # Compiled reads are run in every shape by test_plans.py, which holds them to what the executor answers.
    asked = {n for n in queries.names() if queries.load(n).kind != "schema" and not n.startswith("compiled_")}
    assert asked - set(played) == set()


# The heads of projects.


def test_a_lock_makes_the_head_of_a_new_project_once(scenario: Stage) -> None:
    scenario(
        given="",
        when=("project_lock", {}),
        rows=[{"seq": 0, "hash": None, "recorded_at": None, "rebuilding": False}],
        effects={"+nodes": 1, "+labels": 1, "+properties": 2},
    ).again(effects={}, rows=[{"seq": 0, "hash": None, "recorded_at": None, "rebuilding": False}])


def test_a_lock_changes_nothing_of_a_head_that_is_there(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Project {name: 'p', seq: 7, hash: 'ab', recorded_at: datetime('2026-01-02T03:04:05.678901Z'),
          rebuilding: true}),
          (:Project {name: 'q', seq: 9})
        """,
        when=("project_lock", {}),
        rows=[{"seq": 7, "hash": "ab", "recorded_at": "2026-01-02T03:04:05.678901Z", "rebuilding": True}],
    )


def test_who_comes_second_waits_for_the_lock_and_then_sees_what_the_first_left(
    scenario: Stage, database: Database, loop: asyncio.Runner
) -> None:
    lock, advance = queries.load("project_lock").text, queries.load("project_advance").text
    driver, name = database.store.driver, database.store.database
    moved = {"project": "p", "seq": 8, "hash": "cd", "recorded_at": LATE}

    async def second() -> Row:
        async with driver.session(database=name) as session, await session.begin_transaction() as tx:  # pyright: ignore[reportUnknownMemberType]
            return (await (await tx.run(lock, project="p")).data())[0]

    async def play() -> Row:
        async with driver.session(database=name) as session, await session.begin_transaction() as tx:  # pyright: ignore[reportUnknownMemberType]
            await (await tx.run(lock, project="p")).consume()
            waiting = asyncio.create_task(second())
            await asyncio.sleep(0.3)
            assert not waiting.done()
            await (await tx.run(advance, moved)).consume()
            await tx.commit()
        return await waiting

    scenario.given("CREATE (:Project {name: 'p', seq: 7, hash: 'ab'})")
    assert loop.run(play()) == {"seq": 8, "hash": "cd", "recorded_at": LATE, "rebuilding": False}


def test_a_head_is_moved_to_its_newest_event(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Project {name: 'p', seq: 0}), (:Project {name: 'q', seq: 0})",
        when=("project_advance", {"seq": 3, "hash": "ab", "recorded_at": LATE}),
        rows=[{"seq": 3}],
        effects={"+properties": 3, "-properties": 1},
    ).again(effects={}).then(("project_head", {}), rows=[{"seq": 3, "hash": "ab", "recorded_at": LATE}])


def test_a_project_without_events_has_no_head_and_no_name(scenario: Stage) -> None:
    given: LiteralString = (
        "CREATE (:Project {name: 'p', seq: 0}), (:Project {name: 'q', seq: 2}), (:Project {name: 'b', seq: 1})"
    )
    scenario(given=given, when=("project_head", {}), rows=[])
    scenario(given=given, when=("project_list", {"projects": None}), rows=[{"name": "b"}, {"name": "q"}])
    scenario(given=given, when=("project_list", {"projects": ["p", "q", "x"]}), rows=[{"name": "q"}])
    scenario(given=given, when=("project_list", {"projects": []}), rows=[])
    scenario(given=given, when=("journal_totals", {}), rows=[{"projects": 2, "events": 3}])
    scenario(given="CREATE (:Aging)", when=("journal_totals", {}), rows=[{"projects": 0, "events": 0}])


def test_only_a_head_without_events_is_dropped(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Project {name: 'p', seq: 0}), (:Project {name: 'q', seq: 0})",
        when=("project_drop_empty", {}),
        rows=[{"dropped": 1}],
        effects={"-nodes": 1, "-labels": 1, "-properties": 2},
    ).again(effects={}, rows=[{"dropped": 0}])
    scenario(given="CREATE (:Project {name: 'p', seq: 1})", when=("project_drop_empty", {}), rows=[{"dropped": 0}])


def test_a_project_is_said_to_be_rebuilding_until_it_is_whole(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Project {name: 'p', seq: 4}), (:Project {name: 'q', seq: 5})",
        when=("project_rebuilding", {"rebuilding": True}),
        rows=[{"seq": 4}],
        effects={"+properties": 1},
    ).again(effects={}).then(
        ("project_rebuilding", {"rebuilding": False}), rows=[{"seq": 4}], effects={"-properties": 1}
    ).again(effects={})
    scenario(given="", when=("project_rebuilding", {"rebuilding": True}), rows=[])


def test_projects_that_are_not_whole_are_found(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Project {name: 'b', seq: 4, rebuilding: true}), (:Project {name: 'a', rebuilding: true}),"
        " (:Project {name: 'c', seq: 5})",
        when=("projects_rebuilding", {}),
        rows=[{"name": "a"}, {"name": "b"}],
    )


# The journal.


def event_row(seq: int, **changes: object) -> Row:
    row: Row = {
        "project": "p",
        "seq": seq,
        "event_id": f"e{seq}",
        "transition": "confirmed",
        "key": "a",
        "generation": 1,
        "actor_issuer": "tests",
        "actor_subject": "writer",
        "actor_type": "human",
        "time": "2026-01-01T00:00:00.123456Z",
        "recorded_at": "2026-01-02T00:00:00Z",
        "reason": None,
        "caused_by": [],
        "execution": None,
        "payload": "{}",
        "state_after": "confirmed",
        "verifies": True,
        "newly_at_risk": 0,
        "prev_hash": "00",
        "hash": "ab",
    }
    return row | changes


ABOUT: LiteralString = "CREATE (:Knowledge {key: 'a'})"


def with_evidence(event: Row, *evidence: Row) -> Row:
    return {"event": event, "evidence": list(evidence)}


JOURNAL: LiteralString = """
UNWIND [3, 1, 5, 2, 4] AS seq
CREATE (e:Event {seq: seq, event_id: 'e' + seq}), (:Event {project: 'q', seq: seq, event_id: 'e' + seq})
WITH e
WHERE e.seq <> 3
MERGE (n:Knowledge {key: 'a'})
CREATE (e)-[:ABOUT]->(n)
WITH count(*) AS about
MATCH (e:Event)
WHERE e.seq IN [3, 4] AND e.project IS NULL
MERGE (n:Knowledge {key: 'b'})
CREATE (e)-[:ABOUT]->(n)
"""


def seqs(*found: int) -> list[Row]:
    return [{"event": {"project": "p", "seq": seq, "event_id": f"e{seq}"}} for seq in found]


def test_events_come_back_as_they_were_put(scenario: Stage) -> None:
    first = event_row(1)
    second = event_row(2, reason="why", caused_by=["e1"], execution='{"run":"r"}', newly_at_risk=3)
    present = sum(value is not None for row in (first, second) for value in row.values())
    scenario(
        given=ABOUT,
        when=("events_create", {"rows": [with_evidence(first), with_evidence(second)]}),
        rows=[{"written": 2}],
        effects={"+nodes": 2, "+labels": 2, "+relationships": 2, "+properties": present},
    ).then(
        ("events_at", {"seqs": [1, 2]}),
        rows=[{"event": {k: v for k, v in row.items() if k != "verifies"}} for row in (first, second)],
    )


def test_an_event_brings_evidence_on_which_its_node_stands(scenario: Stage) -> None:
    scenario(
        given=ABOUT,
        when=("events_create", {"rows": [with_evidence(event_row(5), EVIDENCE_ROW, EVIDENCE_ROW | {"key": "e2"})]}),
        rows=[{"written": 1}],
        effects={"+nodes": 3, "+labels": 3, "+relationships": 3, "+properties": 18 + 2 * 8 + 2},
    ).then(
        ("evidence_of", {"ids": [["a", 1]], "seq": ALWAYS}),
        rows=[{"key": "a", "generation": 1, "evidence": [EVIDENCE_ROW, EVIDENCE_ROW | {"key": "e2"}]}],
    ).then(("evidence_named", {"keys": ["e1", "none"]}), rows=[{"evidence": {"project": "p"} | EVIDENCE_ROW}])


def test_times_are_kept_as_instants(scenario: Stage, database: Database) -> None:
    scenario.given(ABOUT)
    row = {"project": "p", "rows": [with_evidence(event_row(1))]}
    database.statement(queries.load("events_create"), row)
    assert database.query(
        "MATCH (e:Event) RETURN valueType(e.time) AS time, valueType(e.recorded_at) AS recorded_at"
    ) == [{"time": "ZONED DATETIME NOT NULL", "recorded_at": "ZONED DATETIME NOT NULL"}]


@pytest.mark.parametrize("taken", [event_row(1, event_id="other"), event_row(2, event_id="e1")])
def test_a_position_and_an_event_id_are_taken_once_in_a_project(scenario: Stage, taken: Row) -> None:
    put = scenario(
        given=ABOUT,
        when=("events_create", {"rows": [with_evidence(event_row(1)), with_evidence(event_row(1, project="q"))]}),
        rows=[{"written": 2}],
        effects={"+nodes": 2, "+labels": 2, "+relationships": 2, "+properties": 36},
    )
    with pytest.raises(ConstraintError):
        put.then(("events_create", {"rows": [with_evidence(taken)]}))


def test_events_are_tied_once_to_what_they_are_about_and_what_caused_them(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Event {seq: 1, event_id: 'e1'}), (:Event {seq: 2, event_id: 'e2'}), (:Event {seq: 3, event_id: 'e3'}),
          (:Event {project: 'q', seq: 2, event_id: 'e1'}), (:Knowledge {key: 'a'}),
          (:Knowledge {project: 'q', key: 'a'}),
          (:Knowledge {key: 'a', generation: 2})
        """,
        when=(
            "events_attach",
            {
                "rows": [
                    {"seq": 2, "nodes": [["a", 1], ["a", 2]], "caused_by": ["e1"]},
                    {"seq": 3, "nodes": [["a", 1]], "caused_by": []},
                ]
            },
        ),
        rows=[{"written": 2}],
        effects={"+relationships": 4},
    ).again(effects={}, rows=[{"written": 2}])


def test_events_are_found_by_position_and_by_id(scenario: Stage) -> None:
    scenario(given=JOURNAL, when=("events_at", {"seqs": [4, 9, 2]}), rows=seqs(2, 4))
    scenario(given=JOURNAL, when=("events_named", {"event_ids": ["e5", "none", "e1"]}), rows=seqs(1, 5))


@pytest.mark.parametrize(
    ("after", "until", "first", "found"),
    [
        (0, ALWAYS, 10, (1, 2, 3, 4, 5)),
        (0, ALWAYS, 2, (1, 2)),
        (2, ALWAYS, 2, (3, 4)),
        (2, 4, 10, (3, 4)),
        (5, 9, 10, ()),
    ],
)
def test_a_journal_is_read_in_pages(
    scenario: Stage, after: int, until: int, first: int, found: tuple[int, ...]
) -> None:
    page = {"after": after, "until": until, "first": first}
    scenario(given=JOURNAL, when=("journal_page", page), rows=seqs(*found))


def test_a_journal_is_followed_behind_a_position(scenario: Stage) -> None:
    found = [{"event": {"seq": seq}} for seq in (3, 4)]
    scenario(given=JOURNAL, when=("events_followed", {"after": 2, "first": 2}), rows=found)
    scenario(given=JOURNAL, when=("events_followed", {"after": 5, "first": 9}), rows=[])


def test_heads_are_told_of_the_projects_that_have_events(scenario: Stage) -> None:
    given: LiteralString = (
        "CREATE (:Project {name: 'p', seq: 0}), (:Project {name: 'q', seq: 2}), (:Project {name: 'b', seq: 1})"
    )
    asked = {"projects": ["q", "p", "nowhere", "b"]}
    rows = [{"project": "b", "seq": 1}, {"project": "q", "seq": 2}]
    scenario(given=given, when=("project_heads", asked), rows=rows)


@pytest.mark.parametrize(
    ("after", "until", "first", "found"),
    [
        (0, ALWAYS, 10, {"a": (1, 2, 4, 5), "b": (3, 4)}),
        (0, ALWAYS, 2, {"a": (1, 2), "b": (3, 4)}),
        (1, 3, 10, {"a": (2,), "b": (3,)}),
        (4, 9, 1, {"a": (5,)}),
    ],
)
def test_the_events_about_each_of_some_nodes_are_read_in_pages(
    scenario: Stage, after: int, until: int, first: int, found: dict[str, tuple[int, ...]]
) -> None:
    asked = {"ids": [["b", 1], ["a", 1], ["none", 1]], "after": after, "until": until, "first": first}
    rows = [{"of": [key, 1]} | row for key, of in found.items() for row in seqs(*of)]
    scenario(given=JOURNAL, when=("events_about", asked), rows=rows)


def test_a_position_is_the_last_of_those_that_share_the_instant(scenario: Stage) -> None:
    given: LiteralString = """
    UNWIND [[1, 1], [2, 2], [3, 2], [4, 2], [5, 4]] AS at
    WITH at[0] AS seq, datetime({year: 2026, month: 1, day: at[1]}) AS time
    CREATE (:Event {seq: seq, event_id: 'e' + seq, recorded_at: time}),
      (:Event {project: 'q', seq: 10 + seq, event_id: 'e' + seq, recorded_at: time})
    """
    for instant, found in (
        ("2025-12-31T23:59:59Z", []),
        ("2026-01-01T00:00:00Z", [{"seq": 1}]),
        ("2026-01-01T23:59:59.999999Z", [{"seq": 1}]),
        ("2026-01-02T00:00:00Z", [{"seq": 4}]),
        ("2026-01-02T01:00:00+01:00", [{"seq": 4}]),
        ("2026-01-03T12:00:00Z", [{"seq": 4}]),
        (LATE, [{"seq": 5}]),
    ):
        scenario(given=given, when=("position_at", {"instant": instant}), rows=found)


# Evidence.


EVIDENCE_ROW: Row = {
    "key": "e1",
    "type": "file",
    "source": "s",
    "timestamp": "2026-01-01T00:00:00Z",
    "hash": "sha256:ab",
    "artifact_ref": "x",
    "metadata": '{"a":1}',
}

EVIDENCED: LiteralString = """
CREATE (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}), (:Knowledge {key: 'c'}),
  (e1:Evidence {key: 'e1', type: 'file', timestamp: datetime('2026-01-01')}), (e2:Evidence {key: 'e2'}),
  (e3:Evidence {key: 'e3'}), (:Evidence {project: 'q', key: 'e1'}), (:Evidence {project: 'q', key: 'e9'}),
  (a)-[:EVIDENCED_BY {seq: 2}]->(e2), (a)-[:EVIDENCED_BY {seq: 4}]->(e1), (a)-[:EVIDENCED_BY {seq: 2}]->(e3),
  (b)-[:EVIDENCED_BY {seq: 6}]->(e1)
"""


def test_a_node_stands_on_evidence_since_it_was_first_said(scenario: Stage) -> None:
    row = {"key": "a", "generation": 1, "evidence": "e1", "seq": 3}
    scenario(
        given="CREATE (:Knowledge {key: 'a'}), (:Knowledge {project: 'q', key: 'a'}), (:Evidence {key: 'e1'})",
        when=("evidence_attach", {"rows": [row]}),
        rows=[{"written": 1}],
        effects={"+relationships": 1, "+properties": 1},
    ).again(effects={}).then(("evidence_attach", {"rows": [row | {"seq": 9}]}), rows=[{"written": 1}]).then(
        ("evidence_attach", {"rows": [row | {"evidence": "none"}]}), rows=[{"written": 0}]
    )


def test_evidence_of_nodes_is_what_they_stood_on_by_then_in_the_order_it_came(scenario: Stage) -> None:
    asked = {"ids": [["a", 1], ["b", 1], ["c", 1], ["none", 1]]}
    for seq, of_a, of_b in ((1, [], []), (2, ["e2", "e3"], []), (ALWAYS, ["e2", "e3", "e1"], ["e1"])):
        scenario(
            given=EVIDENCED,
            when=("evidence_of", asked | {"seq": seq}),
            rows=in_any_order(
                {"key": "a", "generation": 1, "evidence": [{"key": key} for key in of_a]},
                {"key": "b", "generation": 1, "evidence": [{"key": key} for key in of_b]},
                {"key": "c", "generation": 1, "evidence": []},
            ),
        )


def test_a_projects_evidence_is_counted(scenario: Stage) -> None:
    scenario(given=EVIDENCED, when=("evidence_count", {}), rows=[{"evidence": 3}])


# Nodes.


def node_row(key: str = "a", **changes: object) -> Row:
    row: Row = {
        "key": key,
        "generation": 1,
        "proposition": "says a",
        "kind": "claim",
        "state": "proposed",
        "valid_from": "2026-01-01T00:00:00Z",
        "valid_to": None,
        "created_at": "2026-01-01T00:00:00Z",
        "created_seq": 1,
        "updated_at": "2026-01-02T00:00:00Z",
        "updated_seq": 1,
        "verified_at": None,
        "verified_seq": None,
        "retired_seq": None,
        "uses": 0,
        "helpful": 0,
        "harmful": 0,
        "unsupported": 0,
        "forgotten": False,
        "confirmed_by": None,
        "lineage": None,
        "concept": None,
        "dangling": None,
        "labels": ["Proposed", "Claim"],
    }
    return row | changes


def new_node(row: Row) -> Params:
    """What ``nodes_create`` makes the node of a row of."""
    node = {name: value for name, value in row.items() if name != "labels"}
    return {"rows": [{"node": node, "labels": row["labels"]}]}


EVERYTHING: Row = {"seq": ALWAYS, "after_key": "", "after_generation": 0, "first": 100}


def test_a_node_is_made_with_its_labels_and_comes_back_as_it_was_made(scenario: Stage) -> None:
    row = node_row(verified_at="2026-01-03T00:00:00Z", verified_seq=2, lineage='{"sources":[]}', confirmed_by="human")
    expected = {name: value for name, value in row.items() if name != "labels"}
    scenario(
        given="",
        when=("nodes_create", new_node(row)),
        rows=[{"written": 1}],
        effects={"+nodes": 1, "+labels": 3, "+properties": 21},
    ).then(
        ("export_nodes", EVERYTHING),
        rows=[
            {
                "node": expected
                | {
                    "project": "p",
                    "risk_seq": 0,
                    "at_risk": False,
                    "retired": False,
                    "labels": in_any_order("Knowledge", "Proposed", "Claim"),
                    "evidence": [],
                }
            }
        ],
    )


def test_a_node_that_is_put_is_like_one_that_was_made_so(scenario: Stage, database: Database) -> None:
    before = node_row(valid_to=LATE, confirmed_by="agent", forgotten=True, labels=["Proposed", "Claim", "Forgotten"])
    after = node_row(
        state="confirmed",
        updated_at=LATE,
        updated_seq=9,
        verified_at=LATE,
        verified_seq=9,
        uses=1,
        helpful=2,
        harmful=3,
        unsupported=4,
        confirmed_by="human",
        labels=["Confirmed", "Claim"],
    )
    scenario(
        given="",
        when=("nodes_create", new_node(before)),
        rows=[{"written": 1}],
        effects={"+nodes": 1, "+labels": 4, "+properties": 19},
    ).then(
        ("nodes_put", {"rows": [after]}),
        rows=[{"written": 1}],
        effects={"-labels": 2, "+labels": 1, "-properties": 10, "+properties": 11},
    ).again(effects={})
    read: LiteralString = (
        "MATCH (n:Knowledge) UNWIND labels(n) AS label RETURN properties(n) AS holds, label ORDER BY label"
    )
    put = database.query(read)
    scenario(
        given="",
        when=("nodes_create", new_node(after)),
        rows=[{"written": 1}],
        effects={"+nodes": 1, "+labels": 3, "+properties": 20},
    )
    assert put == database.query(read)


def test_what_is_put_of_a_node_that_is_not_there_makes_none(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Knowledge {project: 'q', key: 'a'}), (:Knowledge {key: 'a', generation: 2})",
        when=("nodes_put", {"rows": [node_row()]}),
        rows=[{"written": 0}],
        effects={},
    )


def test_a_changed_state_changes_the_label_and_leaves_the_mark(scenario: Stage) -> None:
    given: LiteralString = """
    CREATE (:Knowledge:Proposed:Claim:AtRisk:Forgotten {key: 'a', state: 'proposed', risk_seq: 4, forgotten: true})
    """
    put = ("nodes_put", {"rows": [node_row(state="confirmed", labels=["Confirmed", "Claim"])]})
    scenario(
        given=given,
        when=put,
        rows=[{"written": 1}],
        effects={"-labels": 2, "+labels": 1, "-properties": 2, "+properties": 8},
    ).then(
        ("export_nodes", EVERYTHING),
        rows=[
            {
                "node": {
                    "labels": in_any_order("Knowledge", "Confirmed", "Claim", "AtRisk"),
                    "risk_seq": 4,
                    "forgotten": False,
                }
            }
        ],
    )


def test_a_retired_node_is_no_longer_at_risk_itself(scenario: Stage) -> None:
    row = node_row(state="invalidated", retired_seq=6, labels=["Invalidated", "Claim", "Retired"])
    scenario(
        given="CREATE (:Knowledge:Confirmed:Claim:AtRisk {key: 'a', state: 'confirmed', risk_seq: 4})",
        when=("nodes_put", {"rows": [row]}),
        rows=[{"written": 1}],
        effects={"-labels": 2, "+labels": 2, "-properties": 2, "+properties": 10},
    ).again(effects={}).then(
        ("export_nodes", EVERYTHING),
        rows=[
            {
                "node": {
                    "labels": in_any_order("Knowledge", "Invalidated", "Claim", "Retired"),
                    "risk_seq": 0,
                    "retired": True,
                    "retired_seq": 6,
                    "at_risk": False,
                }
            }
        ],
    )


GENERATIONS: LiteralString = """
CREATE (:Knowledge:Retired {key: 'a', created_seq: 1, retired_seq: 5}),
  (:Knowledge {key: 'a', generation: 2, created_seq: 6}),
  (:Knowledge {key: 'a', generation: 10, created_seq: 9}), (:Knowledge {key: 'ab', generation: 11}),
  (:Knowledge {project: 'q', key: 'a', generation: 12})
"""


def test_keys_that_name_a_live_node_are_told_apart_from_those_whose_newest_is_retired(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge {project: 'p', key: 'live', generation: 1}),
          (:Knowledge:Retired {project: 'p', key: 'again', generation: 1}),
          (:Knowledge {project: 'p', key: 'again', generation: 2}),
          (:Knowledge {project: 'p', key: 'gone', generation: 1}),
          (:Knowledge:Retired {project: 'p', key: 'gone', generation: 2}),
          (:Knowledge {project: 'q', key: 'other', generation: 1})
        """,
        when=("live_keys", {"keys": ["other", "live", "gone", "again", "nobody", "live"]}),
        rows=[{"key": "again"}, {"key": "live"}],
    )


def test_a_key_gives_its_newest_generation_or_the_one_that_is_asked_for(scenario: Stage) -> None:
    for (lowest, highest), found in (((1, ALWAYS), [10]), ((1, 1), [1]), ((2, 2), [2]), ((3, 3), []), ((12, 12), [])):
        scenario(
            given=GENERATIONS,
            when=("knowledge_get", {"key": "a", "lowest": lowest, "highest": highest, "evidence": False}),
            rows=[{"node": {"project": "p", "key": "a", "generation": generation}} for generation in found],
        )


def test_nodes_are_read_by_key_and_generation(scenario: Stage) -> None:
    scenario(
        given=GENERATIONS,
        when=("knowledge_nodes", {"ids": [["a", 1], ["ab", 1], ["a", 12], ["none", 1], ["a", 10]]}),
        rows=in_any_order({"node": {"key": "a", "generation": 1}}, {"node": {"key": "a", "generation": 10}}),
    )


def test_the_newest_generation_of_a_key_is_told_for_a_position(scenario: Stage) -> None:
    for seq, found in ((0, []), (1, [1]), (5, [1]), (6, [2]), (9, [10]), (ALWAYS, [10])):
        scenario(
            given=GENERATIONS,
            when=("generation_as_of", {"key": "a", "seq": seq}),
            rows=[{"generation": generation} for generation in found],
        )


HISTORY: LiteralString = """
CREATE (a:Knowledge {key: 'a', created_seq: 1, verified_seq: 6, retired_seq: 8, state: 'corrected'}),
  (b:Knowledge {key: 'a', generation: 2, created_seq: 8, state: 'confirmed'}),
  (a)-[:EVIDENCED_BY {seq: 3}]->(:Evidence {key: 'e3'})
SET a.created_at = datetime('2026-01-01'), a.valid_from = datetime('2026-01-01'), a.valid_to = datetime('2026-01-08')
WITH a, b
UNWIND [
  [1, 'proposed', 'proposed', false], [2, 'forgotten', 'proposed', false], [3, 'confirmed', 'confirmed', true],
  [4, 'recalled', 'confirmed', false], [5, 'used', 'confirmed', false], [6, 'confirmed', 'confirmed', true],
  [7, 'used', 'confirmed', false], [8, 'corrected', 'corrected', false]
] AS step
CREATE (e:Event {seq: step[0], event_id: 'e' + step[0], transition: step[1], state_after: step[2], verifies: step[3]})
SET e.generation = 1, e.payload = '{"step":' + step[0] + '}', e.time = datetime({year: 2026, month: 1, day: step[0]}),
  e.recorded_at = datetime({year: 2026, month: 2, day: step[0]})
CREATE (e)-[:ABOUT]->(a)
WITH b, e
WHERE e.seq = 8
CREATE (e)-[:ABOUT]->(b),
  (:Event {seq: 9, event_id: 'e9', transition: 'confirmed', state_after: 'confirmed', generation: 2, verifies: false,
    recorded_at: datetime('2026-02-09'), payload: '{}'})-[:ABOUT]->(b)
"""


@pytest.mark.parametrize(
    ("seq", "node"),
    [
        (
            1,
            {"state": "proposed", "forgotten": False, "uses": 0, "verified_at": None, "updated_seq": 1, "evidence": []},
        ),
        (2, {"state": "proposed", "forgotten": True, "verified_at": None, "updated_at": "2026-02-02T00:00:00Z"}),
        (
            3,
            {
                "state": "confirmed",
                "forgotten": True,
                "verified_at": "2026-01-03T00:00:00Z",
                "evidence": [{"key": "e3"}],
            },
        ),
        (4, {"forgotten": False, "uses": 0, "updated_seq": 4}),
        (5, {"forgotten": False, "uses": 1, "verified_at": "2026-01-03T00:00:00Z"}),
        (
            7,
            {
                "uses": 2,
                "verified_at": "2026-01-06T00:00:00Z",
                "state": "confirmed",
                "retired": False,
                "valid_to": None,
            },
        ),
        (8, {"state": "corrected", "retired": True, "valid_to": "2026-01-08T00:00:00Z", "uses": 2, "updated_seq": 8}),
        (ALWAYS, {"state": "corrected", "creation": '{"step":1}', "valid_from": "2026-01-01T00:00:00Z"}),
    ],
)
def test_a_node_is_told_as_the_journal_had_it_at_a_position(scenario: Stage, seq: int, node: Row) -> None:
    rows = [{"node": {"project": "p", "key": "a", "generation": 1, "at_risk": False, "created_seq": 1} | node}]
    scenario(given=HISTORY, when=("knowledge_as_of", {"ids": [["a", 1], ["none", 1]], "seq": seq}), rows=rows)


@pytest.mark.parametrize(("seq", "states"), [(7, []), (8, ["proposed"]), (9, ["confirmed"])])
def test_a_node_that_a_correction_made_starts_as_proposed(scenario: Stage, seq: int, states: list[str]) -> None:
    rows = [{"node": {"generation": 2, "state": state, "creation": '{"step":8}'}} for state in states]
    scenario(given=HISTORY, when=("knowledge_as_of", {"ids": [["a", 2]], "seq": seq}), rows=rows)


# Pages of nodes.


def page(**changes: object) -> Params:
    filters: Row = {
        "states": None,
        "kinds": None,
        "at_risk": None,
        "stale": None,
        "aged": "2026-01-01T00:00:00Z",
        "updated_after": None,
        "valid_at": None,
    }
    asked: Row = {"prefix": "", "key": "", "generation": 0, "first": 100, "evidence": False}
    filters |= {name: value for name, value in changes.items() if name in filters}
    return asked | {name: value for name, value in changes.items() if name in asked} | {"filters": filters}


def pages(asked: Params) -> list[str]:
    """The statements that give such a page."""
    found = {
        "knowledge_page_of_states": asked["filters"]["states"],
        "knowledge_page_of_kinds": asked["filters"]["kinds"],
    }
    return ["knowledge_page", *(name for name, values in found.items() if values is not None)]


LISTED: LiteralString = """
CREATE (a:Knowledge:Proposed:Claim {key: 'a'}), (b:Knowledge:Confirmed:Observation:AtRisk {key: 'b'}),
  (b1:Knowledge:Corrected:Claim:Retired {key: 'b/1'}), (b2:Knowledge:Proposed:Claim {key: 'b/1', generation: 2}),
  (:Knowledge:Confirmed:Claim:Forgotten {key: 'c', state: 'confirmed', kind: 'claim', forgotten: true}),
  (z:Knowledge:Confirmed:Claim {key: '\U0010ffff'}), (:Knowledge {project: 'q', key: 'a'}),
  (b)-[:EVIDENCED_BY]->(:Evidence {key: 'e1'})
SET a += {state: 'proposed', kind: 'claim', created_at: datetime('2025-12-31')},
  b += {state: 'confirmed', kind: 'observation', created_at: datetime('2025-12-30'), valid_from: datetime('2026-01-01'),
    verified_at: datetime('2026-01-01'), updated_at: datetime('2026-03-01')},
  b1 += {state: 'corrected', kind: 'claim', created_at: datetime('2025-12-01'), valid_from: datetime('2026-01-01'),
    valid_to: datetime('2026-02-01')},
  b2 += {state: 'proposed', kind: 'claim', created_at: datetime('2026-01-05'), updated_at: datetime('2026-02-01')},
  z += {state: 'confirmed', kind: 'claim', created_at: datetime('2026-01-05')}
"""
HIGHEST = "\U0010ffff"
A, B, B1, B2, Z = ("a", 1), ("b", 1), ("b/1", 1), ("b/1", 2), (HIGHEST, 1)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (page(), [A, B, B1, B2, Z]),
        (page(first=2), [A, B]),
        (page(first=2, key="b", generation=1), [B1, B2]),
        (page(first=2, key="b/1", generation=1), [B2, Z]),
        (page(first=2, key="b/1", generation=2), [Z]),
        (page(key=HIGHEST, generation=1), []),
        (page(states=["proposed"]), [A, B2]),
        (page(states=["proposed", "corrected"]), [A, B1, B2]),
        (page(states=[]), []),
        (page(states=["proposed", "corrected", "confirmed"], first=2, key="a", generation=1), [B, B1]),
        (page(kinds=["observation"]), [B]),
        (page(kinds=["observation", "claim"], first=2), [A, B]),
        (page(kinds=[]), []),
        (page(states=["confirmed"], kinds=["claim"], key="b"), [Z]),
        (page(at_risk=True), [B]),
        (page(at_risk=False), [A, B1, B2, Z]),
        (page(stale=True), [A]),
        (page(stale=False), [B, B1, B2, Z]),
        (page(updated_after="2026-02-01T00:00:00Z"), [B]),
        (page(valid_at="2025-12-31T23:59:59Z"), []),
        (page(valid_at="2026-01-01T00:00:00Z"), [B, B1]),
        (page(valid_at="2026-02-01T00:00:00Z"), [B]),
        (page(prefix="b", key="b"), [B, B1, B2]),
        (page(prefix="b/", key="b/"), [B1, B2]),
        (page(prefix="b", key="b/1", generation=1), [B2]),
        (page(prefix=HIGHEST, key=HIGHEST), [Z]),
        (page(prefix="x", key="x"), []),
        (page(states=["proposed"], stale=False, prefix="b", key="b"), [B2]),
    ],
)
def test_a_page_lists_what_its_filters_let_through_and_never_what_is_forgotten(
    scenario: Stage, asked: Params, found: list[tuple[str, int]]
) -> None:
    rows = [{"node": {"key": key, "generation": generation, "evidence": list[Row]()}} for key, generation in found]
    for name in pages(asked):
        scenario(given=LISTED, when=(name, asked), rows=rows)


def test_a_page_carries_evidence_where_it_is_asked_for(scenario: Stage) -> None:
    rows = [{"node": {"key": "b", "evidence": [{"project": "p", "key": "e1"}]}}]
    asked = page(states=["confirmed"], kinds=["observation"], evidence=True)
    for name in pages(asked):
        scenario(given=LISTED, when=(name, asked), rows=rows)


def test_nodes_are_counted_by_kind_and_state(scenario: Stage) -> None:
    counted = ("kind", "state", "nodes", "at_risk", "forgotten")
    rows = [
        dict(zip(counted, row, strict=True))
        for row in (
            ("claim", "confirmed", 2, 0, 1),
            ("claim", "corrected", 1, 0, 0),
            ("claim", "proposed", 2, 0, 0),
            ("observation", "confirmed", 1, 1, 0),
        )
    ]
    scenario(given=LISTED, when=("project_counts", {}), rows=rows)


# Edges.


def edge_row(**changes: object) -> Row:
    row: Row = {
        "from": ["a", 1],
        "relation": "DEPENDS_ON",
        "to": ["b", 1],
        "turns": [3],
        "times": ["2026-01-03T00:00:00Z"],
        "event_ids": ["e3"],
        "since": "2026-01-03T00:00:00Z",
        "until": None,
    }
    return row | changes


def test_an_edge_is_written_once_and_may_end_and_begin_again(scenario: Stage) -> None:
    two, three = (
        ["2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z"],
        ["2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z", LATE],
    )
    ended = edge_row(turns=[3, 4], times=two, until=two[1])
    begun = edge_row(turns=[3, 4, 7], times=three, event_ids=["e3", "e7"], since=LATE)
    scenario(
        given="CREATE (:Knowledge {key: 'a'}), (:Knowledge {key: 'b'}), (:Knowledge {project: 'q', key: 'b'})",
        when=("edges_create", {"rows": [edge_row()]}),
        rows=[{"written": 1}],
        effects={"+relationships": 1, "+properties": 4},
    ).then(("edges_put", {"rows": [ended]}), rows=[{"written": 1}], effects={"-properties": 2, "+properties": 3}).again(
        effects={}
    ).then(("edges_put", {"rows": [begun]}), rows=[{"written": 1}], effects={"-properties": 5, "+properties": 4}).then(
        ("export_edges", EVERYTHING | {"ended": False}),
        rows=[
            {"key": "a", "generation": 1, "edges": [begun | {"project": "p", "relation": "depends_on"}]},
            {"key": "b", "generation": 1, "edges": []},
        ],
    )


def test_each_relation_becomes_a_type_and_an_unknown_end_nothing(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Knowledge {key: 'a'}), (:Knowledge {key: 'b'}), (:Knowledge {project: 'q', key: 'c'})",
        when=(
            "edges_create",
            {"rows": [edge_row(relation=relation) for relation in ALL_TYPES] + [edge_row(to=["c", 1])]},
        ),
        rows=[{"written": 6}],
        effects={"+relationships": 6, "+properties": 24},
    ).then(
        ("relation_counts", {}),
        rows=[{"relation": relation, "edges": 1} for relation in sorted(relation.lower() for relation in ALL_TYPES)],
    )


def test_an_edge_that_is_put_is_like_one_that_was_made_so(scenario: Stage, database: Database) -> None:
    after = edge_row(turns=[3, 4], times=["2026-01-03T00:00:00Z", LATE], event_ids=["e3", "e4"], until=LATE)
    given: LiteralString = "CREATE (:Knowledge {key: 'a'}), (:Knowledge {key: 'b'})"
    read: LiteralString = "MATCH ()-[r]->() RETURN type(r) AS type, properties(r) AS holds"
    scenario(
        given=given,
        when=("edges_create", {"rows": [edge_row()]}),
        rows=[{"written": 1}],
        effects={"+relationships": 1, "+properties": 4},
    ).then(("edges_put", {"rows": [after]}), rows=[{"written": 1}], effects={"-properties": 3, "+properties": 4}).again(
        effects={}
    )
    put = database.query(read)
    scenario(
        given=given,
        when=("edges_create", {"rows": [after]}),
        rows=[{"written": 1}],
        effects={"+relationships": 1, "+properties": 5},
    )
    assert put == database.query(read)


def test_an_edge_is_not_taken_for_its_reverse_or_for_another_relation(scenario: Stage) -> None:
    scenario(
        given="CREATE (a:Knowledge {key: 'a'})-[:SUPPORTS]->(b:Knowledge {key: 'b'}), (b)-[:DEPENDS_ON]->(a)",
        when=("edges_put", {"rows": [edge_row()]}),
        rows=[{"written": 0}],
        effects={},
    )


def test_only_live_edges_are_counted(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (a:Knowledge {key: 'a'})-[:SUPPORTS]->(b:Knowledge {key: 'b'}), (b)-[:SUPPORTS]->(a),
          (a)-[:RELATED_TO {until: datetime(), turns: [1, 2]}]->(b), (a)-[:DEPENDS_ON]->(b),
          (:Knowledge {project: 'q', key: 'a'})-[:SUPPORTS]->(:Knowledge {project: 'q', key: 'b'})
        """,
        when=("relation_counts", {}),
        rows=[{"relation": "depends_on", "edges": 1}, {"relation": "supports", "edges": 2}],
    )


# a depended on b from 2 until 4 and again since 6; since 3, c is derived from a; b supports a.
TURNS: LiteralString = """
CREATE (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}), (c:Knowledge {key: 'c', created_seq: 3}),
  (:Knowledge {project: 'q', key: 'a'})-[:SUPPORTS]->(:Knowledge {project: 'q', key: 'b'}),
  (a)-[:DEPENDS_ON {turns: [2, 4, 6], event_ids: ['e2', 'e6'], times: [datetime('2026-01-02'),
    datetime('2026-01-04'), datetime('2026-01-06')]}]->(b),
  (c)-[:DERIVED_FROM {turns: [3, 5], until: datetime('2026-01-05')}]->(a), (b)-[:SUPPORTS {turns: [7]}]->(a)
"""


def edge(source: str, relation: str, target: str) -> Row:
    return {"from": [source, 1], "relation": relation, "to": [target, 1]}


ON, FROM, FOR = edge("a", "depends_on", "b"), edge("c", "derived_from", "a"), edge("b", "supports", "a")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [ON, FOR]),
        ({"ended": True}, [ON, FROM, FOR]),
        ({"upstream": False}, [FOR]),
        ({"upstream": False, "ended": True}, [FROM, FOR]),
        ({"downstream": False, "ended": True}, [ON]),
        ({"types": ["SUPPORTS", "RELATED_TO"]}, [FOR]),
        ({"seq": 1}, []),
        ({"seq": 3}, [ON, FROM]),
        ({"seq": 4}, [FROM]),
        ({"seq": 5, "ended": True}, []),
        ({"seq": 6}, [ON]),
        ({"ids": [["a", 2]]}, []),
    ],
)
def test_the_edges_of_a_node_are_those_of_a_direction_a_type_and_a_position(
    scenario: Stage, asked: Row, found: list[Row]
) -> None:
    every: Row = {
        "ids": [["a", 1]],
        "upstream": True,
        "downstream": True,
        "types": ALL_TYPES,
        "seq": None,
        "ended": False,
        "most": 9,
    }
    scenario(given=TURNS, when=("relations_of", every | asked), rows=[{"of": ["a", 1], "edge": e} for e in found])


def test_edges_are_given_for_each_node_that_was_asked_for(scenario: Stage) -> None:
    asked = {"upstream": True, "downstream": True, "types": ALL_TYPES, "seq": None, "ended": False, "most": 9}
    scenario(
        given=TURNS,
        when=("relations_of", asked | {"ids": [["b", 1], ["a", 1]]}),
        rows=[
            {"of": ["a", 1], "edge": ON | {"turns": [2, 4, 6], "event_ids": ["e2", "e6"]}},
            {"of": ["a", 1], "edge": FOR},
            {"of": ["b", 1], "edge": ON},
            {"of": ["b", 1], "edge": FOR},
        ],
    )


@pytest.mark.parametrize(
    ("seq", "ended", "of_a", "of_b", "of_c"),
    [
        (2, False, [ON], [], None),
        (3, False, [ON], [], [FROM]),
        (4, False, [], [], [FROM]),
        (5, False, [], [], []),
        (1, True, [], [], None),
        (2, True, [ON], [], None),
        (5, True, [ON], [], [FROM]),
        (7, False, [ON], [FOR], []),
        (ALWAYS, True, [ON], [FOR], [FROM]),
    ],
)
def test_edges_are_exported_as_they_lived_at_a_position(
    scenario: Stage, seq: int, ended: object, of_a: list[Row], of_b: list[Row], of_c: list[Row] | None
) -> None:
    of = {"a": of_a, "b": of_b} | ({} if of_c is None else {"c": of_c})
    rows = [{"key": key, "generation": 1, "edges": edges} for key, edges in of.items()]
    scenario(given=TURNS, when=("export_edges", EVERYTHING | {"seq": seq, "ended": ended}), rows=rows)
    if not ended:
        counts = {"nodes": len(of), "edges": sum(map(len, of.values()))}
        scenario(given=TURNS, when=("export_counts", {"seq": seq}), rows=[counts])


def test_the_exported_edges_of_a_node_come_by_relation_key_and_generation(scenario: Stage) -> None:
    on, supported = [("depends_on", "b", 10), ("depends_on", "c", 1)], [("b", 2), ("b", 10), ("c", 1)]
    wanted = [*on, *(("supports", *end) for end in supported)]
    scenario(
        given="""
        CREATE (a:Knowledge {key: 'a'}), (b2:Knowledge {key: 'b', generation: 2}), (c:Knowledge {key: 'c'}),
          (b10:Knowledge {key: 'b', generation: 10}), (a)-[:SUPPORTS]->(c), (a)-[:SUPPORTS]->(b10),
          (a)-[:DEPENDS_ON]->(c),          (a)-[:SUPPORTS]->(b2), (a)-[:DEPENDS_ON]->(b10)
        """,
        when=("export_edges", EVERYTHING | {"first": 1, "ended": False}),
        rows=[
            {
                "key": "a",
                "generation": 1,
                "edges": [{"relation": relation, "to": [key, generation]} for relation, key, generation in wanted],
            }
        ],
    )


def test_an_exported_edge_carries_its_whole_story(scenario: Stage) -> None:
    times = ["2026-01-02T00:00:00Z", "2026-01-04T00:00:00Z", "2026-01-06T00:00:00Z"]
    story = ON | {"project": "p", "turns": [2, 4, 6], "times": times, "event_ids": ["e2", "e6"], "until": None}
    first = EVERYTHING | {"first": 1, "ended": True}
    scenario(given=TURNS, when=("export_edges", first), rows=[{"key": "a", "generation": 1, "edges": [story]}])


@pytest.mark.parametrize(
    ("after", "first", "found"),
    [
        (("", 0), 2, [("a", 1), ("a", 2)]),
        (("a", 1), 2, [("a", 2), ("a", 10)]),
        (("a", 2), 2, [("a", 10), ("ab", 11)]),
        (("a", 10), 2, [("ab", 11)]),
        (("ab", 11), 2, []),
        (("aa", 5), 9, [("ab", 11)]),
    ],
)
def test_an_export_goes_on_behind_the_last_node(
    scenario: Stage, after: tuple[str, int], first: int, found: list[tuple[str, int]]
) -> None:
    asked = {"seq": ALWAYS, "after_key": after[0], "after_generation": after[1], "first": first}
    nodes = [{"node": {"project": "p", "key": key, "generation": generation}} for key, generation in found]
    edges = [{"key": key, "generation": generation, "edges": list[Row]()} for key, generation in found]
    scenario(given=GENERATIONS, when=("export_nodes", asked), rows=nodes)
    scenario(given=GENERATIONS, when=("export_edges", asked | {"ended": False}), rows=edges)


def test_an_export_shows_the_nodes_and_the_evidence_that_were_there_at_its_position(scenario: Stage) -> None:
    for seq, found, evidence in ((0, [], []), (1, ["a", "b", "c"], []), (4, ["a", "b", "c"], ["e2", "e3", "e1"])):
        rows = [{"node": {"key": key, "evidence": [{"key": e} for e in evidence if key == "a"]}} for key in found]
        scenario(given=EVIDENCED, when=("export_nodes", EVERYTHING | {"seq": seq}), rows=rows)


# What is at risk. In these graphs r was retired at position 5, and those that rest on it are a, b, c.


def spread(key: str = "r", **changes: object) -> tuple[str, Params]:
    return "risk_spread", {"key": key, "generation": 1, "seq": 5} | changes


def marked(count: int, *, newly: int | None = None) -> list[Row]:
    return [{"marked": count, "newly": count if newly is None else newly}]


def marks_of(*keys: str) -> tuple[str, Params]:
    return "marks_get", {"ids": [[key, 1] for key in keys]}


def marks(**seqs: int) -> AnyOrder:
    return in_any_order(*({"key": key, "generation": 1, "risk_seq": seq} for key, seq in seqs.items()))


CHAIN: LiteralString = """
CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}),
  (c:Knowledge {key: 'c'}), (:Knowledge {project: 'q', key: 'b'})-[:DEPENDS_ON]->(:Knowledge {project: 'q', key: 'r'}),
  (a)-[:DEPENDS_ON]->(r), (b)-[:DERIVED_FROM]->(a), (c)-[:DEPENDS_ON]->(b)
"""


def test_what_rests_on_a_retired_node_is_marked_at_any_depth_and_once(scenario: Stage) -> None:
    scenario(
        given=CHAIN,
        when=spread(),
        rows=marked(3),
        effects={"+labels": 3, "+properties": 3},
    ).again(effects={}, rows=marked(0)).then(
        ("risk_marked", {}), rows=[{"key": key, "generation": 1} for key in ("a", "b", "c")]
    ).then(marks_of("b", "c", "r", "none"), rows=marks(b=5, c=5))


def test_a_node_that_is_reached_over_many_chains_is_marked_once(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}),
          (c:Knowledge {key: 'c'}), (a)-[:DEPENDS_ON]->(r), (a)-[:DERIVED_FROM]->(r), (b)-[:DEPENDS_ON]->(r),
          (c)-[:DEPENDS_ON]->(a), (c)-[:DEPENDS_ON]->(b)
        """,
        when=spread(),
        rows=marked(3),
        effects={"+labels": 3, "+properties": 3},
    )


def test_only_dependence_carries_risk_and_only_to_what_rests_on_it(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (r)<-[:SUPPORTS]-(:Knowledge {key: 'a'}),
          (r)<-[:CONTRADICTS]-(:Knowledge {key: 'b'}), (r)<-[:SUPERSEDES]-(:Knowledge {key: 'c'}),
          (r)<-[:RELATED_TO]-(:Knowledge {key: 'd'}), (r)-[:DEPENDS_ON]->(:Knowledge {key: 'e'}),
          (r)-[:DERIVED_FROM]->(:Knowledge {key: 'f'})
        """,
        when=spread(),
        rows=marked(0),
    )


def test_risk_does_not_pass_a_retired_node(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (a:Knowledge:Retired {key: 'a', retired_seq: 3}), (a)<-[:DEPENDS_ON]-(:Knowledge {key: 'b'}),
          (a)-[:DEPENDS_ON]->(:Knowledge:Retired {key: 'r', retired_seq: 5})
        """,
        when=spread(),
        rows=marked(0),
    )


@pytest.mark.parametrize(("verified", "count"), [(4, 2), (5, 0), (7, 0)])
def test_risk_does_not_pass_what_evidence_confirmed_since(scenario: Stage, verified: int, count: int) -> None:
    texts: dict[int, LiteralString] = {
        4: "SET a.verified_seq = 4",
        5: "SET a.verified_seq = 5",
        7: "SET a.verified_seq = 7",
    }
    scenario(
        given="""
        CREATE (:Knowledge:Retired {key: 'r', retired_seq: 5})<-[:DEPENDS_ON]-(a:Knowledge {key: 'a'})
          <-[:DEPENDS_ON]-(:Knowledge {key: 'c'})
        """
        + texts[verified],
        when=spread(),
        rows=marked(count),
        effects={"+labels": count, "+properties": count} if count else {},
    )


def test_what_is_still_proposed_is_passed_and_what_was_confirmed_without_evidence_too(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge:Retired {key: 'r', retired_seq: 5})<-[:DEPENDS_ON]-(:Knowledge:Proposed {key: 'a'})
          <-[:DEPENDS_ON]-(:Knowledge:Confirmed {key: 'b'})
          <-[:DEPENDS_ON]-(:Knowledge:Confirmed {key: 'c', verified_seq: 6})
        """,
        when=spread(),
        rows=marked(2),
        effects={"+labels": 2, "+properties": 2},
    )


def test_risk_does_not_pass_an_edge_that_was_unlinked(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge {key: 'a'}), (c:Knowledge {key: 'c'}),
          (a)-[:DEPENDS_ON {turns: [1, 2], until: datetime()}]->(r), (c)-[:DEPENDS_ON]->(a),
          (c)-[:DERIVED_FROM {turns: [1, 2], until: datetime()}]->(r)
        """,
        when=spread(),
        rows=marked(0),
    )


def test_a_newer_mark_stands_and_an_older_one_is_replaced(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge:AtRisk {key: 'a', risk_seq: 9}),
          (b:Knowledge:AtRisk {key: 'b', risk_seq: 3}), (c:Knowledge {key: 'c'}), (d:Knowledge {key: 'd'}),
          (a)-[:DEPENDS_ON]->(r), (b)-[:DEPENDS_ON]->(r), (c)-[:DEPENDS_ON]->(a), (d)-[:DEPENDS_ON]->(b)
        """,
        when=spread(),
        rows=marked(2, newly=1),
        effects={"+labels": 1, "+properties": 2, "-properties": 1},
    ).again(effects={}).then(marks_of("a", "b", "c", "d"), rows=marks(a=9, b=5, d=5))


def test_risk_goes_round_a_ring_once(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}),
          (c:Knowledge {key: 'c'}), (a)-[:DEPENDS_ON]->(r), (b)-[:DEPENDS_ON]->(a), (c)-[:DERIVED_FROM]->(b),
          (a)-[:DEPENDS_ON]->(c), (r)-[:DEPENDS_ON]->(c)
        """,
        when=spread(),
        rows=marked(3),
        effects={"+labels": 3, "+properties": 3},
    ).again(effects={})


def test_a_live_start_is_marked_with_all_that_rests_on_it(scenario: Stage) -> None:
    scenario(
        given=CHAIN,
        when=spread("b"),
        rows=marked(2),
        effects={"+labels": 2, "+properties": 2},
    ).again(effects={}).then(("risk_marked", {}), rows=[{"key": key, "generation": 1} for key in ("b", "c")])


def test_generations_of_a_key_are_marked_apart(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge:Retired {key: 'r', retired_seq: 5})<-[:DEPENDS_ON]-(:Knowledge {key: 'a'}),
          (:Knowledge {key: 'r', generation: 2})<-[:DEPENDS_ON]-(:Knowledge {key: 'a', generation: 2})
        """,
        when=spread(),
        rows=marked(1),
        effects={"+labels": 1, "+properties": 1},
    ).then(("marks_get", {"ids": [["a", 1], ["a", 2]]}), rows=marks(a=5))


def clear() -> tuple[str, Params]:
    return "risk_clear", {"key": "a", "generation": 1, "seq": 5}


def cleared(count: int, *, lifted: int) -> list[Row]:
    return [{"lifted": lifted, "cleared": count}]


def test_a_mark_that_nothing_holds_up_is_taken_back_with_all_that_hang_on_it(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge:AtRisk {key: 'a', risk_seq: 5}),
          (b:Knowledge:AtRisk {key: 'b', risk_seq: 5}), (c:Knowledge:AtRisk {key: 'c', risk_seq: 5}),
          (o:Knowledge:AtRisk {key: 'o', risk_seq: 9}), (:Knowledge:AtRisk {key: 'z', risk_seq: 5}),
          (q:Knowledge:AtRisk {project: 'q', key: 'a', risk_seq: 5}),
          (b)-[:DEPENDS_ON]->(a), (c)-[:DERIVED_FROM]->(b), (a)-[:DEPENDS_ON]->(c), (o)-[:DEPENDS_ON]->(c),
          (b)-[:DEPENDS_ON]->(:Knowledge {key: 'l'})
        """,
        when=clear(),
        rows=cleared(3, lifted=3),
        effects={"-labels": 3, "-properties": 3, "+properties": 3},
    ).then(("risk_marked", {}), rows=[{"key": "o", "generation": 1}, {"key": "z", "generation": 1}])


def test_a_mark_falls_back_to_the_newest_retirement_that_is_left(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (s:Knowledge:Retired {key: 's', retired_seq: 4}),
          (t:Knowledge:Retired {key: 't', retired_seq: 3}), (a:Knowledge:AtRisk {key: 'a', risk_seq: 5}),
          (b:Knowledge:AtRisk {key: 'b', risk_seq: 5, verified_seq: 3}), (c:Knowledge:AtRisk {key: 'c', risk_seq: 5}),
          (o:Knowledge:AtRisk {key: 'o', risk_seq: 2}), (u:Knowledge:AtRisk {key: 'u', risk_seq: 5}),
          (a)-[:DEPENDS_ON {turns: [1, 2], until: datetime()}]->(r), (a)-[:DEPENDS_ON]->(t), (a)-[:DEPENDS_ON]->(o),
          (b)-[:DEPENDS_ON]->(a), (c)-[:DEPENDS_ON]->(b), (c)-[:DERIVED_FROM]->(s), (u)-[:DEPENDS_ON]->(r),
          (o)-[:DEPENDS_ON]->(b)
        """,
        when=clear(),
        rows=cleared(1, lifted=3),
        effects={"-labels": 1, "-properties": 3, "+properties": 3},
    ).again(effects={}, rows=cleared(0, lifted=1)).then(
        marks_of("a", "b", "c", "o", "u"), rows=marks(a=3, c=4, o=2, u=5)
    )


def test_a_mark_that_something_else_holds_up_stays_with_all_that_hang_on_it(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge:AtRisk {key: 'a', risk_seq: 5}),
          (b:Knowledge:AtRisk {key: 'b', risk_seq: 5}), (u:Knowledge:AtRisk {key: 'u', risk_seq: 5}),
          (u)-[:DEPENDS_ON]->(r), (a)-[:DEPENDS_ON]->(u), (b)-[:DEPENDS_ON]->(a), (a)-[:DERIVED_FROM]->(b)
        """,
        when=clear(),
        rows=cleared(0, lifted=2),
    ).then(marks_of("a", "b"), rows=marks(a=5, b=5))


def test_marks_are_put_and_taken_away(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge:AtRisk {key: 'a', risk_seq: 5}), (:Knowledge:AtRisk {key: 'b', risk_seq: 5}),
          (:Knowledge {key: 'c'}), (:Knowledge:AtRisk {project: 'q', key: 'a', risk_seq: 5})
        """,
        when=("marks_put", {"rows": [["a", 1, 0], ["b", 1, 3], ["c", 1, 4], ["none", 1, 4]]}),
        rows=[{"written": 3}],
        effects={"-labels": 1, "+labels": 1, "-properties": 2, "+properties": 3},
    ).again(effects={}).then(("risk_marked", {}), rows=[{"key": key, "generation": 1} for key in ("b", "c")])


def test_nodes_at_risk_are_listed_by_key_and_generation(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge:AtRisk {key: 'b'}), (:Knowledge:AtRisk {key: 'a', generation: 10}), (:Knowledge {key: 'c'}),
          (:Knowledge:AtRisk {key: 'a', generation: 9}), (:Knowledge:AtRisk {project: 'q', key: 'a'})
        """,
        when=("risk_marked", {}),
        rows=[{"key": "a", "generation": 9}, {"key": "a", "generation": 10}, {"key": "b", "generation": 1}],
    )


def test_the_graph_behind_a_mark_ends_at_what_is_retired_and_leaves_out_what_is_sound(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (q:Knowledge:Retired {key: 'q', retired_seq: 2}),
          (a:Knowledge:AtRisk {key: 'a', risk_seq: 5, verified_seq: 3}), (b:Knowledge:AtRisk {key: 'b', risk_seq: 5}),
          (l:Knowledge {key: 'l'}), (r)-[:DEPENDS_ON]->(q), (a)-[:DEPENDS_ON]->(b), (a)-[:DERIVED_FROM]->(l),
          (b)-[:DEPENDS_ON]->(a), (a)-[:DEPENDS_ON]->(r), (b)-[:DEPENDS_ON {turns: [1, 2], until: datetime()}]->(q),
          (l)-[:DEPENDS_ON]->(r), (:Knowledge:AtRisk {key: 'z'})-[:DEPENDS_ON]->(b), (a)-[:SUPPORTS]->(q)
        """,
        when=("risk_graph", {"ids": [["b", 1], ["none", 1]], "most": 9}),
        rows=in_any_order(
            {"key": "b", "generation": 1, "verified_seq": 0, "retired_seq": None, "rests_on": [["a", 1]]},
            {"key": "a", "generation": 1, "verified_seq": 3, "retired_seq": None, "rests_on": [["b", 1], ["r", 1]]},
            {"key": "r", "generation": 1, "verified_seq": 0, "retired_seq": 5, "rests_on": []},
        ),
    )


# r was retired at 5, a unlinked from it at 7. b, confirmed with evidence at 3 and 8, rests on a since 6 and on s.
THEN: LiteralString = """
CREATE (r:Knowledge:Retired {key: 'r', retired_seq: 5}), (a:Knowledge {key: 'a'}), (s:Knowledge {key: 's'}),
  (b:Knowledge {key: 'b', verified_seq: 8}), (q:Knowledge {key: 'q'}), (r)-[:DEPENDS_ON]->(q), (b)-[:DEPENDS_ON]->(s),
  (a)-[:DEPENDS_ON {turns: [2, 7], until: datetime()}]->(r), (b)-[:DERIVED_FROM {turns: [6]}]->(a),
  (a)-[:DEPENDS_ON]->(s),
  (:Event {seq: 3, event_id: 'e3', verifies: true})-[:ABOUT]->(b),
  (:Event {seq: 4, event_id: 'e4', verifies: false})-[:ABOUT]->(b),
  (:Event {seq: 8, event_id: 'e8', verifies: true})-[:ABOUT]->(b)
"""
ALONE: tuple[int, None, list[str]] = (0, None, [])


@pytest.mark.parametrize(
    ("seq", "found"),
    [
        (2, {"b": (0, None, ["s"]), "s": ALONE}),
        (5, {"b": (3, None, ["s"]), "s": ALONE}),
        (6, {"b": (3, None, ["a", "s"]), "s": ALONE, "a": (0, None, ["r", "s"]), "r": (0, 5, list[str]())}),
        (7, {"b": (3, None, ["a", "s"]), "s": ALONE, "a": (0, None, ["s"])}),
        (8, {"b": (8, None, ["a", "s"]), "s": ALONE, "a": (0, None, ["s"])}),
    ],
)
def test_the_graph_behind_a_mark_is_told_for_a_position(
    scenario: Stage, seq: int, found: dict[str, tuple[int, int | None, list[str]]]
) -> None:
    rows = [
        {
            "key": key,
            "generation": 1,
            "verified_seq": verified,
            "retired_seq": retired,
            "rests_on": [[k, 1] for k in on],
        }
        for key, (verified, retired, on) in found.items()
    ]
    scenario(given=THEN, when=("risk_graph_as_of", {"ids": [["b", 1]], "seq": seq, "most": 9}), rows=AnyOrder(rows))


def test_what_was_retired_later_is_still_walked_through(scenario: Stage) -> None:
    rows = in_any_order(
        {"key": "r", "generation": 1, "verified_seq": 0, "retired_seq": None, "rests_on": [["q", 1]]},
        {"key": "q", "generation": 1, "verified_seq": 0, "retired_seq": None, "rests_on": []},
    )
    scenario(given=THEN, when=("risk_graph_as_of", {"ids": [["r", 1]], "seq": 4, "most": 9}), rows=rows)
    rows = in_any_order({"key": "r", "generation": 1, "verified_seq": 0, "retired_seq": 5, "rests_on": []})
    scenario(given=THEN, when=("risk_graph_as_of", {"ids": [["r", 1]], "seq": 5, "most": 9}), rows=rows)


# Before or after the fact: what rests on x. v was confirmed with evidence at 7.
IMPACT: LiteralString = """
CREATE (x:Knowledge {key: 'x'}), (a:Knowledge {key: 'a'}), (a2:Knowledge {key: 'a', generation: 2}),
  (b:Knowledge {key: 'b'}), (v:Knowledge {key: 'v', verified_seq: 7}), (w:Knowledge {key: 'w'}),
  (old:Knowledge:Retired {key: 'old', retired_seq: 3}), (z:Knowledge {key: 'z'}), (up:Knowledge {key: 'up'}),
  (a)-[:DEPENDS_ON]->(x), (a2)-[:DEPENDS_ON]->(a), (b)-[:DERIVED_FROM]->(a), (x)-[:DEPENDS_ON]->(b),
  (b)-[:DEPENDS_ON]->(a2),
  (v)-[:DEPENDS_ON]->(x), (w)-[:DEPENDS_ON]->(v), (old)-[:DEPENDS_ON]->(x), (z)-[:DEPENDS_ON]->(old),
  (z)-[:SUPPORTS]->(x), (z)-[:DEPENDS_ON {turns: [1, 2], until: datetime()}]->(x), (x)-[:DEPENDS_ON]->(up),
  (:Knowledge {key: 'on up'})-[:DEPENDS_ON]->(up)
"""


@pytest.mark.parametrize(
    ("asked", "count", "found"),
    [
        ({}, 5, [("a", 1), ("a", 2), ("b", 1), ("v", 1), ("w", 1)]),
        ({"seq": 8}, 5, [("a", 1), ("a", 2), ("b", 1), ("v", 1), ("w", 1)]),
        ({"seq": 7}, 3, [("a", 1), ("a", 2), ("b", 1)]),
        ({"first": 2}, 5, [("a", 1), ("a", 2)]),
        ({"first": 2, "after_key": "a", "after_generation": 1}, 5, [("a", 2), ("b", 1)]),
        ({"first": 2, "after_key": "b", "after_generation": 1}, 5, [("v", 1), ("w", 1)]),
        ({"first": 2, "after_key": "w", "after_generation": 1}, 5, []),
        ({"key": "z"}, 0, []),
    ],
)
def test_an_impact_is_counted_whole_and_listed_in_pages(
    scenario: Stage, asked: Row, count: int, found: list[tuple[str, int]]
) -> None:
    every: Row = {"key": "x", "generation": 1, "seq": ALWAYS, "after_key": "", "after_generation": 0, "first": 100}
    nodes = [{"project": "p", "key": key, "generation": generation} for key, generation in found]
    scenario(given=IMPACT, when=("impact_walk", every | asked), rows=[{"count": count, "nodes": nodes}])


def test_an_impact_on_nothing_known_has_no_rows_to_page(scenario: Stage) -> None:
    asked = {"key": "none", "generation": 1, "seq": ALWAYS, "after_key": "", "after_generation": 0, "first": 9}
    scenario(given=IMPACT, when=("impact_walk", asked), rows=[{"count": 0, "nodes": []}])


# Where things come from.


# x rests on a and b, a on b and c, c on x again; m supports x; until 6 x was derived from n, which rests on b.
LINEAGE: LiteralString = """
CREATE (x:Knowledge {key: 'x'}), (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}), (c:Knowledge {key: 'c'}),
  (m:Knowledge {key: 'm'}), (n:Knowledge {key: 'n'}), (:Knowledge {key: 'o'}),
  (qx:Knowledge {project: 'q', key: 'x'}), (qx)<-[:SUPPORTS]-(:Knowledge {project: 'q', key: 'm'}),
  (qx)-[:SUPPORTS]->(:Knowledge {project: 'q', key: 'y'}),
  (x)-[:DEPENDS_ON {turns: [3]}]->(a), (x)-[:DERIVED_FROM]->(b), (a)-[:DERIVED_FROM]->(b), (a)-[:DEPENDS_ON]->(b),
  (a)-[:SUPERSEDES]->(c), (c)-[:RELATED_TO]->(x), (m)-[:SUPPORTS {turns: [8]}]->(x),
  (x)-[:DERIVED_FROM {turns: [2, 6], until: datetime()}]->(n), (n)-[:DEPENDS_ON]->(b),
  (x)-[:EVIDENCED_BY {seq: 7}]->(:Evidence {key: 'e7'}), (b)-[:EVIDENCED_BY {seq: 2}]->(:Evidence {key: 'e2'})
"""
XA, XB, XN = edge("x", "depends_on", "a"), edge("x", "derived_from", "b"), edge("x", "derived_from", "n")
AB, AB2, AC = edge("a", "derived_from", "b"), edge("a", "depends_on", "b"), edge("a", "supersedes", "c")
CX, MX, NB = edge("c", "related_to", "x"), edge("m", "supports", "x"), edge("n", "depends_on", "b")


def walk(direction: str, key: str, **changes: object) -> tuple[str, Params]:
    asked: Row = {"key": key, "generation": 1, "types": ALL_TYPES, "seq": None, "max_nodes": 100, "evidence": False}
    return f"provenance_{direction}", asked | changes


def walked(key: str, distances: dict[str, int], edges: list[Row], *, cut: bool = False) -> list[Row]:
    return [
        {
            "root": [key, 1],
            "nodes": [[other, 1, distance] for other, distance in distances.items()],
            "edges": edges,
            "cut": cut,
            "maps": AnyOrder([{"project": "p", "key": other} for other in (key, *distances)]),
        }
    ]


def test_what_a_node_rests_on_is_told_nearest_first_and_each_edge_once(scenario: Stage) -> None:
    scenario(
        given=LINEAGE,
        when=("provenance_upstream", walk("upstream", "x")[1]),
        rows=walked("x", {"a": 1, "b": 1, "c": 2}, [AB2, AB, AC, CX, XA, XB]),
    )


def test_what_rests_on_a_node_is_told_nearest_first_and_each_edge_once(scenario: Stage) -> None:
    scenario(
        given=LINEAGE,
        when=("provenance_downstream", walk("downstream", "b")[1]),
        rows=walked("b", {"a": 1, "n": 1, "x": 1, "c": 2, "m": 2}, [AB2, AB, AC, CX, MX, NB, XA, XB]),
    )


def test_a_ring_does_not_lead_a_walk_back_to_its_root(scenario: Stage) -> None:
    for when in (walk("downstream", "x"), walk("downstream", "x", seq=8)):
        scenario(given=LINEAGE, when=when, rows=walked("x", {"c": 1, "m": 1, "a": 2}, [AC, CX, MX, XA]))


def test_what_a_node_is_connected_with_is_told_nearest_first_and_each_edge_once(scenario: Stage) -> None:
    scenario(
        given=LINEAGE,
        when=("provenance_both", walk("both", "x")[1]),
        rows=walked("x", {"a": 1, "b": 1, "c": 1, "m": 1, "n": 2}, [AB2, AB, AC, CX, MX, NB, XA, XB]),
    )


@pytest.mark.parametrize(
    ("when", "depth", "rows"),
    [
        (walk("upstream", "x"), 1, walked("x", {"a": 1, "b": 1}, [AB2, AB, XA, XB], cut=True)),
        (walk("upstream", "x"), 2, walked("x", {"a": 1, "b": 1, "c": 2}, [AB2, AB, AC, CX, XA, XB])),
        (walk("downstream", "b"), 1, walked("b", {"a": 1, "n": 1, "x": 1}, [AB2, AB, NB, XA, XB], cut=True)),
        (walk("both", "m"), 1, walked("m", {"x": 1}, [MX], cut=True)),
        (walk("upstream", "b"), 1, walked("b", {}, [])),
        (walk("both", "o"), 100, walked("o", {}, [])),
    ],
)
def test_a_walk_says_when_its_depth_cut_it(
    scenario: Stage, when: tuple[str, Params], depth: int, rows: list[Row]
) -> None:
    scenario(given=LINEAGE, when=when, depth=depth, rows=rows)


@pytest.mark.parametrize(
    ("when", "rows"),
    [
        (walk("upstream", "x", max_nodes=3), walked("x", {"a": 1, "b": 1, "c": 2}, [AB2, AB, AC, CX, XA, XB])),
        (walk("upstream", "x", max_nodes=2), walked("x", {"a": 1, "b": 1}, [AB2, AB, XA, XB], cut=True)),
        (walk("upstream", "x", max_nodes=1), walked("x", {"a": 1}, [XA], cut=True)),
        (walk("upstream", "x", max_nodes=0), walked("x", {}, [], cut=True)),
        (walk("upstream", "b", max_nodes=0), walked("b", {}, [])),
        (walk("downstream", "b", max_nodes=1), walked("b", {"a": 1}, [AB2, AB], cut=True)),
        (walk("both", "m", max_nodes=1), walked("m", {"x": 1}, [MX], cut=True)),
    ],
)
def test_a_walk_says_when_the_number_of_nodes_cut_it(
    scenario: Stage, when: tuple[str, Params], rows: list[Row]
) -> None:
    scenario(given=LINEAGE, when=when, rows=rows)


@pytest.mark.parametrize(
    ("when", "rows"),
    [
        (walk("upstream", "x", types=["DEPENDS_ON", "CONTRADICTS"]), walked("x", {"a": 1, "b": 2}, [AB2, XA])),
        (
            walk("upstream", "x", types=["SUPERSEDES", "DEPENDS_ON"]),
            walked("x", {"a": 1, "b": 2, "c": 2}, [AB2, AC, XA]),
        ),
        (walk("downstream", "x", types=["SUPPORTS", "CONTRADICTS"]), walked("x", {"m": 1}, [MX])),
        (walk("both", "x", types=["RELATED_TO", "SUPPORTS"]), walked("x", {"c": 1, "m": 1}, [CX, MX])),
        (walk("both", "x", types=[]), walked("x", {}, [])),
    ],
)
def test_a_walk_follows_the_asked_types_only(scenario: Stage, when: tuple[str, Params], rows: list[Row]) -> None:
    scenario(given=LINEAGE, when=when, rows=rows)


@pytest.mark.parametrize(
    ("when", "rows"),
    [
        (walk("upstream", "x", seq=1), walked("x", {"b": 1}, [XB])),
        (walk("upstream", "x", seq=2), walked("x", {"b": 1, "n": 1}, [NB, XB, XN])),
        (
            walk("upstream", "x", seq=5),
            walked("x", {"a": 1, "b": 1, "n": 1, "c": 2}, [AB2, AB, AC, CX, NB, XA, XB, XN]),
        ),
        (walk("upstream", "x", seq=6), walked("x", {"a": 1, "b": 1, "c": 2}, [AB2, AB, AC, CX, XA, XB])),
        (walk("downstream", "n", seq=5), walked("n", {"x": 1, "c": 2, "a": 3}, [AC, CX, XA, XN])),
        (walk("downstream", "n", seq=6), walked("n", {}, [])),
        (walk("both", "m", seq=7), walked("m", {}, [])),
        (
            walk("both", "x", seq=8, max_nodes=4),
            walked("x", {"a": 1, "b": 1, "c": 1, "m": 1}, [AB2, AB, AC, CX, MX, XA, XB], cut=True),
        ),
    ],
)
def test_a_walk_of_the_past_follows_the_edges_that_lived_then(
    scenario: Stage, when: tuple[str, Params], rows: list[Row]
) -> None:
    scenario(given=LINEAGE, when=when, rows=rows)


@pytest.mark.parametrize(
    ("when", "rows", "evidence"),
    [
        (walk("upstream", "n"), walked("n", {"b": 1}, [NB]), {"n": [], "b": []}),
        (walk("upstream", "x", evidence=True, max_nodes=0), walked("x", {}, [], cut=True), {"x": ["e7"]}),
        (walk("upstream", "n", evidence=True), walked("n", {"b": 1}, [NB]), {"n": [], "b": ["e2"]}),
        (walk("upstream", "b", evidence=True, seq=1), walked("b", {}, []), {"b": []}),
        (walk("upstream", "b", evidence=True, seq=2), walked("b", {}, []), {"b": ["e2"]}),
        (walk("downstream", "m", evidence=True), walked("m", {}, []), {"m": []}),
        (walk("downstream", "x", evidence=True, max_nodes=0), walked("x", {}, [], cut=True), {"x": ["e7"]}),
        (walk("downstream", "n", evidence=True, seq=6), walked("n", {}, []), {"n": []}),
        (walk("downstream", "b", evidence=True, seq=2, max_nodes=0), walked("b", {}, [], cut=True), {"b": ["e2"]}),
        (walk("downstream", "c", evidence=True, seq=1), walked("c", {"a": 1}, [AC]), {"c": [], "a": []}),
        (
            walk("both", "n", evidence=True, seq=1, max_nodes=1),
            walked("n", {"b": 1}, [NB], cut=True),
            {"n": [], "b": []},
        ),
        (
            walk("both", "n", evidence=True, seq=2, max_nodes=1),
            walked("n", {"b": 1}, [NB], cut=True),
            {"n": [], "b": ["e2"]},
        ),
    ],
)
def test_a_walk_carries_the_evidence_of_then_where_it_is_asked_for(
    scenario: Stage, when: tuple[str, Params], rows: list[Row], evidence: dict[str, list[str]]
) -> None:
    maps = AnyOrder([{"key": key, "evidence": [{"key": e} for e in keys]} for key, keys in evidence.items()])
    scenario(given=LINEAGE, when=when, rows=[rows[0] | {"maps": maps}])


def test_a_walk_from_an_unknown_node_has_no_row(scenario: Stage) -> None:
    scenario(given=LINEAGE, when=walk("both", "y"), rows=[])


# What a batch of commands touches.


SLICED: LiteralString = """
CREATE (a1:Knowledge:Retired {key: 'a', retired_seq: 4}),
  (a2:Knowledge {key: 'a', generation: 2, state: 'confirmed', risk_seq: 5, created_at: datetime('2026-01-01'),
    confirmed_by: 'human'}),
  (b:Knowledge {key: 'b'}), (c:Knowledge {key: 'c'}), (d:Knowledge {key: 'd'}), (e:Knowledge {key: 'e'}),
  (qa:Knowledge {project: 'q', key: 'a', generation: 3}), (qa)-[:SUPERSEDES]->(:Knowledge {project: 'q', key: 'b'}),
  (qa)-[:EVIDENCED_BY]->(:Evidence {project: 'q', key: 'e3'}),
  (b)-[:DEPENDS_ON {turns: [1, 2], times: [datetime('2026-01-01'), datetime('2026-01-02')],
    event_ids: ['e1'], until: datetime('2026-01-02')}]->(a1),
  (b)-[:DEPENDS_ON {turns: [3]}]->(a2), (b)-[:SUPPORTS]->(a2), (c)-[:DERIVED_FROM]->(b),
  (e)-[:SUPERSEDES]->(d), (d)-[:SUPERSEDES]->(c), (c)-[:SUPERSEDES]->(a1), (a2)-[:SUPERSEDES]->(a1),
  (d)-[:SUPERSEDES {turns: [1, 2], until: datetime()}]->(b), (d)-[:DEPENDS_ON]->(a2),
  (a1)-[:EVIDENCED_BY {seq: 1}]->(e1:Evidence {key: 'e1', type: 'file', timestamp: datetime('2026-01-01')}),
  (a2)-[:EVIDENCED_BY {seq: 4}]->(e1), (a2)-[:EVIDENCED_BY {seq: 5}]->(:Evidence {key: 'e2'}), (:Evidence {key: 'e3'}),
  (:Event {seq: 1, event_id: 'e1', time: datetime('2026-01-01')}),
  (:Event {seq: 2, event_id: 'e2'}), (:Event {project: 'q', seq: 1, event_id: 'e3'})
"""


def slice_of(**changes: object) -> tuple[str, Params]:
    """A slice of things that are not there, but for what is named."""
    keys, ids, pairs = (
        ["none", "nil"],
        [["none", 1], ["nil", 1]],
        [["none", "SUPPORTS", "nil"], ["nil", "SUPPORTS", "none"]],
    )
    lists = {
        "keys": keys,
        "superseded": keys,
        "evidence_keys": keys,
        "standing": keys,
        "event_ids": keys,
        "awaited": keys,
    }
    asked: Row = lists | {"generations": ids, "edges": pairs}
    wanted = {name: [*asked[name], *cast(list[object], changes.get(name, []))] for name in asked}
    return "slice_load", {"wanted": wanted}


def sliced(**changes: list[Row]) -> list[Row]:
    columns = ("nodes", "edges", "evidence", "evidenced", "events")
    return [{column: AnyOrder(changes.get(column, ())) for column in columns}]


def superseding(source: tuple[str, int], target: tuple[str, int]) -> Row:
    return {"from": list(source), "relation": "SUPERSEDES", "to": list(target), "turns": [1]}


def test_a_slice_of_nothing_is_empty(scenario: Stage) -> None:
    nothing = {name: list[object]() for name in cast(Row, slice_of()[1]["wanted"])}
    scenario(given=SLICED, when=("slice_load", {"wanted": nothing}), rows=sliced())
    scenario(given=SLICED, when=slice_of(), rows=sliced())


def test_a_slice_holds_the_newest_generation_of_each_key(scenario: Stage) -> None:
    a2 = {
        "key": "a",
        "generation": 2,
        "newest": 2,
        "state": "confirmed",
        "risk_seq": 5,
        "retired_seq": None,
        "created_at": "2026-01-01T00:00:00Z",
        "confirmed_by": "human",
        "depended": True,
        "valid_to": None,
    }
    rows = sliced(
        nodes=[a2, {"key": "b", "generation": 1, "newest": 1, "depended": True}, {"key": "c", "depended": False}]
    )
    scenario(given=SLICED, when=slice_of(keys=["a", "none", "b", "c"]), rows=rows)


def test_a_slice_holds_named_generations_without_calling_them_newest(scenario: Stage) -> None:
    a1 = {"key": "a", "generation": 1, "newest": 0, "retired_seq": 4, "depended": True}
    rows = sliced(nodes=[a1, {"key": "a", "generation": 2, "newest": 2}])
    scenario(given=SLICED, when=slice_of(keys=["a"], generations=[["a", 1], ["a", 3], ["a", 9]]), rows=rows)


def test_a_slice_holds_the_edges_of_a_pair_between_all_generations_ended_ones_too(scenario: Stage) -> None:
    times = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]
    ended = {
        "from": ["b", 1],
        "relation": "DEPENDS_ON",
        "to": ["a", 1],
        "turns": [1, 2],
        "times": times,
        "event_ids": ["e1"],
    }
    live = {"from": ["b", 1], "relation": "DEPENDS_ON", "to": ["a", 2], "turns": [3]}
    pairs = [
        ["b", "DEPENDS_ON", "a"],
        ["b", "DEPENDS_ON", "a"],
        ["b", "DERIVED_FROM", "c"],
        ["c", "SUPPORTS", "b"],
        ["b", "SUPPORTS", "none"],
    ]
    scenario(given=SLICED, when=slice_of(edges=pairs), rows=sliced(edges=[ended, live]))


def test_a_slice_holds_the_live_chains_of_supersedes_onward_from_all_generations_of_a_key(scenario: Stage) -> None:
    down = [superseding(("d", 1), ("c", 1)), superseding(("c", 1), ("a", 1))]
    scenario(given=SLICED, when=slice_of(superseded=["d"]), rows=sliced(edges=down))
    scenario(
        given=SLICED, when=slice_of(superseded=["e", "c"]), rows=sliced(edges=[superseding(("e", 1), ("d", 1)), *down])
    )
    scenario(given=SLICED, when=slice_of(superseded=["a"]), rows=sliced(edges=[superseding(("a", 2), ("a", 1))]))


def test_a_slice_holds_each_edge_once_that_is_asked_for_twice(scenario: Stage) -> None:
    asked = slice_of(edges=[["d", "SUPERSEDES", "c"]], superseded=["c", "d"])
    rows = sliced(edges=[superseding(("d", 1), ("c", 1)), superseding(("c", 1), ("a", 1))])
    scenario(given=SLICED, when=asked, rows=rows)


def test_a_slice_holds_what_all_generations_of_a_key_stand_on(scenario: Stage) -> None:
    ties = [
        {"node": ["a", 1], "evidence": "e1", "seq": 1},
        {"node": ["a", 2], "evidence": "e1", "seq": 4},
        {"node": ["a", 2], "evidence": "e2", "seq": 5},
    ]
    e1 = {"key": "e1", "type": "file", "timestamp": "2026-01-01T00:00:00Z", "metadata": None}
    scenario(
        given=SLICED,
        when=slice_of(standing=["a", "b"], evidence_keys=["e3", "e1", "none"]),
        rows=sliced(evidenced=ties, evidence=[e1, {"key": "e2"}, {"key": "e3"}]),
    )


def test_a_slice_holds_the_events_of_its_own_project_by_id(scenario: Stage) -> None:
    e1 = {"project": "p", "seq": 1, "event_id": "e1", "time": "2026-01-01T00:00:00Z", "newly_at_risk": None}
    scenario(given=SLICED, when=slice_of(event_ids=["e1", "e3", "none"]), rows=sliced(events=[e1]))


# A node, an edge, an event and a piece of evidence are told in one shape, whoever asks.


STORY: LiteralString = """
CREATE (a:Knowledge:Confirmed:Claim:AtRisk {key: 'a', proposition: 'says a', kind: 'claim', state: 'confirmed'}),
  (x:Knowledge {key: 'x', proposition: 'says x'}), (a)-[d:DEPENDS_ON {turns: [3, 4, 7], event_ids: ['e3', 'e7']}]->(x),
  (e1:Evidence {key: 'e1', type: 'file', source: 's', hash: 'sha256:ab', artifact_ref: 'x', metadata: '{"a":1}'}),
  (a)-[:EVIDENCED_BY {seq: 1}]->(:Evidence {key: 'e2', source: 's'}), (a)-[:EVIDENCED_BY {seq: 2}]->(e1),
  (a)-[:EVIDENCED_BY {seq: 1}]->(:Evidence {key: 'e3', source: 's'}),
  (a)<-[:ABOUT]-(e:Event {seq: 8, event_id: 'e8', transition: 'confirmed'})
SET e1.timestamp = datetime('2026-01-01'),
  d.times = [datetime('2026-01-03'), datetime('2026-01-04'), datetime('2026-01-07')],
  a += {valid_from: datetime('2026-01-01'), valid_to: datetime('2027-01-01'), created_at: datetime('2026-01-02'),
    updated_at: datetime('2026-01-03'), updated_seq: 8, verified_at: datetime('2026-01-04'), uses: 3, lineage: '{}',
    concept: '{}', forgotten: false},
  e += {key: 'a', generation: 1, actor_issuer: 'i', actor_subject: 's', actor_type: 'human',
    time: datetime('2026-01-08'), recorded_at: datetime('2026-01-09'), reason: 'why', caused_by: ['e3'],
    execution: '{"run":"r"}', payload: '{"p":1}', state_after: 'confirmed', verifies: true,
    newly_at_risk: 2, prev_hash: '00', hash: 'ab'}
"""
NODE: Row = {
    "project": "p",
    "key": "a",
    "generation": 1,
    "proposition": "says a",
    "kind": "claim",
    "state": "confirmed",
    "at_risk": True,
    "forgotten": False,
    "retired": False,
    "valid_from": "2026-01-01T00:00:00Z",
    "valid_to": "2027-01-01T00:00:00Z",
    "created_at": "2026-01-02T00:00:00Z",
    "updated_at": "2026-01-03T00:00:00Z",
    "verified_at": "2026-01-04T00:00:00Z",
    "uses": 3,
    "lineage": "{}",
    "concept": "{}",
    "created_seq": 1,
    "updated_seq": 8,
}
EDGE: Row = {
    "from": ["a", 1],
    "to": ["x", 1],
    "turns": [3, 4, 7],
    "times": ["2026-01-03T00:00:00Z", "2026-01-04T00:00:00Z", "2026-01-07T00:00:00Z"],
    "event_ids": ["e3", "e7"],
}
EVENT: Row = event_row(8, event_id="e8", time="2026-01-08T00:00:00Z", recorded_at="2026-01-09T00:00:00Z") | {
    "actor_issuer": "i",
    "actor_subject": "s",
    "reason": "why",
    "caused_by": ["e3"],
    "execution": '{"run":"r"}',
    "payload": '{"p":1}',
    "newly_at_risk": 2,
}
GET = ("knowledge_get", {"key": "a", "lowest": 1, "highest": ALWAYS, "evidence": True})
AS_OF = ("knowledge_as_of", {"ids": [["a", 1]], "seq": ALWAYS})
LIST = ("knowledge_page", page(evidence=True))
OF_STATES = ("knowledge_page_of_states", page(states=["confirmed", "proposed", "invalidated"], evidence=True))
OF_KINDS = ("knowledge_page_of_kinds", page(kinds=["claim", "observation"], evidence=True))
NODES = ("export_nodes", EVERYTHING)
UP, DOWN, BOTH = (walk(direction, "a", evidence=True) for direction in ("upstream", "downstream", "both"))
IMPACT_ON_X = ("impact_walk", {"key": "x", "generation": 1, "seq": ALWAYS} | EVERYTHING)


def told(database: Database, scenario: Stage, when: tuple[str, Params], mark: str) -> list[Row]:
    """The maps in an answer that carry an entry of that name."""
    scenario.given(STORY)
    return [found for found in maps_in(database.statement(*asking(when))) if mark in found]


def asking(when: tuple[str, Params]) -> tuple[Query, Params]:
    query, asked = queries.load(when[0]), {"project": "p", "seq": ALWAYS} | dict(when[1])
    return query, {name: value for name, value in asked.items() if name in query.params}


def maps_in(value: object) -> Iterator[Row]:
    if isinstance(value, list):
        for item in cast(list[object], value):
            yield from maps_in(item)
    elif isinstance(value, dict):
        found = cast(Row, value)
        yield found
        yield from maps_in(list(found.values()))


@pytest.mark.parametrize(
    "when",
    [GET, ("knowledge_nodes", {"ids": [["a", 1]]}), LIST, NODES, IMPACT_ON_X, UP, DOWN, BOTH],
    ids=lambda when: when[0],
)
def test_a_node_is_told_in_one_shape(scenario: Stage, database: Database, when: tuple[str, Params]) -> None:
    (node,) = [found for found in told(database, scenario, when, "proposition") if found["key"] == "a"]
    assert {name: node[name] for name in NODE} == NODE


def test_a_slice_tells_all_that_a_fold_needs_of_a_node(scenario: Stage, database: Database) -> None:
    numbers = {"verified_seq": 4, "retired_seq": 5, "uses": 6, "helpful": 7, "harmful": 8, "unsupported": 9}
    texts = {"valid_to": LATE, "verified_at": LATE, "confirmed_by": "human", "lineage": "{}", "concept": "{}"}
    row = node_row(**numbers, **texts, dangling=["later"], labels=list[str]())
    scenario(
        given="CREATE (:Knowledge {key: 'b'})",
        when=("nodes_create", new_node(row)),
        rows=[{"written": 1}],
        effects={"+nodes": 1, "+labels": 1, "+properties": 25},
    )
    (node,) = database.statement(*asking(slice_of(keys=["a"])))[0]["nodes"]
    assert node == {name: value for name, value in row.items() if name != "labels"} | {
        "risk_seq": 0,
        "newest": 1,
        "depended": False,
    }


@pytest.mark.parametrize("when", [GET, AS_OF, LIST, NODES, UP, DOWN, BOTH], ids=lambda when: when[0])
def test_a_node_carries_its_evidence_in_the_order_it_came(
    scenario: Stage, database: Database, when: tuple[str, Params]
) -> None:
    (node,) = [found for found in told(database, scenario, when, "evidence") if found["key"] == "a"]
    assert [record["key"] for record in node["evidence"]] == ["e2", "e3", "e1"]
    assert node["evidence"][2] == {"project": "p"} | EVIDENCE_ROW


@pytest.mark.parametrize(
    "when",
    [
        ("evidence_named", {"keys": ["e1"]}),
        ("evidence_of", {"ids": [["a", 1]]}),
        slice_of(evidence_keys=["e1"]),
    ],
    ids=lambda when: when[0],
)
def test_evidence_is_told_in_one_shape(scenario: Stage, database: Database, when: tuple[str, Params]) -> None:
    (record,) = [found for found in told(database, scenario, when, "source") if found["key"] == "e1"]
    assert {"project": "p"} | record == {"project": "p"} | EVIDENCE_ROW


@pytest.mark.parametrize(
    "when",
    [
        ("events_at", {"seqs": [8]}),
        ("events_named", {"event_ids": ["e8"]}),
        ("events_about", {"ids": [["a", 1]], "after": 0, "until": 9, "first": 9}),
        ("journal_page", {"after": 0, "until": 9, "first": 9}),
        slice_of(event_ids=["e8"]),
    ],
    ids=lambda when: when[0],
)
def test_an_event_is_told_in_one_shape(scenario: Stage, database: Database, when: tuple[str, Params]) -> None:
    assert told(database, scenario, when, "transition") == [{k: v for k, v in EVENT.items() if k != "verifies"}]


@pytest.mark.parametrize(
    "when",
    [
        (
            "relations_of",
            {"ids": [["a", 1]], "upstream": True, "downstream": True, "types": ALL_TYPES, "ended": False, "most": 9},
        ),
        ("export_edges", EVERYTHING | {"ended": False}),
        UP,
        walk("downstream", "x"),
        BOTH,
        slice_of(edges=[["a", "DEPENDS_ON", "x"]]),
    ],
    ids=lambda when: when[0],
)
def test_an_edge_is_told_in_one_shape(scenario: Stage, database: Database, when: tuple[str, Params]) -> None:
    (found,) = told(database, scenario, when, "turns")
    assert {name: found[name] for name in EDGE} == EDGE
    assert found["relation"].lower() == "depends_on"


# Thirty layers of three nodes, each resting on all of the next: as many chains as there are atoms in a speck of dust.
LADDER: LiteralString = """
UNWIND range(0, 29) AS layer
UNWIND range(0, 2) AS place
CREATE (:Knowledge:AtRisk {project: 'p', key: layer + '/' + place, generation: 1, layer: layer, risk_seq: 5})
WITH count(*) AS nodes
MATCH (n:Knowledge)
MATCH (t:Knowledge)
WHERE t.layer = n.layer + 1
CREATE (n)-[:DEPENDS_ON]->(t), (n)-[:SUPERSEDES]->(t)
WITH count(*) AS edges
MATCH (r:Knowledge {key: '29/0'})
REMOVE r:AtRisk, r.risk_seq
SET r:Retired, r.retired_seq = 6, r.key = 'r'
WITH r
MATCH (n:Knowledge)
WHERE n.key IN ['0/0', '15/0', '29/1']
SET n.key = {`0/0`: 's', `15/0`: 'm', `29/1`: 't'}[n.key]
"""


@pytest.mark.parametrize(
    ("when", "column", "reached"),
    [
        (("risk_spread", {"key": "r", "generation": 1, "seq": 6}), "marked", 87),
        (("risk_clear", {"key": "t", "generation": 1, "seq": 5}), "lifted", 88),
        (("risk_graph", {"ids": [["s", 1]], "most": 200}), None, 88),
        (("risk_graph", {"ids": [["s", 1]], "most": 20}), None, 20),
        (("risk_graph_as_of", {"ids": [["s", 1]], "seq": 9, "most": 200}), None, 88),
        (("risk_graph_as_of", {"ids": [["s", 1]], "seq": 9, "most": 20}), None, 20),
        (
            (
                "impact_walk",
                {"key": "r", "generation": 1, "seq": 6, "after_key": "", "after_generation": 0, "first": 9},
            ),
            "count",
            87,
        ),
        (walk("upstream", "s"), "nodes", 87),
        (walk("downstream", "r"), "nodes", 87),
        (walk("both", "m"), "nodes", 89),
        (slice_of(superseded=["s"]), "edges", 255),
    ],
)
def test_a_graph_of_many_chains_is_walked_node_by_node(
    scenario: Stage, database: Database, when: tuple[str, Params], column: str | None, reached: int
) -> None:
    # The plan is made on a small graph, as on a project's first day, and is kept for some seconds. No other test has
    # asked in these very words.
    query, params = asking(when)
    query = replace(query, text=query.text + "// planned early\n")
    scenario.given(STORY)
    database.statement(query, params)
    scenario.given(LADDER)
    rows = database.statement(query, params)
    found = rows if column is None else rows[0][column]
    assert (found if isinstance(found, int) else len(found)) == reached


def test_the_form_of_a_store_is_recorded_once_and_never_becomes_older(scenario: Stage) -> None:
    one = {"schema_version": 1, "journal_version": 1, "written_by": "1.0.0"}
    scenario(
        given="CREATE (:Project {name: 'p', seq: 1})",
        when=("store_format_get", {}),
        rows=[{"schema_version": 0, "journal_version": 0, "written_by": None, "populated": True}],
    )
    scenario(
        given="CREATE (:Project {name: 'p', seq: 0})",
        when=("store_format_put", one),
        rows=[{"schema_version": 1}],
        effects={"+nodes": 1, "+labels": 1, "+properties": 4},
    ).again(effects={}).then(("store_format_get", {}), rows=[one | {"populated": False}]).then(
        ("store_format_put", one | {"schema_version": 2}),
        rows=[{"schema_version": 2}],
        effects={"+properties": 1, "-properties": 1},
    ).then(("store_format_put", one), rows=[], effects={})
