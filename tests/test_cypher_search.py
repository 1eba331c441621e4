"""The statements of search, one by one: what the index finds, what is around it, and what nobody verified."""

from __future__ import annotations

from typing import Any, LiteralString

from scenario import Database, Stage

from graph import queries, words

ALWAYS = 2**53
HERE, THERE = words.scope("p"), words.scope("q")


def asked(*terms: str, **params: object) -> tuple[str, dict[str, object]]:
    return (
        "search_words",
        {"words": words.query(terms, "p"), "seq": ALWAYS, "first": 10} | params,
    )


def claims(database: Database, *rows: tuple[str, str, str, int]) -> None:
    """Claims as (project, key, proposition, position)."""
    for project, key, proposition, seq in rows:
        database.query(
            "CREATE (:Knowledge {project: $project, key: $key, generation: 1, proposition: $proposition, "
            "scope: $scope, created_seq: $seq})",
            project=project,
            key=key,
            proposition=proposition,
            scope=words.scope(project),
            seq=seq,
        )


def found(database: Database, when: tuple[str, dict[str, object]]) -> list[str | None]:

    rows = database.statement(queries.load(when[0]), {"project": "p"} | when[1])
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    return [None if row["node"] is None else row["node"]["key"] for row in rows]


def test_words_are_found_by_their_stems_in_claims_and_keys(scenario: Stage, database: Database) -> None:
    scenario.given("")
    claims(
        database,
        ("p", "a", "The depots close at six", 1),
        ("p", "closing-time", "Seven, on Fridays", 2),
        ("p", "c", "Nothing of the kind", 3),
    )
    assert sorted(map(str, found(database, asked("closed")))) == ["a", "closing-time"]
    assert found(database, asked("depot", "close"))[0] == "a"
    assert found(database, asked("absent")) == []


def test_several_texts_are_looked_for_at_once_each_by_its_own_words(scenario: Stage, database: Database) -> None:
    scenario.given("")
    claims(
        database,
        ("p", "a", "The depots close at six", 1),
        ("p", "b", "Ferries sail at noon", 2),
        ("p", "gone", "The depots close at five", 3),
        ("p", "ferri-sail", "What a key says is no claim", 4),
        ("q", "c", "The depots close at six", 1),
    )
    database.query("MATCH (n:Knowledge {key: 'gone'}) SET n:Retired")
    asked = (["ferri", "sail"], ["absent"], ["depot", "close"], ["noon", "sail"])
    texts = [words.worded(found, "p") for found in asked]
    name, params = ("propositions_worded", {"project": "p", "texts": texts, "first": 20})
    rows = database.statement(queries.load(name), params)
    assert sorted((row["key"], row["generation"], row["proposition"], row["places"]) for row in rows) == [
        ("a", 1, "The depots close at six", [2]),
        ("b", 1, "Ferries sail at noon", [0, 3]),
    ]


def test_what_live_node_holds_all_the_words_of_a_text_is_told_for_several_at_once(
    scenario: Stage, database: Database
) -> None:
    scenario.given("")
    claims(
        database,
        ("p", "a", "Pier 17 closes at 6", 1),
        ("p", "b", "Pier 18 closes at 7.", 2),
        ("p", "gone", "Pier 19 closes at 8", 3),
        ("q", "c", "Pier 20 closes at 9", 1),
    )
    database.query("MATCH (n:Knowledge {key: 'gone'}) SET n:Retired")
    numbers = (["17", "6"], ["17", "7"], ["7"], ["19", "8"], ["20"])
    texts = [words.needed(found, "p") for found in numbers]
    name, params = ("propositions_holding", {"project": "p", "texts": texts})
    assert [row["at"] for row in database.statement(queries.load(name), params)] == [0, 2]


def test_words_of_scripts_with_marks_are_whole_in_the_index_and_in_what_it_is_asked(
    scenario: Stage, database: Database
) -> None:
    scenario.given("")
    claims(
        database,
        ("p", "hindi", "गोदाम शाम छह बजे बंद हो जाता है।", 1),
        ("p", "other-hindi", "नाव सुबह जल्दी निकलती है, दाम वही रहते हैं।", 2),
        ("p", "thai", "คลังสินค้า ปิดตอนหกโมงเย็น", 3),
        ("p", "other-thai", "เรือออก แต่เช้า", 4),
        ("p", "turkish", "İstanbul deposu", 5),
    )
    for text, key in (
        ("गोदाम कब बंद होता है?", "hindi"),
        ("सुबह की नाव", "other-hindi"),
        ("คลังสินค้า", "thai"),
        ("istanbul", "turkish"),
        ("İSTANBUL", "turkish"),
    ):
        assert found(database, asked(*words.words(text)))[0] == key
    assert found(database, asked(*words.words("दाम"))) == ["other-hindi"], "not what merely ends so"


