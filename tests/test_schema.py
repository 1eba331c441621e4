"""Constraints and indexes as they stand in the database, and that installing them is safe to repeat."""

from __future__ import annotations

import asyncio
from typing import LiteralString

import pytest
from scenario import Database

from graph import schema
from graph.errors import UnavailableError
from graph.store import Store

# name, type, label, properties: all that is installed, and nothing else.
CONSTRAINTS = """
access_token_identity           UNIQUENESS  AccessToken  token_id
aging_identity                  UNIQUENESS  Aging      project, since
constraint_unique_Project_name  UNIQUENESS  Project    name
event_identity                  UNIQUENESS  Event      project, event_id
event_position                  UNIQUENESS  Event      project, seq
evidence_identity               UNIQUENESS  Evidence   project, key
filling_identity                UNIQUENESS  Filling    project, model
knowledge_identity              UNIQUENESS  Knowledge  project, key, generation
policy_identity                 UNIQUENESS  Policy     project
replay_identity                 UNIQUENESS  Replay     project, session
representation_identity         UNIQUENESS  Representation  project, model, key, generation
store_format_identity           UNIQUENESS  StoreFormat  name
"""
INDEXES = """
access_token_identity           RANGE       AccessToken  token_id
aging_identity                  RANGE       Aging      project, since
constraint_unique_Project_name  RANGE       Project    name
event_identity                  RANGE       Event      project, event_id
event_position                  RANGE       Event      project, seq
event_recorded                  RANGE       Event      project, recorded_at, seq
evidence_identity               RANGE       Evidence   project, key
filling_identity                RANGE       Filling    project, model
knowledge_dangling              RANGE       Dangling   project
knowledge_identity              RANGE       Knowledge  project, key, generation
knowledge_kind                  RANGE       Knowledge  project, kind, key, generation
knowledge_state                 RANGE       Knowledge  project, state, key, generation
knowledge_texts                 FULLTEXT    Knowledge  proposition, description, key, scope
policy_identity                 RANGE       Policy     project
replay_identity                 RANGE       Replay     project, session
representation_identity         RANGE       Representation  project, model, key, generation
store_format_identity           RANGE       StoreFormat  name
"""


@pytest.fixture
def database(open_store: Store, loop: asyncio.Runner) -> Database:
    return Database(open_store, loop)


def constraints(database: Database) -> list[list[str]]:
    rows = database.query(
        "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties "
        "RETURN name, type, labelsOrTypes AS labels, properties ORDER BY name"
    )
    return [[row["name"], row["type"], *row["labels"], ", ".join(row["properties"])] for row in rows]


def indexes(database: Database) -> list[list[str]]:
    rows = database.query(
        "SHOW INDEXES YIELD name, type, state, labelsOrTypes, properties "
        "WHERE NOT type IN ['LOOKUP', 'VECTOR'] "
        "RETURN name, type, state, labelsOrTypes AS labels, properties ORDER BY name"
    )
    assert {row["state"] for row in rows} == {"ONLINE"}
    return [[row["name"], row["type"], *row["labels"], ", ".join(row["properties"])] for row in rows]


def golden(table: str) -> list[list[str]]:
    return [line.split(maxsplit=3) for line in table.strip().splitlines()]


def install(database: Database) -> None:
    database.loop.run(schema.install(database.store.driver, database.store.database))


def absent(database: Database) -> frozenset[str]:
    return database.loop.run(schema.absent(database.store.driver, database.store.database))


def test_what_is_installed_is_the_golden_list(database: Database) -> None:
    assert constraints(database) == golden(CONSTRAINTS)
    assert indexes(database) == golden(INDEXES)
    assert absent(database) == frozenset()


def test_a_second_install_says_nothing_and_changes_nothing(
    database: Database, capfd: pytest.CaptureFixture[str]
) -> None:
    before = database.query("SHOW INDEXES YIELD *"), database.query("SHOW CONSTRAINTS YIELD *")
    install(database)
    install(database)
    assert capfd.readouterr() == ("", "")
    after = database.query("SHOW INDEXES YIELD *"), database.query("SHOW CONSTRAINTS YIELD *")
    assert [[row["id"] for row in rows] for rows in after] == [[row["id"] for row in rows] for rows in before]


def test_what_was_dropped_is_named_and_installed_again(database: Database, capfd: pytest.CaptureFixture[str]) -> None:
    dropped = {"constraint_unique_Project_name", "event_recorded", "knowledge_identity"}
    database.query("DROP CONSTRAINT constraint_unique_Project_name")
    database.query("DROP CONSTRAINT knowledge_identity")
    database.query("DROP INDEX event_recorded")
    try:
        assert absent(database) == dropped
    finally:
        install(database)
    assert capfd.readouterr() == ("", "")
    test_what_is_installed_is_the_golden_list(database)


