"""What the statements about vectors answer and leave behind, on graphs just large enough to show it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from typing import LiteralString

import pytest
from neo4j.exceptions import ClientError
from scenario import Database, Row, Stage, in_any_order

from graph import queries, schema, words
from graph.errors import InternalError
from graph.store import Store

MODEL = "Model_scenario_1"
OTHER = "Model_scenario_2"
OWN = "Model_scenario_1_p"  # the index of one project
MODELS = {MODEL: 2, OWN: 2, OTHER: 3}


@pytest.fixture(scope="module")
def database(open_store: Store, loop: asyncio.Runner) -> Iterator[Database]:
    """The server, with the vector indexes of two models of other dimensions, and one of a project."""
    for model, dimensions in MODELS.items():
        loop.run(schema.install_vectors(open_store.driver, open_store.database, model, dimensions))
    yield Database(open_store, loop)
    for model in MODELS:
        loop.run(open_store.driver.execute_query("DROP INDEX $name", {"name": model}, database_=open_store.database))


def test_an_index_is_made_once_and_named_as_its_label(database: Database) -> None:
    database.query(queries.load("representation_index").labelled(MODEL).text, index=MODEL, dimensions=2)
    found = database.query(
        "SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties, options "
        "WHERE name STARTS WITH 'Model_scenario' RETURN name, type, state, labelsOrTypes AS labels, properties, "
        "options.indexConfig['vector.dimensions'] AS dimensions ORDER BY name"
    )
    assert found == [
        {
            "name": model, "type": "VECTOR", "state": "ONLINE", "labels": [model], "properties": ["vector"],
            "dimensions": dimensions,
        }
        for model, dimensions in MODELS.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    "label", ["Model", "Knowledge", "Model_a) DETACH DELETE (r", "Model_`", "Model_é", "", "Model_"]
)
def test_a_label_that_is_no_models_makes_no_statement(label: str) -> None:
    with pytest.raises(InternalError):
        queries.load("representation_index").labelled(label)


def test_projects_are_due_whose_journal_goes_on_behind_what_is_filled(scenario: Stage) -> None:
    given: LiteralString = """
    CREATE (:Project {name: 'a', seq: 3}), (:Project {name: 'b', seq: 3}), (:Project {name: 'c', seq: 3}),
      (:Project {name: 'd', seq: 0}), (:Filling {project: 'b', model: 'Model_scenario_1', seq: 3}),
      (:Filling {project: 'c', model: 'Model_scenario_1', seq: 2}),
      (:Filling {project: 'a', model: 'Model_scenario_2', seq: 3})
    """
    due = [{"project": "a", "filled": 0, "head": 3}, {"project": "c", "filled": 2, "head": 3}]
    for after, first, rows in (("", 9, due), ("", 1, due[:1]), ("a", 9, due[1:]), ("c", 9, [])):
        asked: Row = {"model": MODEL, "after": after, "first": first}
        scenario(given=given, when=("representations_due", asked), rows=rows)
    for project, rows in (("c", due[1:]), ("a", due[:1]), ("none", [])):
        asked = {"project": project, "model": MODEL}
        scenario(given=given, when=("representations_filled", asked), rows=rows)


def test_what_a_page_of_the_journal_is_about_is_told_with_what_its_vectors_were_made_of(scenario: Stage) -> None:
    given: LiteralString = """
    CREATE (a:Knowledge {key: 'a', proposition: 'A'}), (b:Knowledge {key: 'b', proposition: 'B'}),
      (c:Knowledge {key: 'c', proposition: 'C'}), (x:Knowledge {project: 'q', key: 'a', proposition: 'X'}),
      (:Event {seq: 1, event_id: '1'})-[:ABOUT]->(a), (:Event {seq: 2, event_id: '2'})-[:ABOUT]->(a),
      (:Event {seq: 3, event_id: '3'})-[:ABOUT]->(b), (:Event {seq: 4, event_id: '4'})-[:ABOUT]->(c),
      (:Event {project: 'q', seq: 1, event_id: '1'})-[:ABOUT]->(x),
      (a)-[:REPRESENTED_BY]->(:Representation {model: 'Model_scenario_1', text_sha256: 'of A'}),
      (b)-[:REPRESENTED_BY]->(:Representation {model: 'Model_scenario_2', text_sha256: 'of B'})
    """
    first = {"key": "a", "generation": 1, "proposition": "A", "text_sha256": "of A"}
    second = {"key": "b", "generation": 1, "proposition": "B", "text_sha256": None}
    third = {"key": "c", "generation": 1, "proposition": "C", "text_sha256": None}
    for after, until, nodes in (
        (0, 3, [first, second]),
        (1, 4, [first, second, third]),
        (3, 4, [third]),
        (4, None, []),
    ):
        scenario(
            given=given,
            when=("representations_wanted", {"model": MODEL, "after": after, "first": 3}),
            rows=[{"until": until, "nodes": in_any_order(*nodes)}],
        )


ROW: Row = {"key": "a", "generation": 1, "text_sha256": "of A", "vector": [0.6, 0.8]}
PUT: Row = {"model": MODEL, "model_name": "one", "model_hash": "ab", "after": 0, "until": 5, "rows": [ROW]}


def test_vectors_are_written_with_the_position_and_a_repeat_changes_nothing(
    scenario: Stage, database: Database
) -> None:
    given: LiteralString = "CREATE (:Knowledge {key: 'a'}), (:Knowledge {project: 'q', key: 'a'})"
    scenario(
        given=given,
        when=("representations_put", PUT | {"rows": [ROW, ROW | {"key": "gone"}]}),
        rows=[{"written": 1}],
        effects={"+nodes": 2, "+relationships": 1, "+labels": 3, "+properties": 12},
    ).again(effects={}, rows=[{"written": 1}])
    found = database.query(
        "MATCH (n:Knowledge)-->(r:Representation) RETURN n.project AS p, labels(r) AS l, r {.*} AS r"
    )
    assert found[0]["p"] == "p"
    assert set(found[0]["l"]) == {"Representation", MODEL}
    assert found[0]["r"].pop("vector") == pytest.approx([0.6, 0.8])
    assert found[0]["r"] == {
        "project": "p", "key": "a", "generation": 1, "model": MODEL, "model_name": "one", "model_sha256": "ab",
        "text_sha256": "of A",
    }  # fmt: skip


def test_another_text_changes_the_vector_and_another_model_adds_one(scenario: Stage) -> None:
    scenario(
        given="CREATE (:Knowledge {key: 'a'})",
        when=("representations_put", PUT),
        rows=[{"written": 1}],
        effects={"+nodes": 2, "+relationships": 1, "+labels": 3, "+properties": 12},
    ).then(
        ("representations_put", PUT | {"rows": [ROW | {"text_sha256": "of B", "vector": [1.0, 0.0]}]}),
        rows=[{"written": 1}],
        effects={"+properties": 2, "-properties": 2},
    ).then(
        ("representations_put", PUT | {"model": OTHER, "rows": [ROW | {"vector": [1.0, 0.0, 0.0]}]}),
        rows=[{"written": 1}],
        effects={"+nodes": 2, "+relationships": 1, "+labels": 3, "+properties": 12},
    )


def test_a_position_moves_only_from_where_the_page_began(scenario: Stage) -> None:
    given: LiteralString = "CREATE (:Filling {project: 'p', model: 'Model_scenario_1', model_name: 'one', seq: 3})"
    for after, effects in ((3, {"+properties": 1, "-properties": 1}), (0, {}), (4, {})):
        scenario(
            given=given,
            when=("representations_put", PUT | {"after": after, "rows": []}),
            rows=[{"written": 0}],
            effects=effects,
        )


# Five nodes of p around the first axis, and ten of q that lie nearer to it.
AROUND: LiteralString = """
UNWIND range(1, 5) AS i
CREATE (:Knowledge {project: 'p', key: 'p' + i, generation: 1})-[:REPRESENTED_BY]->(:Representation:Model_scenario_1
  {project: 'p', model: 'Model_scenario_1', key: 'p' + i, generation: 1, vector: [cos(i * 0.2), sin(i * 0.2)]})
