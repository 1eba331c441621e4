"""What several workers of one service answer, against one worker: where the API is the limit, and not the database.

    python bench/workers.py [--workers 2] [--rounds 5] [--seconds 4]

Both services run at the same time on one database and are asked in turn, by one thread of `wrk`, which takes a core's
part itself. `health` asks for what is answered from Python alone, `kept` for a query that comes again and again, whose
answer costs one small question that all who wait share, `schema` for all types and their fields, which GraphQL works
out anew for each request and no database is asked for. Beside requests a second stand the CPU that each request took of
the API's processes, and how much of it they had: on a machine with two cores the caller and the database take their
parts of what a second worker could have, and under `schema` they take hardly any.
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
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
from connection import database, ends_in_order

from graph.embedded import Connection

WHENCE = Path(sys.executable).with_name("whence")
CONNECTIONS = 32  # for each worker: what waits together shares a question to the database
START_SECONDS_MAX = 180.0
PROPOSE = 'mutation { propose(project: "workers", key: "a", proposition: "a claim") { applied } }'
QUERIES = {
    "kept": '{ knowledge(project: "workers", key: "a") { key proposition state } }',
    "schema": "{ __schema { types { name description fields { name description type { name kind } } } } }",
}
_LUA = """
wrk.method, wrk.body = "%s", %s
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer %s"
function done(summary, latency)
  io.write(string.format('\\nLOAD {"requests": %%d, "seconds": %%.6f, "p95_ms": %%.3f, "failed": %%d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(95) / 1e3, summary.errors.status))
end
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A service, and the processes that answer for it."""

    url: str
    token: str
    answering: Sequence[psutil.Process]

    @property
    def connections(self) -> int:
        """How many callers keep all of them busy."""
        return CONNECTIONS * len(self.answering)

    def cpu(self) -> float:
        """Seconds of CPU that they have taken."""
        return sum(sum(each.cpu_times()[:2]) for each in self.answering)


@dataclass(frozen=True, slots=True)
class Load:
    """Requests a second, CPU of the API a request in microseconds, cores that it had, and latency."""

    rate: float
    cpu_us: float
    cores: float
    p95_ms: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=4)
    given = options.parse_args()
    ends_in_order()
    with database() as at, ExitStack() as stack:
        services = [stack.enter_context(running(at, count)) for count in (1, given.workers)]
        ask(services[0], PROPOSE)
        for shape in ("health", "kept", "schema"):
            rounds = [[load(each, shape, given.seconds) for each in services] for _ in range(given.rounds + 1)][1:]
            print(f"{shape}:")
            for number, workers in enumerate((1, given.workers)):
                print(f"  {workers} workers: {shown([each[number] for each in rounds])}")
            ratio = statistics.median(several.rate / one.rate for one, several in rounds)
            dearer = statistics.median(several.cpu_us / one.cpu_us for one, several in rounds)
            print(f"  ratio of requests a second {ratio:.2f}, of CPU a request {dearer:.2f}")
        for workers, each in zip((1, given.workers), services, strict=True):
            memory = [process.memory_info().rss / 1e6 for process in each.answering]
            print(f"memory of {workers} workers: {', '.join(f'{size:.0f}' for size in memory)} MB")


@contextmanager
def running(at: Connection, count: int) -> Generator[Running]:
    """`whence up` with so many workers, on a database that runs."""
    with tempfile.TemporaryDirectory() as home:
        ready = Path(home) / "ready.json"
        own = {name: value for name, value in os.environ.items() if not name.startswith(("NEO4J_", "WHENCE_"))} | {
            "WHENCE_HOME": home,
            "WHENCE_EMBEDDER": "none",
            "WHENCE_LOG": "WARNING",
            "NEO4J_URI": at.uri,
            "NEO4J_USERNAME": at.username,
            "NEO4J_PASSWORD": at.password,
        }
        command = [str(WHENCE), "up", "--port", "0", "--workers", str(count), "--ready-file", str(ready)]
        up = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_SECONDS_MAX
            while not (ready.exists() and ready.stat().st_size):
                if up.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"`whence up --workers {count}` is not up")
                time.sleep(0.2)
            told = json.loads(ready.read_bytes())
            owner = psutil.Process(up.pid)
            workers = [child for child in owner.children() if "api.worker" in child.cmdline()]
            yield Running(told["url"], told["token"] or "none", workers or [owner])
        finally:
            up.terminate()
            up.wait()


def ask(service: Running, query: str) -> Any:
    headers = {"content-type": "application/json", "authorization": f"Bearer {service.token}"}
    body = json.dumps({"query": query}).encode()
    with urlopen(Request(f"{service.url}/graphql", body, headers)) as answer:
        told = json.loads(answer.read())
    assert "errors" not in told, told
    return told["data"]


def load(service: Running, shape: str, seconds: int) -> Load:
    """What one service makes of one thread of callers."""
    path, method, body = ("/healthz", "GET", "nil") if shape == "health" else ("/graphql", "POST", posted(shape))
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_LUA % (method, body, service.token))
        script.flush()
        before, began = service.cpu(), time.monotonic()
        command = [
            "wrk",
            "-t1",
            f"-c{service.connections}",
            f"-d{seconds}s",
            "--latency",
            "-s",
            script.name,
            service.url + path,
        ]
        out = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
        cpu, took = service.cpu() - before, time.monotonic() - began
    made = json.loads(next(line for line in out.splitlines() if line.startswith("LOAD"))[5:])
    assert made["requests"], made
    assert not made["failed"], made
    return Load(made["requests"] / made["seconds"], cpu / made["requests"] * 1e6, cpu / took, made["p95_ms"])


def posted(shape: str) -> str:
    return f"[[{json.dumps({'query': QUERIES[shape]})}]]"


def shown(loads: Sequence[Load]) -> str:
    rate, cpu, cores, p95 = (statistics.median(values) for values in zip(*map(astuple, loads), strict=True))
    return f"{rate:6.0f} a second, {cpu:4.0f} us of CPU each, on {cores:.2f} cores, p95 {p95:.1f} ms"


def astuple(it: Load) -> tuple[float, float, float, float]:
    return it.rate, it.cpu_us, it.cores, it.p95_ms


if __name__ == "__main__":
    main()