def test_what_holds_more_and_rarer_words_comes_first(scenario: Stage, database: Database) -> None:
    scenario.given("")
    claims(database, *(("p", f"n{at}", f"the tram number {at}", at) for at in range(1, 6)), ("p", "b", "tram bell", 7))
    assert found(database, asked("tram", "bell"))[0] == "b"


def test_another_project_is_not_found_whatever_it_is_called(scenario: Stage, database: Database) -> None:
    scenario.given("")
    claims(database, ("q", "a", "secret depot", 1), ("p", "b", "public depot", 1))
    assert found(database, asked("depot")) == ["b"]
    assert found(database, asked("depot", "scope", THERE)) == ["b"]


def test_a_hit_that_shares_the_scope_by_chance_or_came_later_is_null(scenario: Stage, database: Database) -> None:
    scenario.given("")
    claims(database, ("p", "b", "depot", 4), ("p", "c", "depot", 9))
    database.query(
        "CREATE (:Knowledge {project: 'q', key: 'x', generation: 1, proposition: 'depot', scope: $scope, "
        "created_seq: 1})",
        scope=HERE,
    )
    assert sorted(map(str, found(database, asked("depot", seq=5)))) == ["None", "None", "b"]


def test_so_many_hits_come_as_are_asked_for(scenario: Stage, database: Database) -> None:
    scenario.given("")
    claims(database, *(("p", f"n{at}", "tram " * at, at) for at in range(1, 8)))
    assert [len(found(database, asked("tram", first=first))) for first in (1, 3, 7, 9)] == [1, 3, 7, 7]


AROUND: LiteralString = """
CREATE (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}), (c:Knowledge {key: 'c'}), (d:Knowledge {key: 'd'}),
  (e:Knowledge {key: 'e'}),
  (a)-[:DEPENDS_ON]->(b), (c)-[:CONTRADICTS]->(a), (a)-[:SUPPORTS {turns: [1, 4], until: datetime()}]->(d),
  (a)-[:RELATED_TO {turns: [7]}]->(e),
  (x:Evidence {key: 'x'}), (a)-[:EVIDENCED_BY]->(x), (d)-[:EVIDENCED_BY {seq: 5}]->(x)
"""


def around(**params: object) -> tuple[str, dict[str, object]]:
    given = {"ids": [["a", 1]], "seq": ALWAYS, "now": True, "edges_max": 50, "shared_max": 20, "nodes_max": 9}
    return ("search_around", given | params)


def ties(*found: list[object], nodes: str = "") -> list[Any]:
    return [{"ties": list(found), "nodes": [{"key": key} for key in nodes]}]


def tie(via: str, far: str, *, outgoing: bool, among: int = 1) -> list[object]:
    return ["a", 1, via, outgoing, far, 1, among]


def test_around_a_node_are_its_live_edges_and_what_stands_on_the_same_with_its_nodes(scenario: Stage) -> None:
    all_of_them = (
        tie("contradicts", "c", outgoing=False),
        tie("depends_on", "b", outgoing=True),
        tie("evidence", "d", outgoing=False),
        tie("related_to", "e", outgoing=True),
    )
    scenario(given=AROUND, when=around(nodes_max=4), rows=ties(*all_of_them, nodes="cbde"))
    scenario(given=AROUND, when=around(nodes_max=3), rows=ties(*all_of_them, nodes=""))


def test_around_a_node_at_a_position_is_what_lived_then(scenario: Stage) -> None:
    then = around(seq=3, now=False)
    scenario(
        given=AROUND,
        when=then,
        rows=ties(
            tie("contradicts", "c", outgoing=False),
            tie("depends_on", "b", outgoing=True),
            tie("supports", "d", outgoing=True),
        ),
    )


def test_beside_nodes_are_what_contradicts_or_superseded_them_and_their_newest_evidence(scenario: Stage) -> None:
    given: LiteralString = """
    CREATE (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}), (c:Knowledge {key: 'c'}), (d:Knowledge {key: 'd'}),
      (a)-[:DEPENDS_ON]->(d), (c)-[:CONTRADICTS]->(a), (b)-[:SUPERSEDES {turns: [7]}]->(a),
      (a)-[:CONTRADICTS {turns: [1, 4], until: datetime()}]->(d)
    WITH a UNWIND range(1, 4) AS i
    CREATE (a)-[:EVIDENCED_BY {seq: 2 * i}]->(:Evidence {key: toString(9 - i), type: 'log', source: toString(i)})
    """
    asked = {"ids": [["a", 1], ["d", 1], ["z", 1]], "seq": ALWAYS, "now": True, "edges_max": 50, "evidence_max": 2}
    disputed, succeeded, formerly = (
        ["contradicts", False, "c", 1],
        ["supersedes", False, "b", 1],
        ["contradicts", True, "d", 1],
    )

    def beside(*ties: list[Any], sources: str = "") -> dict[str, object]:
        return {"of": ["a", 1], "ties": list(ties), "evidence": [{"type": "log", "source": each} for each in sources]}

    alone = {"of": ["d", 1], "ties": [], "evidence": []}
    scenario(given=given, when=("search_beside", asked), rows=[beside(disputed, succeeded, sources="34"), alone])
    then = asked | {"ids": [["a", 1]], "seq": 3, "now": False}
    scenario(given=given, when=("search_beside", then), rows=[beside(disputed, formerly, sources="1")])
    nothing = then | {"edges_max": 0, "evidence_max": 0}
    scenario(given=given, when=("search_beside", nothing), rows=[beside()])


