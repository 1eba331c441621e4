"""The outlook of the growth benchmark is arithmetic that can be checked, and what it measures is there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import graphs
import growth
import pytest
from growth import Figures, outlook, report, stored
from hits import clusters

from graph.store import Store

SIZES = (1_000, 3_000, 10_000)


def test_what_grows_along_a_line_is_foreseen_exactly() -> None:
    seen = outlook([(nodes, 500 + 0.25 * nodes) for nodes in SIZES], "grows")
    assert (seen.foreseen, seen.off) == (pytest.approx(3_000), pytest.approx(0))
    assert seen.line.at(10_000_000) == pytest.approx(2_500_500)


def test_what_stays_is_foreseen_as_it_is() -> None:
    seen = outlook([(1_000, 9.0), (3_000, 11.0), (10_000, 10.5)], "stays")
    assert (seen.foreseen, seen.off) == (10.0, pytest.approx(0.05))
    assert seen.line.at(10_000_000) == pytest.approx(30.5 / 3)


def test_a_figure_that_is_not_as_it_is_said_to_be_is_pointed_out() -> None:
    found: dict[int, Figures] = {
        nodes: {"store in all, MB": nodes * 2.0, "verify, s": nodes**1.5, "append, ms": nodes / 100} for nodes in SIZES
    }
    heading, line, curve, rising = report(found, 10_000_000)
    assert [size in heading for size in ("1,000", "3,000", "10,000", "10,000,000")] == [True] * 4
    assert "20,000,000.0" in line
    assert not line.endswith("OFF")
    assert curve.endswith("OFF")
    assert rising.endswith("OFF")


def test_files_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    for place, size in (
        ("databases/neo4j/neostore.nodestore.db", 1),
        ("databases/neo4j/neostore.relationshipgroupstore.db.id", 2),
        ("databases/neo4j/neostore.propertystore.db.strings", 4),
        ("databases/neo4j/neostore.propertystore.db", 8),
        ("databases/neo4j/schema/index/range-1.0/10/index-10", 16),
        ("transactions/neo4j/neostore.transaction.db.0", 32),
        ("databases/system/neostore.nodestore.db", 64),
    ):
        file = tmp_path / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * size * 1_000_000)
    found = {name: size for name, size in stored(tmp_path).items() if size}
    assert found == {
        "store: nodes, MB": 1,
        "store: relationships, MB": 2,
        "store: strings, MB": 4,
        "store: properties, MB": 8,
        "store: indexes, MB": 16,
        "store: transaction logs, MB": 32,
        "store in all, MB": 31,
    }


def test_every_figure_is_measured_on_a_project_that_verifies(
    store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphs, "BATCH", 50)
    loop.run(graphs.fill(store, growth.PROJECT, graphs.proposals(clusters(200))))
    found = loop.run(growth.measured(store, None, 200, 8))
    silent = {name for name, figure in found.items() if not figure > 0}
    assert silent <= {name for name in found if "cpu" in name or "file beside" in name}  # too small to be seen
    assert {growth.way(name) for name in found} == {"grows", "stays"}
