"""What a retirement costs whose marks reach 40,000 nodes, against the plain walk that sets them, and how it grows.

The plain walk finds the dependents and writes to each, in the same database, with no look at what an edge or a node
says; the service locks, decides, appends an event and commits marks that are right. Both run in turn, in one process.
An embedded server is started that grants no transaction more than 512 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, LiteralString

import graphs
import psutil
from connection import database
from neo4j import AsyncDriver

from graph.commands import read_command
from graph.embedded import SERVE, Connection
from graph.service import Service
from graph.store import Store

MEMORY_MIB = 512  # as the issue asks
POLL_SECONDS = 0.05
GRAPH, SMALL, LARGE = "graph", "ladder-30", "ladder-300"
PROOF = {"type": "run", "source": "bench"}

PLAIN: Mapping[str, LiteralString] = {
    "a property": """
    MATCH (:Knowledge {project: $project, key: $key, generation: 1})<-[:DEPENDS_ON|DERIVED_FROM*1..]-(n)
    WITH DISTINCT n SET n.plain = true RETURN count(n) AS reached
    """,
    "a label": """
    MATCH (:Knowledge {project: $project, key: $key, generation: 1})<-[:DEPENDS_ON|DERIVED_FROM*1..]-(n)
    WITH DISTINCT n SET n:AtRisk RETURN count(n) AS reached
    """,
    "our mark": """
    MATCH (:Knowledge {project: $project, key: $key, generation: 1})<-[:DEPENDS_ON|DERIVED_FROM*1..]-(n)
    WITH DISTINCT n SET n:AtRisk, n.risk_seq = 1 RETURN count(n) AS reached
    """,
}
# By hand, since nothing that the service offers brings a retired node back.
RESET: tuple[LiteralString, ...] = (
    """
    MATCH (n:Knowledge) WHERE n:AtRisk OR n.plain
    CALL (n) { REMOVE n:AtRisk, n.plain SET n.risk_seq = 0 } IN TRANSACTIONS OF 10000 ROWS
    """,
    """
    MATCH (n:Knowledge {project: $project, key: $key, generation: 1})
    REMOVE n:Retired:Invalidated, n.retired_seq, n.valid_to SET n:Proposed, n.state = 'proposed'
    """,
)
HEAPS: LiteralString = """
SHOW TRANSACTIONS YIELD estimatedUsedHeapMemory, currentQuery
WHERE NOT currentQuery CONTAINS 'SHOW TRANSACTIONS' RETURN max(estimatedUsedHeapMemory) AS heap
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call took.

    Attributes:
        nodes: Marked, or unmarked.
        seconds: Until it was committed.
        cpu: Seconds of the server's processor, 0 for a server that is not ours.
        heap: The most bytes that its transaction was seen to hold, looked at twenty times a second.
    """

    nodes: int
    seconds: float
    cpu: float
    heap: int


class Bench:
    """Calls of a service and plain statements, measured alike."""

    def __init__(self, connection: Connection, store: Store) -> None:
        self.service = Service(store)
        self._driver: AsyncDriver = store.driver
        self._process = psutil.Process(connection.pid) if connection.pid else None
        self._ids = count()

    async def plain(self, text: LiteralString, key: str) -> Cost:
        """A statement that says how many nodes it reached."""

        async def call() -> int:
            async with self._driver.session() as session:  # pyright: ignore[reportUnknownMemberType]
                record = await (await session.run(text, project=GRAPH, key=key)).single()
                return int(record["reached"]) if record else 0

        return await self._measured(call)

    async def taken(self, transition: str, key: str, project: str = GRAPH, **fields: Any) -> Cost:
        """A command through the service."""
        line = {"event_id": f"b{next(self._ids)}", "transition": transition, "key": key} | fields
        command = read_command(line, actor=graphs.ACTOR, project=project)

        async def call() -> int:
            return (await self.service.run(command)).newly_at_risk

        return await self._measured(call)

    async def marked(self, project: str = GRAPH) -> int:
        """How many nodes of a project are at risk now."""
        return int((await self.service.stats(project))["at_risk"])

    async def _measured(self, call: Callable[[], Awaitable[int]]) -> Cost:
        async with self._watched() as seen:
            cpu, began = self._cpu(), time.perf_counter()
            nodes = await call()
            seconds = time.perf_counter() - began
            return Cost(nodes, seconds, self._cpu() - cpu, max(seen, default=0))

    def _cpu(self) -> float:
        return sum(self._process.cpu_times()[:2]) if self._process else 0.0

    @asynccontextmanager
    async def _watched(self) -> AsyncGenerator[list[int]]:
        seen: list[int] = []

        async def look() -> None:
            while True:
                records, _, _ = await self._driver.execute_query(HEAPS)
                seen.append(records[0]["heap"] or 0)
                await asyncio.sleep(POLL_SECONDS)

        looking = asyncio.create_task(look())
        try:
            yield seen
        finally:
            looking.cancel()


def said(what: str, cost: Cost) -> None:
    """One line of the report."""
    each = f"{cost.cpu / cost.nodes * 1e6:6.1f} us of CPU a node" if cost.nodes else ""
    print(
        f"{what:52s} {cost.nodes:7,d} nodes {cost.seconds * 1e3:8,.0f} ms  cpu {cost.cpu * 1e3:7,.0f} ms  "
        f"heap {cost.heap / 1e6:5,.0f} MB  {each}",
        flush=True,
    )


async def against_plain(bench: Bench, hub: str, rounds: int) -> None:
    """The retirement and the plain walks in turn, each from the same state; medians of the ratios."""
    costs: dict[str, list[Cost]] = {}
    for turn in range(rounds + 1):  # the first one warms the server
        for name, text in PLAIN.items():
            costs.setdefault(name, []).append(await bench.plain(text, hub))
            await reset(bench, hub)
        costs.setdefault("whence", []).append(await bench.taken("invalidated", hub, reason=f"round {turn}"))
        await reset(bench, hub)
    for name, found in costs.items():
        said(f"plain walk that sets {name}" if name in PLAIN else "Service.run, marks committed", _median(found[1:]))
    for name in PLAIN:
        pairs = list(zip(costs["whence"][1:], costs[name][1:], strict=True))
        wall = statistics.median(ours.seconds / theirs.seconds for ours, theirs in pairs)
        cpu = statistics.median(ours.cpu / max(theirs.cpu, 0.001) for ours, theirs in pairs)
        print(
            f"retirement to the plain walk that sets {name}: {wall:.2f} times by the clock, {cpu:.2f} by CPU",
            flush=True,
        )


async def reset(bench: Bench, key: str) -> None:
    """Every mark gone and the node alive again."""
    for text in RESET:
        await bench.plain(text, key)


def _median(costs: list[Cost]) -> Cost:
    return sorted(costs, key=lambda cost: cost.seconds)[len(costs) // 2]


async def other_ways(bench: Bench, hub: str, overlapping: list[str]) -> None:
    """Marks that come and go by links and evidence, and retirements whose dependents are largely the same."""
    await bench.taken("proposed", "root", payload={"proposition": "what the hub rests on"})
    await bench.taken("invalidated", "root", reason="wrong")
    link = {"relation": "depends_on", "to": "root"}
    for time_ in ("first", "second"):
        said(f"link to something retired, the {time_} time", await bench.taken("linked", hub, payload=link))
        said(f"unlink, the {time_} time", await _clearing(bench, "unlinked", hub, payload=link))
    await bench.taken("linked", hub, payload=link)
    said("confirm with evidence", await _clearing(bench, "confirmed", hub, payload={"evidence": [PROOF]}))
    for key in overlapping:
        said(f"retire {key}, newly at risk", await bench.taken("invalidated", key, reason="wrong"))
    print(f"at risk now: {await bench.marked():,d}")


async def _clearing(bench: Bench, transition: str, key: str, **fields: Any) -> Cost:
    before = await bench.marked()
    cost = await bench.taken(transition, key, **fields)
    return replace(cost, nodes=before - await bench.marked())


async def ladders(bench: Bench) -> None:
    """As many chains as 3 to the power of 30, and of 300: a walk of each node once is linear in the layers."""
    for project, layers in ((SMALL, 30), (LARGE, 300)):
        await graphs.fill(bench.service.store, project, graphs.proposals(graphs.ladder(layers)))
        await bench.taken("invalidated", graphs.key(1), project, reason="to have the plan made")
        said(
            f"retire under 3^{layers} chains", await bench.taken("invalidated", graphs.key(0), project, reason="wrong")
        )


async def main(nodes: int, rounds: int) -> None:
    """Load, measure, print."""
    profile = replace(SERVE, transaction_mib=MEMORY_MIB)
    dependencies = graphs.heavy_tailed(nodes)
    found = graphs.hubs(dependencies)
    hub = min(found, key=lambda hub: abs(hub.dependents - nodes * 2 // 5))
    with database(profile) as connection:
        async with Store.open(connection.uri, connection.username, connection.password) as store:
            bench = Bench(connection, store)
            began = time.perf_counter()
            await graphs.fill(store, GRAPH, graphs.proposals(dependencies))
            print(f"{nodes:,d} nodes, {sum(map(len, dependencies)):,d} edges in {time.perf_counter() - began:.0f} s")
            print(f"{graphs.key(hub.at)}: {hub.direct} direct dependents, {hub.dependents:,d} in all", flush=True)
            await against_plain(bench, graphs.key(hub.at), rounds)
            others = [graphs.key(other.at) for other in found if other != hub][:3]
            await other_ways(bench, graphs.key(hub.at), others)
            await ladders(bench)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    asyncio.run(main(options.nodes, options.rounds))
