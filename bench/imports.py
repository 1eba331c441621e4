"""How fast a journal file is imported, against a plain ``UNWIND`` that writes the same graph into the same database.

The file is mixed: proposals with evidence and relations, links, confirmations with evidence, supersessions, over keys
with a heavy tail. The plain way is given the finished graph: nodes with all properties and labels, edges, evidence,
events and the ties between them, 1,000 rows a statement, so that it is the database's work and nothing else. The two
take turns, each round in projects of its own; the ratio is taken within a round. ``restored`` is the same file as a
written journal, with every hash checked. Processor seconds are of this process and of the database.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, LiteralString, cast

import psutil
from connection import database
from neo4j.time import DateTime

from graph.exchange import Terms, import_journal, journal_file
from graph.knowledge import Actor, ActorType
from graph.store import Store

ACTOR = Actor("bench", "imports", ActorType.SYSTEM)
ROWS = 1_000
PLAIN_NODES: LiteralString = """
UNWIND $rows AS row
CREATE (n:Knowledge)
SET n = row.properties, n.valid_from = datetime(n.valid_from), n.valid_to = datetime(n.valid_to),
  n.created_at = datetime(n.created_at), n.updated_at = datetime(n.updated_at), n.verified_at = datetime(n.verified_at)
SET n:$(row.labels)"""
PLAIN_EVIDENCE: LiteralString = (
    "UNWIND $rows AS row CREATE (e:Evidence) SET e = row, e.timestamp = datetime(e.timestamp)"
)
PLAIN_EVENTS: LiteralString = """
UNWIND $rows AS row
CREATE (e:Event)
SET e = row, e.time = datetime(e.time), e.recorded_at = datetime(e.recorded_at)"""
PLAIN_EDGES: LiteralString = """
UNWIND $rows AS row
MATCH (a:Knowledge {project: row.project, key: row.from[0], generation: row.from[1]})
MATCH (b:Knowledge {project: row.project, key: row.to[0], generation: row.to[1]})
CREATE (a)-[r:$(row.type)]->(b)
SET r = row.properties, r.since = datetime(r.since), r.until = datetime(r.until),
  r.times = [time IN r.times | datetime(time)]"""
PLAIN_STANDS: LiteralString = """
UNWIND $rows AS row
MATCH (n:Knowledge {project: row.project, key: row.from[0], generation: row.from[1]})
MATCH (e:Evidence {project: row.project, key: row.to})
CREATE (n)-[r:EVIDENCED_BY]->(e) SET r = row.properties"""
PLAIN_ABOUT: LiteralString = """
UNWIND $rows AS row
MATCH (e:Event {project: row.project, seq: row.from})
MATCH (n:Knowledge {project: row.project, key: row.to[0], generation: row.to[1]})
CREATE (e)-[:ABOUT]->(n)"""
READ_NODES: LiteralString = """
MATCH (n:Knowledge {project: $project}) RETURN {properties: properties(n), labels: labels(n)} AS row"""
READ_EVIDENCE: LiteralString = "MATCH (e:Evidence {project: $project}) RETURN properties(e) AS row"
READ_EVENTS: LiteralString = "MATCH (e:Event {project: $project}) WITH e ORDER BY e.seq RETURN properties(e) AS row"
READ_EDGES: LiteralString = """
MATCH (a:Knowledge {project: $project})-[r]->(b:Knowledge)
RETURN {project: $project, from: [a.key, a.generation], type: type(r), to: [b.key, b.generation],
  properties: properties(r)} AS row"""
READ_STANDS: LiteralString = """
MATCH (n:Knowledge {project: $project})-[r:EVIDENCED_BY]->(e:Evidence)
RETURN {project: $project, from: [n.key, n.generation], to: e.key, properties: properties(r)} AS row"""
READ_ABOUT: LiteralString = """
MATCH (e:Event {project: $project})-[:ABOUT]->(n:Knowledge)
RETURN {project: $project, from: e.seq, to: [n.key, n.generation]} AS row"""
GRAPH: tuple[tuple[LiteralString, LiteralString], ...] = (
    (READ_NODES, PLAIN_NODES),
    (READ_EVIDENCE, PLAIN_EVIDENCE),
    (READ_EVENTS, PLAIN_EVENTS),
    (READ_EDGES, PLAIN_EDGES),
    (READ_STANDS, PLAIN_STANDS),
    (READ_ABOUT, PLAIN_ABOUT),
)


def lines(events: int, seed: int = 7) -> Iterator[bytes]:
    """The journal: half proposals, the others about what was proposed before."""
    draw = random.Random(seed)
    popular: list[int] = []
    alive: list[int] = []
    for at in range(events):
        if at < 10 or draw.random() < 0.5:
            targets = {draw.choice(popular if draw.random() < 0.6 else alive) for _ in range(min(at, 3))}
            alive.append(at)
            popular += [*targets, at]
            yield _proposal(at, targets)
            continue
        node = draw.choice(alive)
        kind = draw.choices(("linked", "confirmed", "superseded"), (55, 40, 5))[0]
        if kind == "superseded":
            alive.remove(node)
            popular = [target for target in popular if target != node]
            yield _line(at, kind, node, {"by": _key(alive[-1])})
        elif kind == "linked":
            relation, other = draw.choice(("depends_on", "supports", "related_to")), draw.choice(popular)
            yield _line(at, kind, node, {"relation": relation, "to": _key(other if other != node else alive[0])})
        else:
            yield _line(at, kind, node, {"evidence": [_evidence(at)]} if draw.random() < 0.7 else {})


def _key(at: int) -> str:
    return f"package-{at:06d}"


def _proposal(at: int, targets: set[int]) -> bytes:
    relations = [{"relation": "depends_on", "to": _key(target)} for target in sorted(targets)]
    payload = {"proposition": f"{_key(at)} is packaged", "evidence": [_evidence(at)], "relations": relations}
    return _line(at, "proposed", at, payload)


def _evidence(at: int) -> dict[str, Any]:
    metadata = {"version": f"1.{at}", "size": at}
    return {"key": f"control-{at}", "type": "control", "source": "https://example.org/main", "metadata": metadata}


def _line(at: int, transition: str, node: int, payload: dict[str, Any]) -> bytes:
    fields = {"event_id": f"e{at}", "transition": transition, "key": _key(node), "payload": payload}
    return json.dumps({**fields, "time": "2026-01-01T08:00:00Z"}).encode() + b"\n"


@dataclass(slots=True)
class Cost:
    """What one run took: seconds on the clock, and of the processor here and in the database."""

    clock: float = 0.0
    here: float = 0.0
    there: float = 0.0
    memory: dict[int, int] = field(default_factory=dict[int, int])

    def text(self, events: int) -> str:
        """The rate, and where the processor's time went."""
        each = f"{self.here / events * 1e6:.0f} us here, {self.there / events * 1e6:.0f} us in the database an event"
        return f"{events / self.clock:5.0f} events a second; {each}"


