"""What callers over HTTP are told, and what is there afterwards, when processes are killed or stand still under them.

The service is a black box here: API processes on a Neo4j of its own, writers who keep every answer, and the journal
that is left. Long runs take their number of rounds from WHENCE_ROUNDS and print what they saw:
``WHENCE_ROUNDS=30 pytest -m slow -s tests/test_faults.py -k kill``.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from callers import ApiProcess, Callers, serving
from conftest import cache
from history import Call, counted, explained
from strategies import Record, said

from graph.embedded import TEST, Connection, EmbeddedNeo4j
from graph.embedded.proof import listens, store_identity
from graph.errors import KnowledgeError
from graph.group_commit import GroupCommit
from graph.journal import Head
from graph.service import Service
from graph.store import Store, Taken

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals between programs")

ROUNDS = int(os.environ.get("WHENCE_ROUNDS", "100"))
KILLED = ("neo4j", "api", "both")
WRITERS = 6
DURABLE = replace(TEST, name="durable", auth=True, durable=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedNeo4j]:
    """A Neo4j to be killed, which its watcher brings back soon, however often that is."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("graph.embedded.server.BACKOFF_SECONDS_MAX", 1.0)
        with EmbeddedNeo4j(tmp_path_factory.mktemp("faults"), DURABLE, cache=cache()) as server:
            yield server


def connected(server: EmbeddedNeo4j) -> Connection:
    connection = server.connection
    assert connection is not None
    return connection


async def back(server: EmbeddedNeo4j, before: Connection) -> None:
    """Wait for the server to be there again; and it is ours, with the same store, that listens."""
    deadline = time.monotonic() + 240
    while not server.alive() or connected(server).pid == before.pid:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    after = connected(server)
    assert after.uri == before.uri
    assert listens(after.pid or 0, int(after.uri.rpartition(":")[2]))


@dataclass
class Tally:
    """What was seen so far, over all rounds."""

    answers: Counter[str]
    events: int
    heads: dict[str, Head]

    def __str__(self) -> str:
        return f"{len(self.heads)} rounds, {self.events} events, answers: {dict(sorted(self.answers.items()))}"


@asynccontextmanager
async def opened(connection: Connection) -> AsyncGenerator[Service]:
    async with Store.open(connection.uri, connection.username, connection.password, connection.database) as store:
        yield Service(store)


async def settled(service: Service, project: str, calls: list[Call], tally: Tally) -> None:
    """The journal is whole, the projection is its fold, and both explain every answer that callers had."""
    found = await service.verify(project)
    assert found["ok"], found
    events: list[Record] = []
    while len(events) < found["events"]:
        events += (await service.journal(project, len(events), 1_000)).items
    explained(project, calls, events)
    tally.answers += counted(calls)
    tally.events += len(events)
    head = await service.head(project)
    assert head is not None
    tally.heads[project] = head


async def _killed(server: EmbeddedNeo4j, processes: list[ApiProcess], victim: str, number: int, tally: Tally) -> None:
    drawn, before = random.Random(number), connected(server)
    identity = store_identity(before.uri, before.username, before.password, before.database)
    callers = Callers(processes, f"round {number}")
    await callers.begin(WRITERS, number)
    await asyncio.sleep(drawn.uniform(1, 3))
    killed = [] if victim == "neo4j" else processes if victim == "both" else [drawn.choice(processes)]
    if victim != "api":
        os.kill(before.pid or 0, signal.SIGKILL)
    for process in killed:
        process.kill()
    if victim != "api":
        await back(server, before)
    for process in killed:
        process.start()
    for process in processes:
        await process.ready()
    await asyncio.sleep(1)
    await callers.end()
    after = connected(server)
    assert store_identity(after.uri, after.username, after.password, after.database) == identity
    async with opened(after) as service:
        await settled(service, callers.project, callers.calls, tally)


async def _kill_rounds(folder: Path, server: EmbeddedNeo4j, rounds: int, processes: int) -> Tally:
    tally = Tally(Counter(), 0, {})
    async with serving(folder, connected(server), processes) as running:
        for number in range(rounds):
            await _killed(server, running, KILLED[number % len(KILLED)], number, tally)
            print(f"killed {KILLED[number % len(KILLED)]}: {tally}", flush=True)  # noqa: T201  a long run tells
    async with opened(connected(server)) as service:
        for project, head in tally.heads.items():  # what was there once stayed
            assert (await service.verify(project, head.seq, head.hash))["ok"]
    return tally


def test_whatever_is_killed_under_six_writers_nothing_acknowledged_is_lost_or_doubled(
    server: EmbeddedNeo4j, tmp_path: Path, loop: asyncio.Runner
) -> None:
    tally = loop.run(_kill_rounds(tmp_path, server, len(KILLED), 1))
    assert tally.answers["applied"] > 30