@pytest.mark.parametrize("others", [2, 6])
def test_several_that_install_at_once_all_find_it_done_and_say_nothing(
    database: Database, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, others: int
) -> None:
    """Each asks first what is missing, so that only the database can tell that another one was faster."""

    async def race() -> None:
        await asyncio.gather(
            *(schema.install(database.store.driver, database.store.database) for _ in range(1 + others))
        )

    for _ in range(2):
        for name in schema.declared():
            database.query("DROP CONSTRAINT $name IF EXISTS", name=name)
            database.query("DROP INDEX $name IF EXISTS", name=name)
        database.loop.run(race())
        test_what_is_installed_is_the_golden_list(database)
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.name == "whence.schema"] == []


def test_several_that_make_or_drop_the_index_of_a_models_vectors_at_once_all_find_it_done(database: Database) -> None:
    driver, name = database.store.driver, "Model_0123456789abcdef"

    async def race() -> list[str]:
        makers = (schema.install_vectors(driver, database.store.database, name, 8) for _ in range(8))
        await asyncio.gather(*makers)
        missing = await schema.absent_vectors(driver, database.store.database, [name])
        await asyncio.gather(*(schema.drop_vectors(driver, database.store.database, name) for _ in range(8)))
        return missing

    for _ in range(10):
        assert database.loop.run(race()) == []
    assert database.query("SHOW VECTOR INDEXES YIELD name WHERE name = $name RETURN name", name=name) == []


def test_the_words_index_of_earlier_versions_makes_room_for_ours(database: Database) -> None:
    database.query("CREATE FULLTEXT INDEX knowledge_words FOR (n:Knowledge) ON EACH [n.proposition, n.key, n.scope]")
    install(database)
    test_what_is_installed_is_the_golden_list(database)


def test_an_index_of_somebody_elses_is_left_alone(database: Database) -> None:
    database.query("CREATE INDEX not_ours IF NOT EXISTS FOR (n:Knowledge) ON (n.kind)")
    try:
        install(database)
        assert absent(database) == frozenset()
        assert ["not_ours", "RANGE", "Knowledge", "kind"] in indexes(database)
    finally:
        database.query("DROP INDEX not_ours IF EXISTS")


@pytest.mark.parametrize(
    ("name", "drop", "theirs", "instead"),
    [
        (
            "knowledge_kind",
            "DROP INDEX knowledge_kind",
            "DROP INDEX knowledge_kind",
            "CREATE INDEX knowledge_kind FOR (n:Knowledge) ON (n.project, n.key, n.kind, n.generation)",
        ),
        (
            "knowledge_kind",
            "DROP INDEX knowledge_kind",
            "DROP INDEX knowledge_kind",
            "CREATE TEXT INDEX knowledge_kind FOR (n:Knowledge) ON (n.kind)",
        ),
        (
            "knowledge_texts",
            "DROP INDEX knowledge_texts",
            "DROP INDEX knowledge_texts",
            "CREATE FULLTEXT INDEX knowledge_texts FOR (n:Knowledge) ON EACH [n.proposition, n.key, n.scope]",
        ),
        (
            "event_position",
            "DROP CONSTRAINT event_position",
            "DROP INDEX event_position",
            "CREATE INDEX event_position FOR (e:Event) ON (e.project, e.seq)",
        ),
        (
            "evidence_identity",
            "DROP CONSTRAINT evidence_identity",
            "DROP INDEX theirs",
            "CREATE INDEX theirs FOR (e:Evidence) ON (e.project, e.key)",
        ),
    ],
)
def test_another_definition_in_the_place_of_ours_is_named_and_not_replaced(
    database: Database, name: str, drop: LiteralString, theirs: LiteralString, instead: LiteralString
) -> None:
    database.query(drop)
    database.query(instead)
    try:
        assert absent(database) == {name}
        with pytest.raises(UnavailableError, match=f"lacks {name}"):
            install(database)
    finally:
        database.query(theirs)
        install(database)
    test_what_is_installed_is_the_golden_list(database)


def test_one_of_our_definition_counts_under_any_name(database: Database) -> None:
    database.query("DROP INDEX event_recorded")
    database.query("CREATE INDEX theirs FOR (e:Event) ON (e.project, e.recorded_at, e.seq)")
    try:
        install(database)
        assert absent(database) == frozenset()
    finally:
        database.query("DROP INDEX theirs")
        install(database)
