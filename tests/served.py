"""The service as it is run, in a process of its own: what a request costs it can be measured from outside."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil

from graph.embedded import Connection

WHENCE = Path(sys.executable).with_name("whence")
READY_SECONDS_MAX = 240.0  # a first start on a busy machine
ANSWER_SECONDS_MAX = 60.0
JSON_TYPE = {"content-type": "application/json"}


class Served:
    """A running `whence up`, and a caller of it."""

    def __init__(self, url: str, token: str, process: psutil.Process) -> None:
        self.url = url
        self.bearer = {"authorization": f"Bearer {token}"}
        self.process = process
        self.client = httpx.Client(base_url=url, headers=self.bearer, timeout=ANSWER_SECONDS_MAX)

    def cpu(self) -> float:
        """Seconds of CPU that the server's process has used since it began."""
        times = self.process.cpu_times()
        return times.user + times.system

    def memory(self) -> int:
        """Bytes of memory that the server's process holds."""
        return self.process.memory_info().rss

    def post(self, query: object, variables: object = None, **rest: object) -> httpx.Response:
        body = json.dumps({"query": query, "variables": variables} | rest)
        return self.client.post("/graphql", content=body, headers=JSON_TYPE)

    def ask(self, query: str, **variables: Any) -> Any:
        """The data of an answer without errors."""
        answer = self.post(query, variables).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def connect(self, seconds: float = ANSWER_SECONDS_MAX) -> socket.socket:
        """A bare connection, for what no client would send."""
        at = urlsplit(self.url)
        assert at.hostname is not None
        return socket.create_connection((at.hostname, at.port or 80), timeout=seconds)


@contextmanager
def served(neo4j: Connection, home: Path, *flags: str, embedder: str = "none") -> Generator[Served]:
    """Run the service on a server until the context is left."""
    ready = home / "ready.json"
    home.mkdir(parents=True, exist_ok=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NEO4J_", "WHENCE_"))}
    environment = clean | {
        "WHENCE_HOME": str(home),
        "WHENCE_EMBEDDER": embedder,
        "NEO4J_URI": neo4j.uri,
        "NEO4J_USERNAME": neo4j.username,
        "NEO4J_PASSWORD": neo4j.password,
        "NEO4J_DATABASE": neo4j.database,
    }
    with (home / "log").open("wb") as log:
        arguments = [WHENCE, "up", "--port", "0", "--ready-file", ready, *flags]
        child = subprocess.Popen(arguments, env=environment, stdout=log, stderr=log)
        try:
            told = _ready(child, ready)
            caller = Served(told["url"], told["token"], psutil.Process(child.pid))
            with caller.client:
                yield caller
        finally:
            child.terminate()
            try:
                child.wait(60)
            finally:
                child.kill()


def _ready(child: subprocess.Popen[bytes], ready: Path) -> dict[str, Any]:
    deadline = time.monotonic() + READY_SECONDS_MAX
    while not (ready.exists() and ready.stat().st_size):
        assert child.poll() is None, ready.with_name("log").read_text("utf-8", "replace")
        assert time.monotonic() < deadline, "the service was not ready in time"
        time.sleep(0.1)
    return json.loads(ready.read_bytes())