@pytest.mark.slow
@pytest.mark.timeout(6 * 3_600)
@pytest.mark.parametrize("processes", [1, 2], ids=["one_process", "two_processes"])
def test_kill_rounds_for_long(server: EmbeddedNeo4j, tmp_path: Path, loop: asyncio.Runner, processes: int) -> None:
    loop.run(_kill_rounds(tmp_path, server, ROUNDS, processes))


async def _two_processes(folder: Path, server: EmbeddedNeo4j) -> None:
    tally = Tally(Counter(), 0, {})
    async with serving(folder, connected(server), 2) as running:
        callers = Callers(running, "two")
        await callers.begin(WRITERS, 0)
        await asyncio.sleep(2)
        running[0].kill()
        await asyncio.sleep(1)
        running[0].start()
        await running[0].ready()
        await asyncio.sleep(1)
        await callers.end()
        async with opened(connected(server)) as service:
            await settled(service, "two", callers.calls, tally)
    assert tally.answers["applied"] > 30


def test_two_processes_on_one_database_keep_one_order_and_one_may_be_killed(
    server: EmbeddedNeo4j, tmp_path: Path, loop: asyncio.Runner
) -> None:
    loop.run(_two_processes(tmp_path, server))


# --- a database that stands still ---------------------------------------------------------------------------

STILL_SECONDS = 12.0
SECONDS = 4.0  # the deadline of those who do not want to wait for it


async def _impatient(appends: GroupCommit, name: str, over: asyncio.Event, calls: list[Call]) -> None:
    """A writer who wants an answer within his deadline, and a second at most beside."""
    turn = 0
    while not over.is_set():
        turn += 1
        command = said("used", "a", "still", event_id=f"{name}-{turn}")
        began = time.monotonic()
        try:
            answer = (await appends.append([command], seconds=SECONDS))[0]
        except KnowledgeError as error:
            answer = error
        calls.append(Call(began, time.monotonic(), command, answer if isinstance(answer, Taken) else answer.code))
        await asyncio.sleep(0.05)


async def _reads(store: Store, over: asyncio.Event, spent: list[float]) -> None:
    while not over.is_set():
        began = time.monotonic()
        try:
            await store.read("project_head", seconds=SECONDS, project="still")
        except KnowledgeError as error:
            assert error.code == "UNAVAILABLE"
        spent.append(time.monotonic() - began)
        await asyncio.sleep(0.05)


async def _stands_still(folder: Path, server: EmbeddedNeo4j) -> None:
    pid, tally = connected(server).pid or 0, Tally(Counter(), 0, {})
    over, calls, spent = asyncio.Event(), list[Call](), list[float]()
    async with serving(folder, connected(server), 1) as (process,), opened(connected(server)) as service:
        callers = Callers([process], "patient")
        await callers.begin(WRITERS, 0)
        first = said("proposed", "a", "still", event_id="first", proposition="The gate is shut")
        calls.append(Call(0.0, time.monotonic(), first, await service.run(first)))
        appends = GroupCommit(service.store, lambda: datetime.now(UTC))
        work = [_impatient(appends, f"w{at}", over, calls) for at in range(WRITERS)]
        running = [asyncio.create_task(each) for each in (*work, _reads(service.store, over, spent))]
        await asyncio.sleep(1)
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(2)
            while_still = [await process.is_ready() for _ in range(3)]
            await asyncio.sleep(STILL_SECONDS - 8)
        finally:
            os.kill(pid, signal.SIGCONT)
        await asyncio.wait_for(process.ready(), 30)
        await asyncio.sleep(1)
        over.set()
        await asyncio.gather(*running)
        await callers.end()
        await _said_again(service, calls)
        await settled(service, "still", calls, tally)
        await settled(service, "patient", callers.calls, tally)
    assert not any(while_still)
    assert max(spent) < SECONDS + 1
    assert max(call.ended - call.began for call in calls[1:]) < SECONDS + 1
    assert max(call.ended - call.began for call in callers.calls) < 32  # the deadline of a write, and a second


async def _said_again(service: Service, calls: list[Call]) -> None:
    sure = {call.command.event_id for call in calls if isinstance(call.answer, Taken)}
    for call in [call for call in calls if call.command.event_id not in sure]:
        began = time.monotonic()
        answer = await service.run(call.command)
        calls.append(Call(began, time.monotonic(), call.command, answer))


def test_a_database_that_stands_still_costs_each_caller_his_deadline_and_no_event(
    server: EmbeddedNeo4j, tmp_path: Path, loop: asyncio.Runner
) -> None:
    loop.run(_stands_still(tmp_path, server))
