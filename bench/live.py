"""How far behind the commit followers get events, at a given rate: over websockets and as server-sent events.

One writer appends groups of events at an even pace, nine uses to a proposal; every reader follows the whole journal
over a connection of its own, from the beginning of the run. A lag is from the moment the writer was told that the
commit had happened to the moment the event was read from the socket. ``elsewhere``: the readers' service is another
process than the writer's, as where several stand on one database; ``here``: it is the writer's own. ``plain`` asks for
what stands in the journal, ``joined`` for the node as well. Both clocks are the machine's. Processor time is of the
service and of the database.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import numpy as np
import psutil
import uvloop
from connection import database

from api.access import Everyone
from api.serving import serve
from api.settings import Settings
from graph.commands import Command, read_command
from graph.embedded import Connection
from graph.knowledge import Actor, ActorType
from graph.rehearsal import rehearse
from graph.service import Service
from graph.store import Store, Taken

GROUP_SECONDS = 0.02  # between two groups of the writer
SETTLE_SECONDS = 1.0  # before the writer begins, and after it has ended
READY_SECONDS_MAX = 180.0
WARMINGS_MAX = 6  # on a machine that is busy with other things it never gets there
ACTOR = Actor("bench", "live", ActorType.SYSTEM)
PLAIN = "seq eventId transition time recordedAt reason stateAfter hash actor { issuer subject type }"
SELECTIONS = {"plain": PLAIN, "joined": f"{PLAIN} knowledge {{ key proposition state atRisk }}"}
_SEQ = re.compile(rb'"events":\{"seq":(\d+),')


@dataclass(frozen=True, slots=True)
class Followed:
    """What readers follow, and how."""

    port: int
    token: str
    project: str
    way: str
    selection: str
    readers: int

    def opening(self) -> tuple[bytes, bytes]:
        """What a reader sends at once, and what it sends as soon as it is answered."""
        fields = SELECTIONS[self.selection]
        document = f'subscription {{ events(project: "{self.project}", afterSeq: 0) {{ {fields} }} }}'
        own = f"host: 127.0.0.1:{self.port}\r\nauthorization: Bearer {self.token}\r\n"
        if self.way == "sse":
            body = json.dumps({"query": document}).encode()
            own += f"content-type: application/json\r\naccept: text/event-stream\r\ncontent-length: {len(body)}\r\n"
            return f"POST /graphql HTTP/1.1\r\n{own}\r\n".encode() + body, b""
        own += "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
        own += f"sec-websocket-key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
        own += "sec-websocket-protocol: graphql-transport-ws\r\n"
        subscribe = {"type": "subscribe", "id": "one", "payload": {"query": document}}
        return f"GET /graphql HTTP/1.1\r\n{own}\r\n".encode(), _frame({"type": "connection_init"}) + _frame(subscribe)


def _frame(message: object) -> bytes:
    body = json.dumps(message).encode()
    return bytes((0x81, 0x80 | 126)) + len(body).to_bytes(2) + bytes(4) + body  # the mask is all zeros


class Reader(asyncio.Protocol):
    """A connection that only notes which event came when."""

    def __init__(self, followed: Followed) -> None:
        self.came: list[tuple[int, float]] = []
        self._first, self._then = followed.opening()
        self._rest = b""
        self.answered = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._first)

    def data_received(self, data: bytes) -> None:
        """Note what came."""
        now, text, end = time.monotonic(), self._rest + data, 0
        self._transport.write(self._then)
        self._then = b""
        self.answered.set()
        for found in _SEQ.finditer(text):
            self.came.append((int(found[1]), now))
            end = found.end()
        self._rest = text[max(end, len(text) - 64) :]


async def read(followed: Followed) -> list[list[tuple[int, float]]]:
    """Follow over several connections until the standard input ends; what came to each, and when."""
    loop = asyncio.get_running_loop()
    pairs = [
        await loop.create_connection(lambda: Reader(followed), "127.0.0.1", followed.port)
        for _ in range(followed.readers)
    ]
    for _, reader in pairs:
        await reader.answered.wait()
    print("answered", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    for transport, _ in pairs:
        transport.close()
    return [reader.came for _, reader in pairs]


def _commands(project: str, count: int) -> Iterator[Command]:
    for at in range(count):
        claim = {"proposition": f"claim {at}"} if at % 10 == 0 else {}
        line = {"transition": "proposed" if claim else "used", "key": f"n{at - at % 10}", "payload": claim}
        yield read_command({"project": project, **line}, actor=ACTOR)


async def write(service: Service, project: str, rate: int, seconds: float) -> dict[int, float]:
    """Append at a rate for a while, whether the database keeps up or not; when each commit was told, by position."""
    clock = asyncio.get_running_loop().time
    asked, told = _commands(project, round(rate * seconds)), dict[int, float]()

    async def take(group: list[Command]) -> None:
        answers = await service.run_many(group)
        now = time.monotonic()
        told.update({answer.seq: now for answer in answers if isinstance(answer, Taken)})

    due = clock()
    async with asyncio.TaskGroup() as groups:
        while group := list(islice(asked, round(rate * GROUP_SECONDS))):
            groups.create_task(take(group))
            due += GROUP_SECONDS
            await asyncio.sleep(max(0.0, due - clock()))
    return told


async def warm(service: Service, project: str, rate: int) -> None:
    """Write until the database takes as much as is wanted, which takes a server that has just begun some seconds."""
    for at in range(WARMINGS_MAX):
        began = time.monotonic()
        await write(service, f"{project} {at}", rate, 2.0)
        if time.monotonic() - began < 2.0 + 5 * GROUP_SECONDS:
            return


@dataclass(frozen=True, slots=True)
class Measured:
    """Lags in milliseconds, events a second that were written, and processor time a delivered event."""

    lags: Any
    rate: float
    here: float
    there: float


async def measure(
    service: Service, followed: Followed, rate: int, seconds: float, pids: tuple[int, int | None]
) -> Measured:
    """Write while readers, which are a program of their own, follow."""
    processes = [psutil.Process(pid) for pid in pids if pid is not None]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "came.json"
        asked = json.dumps(asdict(followed))
        command = (sys.executable, __file__, "--read", asked, "--out", str(out))
        readers = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert readers.stdout is not None
        await readers.stdout.readline()
        await asyncio.sleep(SETTLE_SECONDS)
        began, spent = time.monotonic(), [sum(each.cpu_times()[:2]) for each in processes]
        told = await write(service, followed.project, rate, seconds)
        took = time.monotonic() - began
        await asyncio.sleep(SETTLE_SECONDS)
        cpu = [sum(each.cpu_times()[:2]) - before for each, before in zip(processes, spent, strict=True)]
        await readers.communicate(b"")
        came: list[list[tuple[int, float]]] = json.loads(out.read_bytes())
    for one in came:
        if [seq for seq, _ in one] != list(range(1, len(told) + 1)):
            raise SystemExit(f"a reader got {len(one)} events of {len(told)}, or not in their order")
    lags = np.array([1000 * (at - told[seq]) for one in came for seq, at in one])
    delivered = len(told) * followed.readers
    return Measured(lags, len(told) / took, 1e6 * cpu[0] / delivered, 1e6 * sum(cpu[1:]) / delivered)


@asynccontextmanager
async def served_here(service: Service) -> AsyncGenerator[tuple[int, str, int]]:
    """The port, a token and the process id of a service in this process."""
    bound: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    settings = Settings(home=Path("/nowhere"))
    serving = asyncio.create_task(
        serve(service, settings, Everyone(ACTOR), ready=lambda _host, port: bound.set_result(port))
    )
    yield await bound, "none", os.getpid()
    serving.cancel()
    await asyncio.wait((serving,))


@asynccontextmanager
async def served_elsewhere(connection: Connection) -> AsyncGenerator[tuple[int, str, int]]:
    """The same of `whence up` on the database."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        environment = os.environ | {
            "WHENCE_HOME": folder,
            "WHENCE_EMBEDDER": "none",
            "WHENCE_LOG": "WARNING",
            "NEO4J_URI": connection.uri,
            "NEO4J_USERNAME": connection.username,
            "NEO4J_PASSWORD": connection.password,
        }
        whence = Path(sys.executable).with_name("whence")
        up = await asyncio.create_subprocess_exec(
            whence, "up", "--port", "0", "--ready-file", ready, env=environment, stdout=subprocess.DEVNULL
        )
        try:
            told = await asyncio.to_thread(_told, ready)
            yield urlsplit(str(told["graphql"])).port or 80, told.get("token", "none"), up.pid
        finally:
            up.terminate()
            await up.wait()


