"""How long `whence up` takes until it can be used, and what it takes of memory when nobody asks anything.

A home that has run before is started again and again: seconds until `up` says that it is ready, until the first query
is answered, and until the first and the second append are. Beside them stand CPU seconds, which a busy machine does not
change much.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

import platformdirs
import psutil
from connection import ends_in_order

WHENCE = Path(sys.executable).with_name("whence")
IDLE_SECONDS = 10.0
QUERY = "{ projects }"
APPEND = """mutation {
  propose(project: "startup", proposition: "a start", evidence: [{type: "bench", source: "bench:startup"}]) { applied }
}"""


@dataclass(frozen=True)
class Start:
    """One start; seconds since the command began, CPU seconds until it was ready, and megabytes at rest."""

    ready: float
    query: float
    append: float
    second: float
    api_cpu: float
    java_cpu: float
    api_mb: float
    java_mb: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--home", type=Path, help="a folder to use again; a throwaway one by default")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--pause", type=float, default=0.0, help="seconds between readiness and the first append")
    given = options.parse_args()
    ends_in_order()
    with folder(given.home) as home:
        starts = [start(home, given.pause) for _ in range(given.rounds + 1)]
    print(f"first  {shown(starts[0])}")
    for each in starts[1:]:
        print(f"warm   {shown(each)}")
    middle = Start(*(statistics.median(row) for row in zip(*(vars(each).values() for each in starts[1:]), strict=True)))
    print(f"median {shown(middle)}")


@contextmanager
def folder(home: Path | None) -> Generator[Path]:
    """The home, with the jars and the class archives that this user has already."""
    with tempfile.TemporaryDirectory() as throwaway:
        place = home or Path(throwaway)
        place.mkdir(parents=True, exist_ok=True)
        kept = platformdirs.user_data_path("whence", appauthor=False) / "cache"
        if kept.exists() and not (place / "cache").exists():
            (place / "cache").symlink_to(kept, target_is_directory=True)
        yield place


def start(home: Path, pause: float) -> Start:
    began = time.monotonic()
    command = [WHENCE, "up", "--port", "0", "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")}
    with (
        subprocess.Popen(
            command,
            env=environment | {"WHENCE_HOME": str(home), "WHENCE_LOG": "WARNING"},
            stdout=subprocess.PIPE,
            encoding="utf-8",
        ) as up,
        ExitStack() as ended,
    ):
        assert up.stdout is not None
        ended.callback(up.terminate)
        addresses = json.loads(up.stdout.readline())
        addresses["token"] = Path(addresses["token_file"]).read_text("utf-8").strip()
        ready = time.monotonic() - began
        api = psutil.Process(up.pid)
        java = psutil.Process(json.loads((home / "neo4j" / "run" / "server.json").read_bytes())["java"]["pid"])
        cpu = [sum(each.cpu_times()[:2]) for each in (api, java)]
        ask(addresses, QUERY)
        query = time.monotonic() - began
        time.sleep(pause)
        appends = [ask(addresses, APPEND) for _ in range(2)]
        time.sleep(IDLE_SECONDS)
        memory = [each.memory_info().rss / 1e6 for each in (api, java)]
    return Start(ready, query, *appends, *cpu, *memory)


def ask(addresses: Mapping[str, str], query: str) -> float:
    began = time.monotonic()
    body = json.dumps({"query": query}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {addresses['token']}"}
    with urlopen(Request(addresses["graphql"], body, headers)) as answer:
        assert "errors" not in json.loads(answer.read())
    return time.monotonic() - began


def shown(it: Start) -> str:
    return (
        f"ready {it.ready:5.1f} s, first query {it.query:5.1f} s; first append takes {it.append:5.2f} s, second "
        f"{it.second:5.2f} s; CPU to ready: API {it.api_cpu:4.1f} s, Neo4j {it.java_cpu:4.1f} s; "
        f"at rest: API {it.api_mb:.0f} MB, Neo4j {it.java_mb:.0f} MB"
    )


if __name__ == "__main__":
    main()
