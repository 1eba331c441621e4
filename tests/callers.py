"""API processes as an operator runs them, and writers who use them over HTTP and keep what they were told."""

# pyright: strict

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from history import UNANSWERED, Call
from strategies import Record, said

from api.owner_token import token_file
from graph.commands import Command
from graph.embedded import Connection
from graph.embedded.proof import free_port, listens
from graph.store import Taken

WHENCE = Path(sys.executable).with_name("whence")
READY_SECONDS_MAX = 240.0  # a start on a busy machine
ANSWER_SECONDS_MAX = 50.0  # the service's own deadline for a request is shorter
PROOF = [{"key": "run-1", "type": "run", "source": "run:1", "timestamp": "2026-01-01T00:00:00Z"}]
KEYS = ("a", "b", "c", "d")
_ANSWER = "{ applied newlyAtRisk knowledge { key generation } event { eventId seq } }"
# transition -> mutation, and its arguments beside project, key and event with their types.
_MUTATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "proposed": ("propose", {"proposition": "String!"}),
    "confirmed": ("confirm", {"evidence": "[EvidenceInput!]"}),
    "challenged": ("challenge", {}),
    "corrected": ("correct", {"proposition": "String!"}),
    "invalidated": ("invalidate", {}),
    "used": ("use", {}),
    "hinted": ("hint", {"outcome": "HintOutcome!"}),
    "linked": ("link", {"relation": "Relation!", "to": "String!"}),
    "unlinked": ("unlink", {"relation": "Relation!", "to": "String!"}),
}


class ApiProcess:
    """``whence up`` on a Neo4j that runs already; its address stays when it is started again.

    Args:
        home: A WHENCE_HOME of its own.
        neo4j: The database.
    """

    def __init__(self, home: Path, neo4j: Connection) -> None:
        self._home = home
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("NEO4J_", "WHENCE_"))
        } | {
            "WHENCE_HOME": str(home),
            "WHENCE_LOG": "WARNING",
            "WHENCE_EMBEDDER": "none",
            "NEO4J_URI": neo4j.uri,
            "NEO4J_USERNAME": neo4j.username,
            "NEO4J_PASSWORD": neo4j.password,
            "NEO4J_DATABASE": neo4j.database,
        }
        self._port = free_port()
        self._child: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it; whoever needs it waits for ``ready``."""
        with (self._home / "console.log").open("ab") as console:
            self._child = subprocess.Popen(
                [WHENCE, "up", "--port", str(self._port)], env=self._environment, stdout=console, stderr=console
            )

    def kill(self) -> None:
        """End it as the kernel would: at once, and without a word."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()

    @property
    def bearer(self) -> dict[str, str]:
        """The header that shows its owner's token, once it is ready."""
        return {"authorization": f"Bearer {token_file(self._home).read_text().strip()}"}

    async def ready(self) -> None:
        """Wait until it says that it serves; and it is ours that says so. Where it ended, it is started again."""
        assert self._child is not None
        deadline = time.monotonic() + READY_SECONDS_MAX
        while not await self.is_ready():
            assert time.monotonic() < deadline, (self._home / "console.log").read_text()
            if self._child.poll() is not None:  # the database was away when it started
                self.start()
            await asyncio.sleep(0.2)
        assert listens(self._child.pid, self._port)

    async def is_ready(self) -> bool:
        """Whether it says that it serves."""
        try:
            async with httpx.AsyncClient(timeout=5) as client:
                return (await client.get(f"{self.url}/readyz")).status_code == 200
        except httpx.TransportError:
            return False


@asynccontextmanager
async def serving(folder: Path, neo4j: Connection, count: int) -> AsyncGenerator[list[ApiProcess]]:
    """So many API processes on one database, ready."""
    processes: list[ApiProcess] = []
    try:
        for number in range(count):
            home = folder / f"api-{number}"
            home.mkdir()
            processes.append(ApiProcess(home, neo4j))
            processes[-1].start()
        for process in processes:
            await process.ready()
        yield processes
    finally:
        for process in processes:
            process.kill()


