"""What ``verify`` finds when somebody wrote to the database past the door, and what ``rebuild`` makes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, LiteralString

import pytest
from hashed import HashEmbedder
from ledger import HUMAN

from graph import audit, schema
from graph.commands import read_command
from graph.embedding.filler import Filler
from graph.errors import KnowledgeError, UnavailableError, ValidationError
from graph.fold import FOLD_EVENTS
from graph.service import Filter, Service

Row = dict[str, Any]

EVIDENCE: list[Row] = [{"key": "e1", "type": "file", "source": "s1"}, {"key": "e2", "type": "file", "source": "s2"}]
JOURNAL: list[Row] = [
    {"transition": "proposed", "key": "base", "payload": {"proposition": "b", "evidence": EVIDENCE}},
    {"transition": "proposed", "key": "mid", "payload": {"proposition": "m", "lineage": {"sources": ["x"]}}},
    {"transition": "proposed", "key": "top", "payload": {"proposition": "t", "kind": "observation"}},
    {"transition": "linked", "key": "mid", "payload": {"relation": "depends_on", "to": "base"}},
    {"transition": "linked", "key": "top", "payload": {"relation": "derived_from", "to": "mid"}},
    {"transition": "linked", "key": "top", "payload": {"relation": "supports", "to": "base"}},
    {"transition": "unlinked", "key": "top", "payload": {"relation": "supports", "to": "base"}},
    {"transition": "confirmed", "key": "top", "payload": {"evidence": EVIDENCE[:1]}, "execution": {"run": "1"}},
    {"transition": "corrected", "key": "base", "reason": "wrong", "payload": {"proposition": "b2"}},
    {"transition": "forgotten", "key": "top", "caused_by": ["p-1", "p-9"]},
]
TAIL = len(JOURNAL)

# What somebody did to the graph, and a sentence that says so.
DAMAGES: dict[str, tuple[LiteralString, str]] = {
    "a property was changed": (
        "MATCH (n:Knowledge {key: 'mid'}) SET n.proposition = 'x'",
        "proposition of the node 'mid' differs",
    ),
    "a number is a truth value": (
        "MATCH (n:Knowledge {key: 'mid'}) SET n.uses = false",
        "uses of the node 'mid' differs",
    ),
    "an instant is a text": (
        "MATCH (n:Knowledge {key: 'mid'}) SET n.valid_from = toString(n.valid_from)",
        "valid_from of the node 'mid' differs",
    ),
    "an instant moved by a nanosecond": (
        "MATCH (n:Knowledge {key: 'mid'}) SET n.created_at = n.created_at + duration({nanoseconds: 1})",
        "created_at of the node 'mid' differs",
    ),
    "a property is missing": ("MATCH (n:Knowledge {key: 'mid'}) REMOVE n.lineage", "lineage of the node 'mid' differs"),
    "a property is too many": (
        "MATCH (n:Knowledge {key: 'mid'}) SET n.colour = 'red'",
        "colour of the node 'mid' differs",
    ),
    "a mark is missing": (
        "MATCH (n:Knowledge {key: 'mid'}) REMOVE n:AtRisk, n.risk_seq",
        "risk_seq of the node 'mid' differs",
    ),
    "a mark has no label": ("MATCH (n:Knowledge {key: 'mid'}) REMOVE n:AtRisk", "the labels of the node 'mid' differ"),
    "a mark names another retirement": (
        "MATCH (n:Knowledge {key: 'mid'}) SET n.risk_seq = 1",
        "risk_seq of the node 'mid' differs",
    ),
    "a mark is too many": (
        "MATCH (n:Knowledge {key: 'base', generation: 2}) SET n:AtRisk, n.risk_seq = 9",
        "the labels of the node 'base' (generation 2) differ",
    ),
    "a label is not the state's": (
        "MATCH (n:Knowledge {key: 'mid'}) REMOVE n:Proposed SET n:Confirmed",
        "the labels of the node 'mid' differ",
    ),
    "a label is too many": ("MATCH (n:Knowledge {key: 'mid'}) SET n:Mine", "the labels of the node 'mid' differ"),
    "a node is lost": ("MATCH (n:Knowledge {key: 'mid'}) DETACH DELETE n", "the node 'mid' is missing"),
    "a node is too many": (
        "CREATE (:Knowledge {project: 'P', key: 'ghost', generation: 1})",
        "the node 'ghost' is not in the journal",
    ),
    "a generation is too many": (
        "CREATE (:Knowledge {project: 'P', key: 'mid', generation: 2})",
        "the node 'mid' (generation 2) is not in the journal",
    ),
    "a node has no key": (
        "CREATE (:Knowledge {project: 'P', generation: 1})",
        "1 nodes Knowledge of the project without what they are known by",
    ),
    "a node lost its key": ("MATCH (n:Knowledge {key: 'mid'}) REMOVE n.key", "the node 'mid' is missing"),
    "an edge is lost": (
        "MATCH (:Knowledge)-[r:DERIVED_FROM]->() DELETE r",
        "the edge 'top' derived_from 'mid' is missing",
    ),
    "an edge is too many": (
        "MATCH (a:Knowledge {key: 'mid'}), (b:Knowledge {key: 'top'}) CREATE (a)-[:SUPPORTS]->(b)",
        "the edge 'mid' supports 'top' is not in the journal",
    ),
    "an edge is doubled": (
        "MATCH (a)-[r:DERIVED_FROM]->(b) CREATE (a)-[s:DERIVED_FROM]->(b) SET s = properties(r)",
        "the edge 'top' derived_from 'mid' is there 2 times",
    ),
    "an edge is turned round": (
        "MATCH (a)-[r:DERIVED_FROM]->(b) CREATE (b)-[s:DERIVED_FROM]->(a) SET s = properties(r) DELETE r",
        "the edge 'mid' derived_from 'top' is not in the journal",
    ),
    "an edge has another type": (
        "MATCH (a)-[r:DERIVED_FROM]->(b) CREATE (a)-[s:DEPENDS_ON]->(b) SET s = properties(r) DELETE r",
        "the edge 'top' depends_on 'mid' is not in the journal",
    ),
    "an edge has a type of nobody's": (
        "MATCH (a)-[r:DERIVED_FROM]->(b) CREATE (a)-[:LIKES]->(b)",
        "the edge 'top' likes 'mid' is not in the journal",
    ),
    "an edge was changed": (
        "MATCH ()-[r:DERIVED_FROM]->() SET r.times = [datetime('2001-01-01T00:00:00Z')]",
        "the edge 'top' derived_from 'mid' differs",
    ),
    "an edge has a property too many": (
        "MATCH ()-[r:DERIVED_FROM]->() SET r.weight = 1",
        "the edge 'top' derived_from 'mid' differs",
    ),
    "an ended edge lives": ("MATCH ()-[r:SUPPORTS]->() REMOVE r.until", "the edge 'top' supports 'base' differs"),
    "an edge leads to another project": (
        "MATCH (a:Knowledge {project: 'P', key: 'mid'}), (b:Knowledge {project: 'Q'}) CREATE (a)-[:DEPENDS_ON]->(b)",
        "'mid' DEPENDS_ON leads to what is no knowledge of the project",
    ),
    "an edge comes from another project": (
        "MATCH (a:Knowledge {project: 'P', key: 'mid'}), (b:Knowledge {project: 'Q'}) CREATE (b)-[:DEPENDS_ON]->(a)",
        "1 relationships lead to the node 'mid'",
    ),
    "an edge comes from a foreign node": (
        "MATCH (a:Knowledge {project: 'P', key: 'mid'}) CREATE (:Person)-[:KNOWS]->(a)",
        "1 relationships lead to the node 'mid'",
    ),
    "an edge leads to an event": (
        "MATCH (a:Knowledge {project: 'P', key: 'mid'}), (e:Event {project: 'P', seq: 1}) CREATE (a)-[:ABOUT]->(e)",
        "'mid' ABOUT leads to what is no knowledge of the project (Event)",
    ),
    "a vector hangs on another node": (
        """
        MATCH (a:Knowledge {project: 'P', key: 'mid'}), (r:Representation {project: 'P', key: 'top'})
        CREATE (a)-[:REPRESENTED_BY]->(r)
        """,
        "'mid' REPRESENTED_BY leads to what is no knowledge of the project",
    ),
    "a vector is tied by another type": (
        "MATCH (a:Knowledge {project: 'P', key: 'mid'})-[:REPRESENTED_BY]->(r) CREATE (a)-[:LIKES]->(r)",
        "'mid' LIKES leads to what is no knowledge of the project",
    ),
    "evidence was changed": (
        "MATCH (e:Evidence {project: 'P', key: 'e1'}) SET e.source = 'x'",
        "source of the evidence 'e1' differs",
    ),
    "evidence is lost": (
        "MATCH (e:Evidence {project: 'P', key: 'e1'}) DETACH DELETE e",
        "the evidence 'e1' is missing",
    ),
    "evidence is too many": ("CREATE (:Evidence {project: 'P', key: 'e9'})", "the evidence 'e9' is not in the journal"),
    "evidence has no key": (
        "CREATE (:Evidence {project: 'P'})",
        "1 nodes Evidence of the project without what they are known by",
    ),
    "evidence leads somewhere": (
        "MATCH (e:Evidence {project: 'P', key: 'e1'}), (f:Evidence {project: 'P', key: 'e2'}) CREATE (e)-[:SAME]->(f)",
        "1 relationships of the evidence 'e1' are not in the journal",
    ),
    "a tie to evidence is lost": (
        "MATCH (:Knowledge {key: 'top'})-[s:EVIDENCED_BY]->() DELETE s",
        "the edge 'top' evidenced_by evidence 'e1' is missing",
    ),
    "a tie to evidence is too many": (
        """
        MATCH (n:Knowledge {key: 'mid'}), (e:Evidence {project: 'P', key: 'e2'})
        CREATE (n)-[:EVIDENCED_BY {seq: 2}]->(e)
        """,
        "the edge 'mid' evidenced_by evidence 'e2' is not in the journal",
    ),
    "a tie to evidence has another position": (
        "MATCH (:Knowledge {key: 'top'})-[s:EVIDENCED_BY]->() SET s.seq = 1",
        "the edge 'top' evidenced_by evidence 'e1' differs",
    ),
    "an event is about nothing": (
        "MATCH (:Event {seq: 4})-[r:ABOUT]->() DELETE r",
        "the edge event 4 about 'mid' is missing",
    ),
    "an event is about too much": (
        "MATCH (e:Event {project: 'P', seq: 4}), (n:Knowledge {key: 'top'}) CREATE (e)-[:ABOUT]->(n)",
        "the edge event 4 about 'top' is not in the journal",
    ),
    "an event is about it twice": (
        "MATCH (e:Event {seq: 4})-[:ABOUT]->(n) CREATE (e)-[:ABOUT]->(n)",
        "the edge event 4 about 'mid' is there 2 times",
    ),
    "a cause is lost": (
        "MATCH (:Event {seq: 10})-[r:CAUSED_BY]->(:Event {seq: 1}) DELETE r",
        "the edge event 10 caused_by event 'p-1' is missing",
    ),
    "a cause is too many": (
        "MATCH (a:Event {project: 'P', seq: 5}), (b:Event {project: 'P', seq: 1}) CREATE (a)-[:CAUSED_BY]->(b)",
        "the edge event 5 caused_by event 'p-1' is not in the journal",
    ),
    "an event has a foreign cause": (
        "MATCH (a:Event {project: 'P', seq: 5}), (b:Event {project: 'Q', seq: 1}) CREATE (a)-[:CAUSED_BY]->(b)",
        "event 5 CAUSED_BY leads to what is no knowledge of the project",
    ),
    "something leads to an event": (
        "MATCH (e:Event {project: 'P', seq: 5}) CREATE (:Person)-[:READ]->(e)",
        "1 relationships lead to event 5 from what is no event",
    ),
    "the head has a property too many": (
        "MATCH (p:Project {name: 'P'}) SET p.owner = 'me'",
        "owner of the project's head differs",
    ),
    "the head was recorded at another time": (
        "MATCH (p:Project {name: 'P'}) SET p.recorded_at = datetime('2001-01-01T00:00:00Z')",
        "recorded_at of the project's head differs",
    ),
    "the head is lost": ("MATCH (p:Project {name: 'P'}) DELETE p", "the head of the project 'P' is missing"),
    "the head is tied to something": (
        "MATCH (p:Project {name: 'P'}), (n:Knowledge {key: 'mid'}) CREATE (p)-[:HAS]->(n)",
        "1 relationships of the project's head are not in the journal",
    ),
    "all of the projection is gone": (
        "MATCH (n:Knowledge|Evidence {project: 'P'}) DETACH DELETE n",
        "the node 'base' is missing",
    ),
    "all but the journal is gone": (
        "MATCH (n:Knowledge|Evidence|Project) WHERE 'P' IN [n.project, n.name] DETACH DELETE n",
        "the head of the project 'P' is missing",
    ),
}

# What somebody did to the journal, where it then is broken, and what says so.
TAMPERINGS: dict[str, tuple[LiteralString, int, str]] = {
    "lost": ("MATCH (e:Event {project: 'P', seq: 4}) DETACH DELETE e", 4, "event 4 is not there"),
    "the first is lost": ("MATCH (e:Event {project: 'P', seq: 1}) DETACH DELETE e", 1, "event 1 is not there"),
    "two reordered": (
        """
        MATCH (a:Event {project: 'P', seq: 4}), (b:Event {project: 'P', seq: 5}) SET a.seq = 99 WITH a, b
        SET b.seq = 4 WITH a SET a.seq = 5
        """,
        4,
        "event 4 does not follow",
    ),
    "inserted": (
        """
        MATCH (e:Event {project: 'P'}) WHERE e.seq >= 5 WITH e ORDER BY e.seq DESC SET e.seq = e.seq + 1
        WITH count(e) AS moved MATCH (o:Event {project: 'P', seq: 4}) CREATE (i:Event)
        SET i = o {.*, seq: 5, event_id: 'new'} WITH i MATCH (p:Project {name: 'P'}) SET p.seq = p.seq + 1
        """,
        5,
        "event 5 does not follow",
    ),
    "added behind the head": (
        "MATCH (o:Event {project: 'P', seq: 10}) CREATE (i:Event) SET i = o {.*, seq: 11, event_id: 'new'}",
        11,
        "event 11 does not follow",
    ),
    "cut, the head not": (
        "MATCH (e:Event {project: 'P', seq: 10}) DETACH DELETE e",
        10,
        "the head names event 10, the journal ends with 9",
    ),
    "the head moved back": ("MATCH (p:Project {name: 'P'}) SET p.seq = 9", 10, "event 10 stands behind the head"),
    "the head names another hash": (
        "MATCH (p:Project {name: 'P'}) SET p.hash = '00'",
        10,
        "the head names another event 10",
    ),
    "a label too many": (
        "MATCH (e:Event {project: 'P', seq: 3}) SET e:Mine",
        3,
        "labels of event 3 is not as it was written",
    ),
    "a property too many": (
        "MATCH (e:Event {project: 'P', seq: 3}) SET e.note = 'x'",
        3,
        "note of event 3 is not as it was written",
    ),
    "a payload that says the same in another way": (
        "MATCH (e:Event {project: 'P', seq: 3}) SET e.payload = e.payload + ' '",
        3,
        "payload of event 3 is not as it was written",
    ),
    "a payload that is no JSON": (
        "MATCH (e:Event {project: 'P', seq: 3}) SET e.payload = '{'",
        3,
        "event 3 cannot be read",
    ),
    "inside the payload": (
        "MATCH (e:Event {project: 'P', seq: 1}) SET e.payload = replace(e.payload, 's2', 's3')",
        1,
        "event 1 does not follow",
    ),
    "a number that JSON has not": (
        "MATCH (e:Event {project: 'P', seq: 2}) SET e.payload = '{\"a\":NaN}'",
        2,
        "event 2 does not follow",
    ),
    "an event of no project": (
        "MATCH (e:Event {project: 'P', seq: 10}) REMOVE e.project",
        10,
        "the head names event 10",
    ),
}
FIELDS = (
    *("event_id", "transition", "key", "generation", "actor_issuer", "actor_subject", "actor_type", "time"),
    *("recorded_at", "reason", "caused_by", "execution", "payload", "state_after", "verifies", "prev_hash", "hash"),
)


@pytest.fixture
def whole(service: Service, loop: asyncio.Runner) -> Iterator[Service]:
    """A project with one of everything, and another one beside it."""
    lines = [*((line, "P", f"p-{at}") for at, line in enumerate(JOURNAL, 1)), (JOURNAL[0], "Q", "q-1")]
    taken = loop.run(service.run_many([command(line | {"event_id": i}, project) for line, project, i in lines]))
    assert [answer for answer in taken if isinstance(answer, KnowledgeError)] == []
    assert [embedded(service, loop, project) for project in "PQ"] == [4, 1]
    yield service
    loop.run(schema.restore(service.store.driver, service.store.database))


def command(line: Row, project: str = "P") -> Any:
    return read_command(line, actor=HUMAN, project=project)


def damage(service: Service, loop: asyncio.Runner, statement: LiteralString, **params: object) -> None:
    loop.run(service.store.driver.execute_query(statement, params, database_=service.store.database))


def embedded(service: Service, loop: asyncio.Runner, project: str = "P") -> int:
    """Have every node embedded; how many were not."""
    return loop.run(Filler(service.store, HashEmbedder()).fill(project))


def verified(service: Service, loop: asyncio.Runner, *saved: Any) -> Row:
    return loop.run(service.verify("P", *saved))


def everything(service: Service, loop: asyncio.Runner) -> list[str]:
    """Every node and relationship with every property of the two projects, in one order."""
    ask: tuple[LiteralString, LiteralString] = (
        "MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties",
        "MATCH (a)-[r]->(b) RETURN type(r) AS t, properties(a) AS a, properties(b) AS b, properties(r) AS p",
    )
    found: list[str] = []
    for statement in ask:
        records = loop.run(service.store.driver.execute_query(statement, database_=service.store.database)).records
        rows = [record.data() for record in records]
        found += [
            repr(
                {
                    k: sorted(v) if k == "labels" else sorted(v.items()) if isinstance(v, dict) else v
                    for k, v in row.items()
                }
            )
            for row in rows
        ]
    return sorted(found)


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_to_the_graph_is_named_and_put_right(name: str, whole: Service, loop: asyncio.Runner) -> None:
    before = everything(whole, loop)
    statement, sentence = DAMAGES[name]
    damage(whole, loop, statement)
    answer = verified(whole, loop)
    assert (answer["ok"], answer["first_broken"], answer["projection_matches"]) == (False, None, False)
    assert [said for said in answer["differences"] if sentence in said], answer["differences"]
    assert loop.run(whole.rebuild("P")) == TAIL
    damage(whole, loop, "MATCH (n:Person) DETACH DELETE n")
    assert verified(whole, loop)["differences"] == []
    embedded(whole, loop)
    assert everything(whole, loop) == before


@pytest.mark.parametrize("name", TAMPERINGS)
def test_damage_to_the_journal_is_named_by_its_position(name: str, whole: Service, loop: asyncio.Runner) -> None:
    statement, position, sentence = TAMPERINGS[name]
    damage(whole, loop, statement)
    answer = verified(whole, loop)
    assert (answer["ok"], answer["first_broken"], answer["projection_matches"]) == (False, position, False)
    assert [said for said in answer["differences"] if sentence in said], answer["differences"]
    before = everything(whole, loop)
    with pytest.raises(ValidationError) as refused:
        loop.run(whole.rebuild("P"))
    assert refused.value.position == position
    assert everything(whole, loop) == before, "there is nothing to fold, so nothing is touched"


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("how", ["changed", "removed"])
def test_every_field_of_an_event_is_guarded(field: str, how: str, whole: Service, loop: asyncio.Runner) -> None:
    changed: LiteralString = """
    MATCH (e:Event {project: 'P', seq: 8})
    SET e += CASE
      WHEN $field IN ['time', 'recorded_at'] THEN {time: e.time + duration('PT1S')}
      ELSE $values END
    """
    values = {
        "transition": "used",
        "actor_type": "agent",
        "generation": 2,
        "caused_by": ["p-1"],
        "execution": '{"run":"2"}',
        "payload": '{"evidence":[]}',
        "state_after": "challenged",
        "verifies": False,
    }
    if how == "removed":
        damage(whole, loop, "MATCH (e:Event {project: 'P', seq: 8}) SET e += $values", values={field: None})
    else:
        damage(whole, loop, changed, field=field, values={field: values.get(field, "other")})
    answer = verified(whole, loop)
    unset = how == "removed" and field == "reason"  # this event gives none
    assert answer["first_broken"] == (None if unset else 8), answer


def test_what_no_project_holds_is_named(whole: Service, loop: asyncio.Runner) -> None:
    damage(
        whole,
        loop,
        "CREATE (:Event {seq: 1, event_id: 'x'}), (:Knowledge {key: 'x'}), (:Evidence {project: 'R', key: 'x'})",
    )
    assert verified(whole, loop)["differences"] == [
        "there are 1 nodes Event without a project",
        "there are 1 nodes Evidence of 'R', which is no project: it has no head",
        "there are 1 nodes Knowledge without a project",
    ]
    assert loop.run(whole.rebuild("R")) == 0
    assert len(verified(whole, loop)["differences"]) == 2


def test_a_tail_that_was_cut_with_its_head_shows_against_a_saved_head_only(
    whole: Service, loop: asyncio.Runner
) -> None:
    head = loop.run(whole.head("P"))
    older = loop.run(whole.events_at("P", [8]))[8]
    assert head is not None
    damage(
        whole,
        loop,
        """
        MATCH (l:Event {project: 'P', seq: 9}), (p:Project {name: 'P'}), (e:Event {project: 'P', seq: 10})
        SET p.seq = 9, p.hash = l.hash, p.recorded_at = l.recorded_at
        DETACH DELETE e
        """,
    )
    loop.run(whole.rebuild("P"))
    assert verified(whole, loop)["ok"], "nothing that is left says that there was more"
    assert verified(whole, loop, 8, older["hash"])["ok"], "what was saved before the cut is still there"
    answer = verified(whole, loop, head.seq, head.hash)
    assert (answer["ok"], answer["first_broken"]) == (False, 10)
    assert answer["differences"] == ["event 10, which the saved head names, is gone"]


def test_a_rewritten_journal_shows_against_a_saved_head(whole: Service, loop: asyncio.Runner) -> None:
    answer = verified(whole, loop, 8, "0" * 64)
    assert (answer["ok"], answer["first_broken"]) == (False, 8)
    assert answer["differences"] == ["event 8 is not the one that the saved head names"]


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("event_position", "DROP CONSTRAINT event_position"),
        ("knowledge_state", "DROP INDEX knowledge_state"),
        ("constraint_unique_Project_name", "DROP CONSTRAINT constraint_unique_Project_name"),
    ],
)
@pytest.mark.parametrize("altered", [False, True])
def test_a_schema_that_is_not_ours_any_more_is_named_and_made_again(
    name: str, statement: LiteralString, whole: Service, loop: asyncio.Runner, *, altered: bool
) -> None:
    damage(whole, loop, statement)
    if altered:
        made: dict[str, LiteralString] = {
            "event_position": "CREATE CONSTRAINT event_position FOR (e:Event) REQUIRE (e.seq, e.project) IS UNIQUE",
            "knowledge_state": "CREATE INDEX knowledge_state FOR (n:Knowledge) ON (n.state)",
            "constraint_unique_Project_name": "CREATE INDEX constraint_unique_Project_name FOR (n:Project) ON (n.name)",
        }
        damage(whole, loop, made[name])
    assert verified(whole, loop)["differences"] == [f"{name} is missing from the schema, or not as it is declared"]
    loop.run(whole.rebuild("P"))
    assert verified(whole, loop)["ok"]


def test_what_is_stored_twice_is_named_and_made_one_again(whole: Service, loop: asyncio.Runner) -> None:
    before = everything(whole, loop)
    damage(whole, loop, "DROP CONSTRAINT knowledge_identity")
    damage(whole, loop, "DROP CONSTRAINT evidence_identity")
    damage(whole, loop, "MATCH (n:Knowledge {project: 'P', key: 'mid'}) CREATE (m:Knowledge) SET m = properties(n)")
    damage(whole, loop, "MATCH (n:Evidence {project: 'P', key: 'e2'}) CREATE (m:Evidence) SET m = properties(n)")
    said = verified(whole, loop)["differences"]
    assert "the node 'mid' is there 2 times" in said
    assert "the evidence 'e2' is there 2 times" in said
    loop.run(whole.rebuild("P"))
    assert verified(whole, loop)["ok"]
    embedded(whole, loop)
    assert everything(whole, loop) == before


def test_verify_is_true_of_the_position_that_it_names_while_writers_append(
    whole: Service, loop: asyncio.Runner
) -> None:
    async def play() -> list[Row]:
        done = asyncio.Event()

        async def write(writer: int) -> None:
            at = 0
            while not done.is_set():
                at += 1
                key = f"w{writer}-{at}"
                line = {
                    "transition": "proposed",
                    "key": key,
                    "payload": {
                        "proposition": key,
                        "evidence": [{"type": "t", "source": "s"}],
                        "relations": [{"relation": "depends_on", "to": "base"}],
                    },
                }
                await whole.run(command(line))
                await whole.run(command({"transition": "used", "key": "mid"}))
                if at % 5 == 0:
                    await whole.run(command({"transition": "invalidated", "key": f"w{writer}-{at - 1}", "reason": "r"}))

        async with asyncio.TaskGroup() as group:
            for writer in range(3):
                group.create_task(write(writer))
            found = [await whole.verify("P") for _ in range(6)]
            found.append({"differences": [], "events": await whole.rebuild("P"), "ok": True})
            done.set()
        return found

    found = loop.run(play())
    assert [answer["differences"] for answer in found] == [[]] * len(found)
    assert len({answer["events"] for answer in found}) > 1, "writers went on"
    assert verified(whole, loop)["ok"]


def grown(service: Service, loop: asyncio.Runner, count: int) -> None:
    """A project of a chain of nodes, of which all rest on a retired one."""
    lines: list[Row] = [{"transition": "proposed", "key": "n0", "payload": {"proposition": "n0"}}]
    for at in range(1, count):
        relations = [{"relation": "depends_on", "to": f"n{(at - 1) // 2}"}]
        lines.append(
            {"transition": "proposed", "key": f"n{at}", "payload": {"proposition": f"n{at}", "relations": relations}}
        )
    lines.append({"transition": "invalidated", "key": "n0", "reason": "gone"})
    for start in range(0, len(lines), 500):
        loop.run(
            service.store.append([command(line) for line in lines[start : start + 500]], datetime.now(UTC), seconds=60)
        )


@pytest.mark.parametrize("count", [FOLD_EVENTS + 300, pytest.param(5 * FOLD_EVENTS, marks=pytest.mark.slow)])
def test_reads_are_answered_and_right_during_a_rebuild(count: int, service: Service, loop: asyncio.Runner) -> None:
    grown(service, loop, count)
    damage(service, loop, "MATCH (n:Knowledge) WHERE n.key ENDS WITH '7' SET n.proposition = 'x' REMOVE n:AtRisk")
    right = {f"n{at}" for at in range(1, count) if at % 10 != 7}

    async def play() -> int:
        polls, rebuilt = 0, asyncio.create_task(service.rebuild("P"))
        while not rebuilt.done():
            stats = await service.stats("P")
            assert (stats["nodes"], stats["edges"]) == (count, count - 1)
            marked = {n["key"] for n in (await service.page("P", Filter(at_risk=True), 1000)).items}
            assert marked >= {key for key in right if key <= max(marked)}, "a page of 1,000 ends somewhere"
            assert (await service.why_at_risk("P", "n12"))[0]["retired"]["key"] == "n0"
            polls += 1
            await asyncio.sleep(0.05)
        assert await rebuilt == count + 1
        return polls

    assert loop.run(play()) > 3
    assert verified(service, loop)["ok"]
    assert loop.run(service.stats("P"))["at_risk"] == count - 1


def test_appends_are_refused_only_while_what_is_wrong_is_put_right(whole: Service, loop: asyncio.Runner) -> None:
    """And an interruption in the middle of that leaves them refused until the same call has come to its end."""
    damage(whole, loop, "MATCH (n:Knowledge {project: 'P'}) DETACH DELETE n")

    async def interrupted() -> None:
        class StopError(Exception):
            pass

        def progress(phase: str, _done: int, _total: int | None) -> None:
            if phase == "mending":  # the first page was put right
                raise StopError

        with pytest.raises(StopError):
            await whole.rebuild("P", progress)
        with pytest.raises(UnavailableError, match="is being rebuilt"):
            await whole.run(command({"transition": "used", "key": "mid"}))
        assert (
            "a rebuild of the projection was begun and has not come to its end"
            in (await whole.verify("P"))["differences"]
        )
        await whole.rebuild("P")
        await whole.run(command({"transition": "used", "key": "mid"}))

    loop.run(interrupted())
    assert verified(whole, loop)["ok"]


def test_what_is_wrong_is_named_on_a_full_disk_and_put_right_only_when_there_is_room(
    whole: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise UnavailableError("the disk is full")

    damage(whole, loop, DAMAGES["a mark is too many"][0])
    monkeypatch.setattr(whole.store, "require_room", full)
    assert verified(whole, loop)["differences"]
    before = everything(whole, loop)
    with pytest.raises(UnavailableError, match="the disk is full"):
        loop.run(whole.rebuild("P"))
    assert everything(whole, loop) == before
    damage(whole, loop, TAMPERINGS["lost"][0])
    assert verified(whole, loop)["first_broken"] is not None


def test_a_rebuild_of_what_is_right_changes_nothing_and_refuses_nobody(whole: Service, loop: asyncio.Runner) -> None:
    before = everything(whole, loop)
    assert loop.run(whole.rebuild("P")) == TAIL
    assert everything(whole, loop) == before


def test_differences_are_bounded(whole: Service, loop: asyncio.Runner) -> None:
    damage(whole, loop, "UNWIND range(1, 700) AS i CREATE (:Knowledge {project: 'P', key: 'g' + i, generation: 1})")
    assert len(verified(whole, loop)["differences"]) == audit.DIFFERENCES_MAX
    loop.run(whole.rebuild("P"))
    assert verified(whole, loop)["ok"]


def test_an_empty_project_is_whole(service: Service, loop: asyncio.Runner) -> None:
    assert json.loads(json.dumps(verified(service, loop))) == {
        "ok": True,
        "events": 0,
        "first_broken": None,
        "projection_matches": True,
        "differences": [],
    }