@asynccontextmanager
async def measured(server: int | None) -> AsyncGenerator[Cost]:
    """What the block costs."""
    cost, process = Cost(), psutil.Process(server) if server is not None else None

    def there() -> float:
        return 0.0 if process is None else sum(process.cpu_times()[:2])

    began = (time.perf_counter(), time.process_time(), there())
    yield cost
    cost.clock, cost.here, cost.there = (
        time.perf_counter() - began[0],
        time.process_time() - began[1],
        there() - began[2],
    )


async def imported(store: Store, server: int | None, file: Path, project: str, *, restore: bool = False) -> Cost:
    """Import the file into a project through the door that ``whence import`` takes."""
    memory: dict[int, int] = {}

    def progress(phase: str, done: int) -> None:
        if phase == "taking" and done % ROWS == 0:
            memory[done] = psutil.Process().memory_info().rss

    def read() -> Iterator[bytes]:
        with file.open("rb") as opened:
            yield from opened

    async with measured(server) as cost:
        report = await import_journal(store, read, Terms(project, ACTOR, restore=restore, into=not restore), progress)
    assert report.refused == 0 < report.taken, report
    cost.memory = memory
    return cost


async def plain(store: Store, server: int | None, graph: list[tuple[LiteralString, list[Any]]]) -> Cost:
    """Write the finished graph, 1,000 rows a statement."""
    async with measured(server) as cost, store.driver.session(database=store.database) as session:  # pyright: ignore[reportUnknownMemberType]
        for statement, rows in graph:
            for first in range(0, len(rows), ROWS):
                await (await session.run(statement, rows=rows[first : first + ROWS])).consume()
    return cost