class Callers:
    """Writers over HTTP, to any of several processes, who keep every call.

    Args:
        processes: Ready; a writer stays with one, and a repeat may go to another.
        project: Where they write.
    """

    def __init__(self, processes: Sequence[ApiProcess], project: str) -> None:
        self._urls = [process.url for process in processes]
        self._bearer = processes[0].bearer  # that of one opens the others, which are on the same database
        self.project = project
        self.calls: list[Call] = []
        self._over = asyncio.Event()
        self._writers: list[asyncio.Task[None]] = []

    async def begin(self, writers: int, seed: int) -> None:
        """Make the nodes, and let the writers write until ``end``."""
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS_MAX) as client:
            for key in KEYS:
                await self._until_answered(
                    client, said("proposed", key, self.project, event_id=f"first {key}", proposition="The gate is shut")
                )
        self._writers = [asyncio.create_task(self._writes(at, seed)) for at in range(writers)]

    async def end(self) -> None:
        """Let the writers finish what they are at, and say once more what nobody can be sure of."""
        self._over.set()
        await asyncio.gather(*self._writers)
        answered = {call.command.event_id for call in self.calls if not _open(call.answer)}
        left = {c.command.event_id: c.command for c in self.calls if c.command.event_id not in answered}
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS_MAX) as client:
            for command in left.values():
                await self._until_answered(client, command)

    async def _writes(self, number: int, seed: int) -> None:
        drawn, turn = random.Random(f"{seed} {number}"), 0
        url = self._urls[number % len(self._urls)]
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS_MAX) as client:
            while not self._over.is_set():
                turn += 1
                command = drawn_command(drawn, self.project, f"w{number}-{turn}")
                for _ in range(drawn.choice([1, 1, 1, 2])):
                    if _open(await self._call(client, url, command)):
                        await asyncio.sleep(0.1)  # what is away is not back at once

    async def _until_answered(self, client: httpx.AsyncClient, command: Command) -> None:
        deadline = time.monotonic() + ANSWER_SECONDS_MAX
        url = random.Random(command.event_id).choice(self._urls)
        while _open(answer := await self._call(client, url, command)):
            assert time.monotonic() < deadline, (command, answer)
            await asyncio.sleep(0.2)

    async def _call(self, client: httpx.AsyncClient, url: str, command: Command) -> Taken | str:
        began = time.monotonic()
        try:
            response = await client.post(f"{url}/graphql", json=request(command), headers=self._bearer)
            answer = told(self.project, response.json())
        except httpx.TransportError:
            answer = UNANSWERED
        self.calls.append(Call(began, time.monotonic(), command, answer))
        return answer


def _open(answer: Taken | str) -> bool:
    return answer in (UNANSWERED, "IN_DOUBT", "UNAVAILABLE")


def drawn_command(drawn: random.Random, project: str, event_id: str) -> Command:
    """One of the commands that a busy project sees; mostly uses."""
    key, other = drawn.sample(KEYS, 2)
    return drawn.choice(
        [
            said("used", key, project, event_id=event_id),
            said("used", key, project, event_id=event_id),
            said("used", key, project, event_id=event_id),
            said("proposed", key, project, event_id=event_id, proposition="The gate is shut"),
            said("linked", key, project, event_id=event_id, relation="depends_on", to=other),
            said("linked", key, project, event_id=event_id, relation="contradicts", to=other),
            said("unlinked", key, project, event_id=event_id, relation="depends_on", to=other),
            said("confirmed", key, project, event_id=event_id, evidence=PROOF),
            said("hinted", key, project, event_id=event_id, outcome="harmful"),
            said("challenged", key, project, event_id=event_id, reason="who says so"),
            said("corrected", key, project, event_id=event_id, proposition="The gate is ajar", reason="seen"),
            said("invalidated", key, project, event_id=event_id, reason="there is no gate"),
        ]
    )


def request(command: Command) -> Record:
    """The command as the body of a GraphQL request."""
    name, types = _MUTATIONS[command.transition.value]
    keyed = "from" if "relation" in types else "key"
    values: Record = {"project": command.project, keyed: command.key}
    values |= {argument: _in_graphql(argument, command.payload[argument]) for argument in types}
    values["event"] = {"eventId": command.event_id, "reason": command.reason}
    types = {"project": "String!", keyed: "String!", **types, "event": "EventInput"}
    declared = ", ".join(f"${argument}: {kind}" for argument, kind in types.items())
    passed = ", ".join(f"{argument}: ${argument}" for argument in types)
    return {"query": f"mutation({declared}) {{ {name}({passed}) {_ANSWER} }}", "variables": values}


def _in_graphql(argument: str, value: Any) -> Any:
    return str(value).upper() if argument in ("relation", "outcome") else value


def told(project: str, answer: Record) -> Taken | str:
    """What a GraphQL answer says became of the command."""
    if errors := answer.get("errors"):
        return str(errors[0]["extensions"]["code"])
    with contextlib.suppress(KeyError):
        (found,) = answer["data"].values()
        node, event = found["knowledge"], found["event"]
        return Taken(
            project,
            node["key"],
            node["generation"],
            event["seq"],
            event["eventId"],
            applied=found["applied"],
            newly_at_risk=found["newlyAtRisk"],
        )
    raise AssertionError(f"an answer that is none: {answer}")
