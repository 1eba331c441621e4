"""The servers that are measured, all on one embedded Neo4j: Whence, the peer, and the bare driver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from api import presence
from api.owner_token import token_file
from graph.embedded import Connection, running

HERE = Path(__file__).parent
START_SECONDS_MAX = 180.0
STOP_SECONDS_MAX = 60.0
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Server:
    """One that is up.

    Attributes:
        name: ``whence``, ``peer`` or ``bare``.
        url: Where it is asked; the bare driver has a route a shape under it.
        process: Whose CPU its answers take, besides the database's; None where it is not known.
    """

    name: str
    url: str
    process: psutil.Process | None

    def at(self, shape: str) -> str:
        """Where a shape is asked."""
        return f"{self.url}/{shape}" if self.name == "bare" else self.url


def ask(url: str, body: str) -> dict[str, Any]:
    """The data of one answer."""
    request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.loads(response.read())
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{url}: {error.read().decode()}") from error
    if answer.get("errors"):
        raise SystemExit(f"{url}: {answer['errors'][0]}")
    return answer["data"]


@contextmanager
def whence(home: Path, url: str | None = None) -> Generator[tuple[Server, Connection]]:
    """``whence up`` in this home, or the service that runs there already, and its database.

    Args:
        home: As ``reads.py make`` filled it.
        url: The GraphQL address of a service that runs on this home.
    """
    if url is not None:
        found = presence.find(home)
        yield Server("whence", url, psutil.Process(found.holder.pid) if found else None), _database(home)
        return
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [str(Path(sys.executable).with_name("whence")), "up", "--port", "0", "--ready-file", str(ready)]
        own = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")}
        # Filling a hundred thousand nodes with vectors takes twenty minutes of the same two cores.
        own |= {"WHENCE_HOME": str(home), "WHENCE_EMBEDDER": "none"}
        with _program(command, own, Path(folder) / "log") as program:
            _until(program, Path(folder) / "log", lambda: ready.exists() and ready.read_text() != "")
            told = json.loads(ready.read_bytes())
            yield Server("whence", told["graphql"], psutil.Process(told["pid"])), _database(home)


def _database(home: Path) -> Connection:
    """The database of the service that runs on this home, whose token load programs find in WHENCE_TOKEN."""
    found = running(home)
    if found is None:
        raise SystemExit(f"no embedded Neo4j runs in {home}")
    os.environ["WHENCE_TOKEN"] = token_file(home).read_text("utf-8").strip()
    return found


@contextmanager
def peer(home: Path, database: Connection) -> Generator[Server]:
    """@neo4j/graphql under Apollo Server, in one Node; its packages are installed once, into the home."""
    folder = home / "peer"
    folder.mkdir(exist_ok=True)
    for file in ("package.json", "server.mjs"):
        shutil.copy(HERE / "peer" / file, folder / file)
    if not (folder / "node_modules").is_dir():
        subprocess.run(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"], cwd=folder, check=True)
    production = {"NODE_ENV": "production"}
    with _listening(["node", str(folder / "server.mjs")], database, production) as (url, process):
        yield Server("peer", url, process)


@contextmanager
def bare(database: Connection) -> Generator[Server]:
    """The driver without GraphQL."""
    with _listening([sys.executable, str(HERE / "bare.py")], database, {}) as (url, process):
        yield Server("bare", url, process)


@contextmanager
def _listening(
    command: list[str], database: Connection, more: Mapping[str, str]
) -> Generator[tuple[str, psutil.Process]]:
    """A program of ours on a free port, once it accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {
        "NEO4J_URI": database.uri,
        "NEO4J_USERNAME": database.username,
        "NEO4J_PASSWORD": database.password,
        "NEO4J_DATABASE": database.database,
        "PORT": str(port),
    }

    def accepts() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with _program(command, environment | dict(more), log) as program:
            _until(program, log, accepts)
            yield f"http://127.0.0.1:{port}", psutil.Process(program.pid)


@contextmanager
def _program(command: list[str], environment: Mapping[str, str], log: Path) -> Generator[subprocess.Popen[bytes]]:
    with log.open("wb") as out:
        program = subprocess.Popen(command, env=dict(environment), stdout=out, stderr=subprocess.STDOUT)
    try:
        yield program
    finally:
        program.terminate()
        try:
            program.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


def _until(program: subprocess.Popen[bytes], log: Path, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while not condition():
        if program.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f"{program.args} is not up:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(POLL_SECONDS)