async def graph_of(store: Store, project: str, other: str) -> list[tuple[LiteralString, list[Any]]]:
    """A project's graph as rows for another project."""
    found: list[tuple[LiteralString, list[Any]]] = []
    for read, write in GRAPH:
        records, _, _ = await store.driver.execute_query(read, project=project, database_=store.database)
        rows = [record["row"] for record in records]
        for row in rows:
            (row["properties"] if "labels" in row else row)["project"] = other
        found.append((write, [_as_text(row) for row in rows]))
    return found


def _as_text(value: Any) -> Any:
    """Instants as text, which the driver sends twenty times as fast."""
    if isinstance(value, dict):
        return {name: _as_text(item) for name, item in cast(dict[str, Any], value).items()}
    if isinstance(value, list):
        return [_as_text(item) for item in cast(list[Any], value)]
    return value.iso_format() if isinstance(value, DateTime) else value


async def written(store: Store, project: str, file: Path) -> None:
    """Export a project's journal into a file."""
    with file.open("wb") as opened:
        async for chunk in journal_file(store, project):
            opened.write(chunk)


async def emptied(store: Store) -> None:
    """Leave an empty database, so that each round meets the same one."""
    delete: LiteralString = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS"
    async with store.driver.session(database=store.database) as session:  # pyright: ignore[reportUnknownMemberType]
        await (await session.run(delete)).consume()


async def rounds(store: Store, server: int | None, folder: Path, events: int, count: int) -> list[dict[str, Cost]]:
    """Import, plain, restored: one after the other in each round, a small round first that is not counted."""
    found: list[dict[str, Cost]] = []
    for at in range(count + 1):
        file, journal = folder / "events.jsonl", folder / "journal.jsonl"
        file.write_bytes(b"".join(lines(events if at else min(events, 3_000))))
        costs = {"import": await imported(store, server, file, f"import-{at}")}
        await written(store, f"import-{at}", journal)
        graph = await graph_of(store, f"import-{at}", f"plain-{at}")
        costs["plain"] = await plain(store, server, graph)
        await emptied(store)
        costs["restored"] = await imported(store, server, journal, f"import-{at}", restore=True)
        await emptied(store)
        if at:
            found.append(costs)
            print(f"round {at}: " + "; ".join(f"{n} {events / c.clock:.0f}/s" for n, c in costs.items()), flush=True)
    return found


async def main(events: int, count: int) -> None:
    """Print the rates, the ratios and the memory."""
    with database() as connection, TemporaryDirectory() as folder:
        async with Store.open(connection.uri, connection.username, connection.password) as store:
            found = await rounds(store, connection.pid, Path(folder), events, count)
    for name in ("import", "restored", "plain"):
        middle = statistics.median_low(costs[name].clock for costs in found)
        print(f"{name:>8}: {next(c[name] for c in found if c[name].clock == middle).text(events)}")
    for name in ("import", "restored"):
        ratio = statistics.median(costs["plain"].clock / costs[name].clock for costs in found)
        print(f"{name} reaches {ratio:.2f} of the plain UNWIND")
    memory = found[-1]["import"].memory
    tenth = min(memory, key=lambda done: abs(done - events // 10))
    print(f"memory at a tenth {memory[tenth] >> 20} MB, at the end {memory[max(memory)] >> 20} MB")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=40_000)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    asyncio.run(main(given.events, given.rounds))
