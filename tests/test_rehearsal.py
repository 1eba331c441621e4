"""The statements of the first append are planned before it, and nothing is left of that."""

# pyright: strict

from __future__ import annotations

import asyncio

import pytest

from graph import queries
from graph.errors import UnavailableError
from graph.rehearsal import rehearse
from graph.store import Store

APPENDS = {
    *("project_lock", "slice_load", "nodes_create", "nodes_put", "edges_create", "evidence_attach"),
    *("events_create", "events_attach", "project_advance", "risk_spread", "risk_clear", "marks_get"),
}


def test_a_rehearsal_asks_every_statement_of_an_append_and_leaves_nothing(
    store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    load = queries.load

    def noted(name: str) -> queries.Query:
        asked.add(name)
        return load(name)

    monkeypatch.setattr(queries, "load", noted)
    loop.run(rehearse(store))
    assert asked >= APPENDS
    found = loop.run(store.driver.execute_query("MATCH (n) RETURN count(n) AS nodes", database_=store.database))
    assert found.records[0]["nodes"] == 0


def test_a_rehearsal_that_cannot_be_held_is_no_fault(
    open_store: Store, loop: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    def full() -> None:
        raise UnavailableError("the disk is full")

    caplog.set_level("INFO", "whence.rehearsal")
    loop.run(rehearse(Store(open_store.driver, open_store.database, full)))
    assert "the disk is full" in caplog.text