def _told(ready: Path) -> dict[str, Any]:
    deadline = time.monotonic() + READY_SECONDS_MAX
    while not ready.exists():
        if time.monotonic() > deadline:
            raise SystemExit("the service is not ready")
        time.sleep(0.1)
    return json.loads(ready.read_bytes())


async def main(options: argparse.Namespace, connection: Connection) -> None:
    login = (connection.username, connection.password, connection.database)
    async with Store.open(connection.uri, *login) as store:
        service = Service(store)
        await rehearse(store)
        places = {"elsewhere": served_elsewhere(connection), "here": served_here(service)}
        print(f"{'':32}{'events/s':>10}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'service us':>12}{'database us':>13}")
        for place in options.places.split(","):
            async with places[place] as (port, token, pid):
                await warm(service, f"warm {place}", options.rate)
                for way in ("sse", "websocket"):
                    for selection in options.selections.split(","):
                        project = f"{place} {way} {selection}"
                        followed = Followed(port, token, project, way, selection, options.readers)
                        found = await measure(service, followed, options.rate, options.seconds, (pid, connection.pid))
                        p50, p95, p99 = np.percentile(found.lags, (50, 95, 99))
                        figures = f"{p50:9.1f}{p95:9.1f}{p99:9.1f}{found.here:12.1f}{found.there:13.1f}"
                        print(f"{project:32}{found.rate:10.0f}{figures}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--places", default="elsewhere,here")
    parser.add_argument("--selections", default="plain,joined")
    parser.add_argument("--read", type=json.loads)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.read:
        given.out.write_text(json.dumps(uvloop.run(read(Followed(**given.read)))))
    else:
        with database() as found:
            uvloop.run(main(given, found))
