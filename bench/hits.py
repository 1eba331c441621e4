"""Database hits of every bounded read of the service, on a small project and on a large one of the same local shape.

Hits are exact, where times are of the machine: a read that is bounded costs the same however large the project is. The
graph is of clusters of fifty nodes, so that a node's neighbourhood has one size; one node in ten is confirmed, at risk,
stale or just changed, and one node in all is challenged or an observation.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, LiteralString

import graphs
from connection import database

from graph import queries
from graph.commands import read_command
from graph.knowledge import Kind, State
from graph.rows import Row
from graph.service import Filter, Service
from graph.store import Store

CLUSTER = 50
OFF_MAX = 0.05  # how much more, or less, the large project may cost
NEW, OLD = datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 25, tzinfo=UTC)

_VARIED: tuple[LiteralString, ...] = (
    """
    MATCH (n:Knowledge {project: $project})
    WITH n, toInteger(split(n.key, '-')[1]) AS at
    SET n.created_at = CASE at % 10 WHEN 1 THEN datetime($old) ELSE datetime($new) END,
      n.updated_at = CASE at % 10 WHEN 2 THEN datetime($new) ELSE datetime($old) END,
      n.valid_from = datetime($old)
    WITH n, at
    WHERE at % 10 = 3
    SET n.state = 'confirmed', n:Confirmed, n.risk_seq = CASE at % 20 WHEN 3 THEN 1 ELSE 0 END
    WITH n
    WHERE n.risk_seq = 1
    SET n:AtRisk
    """,
    """
    MATCH (n:Knowledge {project: $project, key: $last, generation: 1})
    SET n.state = 'challenged', n.kind = 'observation'
    """,
    "CALL db.awaitIndexes(60)",
    "CALL db.resampleOutdatedIndexes()",
    "CALL db.clearQueryCaches()",
)


class Profiled(Store):
    """A store that adds up the database hits of what is read through it."""

    hits = 0

    async def read(self, name: str, *, depth: int | None = None, seconds: float = 0, **params: Any) -> list[Row]:
        """As a store's, with PROFILE before the statement."""
        del seconds  # a profiled statement takes its time
        query = queries.load(name)
        query = query if depth is None else query.walking(depth)
        async with self.driver.session(database=self.database) as session:  # pyright: ignore[reportUnknownMemberType]
            result = await session.run("PROFILE " + query.text, params)
            rows = await result.data()
            summary: Any = await result.consume()
        self.hits += _hits(summary.profile)
        return rows


def _hits(plan: Mapping[str, Any]) -> int:
    return int(plan.get("dbHits", 0)) + sum(_hits(child) for child in plan.get("children", ()))


def clusters(nodes: int) -> list[list[int]]:
    """Clusters of fifty, all alike: each node rests on up to two earlier ones of its own."""
    draw = random.Random(1)
    shape = [sorted({draw.randrange(at) for _ in range(2)}) if at else [] for at in range(CLUSTER)]
    return [[at - at % CLUSTER + target for target in shape[at % CLUSTER]] for at in range(nodes)]


def reads(service: Service, project: str, nodes: int) -> dict[str, Callable[[], Awaitable[object]]]:
    """Every bounded read, asked in the middle of the project."""
    start = nodes // 2 // CLUSTER * CLUSTER
    root, tip = graphs.key(start), graphs.key(start + CLUSTER - 1)
    ids = [(graphs.key(start + at), 1) for at in range(5)]
    after = (graphs.key(start - 1), 1)

    def page(**wanted: Any) -> Callable[[], Awaitable[object]]:
        rare = wanted.keys() & {"states", "kinds"} and State.CONFIRMED not in wanted.get("states", ())
        return lambda: service.page(project, Filter(**wanted), 10, None if rare else after, evidence=True)

    return {
        "node by key": lambda: service.knowledge(project, root, evidence=True),
        "node by key and generation": lambda: service.knowledge(project, root, 1),
        "nodes by id": lambda: service.nodes(project, ids),
        "list": page(),
        "list of a prefix": page(key_prefix="k-"),
        "list of a common state": page(states=(State.CONFIRMED,)),
        "list of a state that one node has": page(states=(State.CHALLENGED, State.INVALIDATED)),
        "list of a kind that one node has": page(kinds=(Kind.OBSERVATION,)),
        "list of what is at risk": page(at_risk=True),
        "list of what is not at risk": page(at_risk=False),
        "list of what is stale": page(stale=True),
        "list of what changed since": page(updated_after=datetime(2026, 11, 1, tzinfo=UTC)),
        "list of what held then": page(valid_at=NEW),
        "relations": lambda: service.relations(project, ids),
        "evidence": lambda: service.evidence(project, ids),
        "events about nodes": lambda: service.events_about(project, ids, 10),
        "journal page": lambda: service.journal(project, start, 10),
        "journal head": lambda: service.head(project),
        "position at an instant": lambda: service.position(project, NOW),
        "provenance, upstream": lambda: service.provenance(project, tip, depth=3, max_nodes=20),
        "provenance, downstream": lambda: service.provenance(
            project, root, direction="downstream", depth=3, max_nodes=20
        ),
        "provenance, both": lambda: service.provenance(project, tip, direction="both", depth=2, max_nodes=20),
        "impact page": lambda: service.impact(project, root, 10),
        "why at risk": lambda: service.why_at_risk(project, graphs.key(CLUSTER - 1)),
    }


async def measured(store: Store, project: str, nodes: int) -> dict[str, int]:
    """Fill an empty project with so many nodes, and the hits of each read."""
    await graphs.fill(store, project, graphs.proposals(clusters(nodes)))
    given = {"project": project, "last": graphs.key(nodes - 1), "old": OLD.isoformat(), "new": NEW.isoformat()}
    for text in _VARIED:
        await store.driver.execute_query(text, given, database_=store.database)
    retired = {"transition": "invalidated", "key": graphs.key(0), "reason": "wrong"}
    await Service(store).run(read_command(retired, actor=graphs.ACTOR, project=project))
    profiled = Profiled(store.driver, store.database)
    found: dict[str, int] = {}
    for name, read in reads(Service(profiled, lambda: NOW), project, nodes).items():
        await read()  # so that its plan is there
        profiled.hits = 0
        await read()
        found[name] = profiled.hits
    return found


async def main(small: int, large: int) -> None:
    """Print the hits of both, and what differs by more than it may."""
    with database() as connection:
        async with Store.open(connection.uri, connection.username, connection.password) as store:
            few, many = [await measured(store, f"of-{nodes}", nodes) for nodes in (small, large)]
    print(f"{'hits at':40s} {small:>9,d} {large:>9,d}")
    for name, hits in few.items():
        grows = "" if abs(many[name] / hits - 1) <= OFF_MAX else "  GROWS"
        print(f"{name:40s} {hits:9,d} {many[name]:9,d}  {many[name] / hits:5.2f}{grows}")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--small", type=int, default=1_000)
    arguments.add_argument("--large", type=int, default=100_000)
    options = arguments.parse_args()
    asyncio.run(main(options.small, options.large))
