"""What grows with a project and what does not, and what that makes of 10 million nodes.

Graphs of the same local shape are written at several sizes, each into a server of its own: the smallest that
`whence up` starts (512 MiB of heap, 64 MiB of page cache), so that memory is no matter of size. Each figure is said
beforehand to grow with the nodes, along a straight line, or to stay. What the smaller sizes foresee of the largest is
held to what was measured there; then all of them foresee the size that is asked about. Processor time is of this
process and of the database, and what another program does hardly changes it; the clock's time is.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, LiteralString

import graphs
import psutil
from connection import cache, ends_in_order
from hits import CLUSTER, Profiled, clusters, reads

from graph.commands import Command, read_command
from graph.embedded import Connection, EmbeddedNeo4j
from graph.embedded.profile import serving
from graph.errors import KnowledgeError
from graph.service import Filter, Service
from graph.store import Store

PROJECT = "growth"
OFF_MAX = 0.15  # how far the largest size may be from what the smaller ones foresee before it is pointed out
PROFILE = serving(0)
WARM = 3  # so many times as many calls as are measured go before: the JVM compiles while it works
# Full collections while nobody asks anything, so that what is used of the heap is what is held.
COLLECTING = ("-XX:G1PeriodicGCInterval=500", "-XX:-G1PeriodicGCInvokesConcurrent")
COLLECTED_SECONDS = 3.0
POLL_SECONDS = 0.2
# Of the reads of `hits`, those that have to look at all nodes where none is as they ask.
READ_ON = ("list of what is at risk", "list of what is stale", "list of what changed since", "list of what held then")
HEAP: LiteralString = "CALL dbms.queryJmx('java.lang:type=Memory') YIELD attributes RETURN attributes"
DROP: LiteralString = """
MATCH (n:Knowledge|Evidence {project: $project}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS
"""
STORES: Mapping[str, str] = {
    "nodestore": "nodes",
    "relationship": "relationships",
    "propertystore.db.strings": "strings",
    "propertystore.db.arrays": "arrays",
    "propertystore": "properties",
}

Way = Literal["grows", "stays"]
Figures = dict[str, float]
"""Measured values by name; the name ends with the unit."""


@dataclass(frozen=True, slots=True)
class Line:
    """A figure as it depends on the number of nodes."""

    fixed: float
    each: float

    def at(self, nodes: int) -> float:
        """The figure that it foresees."""
        return self.fixed + self.each * nodes


def fitted(points: Sequence[tuple[int, float]], way: Way) -> Line:
    """The line through points of (nodes, figure) with the least squares; a level one for what stays."""
    mean = sum(figure for _, figure in points) / len(points)
    middle = sum(nodes for nodes, _ in points) / len(points)
    spread = sum((nodes - middle) ** 2 for nodes, _ in points)
    if way == "stays" or not spread:
        return Line(mean, 0.0)
    each = sum((nodes - middle) * (figure - mean) for nodes, figure in points) / spread
    return Line(mean - each * middle, each)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the sizes say of a figure.

    Attributes:
        foreseen: What the smaller sizes foresee of the largest.
        off: How far the largest was from that, as a part of it.
        line: Through all sizes.
    """

    foreseen: float
    off: float
    line: Line


def outlook(points: Sequence[tuple[int, float]], way: Way) -> Outlook:
    """What at least three points of (nodes, figure), or two of what stays, say of other sizes."""
    *smaller, (nodes, figure) = sorted(points)
    foreseen = fitted(smaller, way).at(nodes)
    return Outlook(foreseen, figure / foreseen - 1 if foreseen else 0.0, fitted(points, way))


def stored(folder: Path) -> Figures:
    """Megabytes of a stopped server's files, by what they hold."""
    found = dict.fromkeys([*STORES.values(), "indexes", "transaction logs"], 0)
    for file in folder.rglob("*"):
        place = file.relative_to(folder).as_posix()
        if not file.is_file() or "/neo4j/" not in f"/{place}":
            continue  # the server's own database keeps a size of its own
        held = "transaction logs" if place.startswith("transactions") else "indexes"
        if file.name.startswith("neostore") and held == "indexes":
            part = file.name.removeprefix("neostore.")
            held = next((kind for start, kind in STORES.items() if part.startswith(start)), "nodes")
        found[held] += file.stat().st_size
    paged = sum(found.values()) - found["transaction logs"]
    return {f"store: {kind}, MB": size / 1e6 for kind, size in found.items()} | {"store in all, MB": paged / 1e6}


class Bench:
    """Measures calls of a service on the project."""

    def __init__(self, store: Store, pid: int | None) -> None:
        self.service = Service(store)
        self._programs = [psutil.Process(), *([psutil.Process(pid)] if pid else [])]

    def cpu(self) -> float:
        """Seconds of processor that this process and the database have used."""
        return sum(sum(each.cpu_times()[:2]) for each in self._programs)

    async def called(self, name: str, calls: int, call: Callable[[int], Awaitable[object]]) -> Figures:
        """Milliseconds of a call, by the clock and by the processor, after others that warm it."""
        for at in range(WARM * calls):
            await call(at)
        cpu, began = self.cpu(), time.perf_counter()
        for at in range(WARM * calls, (WARM + 1) * calls):
            await call(at)
        spent = time.perf_counter() - began
        return {f"{name}, ms": spent / calls * 1e3, f"{name}, cpu ms": (self.cpu() - cpu) / calls * 1e3}

    async def done(self, name: str, work: Awaitable[object]) -> Figures:
        """Seconds of a long piece of work, by the clock and by the processor."""
        cpu, began = self.cpu(), time.perf_counter()
        await work
        return {f"{name}, s": time.perf_counter() - began, f"{name}, cpu s": self.cpu() - cpu}


async def asked(bench: Bench, nodes: int, calls: int) -> Figures:
    """What reads cost that are bounded, each about another part of the project, and one that counts everything."""
    service, draw = bench.service, random.Random(nodes)
    starts = [draw.randrange(nodes // CLUSTER) * CLUSTER for _ in range((WARM + 1) * calls)]

    async def listed(at: int) -> object:
        return await service.page(PROJECT, Filter(), 100, (graphs.key(starts[at]), 1), evidence=True)

    async def walked(at: int) -> object:
        return await service.provenance(PROJECT, graphs.key(starts[at] + CLUSTER - 1))

    point = await bench.called("point read", calls, lambda at: service.knowledge(PROJECT, graphs.key(starts[at])))
    found = point | await bench.called("list of 100", calls // 4, listed)
    found |= await bench.called("walk of a cluster", calls // 4, walked)
    return found | await bench.called("stats", 1, lambda _at: service.stats(PROJECT))


async def appended(bench: Bench, nodes: int, calls: int) -> Figures:
    """What appends cost: proposals that rest on what is there, one by one and a thousand in a transaction."""
    draw, made = random.Random(nodes), iter(range(1, 1_000_000))

    def command() -> Command:
        name, target = f"new-{next(made)}", graphs.key(draw.randrange(nodes))
        payload: dict[str, Any] = {
            "proposition": "One more claim",
            "evidence": [{"key": name, "type": "log", "source": "https://example.org/more"}],
            "relations": [{"relation": "depends_on", "to": target}],
        }
        line = {"event_id": name, "transition": "proposed", "key": name, "payload": payload}
        return read_command(line, actor=graphs.ACTOR, project=PROJECT)

    async def batch(_at: int) -> None:
        commands = list(islice(iter(command, None), graphs.BATCH))
        for answer in await bench.service.store.append(commands, datetime.now(UTC), seconds=120):
            if isinstance(answer, KnowledgeError):
                raise answer

    one = await bench.called("append", calls, lambda _at: bench.service.run(command()))
    return one | await bench.called("append of 1,000", 1, batch)


async def hit(store: Store, nodes: int) -> Figures:
    """Database hits of the reads of `hits`: of the bounded ones together, and of one that looks at every node."""
    profiled, found = Profiled(store.driver, store.database), dict[str, int]()
    for name, read in reads(Service(profiled), PROJECT, nodes).items():
        profiled.hits = 0
        await read()
        found[name] = profiled.hits
    bounded = sum(hits for name, hits in found.items() if name not in READ_ON)
    return {"bounded reads together, hits": bounded, "list where none is at risk, hits": found[READ_ON[0]]}


async def checked(bench: Bench) -> Figures:
    """What export, verification and a rebuild from nothing cost, and what they take of disk and memory meanwhile."""
    service, store, size = bench.service, bench.service.store, 0

    async def exported() -> None:
        nonlocal size
        async for chunk in service.export_journal(PROJECT):
            size += len(chunk)

    async def verified() -> None:
        told = await service.verify(PROJECT)
        assert told["ok"], told

    export = await bench.done("export of the journal", exported())
    async with scratch() as largest:
        found = export | await bench.done("verify", verified())
    found |= {"journal as a file, MB": size / 1e6, "verify: file beside the database, MB": max(largest) / 1e6}
    async with store.driver.session(database=store.database) as session:  # pyright: ignore[reportUnknownMemberType]
        await (await session.run(DROP, project=PROJECT)).consume()
    found |= await bench.done("rebuild from nothing", service.rebuild(PROJECT))
    return found | {"this process in memory, MB": psutil.Process().memory_info().rss / 1e6}


def deleted() -> int:
    """Bytes of the files that this process holds open and that nobody else can see; 0 where that cannot be told."""
    found, opened = 0, Path("/proc/self/fd")
    for file in opened.iterdir() if opened.exists() else ():
        with contextlib.suppress(OSError):  # closed meanwhile
            found += file.stat().st_size if file.readlink().name.endswith("(deleted)") else 0
    return found


@asynccontextmanager
async def scratch() -> AsyncGenerator[list[int]]:
    """The sizes that temporary files of this process come to meanwhile; where it can be told, on Linux."""
    sizes = [0]

    async def look() -> None:
        while True:
            sizes.append(deleted())
            await asyncio.sleep(POLL_SECONDS)

    looking = asyncio.create_task(look())
    try:
        yield sizes
    finally:
        looking.cancel()


async def held(store: Store) -> Figures:
    """Megabytes of heap that a server holds which collects while it rests."""
    await asyncio.sleep(COLLECTED_SECONDS)
    records, _, _ = await store.driver.execute_query(HEAP, database_=store.database)
    return {"heap held at rest, MB": records[0]["attributes"]["HeapMemoryUsage"]["value"]["properties"]["used"] / 1e6}


async def measured(store: Store, pid: int | None, nodes: int, calls: int) -> Figures:
    """Every figure of a running server that holds a project of so many nodes, which is changed by it."""
    bench = Bench(store, pid)
    found = await asked(bench, nodes, calls)
    found |= await hit(store, nodes)
    found |= await appended(bench, nodes, calls // 4)
    return found | await checked(bench)


@asynccontextmanager
async def opened(connection: Connection | None) -> AsyncGenerator[Store]:
    assert connection is not None
    async with Store.open(connection.uri, connection.username, connection.password) as store:
        yield store


async def of_size(nodes: int, calls: int) -> Figures:
    """Every figure of a project of so many nodes, in a throwaway folder."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with EmbeddedNeo4j(home, PROFILE, cache=cache()) as server:
            async with opened(server.connection) as store:
                await graphs.fill(store, PROJECT, graphs.proposals(clusters(nodes)))
        found = stored(home / "neo4j" / "data")
        began = time.perf_counter()
        with EmbeddedNeo4j(home, PROFILE, cache=cache()) as server:
            found["start, s"] = time.perf_counter() - began
            async with opened(server.connection) as store:
                found |= await measured(store, server.connection and server.connection.pid, nodes, calls)
        collecting = replace(PROFILE, flags=(*PROFILE.flags, *COLLECTING))
        with EmbeddedNeo4j(home, collecting, cache=cache()) as server:
            async with opened(server.connection) as store:
                return found | await held(store)


def way(name: str) -> Way:
    """How a figure is said to behave."""
    growing = ("store", "journal as a file", "export", "verify", "rebuild", "stats", "list where none")
    return "grows" if name.startswith(growing) else "stays"


def report(found: Mapping[int, Figures], asked_about: int) -> list[str]:
    """A line for each figure: as measured, as the largest was foreseen, and as it would be at another size."""
    sizes = sorted(found)
    heading = "".join(f"{nodes:>12,d}" for nodes in sizes)
    lines = [f"{'nodes':40s}{heading} {'':6s}{'foreseen':>12s}{'off':>7s}{f'at {asked_about:,d}':>18s}"]
    for name in found[sizes[0]]:
        points = [(nodes, found[nodes][name]) for nodes in sizes]
        seen = outlook(points, way(name))
        values = "".join(f"{figure:12,.2f}" for _, figure in points)
        pointed = "  OFF" if abs(seen.off) > OFF_MAX else ""
        lines.append(
            f"{name:40s}{values} {way(name):6s}{seen.foreseen:12,.2f}{seen.off:+7.1%}"
            f"{seen.line.at(asked_about):18,.1f}{pointed}"
        )
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="10000,30000,100000", help="nodes, with commas between; three or more")
    options.add_argument("--about", type=int, default=10_000_000, help="the size to look out for")
    options.add_argument("--calls", type=int, default=400, help="point reads that are measured; others are fewer")
    given = options.parse_args()
    ends_in_order()
    found: dict[int, Figures] = {}
    for nodes in sorted(int(size) for size in given.sizes.split(",")):
        found[nodes] = asyncio.run(of_size(nodes, given.calls))
        print(f"measured at {nodes:,d} nodes", flush=True)
    print("\n".join(report(found, given.about)))


if __name__ == "__main__":
    main()