WITH count(*) AS five
UNWIND range(1, 10) AS i
CREATE (:Knowledge {project: 'q', key: 'q' + i, generation: 1})-[:REPRESENTED_BY]->(:Representation:Model_scenario_1
  {project: 'q', model: 'Model_scenario_1', key: 'q' + i, generation: 1, vector: [cos(i * 0.01), sin(i * 0.01)]})
"""


def keys(*names: str) -> list[Row]:
    return [{"key": name, "generation": 1} for name in names]


INDEXED: LiteralString = """
MATCH (r:Representation {project: 'p'})
SET r:Model_scenario_1_p
REMOVE r:Model_scenario_1
MERGE (:Filling {project: 'p', model: 'Model_scenario_1', seq: 5, index: 'Model_scenario_1_p'})
"""


def near(vector: list[float], *terms: str, **rest: object) -> tuple[str, Row]:
    """The nearest three, and what holds the words."""
    lexical = {"words": words.query(terms, "p") if terms else "", "seq": 99, "first": 10}
    meant = {"model": MODEL, "vector": vector, "scanned_max": 100, "asked": 5, "limit": 3}
    return ("search_candidates", lexical | meant | rest)


def found(database: Database, when: tuple[str, Row]) -> list[tuple[str | None, bool, float | None]]:
    """Each candidate as its key, whether the index of words found it, and its cosine; the nearest first."""
    rows = database.statement(queries.load(when[0]), {"project": "p"} | when[1])
    told = [(row["node"] and row["node"]["key"], row["score"] is not None, row["cosine"]) for row in rows]
    return sorted(told, key=lambda row: (2.0 if row[2] is None else -row[2], str(row[0])))


@pytest.mark.parametrize(
    ("indexed", "params", "keys"),
    [
        (False, {}, "p1 p2 p3"),
        (False, {"limit": 9}, "p1 p2 p3 p4 p5"),
        (False, {"scanned_max": 2}, "p1 p2"),
        (True, {}, "p1 p2 p3"),
        (True, {"limit": 9}, "p1 p2 p3 p4 p5"),
        (True, {"scanned_max": 0}, "p1 p2 p3"),
        (True, {"asked": 2}, "p1 p2"),
    ],
)
def test_the_nearest_of_a_project_are_found_however_near_another_projects_lie(
    params: Row, keys: str, scenario: Stage, database: Database, *, indexed: bool
) -> None:
    scenario.given(AROUND)
    if indexed:
        database.query(INDEXED)
    assert [key for key, _, _ in found(database, near([1.0, 0.0], **params))] == keys.split()


@pytest.mark.parametrize(
    ("indexed", "least", "asked", "near", "crowded"),
    [
        (False, 0.9, 100, ("p1 p2", "p4 p5 p3 p2"), (False, False)),
        (False, 0.99, 5, ("", "p4"), (True, False)),
        (False, 0.99, 100, ("", "p4"), (False, False)),
        (True, 0.9, 5, ("p1 p2", "p4 p5 p3 p2"), (False, False)),
        (True, 0.99, 5, ("", "p4"), (False, False)),
    ],
)
def test_what_lies_very_near_to_each_of_several_is_told_and_where_others_crowd_it_out(
    least: float,
    asked: int,
    near: tuple[str, str],
    crowded: tuple[bool, bool],
    scenario: Stage,
    database: Database,
    *,
    indexed: bool,
) -> None:
    vectors = [[1.0, 0.0], [math.cos(0.85), math.sin(0.85)]]
    given = {"model": MODEL, "vectors": vectors, "least": least, "asked": asked}
    scenario.given(AROUND)
    if indexed:
        database.query(INDEXED)
    rows = [
        {"at": at, "near": keys(*found.split()), "crowded": full}
        for at, (found, full) in enumerate(zip(near, crowded, strict=True))
    ]
    scenario.play(("representations_alike", given), rows, {})


def test_a_scan_and_the_index_tell_the_same_cosines(scenario: Stage, database: Database) -> None:
    scenario.given(AROUND)
    told = [found(database, near([0.8, 0.6], limit=5))]
    database.query(INDEXED)
    told.append(found(database, near([0.8, 0.6], limit=5)))
    assert told[0] == told[1]
    angles = [0.2 * at - math.atan2(0.6, 0.8) for at in (3, 4, 2, 5, 1)]
    assert [cosine for _, _, cosine in told[0]] == pytest.approx([math.cos(angle) for angle in angles], abs=1e-5)


def test_what_words_find_has_a_cosine_however_far_it_lies_and_comes_once(scenario: Stage, database: Database) -> None:
    scenario.given(AROUND)
    database.query(
        """
        UNWIND [['p1', 'a depot'], ['p5', 'another depot'], ['bare', 'a third depot']] AS row
        MERGE (n:Knowledge {project: 'p', key: row[0], generation: 1})
        SET n.proposition = row[1], n.scope = $scope, n.created_seq = 1
        """,
        scope=words.scope("p"),
    )
    database.query("CALL db.awaitIndexes(60)")
    told = found(database, near([1.0, 0.0], "depot", limit=2))
    assert [(key, by_words) for key, by_words, _ in told] == [
        ("p1", True),
        ("p2", False),
        ("p5", True),
        ("bare", True),
    ]
    assert [cosine for _, _, cosine in told] == [
        *(pytest.approx(math.cos(angle), abs=1e-5) for angle in (0.2, 0.4, 1.0)),
        None,
    ]


def test_another_models_vector_gives_no_cosine(scenario: Stage, database: Database) -> None:
    scenario.given(
        """
        CREATE (n:Knowledge {key: 'a', proposition: 'depot'})-[:REPRESENTED_BY]->(:Representation
          {project: 'p', model: 'Model_scenario_2', key: 'a', generation: 1, vector: [0.0, 1.0, 0.0]})
        """
    )
    database.query("MATCH (n:Knowledge) SET n.scope = $scope", scope=words.scope("p"))
    database.query("CALL db.awaitIndexes(60)")
    assert found(database, near([1.0, 0.0], "depot")) == [("a", True, None)]


def test_what_came_later_or_only_shares_the_scope_is_null_in_either_tier(scenario: Stage, database: Database) -> None:
    scenario.given(AROUND)
    database.query(
        "MATCH (n:Knowledge {project: 'p'}) SET n.created_seq = toInteger(substring(n.key, 1)) WITH count(*) AS five "
        "CREATE (:Knowledge {project: 'q', key: 'x', generation: 1, proposition: 'depot', scope: $scope, "
        "created_seq: 1})",
        scope=words.scope("p"),
    )
    database.query("CALL db.awaitIndexes(60)")
    told = found(database, near([1.0, 0.0], "depot", seq=2))
    assert [(key, by_words) for key, by_words, _ in told] == [("p1", False), ("p2", False), (None, False), (None, True)]


def test_equals_at_the_end_are_taken_in_the_order_of_their_keys_and_generations(
    scenario: Stage, database: Database
) -> None:
    scenario.given(
        """
        UNWIND [['b', 1], ['a', 2], ['a', 1], ['c', 1]] AS id
        CREATE (:Knowledge {project: 'p', key: id[0], generation: id[1]})-[:REPRESENTED_BY]->(:Representation
          {project: 'p', model: 'Model_scenario_1', key: id[0], generation: id[1], vector: [0.6, 0.8]})
        """
    )
    assert [key for key, _, _ in found(database, near([0.6, 0.8]))] == ["a", "a", "b"]


def test_a_vector_that_no_node_has_is_no_answer(scenario: Stage, database: Database) -> None:
    scenario.given(
        """
        CREATE (:Representation {project: 'p', model: 'Model_scenario_1', key: 'a', generation: 1, vector: [1.0, 0.0]})
        """
    )
    assert found(database, near([1.0, 0.0])) == []


def test_an_index_that_is_lost_is_an_error_and_not_an_answer_without_what_it_held(
    scenario: Stage, database: Database
) -> None:
    scenario.given("CREATE (:Filling {project: 'p', model: 'Model_scenario_1', seq: 5, index: 'Model_lost'})")
    with pytest.raises(ClientError):
        found(database, near([1.0, 0.0]))


STORED: LiteralString = """
UNWIND range(1, 5) AS i
CREATE (:Representation:Model_scenario_1
  {project: 'p', model: 'Model_scenario_1', key: 'p' + i, generation: 1, vector: [1.0, 0.0]}),
  (:Representation {project: 'q', model: 'Model_scenario_1', key: 'p' + i, generation: 1, vector: [1.0, 0.0]}),
  (:Representation {project: 'p', model: 'Model_scenario_2', key: 'p' + i, generation: 1, vector: [1.0, 0.0, 0.0]})
