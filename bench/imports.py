"""How fast a journal file is taken, against one event a transaction, and what memory it takes.

The file is of the shape of Debian's package graph: a proposal a package, four dependencies each with a heavy tail,
evidence on every one. 64,000 packages make 326,000 events.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import psutil
from connection import database

from graph.commands import read_command
from graph.exchange import Terms, import_journal
from graph.knowledge import Actor, ActorType
from graph.store import Store

ACTOR = Actor("bench", "imports", ActorType.SYSTEM)
EVENTS_A_PACKAGE = 5


def lines(packages: int, seed: int = 7) -> Iterator[bytes]:
    """The journal: for each package its proposal, then its dependencies on earlier ones."""
    draw = random.Random(seed)
    popular: list[int] = [0]
    for at in range(packages):
        key = f"package-{at:06d}"
        evidence = {"key": f"control-{at}", "type": "control", "source": "main", "metadata": {"version": f"1.{at}"}}
        payload = {"proposition": f"{key} is packaged", "evidence": [evidence]}
        yield line(event_id=f"p{at}", transition="proposed", key=key, payload=payload)
        targets = {draw.choice(popular) if draw.random() < 0.6 else draw.randrange(at) for _ in range(4)} if at else ()
        for target in sorted(targets):
            popular.append(target)
            link = {"relation": "depends_on", "to": f"package-{target:06d}"}
            yield line(event_id=f"l{at}-{target}", transition="linked", key=key, payload=link)


def line(**fields: object) -> bytes:
    """One journal line."""
    return json.dumps(fields).encode()


async def singly(store: Store, events: int) -> float:
    """Events a second, one event a transaction, one after the other."""
    source = lines(events)
    commands = [read_command(json.loads(next(source)), actor=ACTOR, project="singly") for _ in range(events)]
    await store.append(commands[:20], datetime.now(UTC))
    began = time.perf_counter()
    for command in commands[20:]:
        await store.append([command], datetime.now(UTC))
    return (events - 20) / (time.perf_counter() - began)


async def main(packages: int) -> None:
    """Print the rates, their ratio, and the memory."""
    with database() as connection:
        async with Store.open(connection.uri, connection.username, connection.password) as store:
            one = await singly(store, 300)
            total = sum(1 for _ in lines(packages))
            memory: dict[int, int] = {}

            def progress(phase: str, done: int) -> None:
                if phase == "taking":
                    memory[done] = psutil.Process().memory_info().rss

            began = time.perf_counter()
            report = await import_journal(store, lambda: lines(packages), Terms("imports", ACTOR), progress)
            seconds = time.perf_counter() - began
    assert (report.taken, report.refused) == (total, 0), report
    many = total / seconds
    tenth = min(memory, key=lambda done: abs(done - total // 10))
    print(f"{total} events in {seconds:.0f} s, tried first: {many:.0f} a second")
    print(f"one event a transaction: {one:.0f} a second; import is {many / one:.1f} times that")
    print(f"memory at a tenth {memory[tenth] >> 20} MB, at the end {memory[max(memory)] >> 20} MB, ", end="")
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--packages", type=int, default=64_000)
    asyncio.run(main(arguments.parse_args().packages))
