"""How many events a second are taken when callers each wait for their own, against one transaction an event.

``alone`` is one caller and ``eight`` are eight, each of whose commands is a transaction by itself (``Store.append``);
the others are callers of ``Service.run`` in one process. All write to projects of their own in one database and take
turns; ratios are taken within a round, of which the first is not counted. ``proposals`` are new claims with a piece of
evidence; ``mixed`` are proposals, and confirmations with evidence, links and uses of what was proposed before.
Processor time is of this process and of the database.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psutil
from connection import database

from graph.commands import Command, read_command
from graph.errors import KnowledgeError
from graph.knowledge import Actor, ActorType
from graph.service import Service
from graph.store import BATCH_SECONDS, Store

ACTOR = Actor("bench", "appends", ActorType.SYSTEM)
Take = Callable[[Command], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to have events taken: by how many callers at once, how many events, shared or not."""

    name: str
    callers: int
    events: int
    shared: bool


WAYS = (
    Way("alone", 1, 200, shared=False),
    Way("eight", 8, 400, shared=False),
    Way("64 callers", 64, 3_200, shared=True),
    Way("512 callers", 512, 5_120, shared=True),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Events a second, and microseconds of a processor an event, here and in the database."""

    rate: float
    here: float
    there: float


def commands(mix: str, project: str, count: int) -> Iterator[Command]:
    """What is asked for, in an order in which nothing is refused."""
    for at in range(count):
        node = f"n{at}"
        if mix == "proposals" or at % 4 == 0:
            evidence = [{"type": "run", "source": "https://example.org/run", "metadata": {"at": at}}]
            yield _command("proposed", node, project, proposition=f"claim {at}", evidence=evidence)
        elif at % 4 == 1:
            evidence = [{"type": "run", "source": "https://example.org/again", "metadata": {"at": at}}]
            yield _command("confirmed", f"n{at - 1}", project, evidence=evidence)
        elif at % 4 == 2 and at > 4:
            yield _command("linked", f"n{at - 2}", project, relation="depends_on", to=f"n{at - 6}")
        else:
            yield _command("used", f"n{at - at % 4}", project)


def _command(transition: str, key: str, project: str, **payload: object) -> Command:
    line = {"transition": transition, "key": key, "project": project, "payload": payload}
    return read_command(line, actor=ACTOR)


async def timed(way: Way, take: Take, asked: list[Command], server: int | None) -> Cost:
    """Have all of them taken, each caller one after the other, and say what it cost."""
    process = None if server is None else psutil.Process(server)
    left = iter(asked)

    async def caller() -> None:
        for command in left:
            await take(command)

    def there() -> float:
        return 0.0 if process is None else sum(process.cpu_times()[:2])

    began = (time.perf_counter(), time.process_time(), there())
    await asyncio.gather(*(caller() for _ in range(way.callers)))
    count = len(asked)
    return Cost(
        count / (time.perf_counter() - began[0]),
        (time.process_time() - began[1]) / count * 1e6,
        (there() - began[2]) / count * 1e6,
    )


def taking(store: Store, service: Service, *, shared: bool) -> Take:
    """How one command is taken."""

    async def singly(command: Command) -> None:
        answer = (await store.append([command], datetime.now(UTC)))[0]
        if isinstance(answer, KnowledgeError):
            raise answer

    return service.run if shared else singly


async def rounds(store: Store, server: int | None, mix: str, count: int) -> dict[str, list[Cost]]:
    """Each way once a round."""
    service, found = Service(store), {way.name: list[Cost]() for way in WAYS}
    for part in range(4):  # each statement is planned once, which takes as long as hundreds of events
        await store.append(list(commands(mix, "first", 16))[part::4], datetime.now(UTC), seconds=BATCH_SECONDS)
    for number in range(count + 1):
        for way in WAYS:
            project = f"{mix} {way.name} {number}"
            asked = list(commands(mix, project, way.events if number else way.events // 4))
            # Callers at once may overtake each other: what commands rest on is there before.
            if mix == "mixed":
                await store.append(
                    [c for c in asked if c.transition == "proposed"], datetime.now(UTC), seconds=BATCH_SECONDS
                )
                asked = [c for c in asked if c.transition != "proposed"] + list(
                    commands("proposals", f"{project} too", len(asked) // 4)
                )
            cost = await timed(way, taking(store, service, shared=way.shared), asked, server)
            if number:
                found[way.name].append(cost)
    return found


async def main(count: int) -> None:
    """Print the rates and the ratios."""
    with database() as connection:
        async with Store.open(connection.uri, connection.username, connection.password) as store:
            for mix in ("proposals", "mixed"):
                found = await rounds(store, connection.pid, mix, count)
                print(f"{mix}, median of {count} rounds")
                for name, costs in found.items():
                    rate = statistics.median(cost.rate for cost in costs)
                    against = [cost.rate / alone.rate for cost, alone in zip(costs, found["alone"], strict=True)]
                    here = statistics.median(cost.here for cost in costs)
                    there = statistics.median(cost.there for cost in costs)
                    print(
                        f"{name:>12} {rate:6.0f} events a second, {statistics.median(against):5.1f} times alone;"
                        f" {here:5.0f} us here, {there:5.0f} us in the database an event"
                    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    asyncio.run(main(arguments.parse_args().rounds))
