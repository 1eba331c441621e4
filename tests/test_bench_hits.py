"""Bounded reads cost the same however large the project is, and are measured on what the service would have written."""

from __future__ import annotations

import asyncio
import re

import graphs
import hits
from conftest import wipe
from scenario import Database

from graph.service import Service
from graph.store import Store


def test_bounded_reads_hit_the_database_as_often_in_a_project_of_ten_times_the_size(
    store: Store, loop: asyncio.Runner
) -> None:
    few = loop.run(hits.measured(store, "few", 1_000))
    many = loop.run(hits.measured(store, "many", 10_000))
    assert min(few.values()) > 0
    assert {name: (few[name], many[name]) for name in few if abs(many[name] / few[name] - 1) > hits.OFF_MAX} == {}


def told(database: Database) -> list[str]:
    """Everything there is, without hashes and instants, which no two writings share."""
    nodes = database.query("MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties")
    edges = database.query(
        "MATCH (a)-[r]->(b) RETURN [type(r), a.key + '', b.key + ''] AS labels, properties(r) AS properties"
    )
    lines = [repr((sorted(map(str, row["labels"])), sorted(row["properties"].items()))) for row in [*nodes, *edges]]
    instants = re.compile(r"neo4j\.time\.DateTime\([^()]*\)|20\d\d-[0-9T:.Z+-]+|[0-9a-f]{64}")
    return sorted(instants.sub("*", line) for line in lines)


def test_what_is_filled_is_what_the_service_writes(store: Store, loop: asyncio.Runner) -> None:
    database, dependencies = Database(store, loop), graphs.heavy_tailed(graphs.ROOTS + 20)
    loop.run(graphs.write(Service(store), "p", graphs.proposals(dependencies)))
    written = told(database)
    loop.run(wipe(store))
    loop.run(graphs.fill(store, "p", graphs.proposals(dependencies)))
    assert told(database) == written
