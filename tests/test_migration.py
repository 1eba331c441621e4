"""A store that an earlier Whence has written is brought up to this one, and one of a later Whence is let alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, LiteralString

import pytest
from strategies import said

from graph import migration
from graph.embedded import Connection
from graph.errors import UnavailableError
from graph.filters import Filter
from graph.migration import STEPS, migrate, migrate_in_the_end
from graph.retrieval import Retrieval, question
from graph.schema import FORMER_WORDS, WORDS
from graph.service import Service
from graph.store import Store
from graph.store_format import JOURNAL_VERSION, SCHEMA_VERSION, StoreFormat

CONCEPT = {"type": "policy", "body": "Within thirty days, unopened.", "description": "How goods are sent back"}
# What stores from before versions had: no record, another index of words, nodes without scopes and descriptions.
OLD: tuple[LiteralString, ...] = (
    "MATCH (f:StoreFormat) DELETE f",
    "DROP CONSTRAINT store_format_identity",
    "MATCH (n:Knowledge) REMOVE n.scope, n.description",
    "DROP INDEX knowledge_texts",
    "CREATE FULLTEXT INDEX knowledge_words FOR (n:Knowledge) ON EACH [n.proposition, n.key]",
)


def ask(store: Store, loop: asyncio.Runner, statement: LiteralString, **params: Any) -> list[Any]:
    found = loop.run(store.driver.execute_query(statement, params, database_=store.database))
    return [record.data() for record in found.records]


@asynccontextmanager
async def opened(neo4j: Connection, *, install: bool = True) -> AsyncGenerator[Store]:
    login = (neo4j.username, neo4j.password, neo4j.database)
    async with Store.open(neo4j.uri, *login, install=install) as store:
        yield store


async def form_of(neo4j: Connection) -> StoreFormat:
    async with opened(neo4j) as store:
        return await store.form()


def old(service: Service, loop: asyncio.Runner, *projects: str) -> None:
    """A store as an earlier Whence left it, with a concept in each project."""
    for project in projects:
        loop.run(service.run(said("proposed", "returns", project, concept=CONCEPT)))
        loop.run(service.run(said("proposed", "goods", project, proposition="Goods are unopened")))
    for statement in OLD:
        ask(service.store, loop, statement)


def found(service: Service, loop: asyncio.Runner, project: str, text: str) -> list[str]:
    asked = loop.run(question(service, project, text, Filter(), None))
    return [item.node["key"] for item in loop.run(Retrieval(service).search(asked, 5)).items]


def test_a_store_is_of_this_version_from_its_beginning(store: Store, loop: asyncio.Runner, neo4j: Connection) -> None:
    form = loop.run(form_of(neo4j))
    assert form == StoreFormat(SCHEMA_VERSION, JOURNAL_VERSION, version("whence"), populated=False)
    assert loop.run(migrate(store)) == []
    assert len(ask(store, loop, "MATCH (f:StoreFormat) RETURN f")) == 1


def test_an_old_store_is_brought_up_and_then_holds_what_it_lacked(
    service: Service, loop: asyncio.Runner, neo4j: Connection
) -> None:
    old(service, loop, "P", "Q")
    assert loop.run(form_of(neo4j)) == StoreFormat(0, 0, None, populated=True)
    assert not loop.run(service.verify("P"))["ok"]
    assert found(service, loop, "P", "sent back") == []
    assert loop.run(migrate(service.store)) == ["make projections whole"]
    for project in ("P", "Q"):
        assert loop.run(service.verify(project))["ok"]
        assert found(service, loop, project, "sent back") == ["returns"]
    assert loop.run(service.store.form()) == StoreFormat(
        SCHEMA_VERSION, JOURNAL_VERSION, version("whence"), populated=True
    )
    names = {row["name"] for row in ask(service.store, loop, "SHOW FULLTEXT INDEXES YIELD name")}
    assert WORDS in names
    assert FORMER_WORDS not in names
    assert loop.run(migrate(service.store)) == []


def test_an_interrupted_step_is_done_again(service: Service, loop: asyncio.Runner, neo4j: Connection) -> None:
    old(service, loop, "P", "Q")
    loop.run(form_of(neo4j))

    def interrupt(_what: str, done: int, _total: int) -> None:
        if done == 1:
            raise UnavailableError("the database cannot be had", allowed="the same request later")

    with pytest.raises(UnavailableError):
        loop.run(migrate(service.store, interrupt))
    assert loop.run(service.store.form()).schema_version == 0
    assert [loop.run(service.verify(project))["ok"] for project in ("P", "Q")] == [True, False]
    seen: list[tuple[int, int]] = []
    loop.run(migrate(service.store, lambda _what, done, total: seen.append((done, total))))
    assert loop.run(service.verify("Q"))["ok"]
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_a_project_whose_journal_is_broken_holds_up_no_other(
    service: Service, loop: asyncio.Runner, neo4j: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    old(service, loop, "P", "Q")
    ask(service.store, loop, "MATCH (e:Event {project: 'P', seq: 1}) SET e.hash = 'ff'")
    loop.run(form_of(neo4j))
    with caplog.at_level(logging.WARNING, "whence"):
        assert loop.run(migrate(service.store)) == ["make projections whole"]
    assert "P: the journal is broken at event 1" in caplog.text
    assert loop.run(service.verify("Q"))["ok"]


@pytest.mark.parametrize("install", [True, False])
@pytest.mark.parametrize("newer", ["schema_version", "journal_version"])
def test_a_newer_store_is_refused_with_the_version_that_is_needed_and_left_as_it_is(
    newer: str, store: Store, loop: asyncio.Runner, neo4j: Connection, *, install: bool
) -> None:
    loop.run(form_of(neo4j))
    ask(store, loop, "MATCH (f:StoreFormat) SET f += $newer, f.written_by = '9.8.7'", newer={newer: 99})
    ask(store, loop, "DROP INDEX knowledge_kind")

    async def refused() -> UnavailableError:
        with pytest.raises(UnavailableError) as caught:
            async with opened(neo4j, install=install):
                pass
        return caught.value

    error = loop.run(refused())
    kept = ask(store, loop, "MATCH (f:StoreFormat) RETURN f")
    names = {row["name"] for row in ask(store, loop, "SHOW INDEXES YIELD name")}
    ask(store, loop, "MATCH (f:StoreFormat) DELETE f")
    loop.run(form_of(neo4j))
    assert "99" in error.message
    assert error.allowed is not None
    assert "9.8.7" in error.allowed
    assert kept[0]["f"][newer] == 99
    assert "knowledge_kind" not in names


def test_what_keeps_it_from_being_done_is_told_and_it_is_tried_again(
    store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 0

    async def failing(_store: Store) -> list[str]:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise UnavailableError("the database cannot be had", allowed="the same request later")
        return []

    monkeypatch.setattr(migration, "migrate", failing)
    monkeypatch.setattr(migration, "REST_SECONDS", 0.01)
    with caplog.at_level(logging.WARNING, "whence"):
        loop.run(migrate_in_the_end(store))
    assert tries == 3
    assert caplog.text.count("the store is not of this version yet") == 2


def test_steps_lead_from_version_to_version() -> None:
    assert [step.version for step in STEPS] == list(range(1, SCHEMA_VERSION + 1))
    assert len({step.name for step in STEPS}) == len(STEPS)