def test_a_hub_gives_so_many_edges_and_all_that_contradicts_it(scenario: Stage, database: Database) -> None:
    scenario.given(
        """
        CREATE (a:Knowledge {key: 'a'}), (r:Knowledge {key: 'rival'}), (r)-[:CONTRADICTS]->(a)
        WITH a UNWIND range(1, 100) AS i CREATE (a)<-[:DEPENDS_ON]-(:Knowledge {key: 'n' + i})
        """
    )
    rows = database.statement(queries.load("search_around"), {"project": "p"} | around(edges_max=10)[1])
    assert len(rows[0]["ties"]) == 11
    assert [far for _, _, via, _, far, *_ in rows[0]["ties"] if via == "contradicts"] == ["rival"]


def test_evidence_says_how_many_share_it_and_leads_nowhere_where_too_many_do(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (a:Knowledge {key: 'a'}), (b:Knowledge {key: 'b'}), (c:Knowledge {key: 'c'}), (d:Knowledge {key: 'd'}),
          (x:Evidence {key: 'x'}), (y:Evidence {key: 'y'}), (z:Evidence {key: 'z'}),
          (a)-[:EVIDENCED_BY]->(x), (b)-[:EVIDENCED_BY]->(x), (b)-[:EVIDENCED_BY {seq: 2}]->(x),
          (a)-[:EVIDENCED_BY]->(y), (b)-[:EVIDENCED_BY]->(y), (c)-[:EVIDENCED_BY]->(y),
          (a)-[:EVIDENCED_BY]->(z), (b)-[:EVIDENCED_BY]->(z), (c)-[:EVIDENCED_BY]->(z), (d)-[:EVIDENCED_BY]->(z)
        """,
        when=around(shared_max=2),
        rows=ties(
            tie("evidence", "b", outgoing=False, among=1), tie("evidence", "c", outgoing=False, among=2), nodes="bc"
        ),
    ).then(
        around(shared_max=3),
        rows=ties(
            tie("evidence", "b", outgoing=False, among=1),
            tie("evidence", "c", outgoing=False, among=2),
            tie("evidence", "d", outgoing=False, among=3),
            nodes="bcd",
        ),
    )


def test_what_was_proposed_at_positions_is_told_and_nothing_else(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Event {seq: 1, transition: 'proposed', key: 'a', payload: '1'}),
          (:Event {seq: 2, transition: 'confirmed', key: 'a', payload: '2'}),
          (:Event {seq: 3, transition: 'corrected', key: 'a', payload: '3'}),
          (:Event {seq: 3, transition: 'proposed', key: 'z', payload: '9', project: 'q'})
        """,
        when=("propositions_at", {"seqs": [1, 2, 3, 99]}),
        rows=[{"key": "a", "payload": "1"}, {"key": "a", "payload": "3"}],
    )


def test_confirmed_nodes_that_nothing_verified_since_come_in_the_order_of_their_keys(scenario: Stage) -> None:
    scenario(
        given="""
        CREATE (:Knowledge {key: 'old', state: 'confirmed', created_at: datetime('2026-01-01T00:00:00Z')}),
          (:Knowledge {key: 'new', state: 'confirmed', created_at: datetime('2026-06-01T00:00:00Z')}),
          (:Knowledge {key: 'verified', state: 'confirmed', created_at: datetime('2026-01-01T00:00:00Z'),
            verified_at: datetime('2026-06-01T00:00:00Z')}),
          (:Knowledge {key: 'aged', state: 'confirmed', created_at: datetime('2025-01-01T00:00:00Z'),
            verified_at: datetime('2026-02-01T00:00:00Z')}),
          (:Knowledge {key: 'proposed', state: 'proposed', created_at: datetime('2026-01-01T00:00:00Z')}),
          (:Knowledge {key: 'old', state: 'confirmed', project: 'q', created_at: datetime('2026-01-01T00:00:00Z')})
        """,
        when=("unverified_page", {"before": "2026-03-01T00:00:00Z", "key": "", "generation": 0, "first": 9}),
        rows=[{"key": "aged", "generation": 1}, {"key": "old", "generation": 1}],
    ).then(
        ("unverified_page", {"before": "2026-03-01T00:00:00Z", "key": "aged", "generation": 1, "first": 9}),
        rows=[{"key": "old", "generation": 1}],
    )