"""
FILLED: LiteralString = (
    STORED
    + """
WITH count(*) AS five
CREATE (:Filling {project: 'p', model: 'Model_scenario_1', model_name: 'one', seq: 5}),
  (:Filling {project: 'p', model: 'Model_scenario_2', seq: 4, index: 'Model_scenario_2'}),
  (:Filling {project: 'q', model: 'Model_scenario_1', model_name: 'one', seq: 3})
"""
)


def test_vectors_are_counted_up_to_a_bound_where_they_have_no_index(scenario: Stage) -> None:
    for model, most, index, stored in (
        (MODEL, 9, None, 5),
        (MODEL, 3, None, 3),
        (OTHER, 9, OTHER, 0),
        ("M", 9, None, 0),
    ):
        scenario(
            given=FILLED,
            when=("representations_stored", {"model": model, "most": most}),
            rows=[{"indexed_by": index, "stored": stored}],
        )


def test_the_vector_of_one_node_is_told_by_model(scenario: Stage) -> None:
    for model, key, rows in (
        (MODEL, "p1", [{"vector": [1.0, 0.0]}]),
        (OTHER, "p1", [{"vector": [1.0, 0.0, 0.0]}]),
        (MODEL, "q1", []),
        ("M", "p1", []),
    ):
        asked: Row = {"model": model, "key": key, "generation": 1}
        scenario(given=FILLED, when=("representation_get", asked), rows=rows)


def test_vectors_are_given_an_index_some_at_a_time_and_it_is_asked_once_all_have_it(scenario: Stage) -> None:
    given = {"model": MODEL, "index": OWN, "first": 2}
    two = scenario(
        given=FILLED,
        when=("representations_apart", given),
        rows=[{"labelled": 2}],
        effects={"+labels": 2, "-labels": 2},
    )
    four = two.again(rows=[{"labelled": 2}], effects={"+labels": 2, "-labels": 2})
    all_of_them = four.again(rows=[{"labelled": 1}], effects={"+labels": 1, "-labels": 1, "+properties": 1})
    all_of_them.again(rows=[{"labelled": 0}], effects={})
    scenario(
        given="", when=("representations_apart", given), rows=[{"labelled": 0}],
        effects={"+nodes": 1, "+labels": 1, "+properties": 4},
    )  # fmt: skip


def test_a_vector_that_is_written_has_the_label_of_its_projects_index(scenario: Stage, database: Database) -> None:
    scenario.given(
        """
        CREATE (:Knowledge {key: 'a'}),
          (:Filling {project: 'p', model: 'Model_scenario_1', model_name: 'one', seq: 0, index: 'Model_scenario_1_p'})
        """
    )
    scenario.play(
        ("representations_put", PUT),
        [{"written": 1}],
        {"+nodes": 1, "+relationships": 1, "+labels": 2, "+properties": 9, "-properties": 1},
    )
    assert [key for key, _, _ in found(database, near([1.0, 0.0]))] == ["a"]


def test_the_indexes_of_a_project_are_told_with_their_dimensions(scenario: Stage) -> None:
    both = [{"indexed_by": MODEL, "dimensions": 2}, {"indexed_by": OTHER, "dimensions": 3}]
    scenario(given=FILLED, when=("representations_indexes", {}), rows=both)
    scenario(given=FILLED, when=("representations_indexes", {"project": "q"}), rows=both[:1])
    scenario(given="CREATE (:Filling {project: 'p', model: 'M'})", when=("representations_indexes", {}), rows=[])


def test_what_is_filled_comes_in_pages_by_project_and_model(scenario: Stage) -> None:
    first = {"project": "p", "model": MODEL, "name": "one", "seq": 5, "indexed_by": None}
    second = {"project": "p", "model": OTHER, "name": OTHER, "seq": 4, "indexed_by": OTHER}
    third = {"project": "q", "model": MODEL, "name": "one", "seq": 3, "indexed_by": None}
    for project, model, first_rows, rows in (
        ("", "", 9, [first, second, third]),
        ("", "", 2, [first, second]),
        ("p", MODEL, 9, [second, third]),
        ("p", OTHER, 9, [third]),
        ("q", MODEL, 9, []),
    ):
        asked = {"project": project, "model": model, "first": first_rows}
        scenario(given=FILLED, when=("representations_fillings", asked), rows=rows)


def test_vectors_leave_their_index_and_are_deleted_some_at_a_time(scenario: Stage) -> None:
    left = scenario(
        given=FILLED, when=("representations_leave", {"model": OTHER}), rows=[{"stored": 5}],
        effects={"+properties": 1, "-properties": 2},
    )  # fmt: skip
    dropping = ("representations_drop", {"model": OTHER, "first": 3})
    gone = {"-nodes": 3, "-labels": 3, "-properties": 15}
    three = left.then(dropping, rows=[{"dropped": 3}], effects=gone)
    last = {"-nodes": 3, "-labels": 3, "-properties": 2 * 5 + 3}  # with the filling
    all_of_them = three.then(dropping, rows=[{"dropped": 2}], effects=last)
    all_of_them.then(dropping, rows=[{"dropped": 0}])


def test_what_belongs_to_no_node_goes_and_all_is_looked_at_again(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge {key: 'a'})-[:REPRESENTED_BY]->
            (:Representation {project: 'p', model: 'Model_scenario_1', key: 'a', generation: 1}),
          (:Representation {project: 'p', model: 'Model_scenario_1', key: 'b', generation: 1}),
          (:Representation {project: 'q', model: 'Model_scenario_1', key: 'b', generation: 1}),
          (:Filling {project: 'p', model: 'Model_scenario_1', seq: 3}),
          (:Filling {project: 'p', model: 'Model_scenario_2', seq: 3}),
          (:Filling {project: 'q', model: 'Model_scenario_1', seq: 3})
        """,
        when=("repair_representations", {}),
        rows=[{"dropped": 1}],
        effects={"-nodes": 1, "-labels": 1, "+properties": 2, "-properties": 6},
    ).again(effects={}, rows=[{"dropped": 0}])
