"""Reads over HTTP, against @neo4j/graphql under Apollo and against the bare driver, on one database.

python bench/reads.py make --home FOLDER
python bench/reads.py run --home FOLDER [--queries Q1,Q2,Q3,Q4] [--rounds 5] [--seconds 4]
python bench/reads.py profile --home FOLDER --queries Q3
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import dataset
import psutil
import servers
import uvloop
from connection import ends_in_order
from dataset import Subjects
from platformdirs import user_data_path
from servers import Server
from shapes import SHAPES, Shape, bodies, flat

from api.access import Admission
from api.serving import serve
from api.settings import Settings
from graph.access_tokens import AccessTokens
from graph.embedded import Connection, EmbeddedNeo4j
from graph.exchange import Terms, import_journal
from graph.knowledge import Actor, ActorType
from graph.service import Service
from graph.store import Store

ACTOR = Actor("bench", "reads", ActorType.SYSTEM)
NAMES = ("peer", "bare", "once", "whence")
CLIENTS = 8
COMPARED = 10  # questions a shape that all servers must answer alike
WARM_REQUESTS = 2_500  # Node's first thousand cost two to three times as much as later ones
WARM_SECONDS = 3
WARM_PASSES_MAX = {
    "peer": 30,
    "bare": 3,
    "once": 3,
    "whence": 3,
}  # Python has nothing to warm but its connections and caches
BARE_RATIO_MIN = 0.95
PROFILE_LINES = 40


@dataclass(frozen=True, slots=True)
class Load:
    """What eight clients made of one server in one round; times are CPU per request in microseconds."""

    rate: float
    p50_ms: float
    p95_ms: float
    server_us: float
    database_us: float
    failed: int
    kilobytes: float


def make(home: Path) -> None:
    """Have the graph in a home of Whence; what is there already is not taken again."""
    home.mkdir(parents=True, exist_ok=True)
    jars = user_data_path("whence", appauthor=False) / "cache"
    if jars.is_dir() and not (home / "cache").exists():
        (home / "cache").symlink_to(jars)  # this user's jars are fetched once
    graphs = dataset.graphs()
    with EmbeddedNeo4j(home) as server:
        assert server.connection is not None, "a server that was started is connected"
        asyncio.run(_fill(server.connection, graphs))
    dataset.subjects(graphs).write(_subjects(home))


def _subjects(home: Path) -> Path:
    return home / "subjects.json"


async def _fill(database: Connection, graphs: dict[str, dataset.Rests]) -> None:
    total = sum(len(rests) for rests in graphs.values()) * dataset.EVENTS
    began = time.monotonic()

    def progress(_phase: str, done: int) -> None:
        print(f"\r{done:,} of {total:,} events, {done / (time.monotonic() - began):.0f} a second", end="", flush=True)

    async with Store.open(database.uri, database.username, database.password) as store:
        terms = Terms("reads", ACTOR, keep_going=True)  # no trial first: these lines are known to be good
        report = await import_journal(store, lambda: dataset.journal(graphs), terms, progress)
        assert report.refused == 0, report.refusals[:3]
        assert report.taken + report.repeated == total, report
        await store.driver.execute_query("CALL db.resampleOutdatedIndexes()")
    print()


def run(home: Path, shapes: Sequence[Shape], names: Sequence[str], rounds: int, seconds: int, url: str | None) -> None:
    """Start the servers, see that they agree, and print a table a shape."""
    subjects = Subjects.read(_subjects(home))
    with ExitStack() as stack:
        ours, database = stack.enter_context(servers.whence(home, url))
        assert database.pid is not None, "an embedded server has a process"
        up = {"whence": lambda: ours, "once": lambda: replace(ours, name="once")}
        up["peer"] = lambda: stack.enter_context(servers.peer(home, database))
        up["bare"] = lambda: stack.enter_context(servers.bare(database))
        measured = [up[name]() for name in names]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = _Bench(measured, psutil.Process(database.pid), subjects, folder)
        for shape in shapes:
            bench.compare(shape)
            bench.warm(shape)
            _print(shape, names, bench.rounds(shape, rounds, seconds))


class _Bench:
    """Servers under load on one database."""

    def __init__(self, measured: Sequence[Server], database: psutil.Process, subjects: Subjects, folder: Path) -> None:
        self._servers = measured
        self._database = database
        self._subjects = subjects
        self._folder = folder

    def compare(self, shape: Shape) -> None:
        """End the run where two servers answer a question differently."""
        asked = {server.name: bodies(shape, server.name, self._subjects)[:COMPARED] for server in self._servers}
        for at in range(COMPARED):
            answers = {
                server.name: flat(shape, server.name, servers.ask(server.at(shape.name), asked[server.name][at]))
                for server in self._servers
            }
            first, *others = answers
            for other in others:
                if answers[other] != answers[first]:
                    told = "\n".join(f"{name}: {json.dumps(answers[name])[:2000]}" for name in (first, other))
                    raise SystemExit(f"{shape.name}: {first} and {other} differ on {asked[first][at]}\n{told}")

    def warm(self, shape: Shape) -> None:
        """Load each server until it is as fast as it gets."""
        for server in self._servers:
            done = 0.0
            for _ in range(WARM_PASSES_MAX[server.name]):
                if done >= WARM_REQUESTS:
                    break
                done += self._load(server, shape, WARM_SECONDS).rate * WARM_SECONDS

    def rounds(self, shape: Shape, rounds: int, seconds: int) -> dict[str, list[Load]]:
        """Load the servers in turn, in another order each round; by server, a load a round."""
        loads: dict[str, list[Load]] = {server.name: [] for server in self._servers}
        for at in range(rounds):
            for server in random.Random(at).sample(self._servers, len(self._servers)):
                loads[server.name].append(self._load(server, shape, seconds))
        return loads

    def _load(self, server: Server, shape: Shape, seconds: int) -> Load:
        file = self._folder / f"{server.name}-{shape.name}"
        if not file.exists():
            file.write_text("\n".join(bodies(shape, server.name, self._subjects)) + "\n", "utf-8")
        before = _cpu_seconds(server.process), _cpu_seconds(self._database)
        output = subprocess.run(
            _wrk(server.at(shape.name), file, seconds, once=server.name == "once"),
            capture_output=True,
            text=True,
            check=True,
        )
        after = _cpu_seconds(server.process), _cpu_seconds(self._database)
        told = json.loads(next(line for line in output.stdout.splitlines() if line.startswith("LOAD "))[5:])
        requests = max(1, told["requests"])
        spent = [(late - early) / requests * 1e6 for early, late in zip(before, after, strict=True)]
        return Load(
            rate=told["requests"] / told["seconds"],
            p50_ms=told["p50_ms"],
            p95_ms=told["p95_ms"],
            server_us=spent[0],
            database_us=spent[1],
            failed=told["failed"],
            kilobytes=told["bytes"] / requests / 1024,
        )


def _wrk(url: str, file: Path, seconds: int, *, once: bool = False) -> list[str]:
    """The load program; with ``once`` no body comes twice, so that nothing that was answered is of use again."""
    script = str(Path(__file__).with_name("load.lua"))
    own = ["-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--timeout", "30s"]
    return ["wrk", *own, "-s", script, url, "--", str(file), *(["once"] if once else [])]


def _cpu_seconds(process: psutil.Process | None) -> float:
    if process is None:
        return float("nan")
    times = process.cpu_times()
    return times.user + times.system


def _print(shape: Shape, names: Sequence[str], loads: dict[str, list[Load]]) -> None:
    print(
        f"\n{shape.name} {shape.title}, {CLIENTS} clients; "
        f"wanted: {shape.peer_ratio_min} of peer, {BARE_RATIO_MIN} of bare"
    )
    heads = ("req/s", "of peer", "of bare", "p50 ms", "p95 ms", "server us", "db us", "cpu/peer", "failed", "KB")
    print(f"{'':8}" + "".join(f"{head:>11}" for head in heads))
    for name in names:
        mine = loads[name]
        cells = [
            f"{statistics.median(load.rate for load in mine):.0f}",
            *(_ratio(mine, loads.get(base)) for base in ("peer", "bare")),
            f"{statistics.median(load.p50_ms for load in mine):.1f}",
            f"{statistics.median(load.p95_ms for load in mine):.1f}",
            f"{statistics.median(load.server_us for load in mine):.0f}",
            f"{statistics.median(load.database_us for load in mine):.0f}",
            _cpu_ratio(mine, loads.get("peer")),
            f"{sum(load.failed for load in mine)}",
            f"{statistics.median(load.kilobytes for load in mine):.1f}",
        ]
        print(f"{name:8}" + "".join(f"{cell:>11}" for cell in cells), flush=True)


def _ratio(mine: Sequence[Load], base: Sequence[Load] | None) -> str:
    """The median of the ratios within a round: the machine's load differs between rounds more than within one."""
    if base is None:
        return "-"
    return f"{statistics.median(a.rate / b.rate for a, b in zip(mine, base, strict=True)):.2f}"


def _cpu_ratio(mine: Sequence[Load], base: Sequence[Load] | None) -> str:
    """CPU a request, the server's and the database's, as a part of the peer's."""
    if base is None:
        return "-"
    spent, theirs = (statistics.median(load.server_us + load.database_us for load in each) for each in (mine, base))
    return f"{spent / theirs:.2f}"


def profile(home: Path, shape: Shape, seconds: int, url: str | None) -> None:
    """Print where Whence's process spends its time while one shape is asked."""
    subjects = Subjects.read(_subjects(home))
    with servers.whence(home, url) as (_, database), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bodies"
        file.write_text("\n".join(bodies(shape, "whence", subjects)) + "\n", "utf-8")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_profiled(database, Settings(home=home), file, seconds))


async def _profiled(database: Connection, settings: Settings, file: Path, seconds: int) -> None:
    """Serve in this process beside the one in the home, which is left idle."""
    async with Store.open(database.uri, database.username, database.password) as store:
        reached: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve(
                Service(store),
                settings,
                Admission(AccessTokens(store)),
                ready=lambda host, port: reached.set_result(f"http://{host}:{port}/graphql"),
            )
        )
        command = _wrk(await reached, file, seconds)
        await _finished(command)
        watch = cProfile.Profile(time.thread_time)  # CPU, whatever else the machine does
        watch.enable()
        await _finished(command)
        watch.disable()
        serving.cancel()
        await asyncio.wait([serving])
    pstats.Stats(watch).sort_stats("tottime").print_stats(PROFILE_LINES)


async def _finished(command: Sequence[str]) -> None:
    program = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
    assert await program.wait() == 0, command


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    does = parser.add_subparsers(dest="does", required=True)
    parts = {name: does.add_parser(name) for name in ("make", "run", "profile")}
    for part in parts.values():
        part.add_argument("--home", type=Path, required=True, help="a folder that WHENCE_HOME can name")
    for name in ("run", "profile"):
        parts[name].add_argument("--queries", default="Q1,Q2,Q3,Q4", help="which shapes; profile takes the first")
        parts[name].add_argument("--seconds", type=int, default=4, help="of one load")
        parts[name].add_argument("--url", help="GraphQL address of a Whence that runs on this home already")
    parts["run"].add_argument("--rounds", type=int, default=5)
    parts["run"].add_argument("--servers", default=",".join(NAMES), help="which are loaded")
    return parser.parse_args()


def main() -> None:
    """Do what the command line says."""
    ends_in_order()
    given = _arguments()
    home: Path = given.home.absolute()
    if given.does == "make":
        make(home)
        return
    shapes = [shape for shape in SHAPES if shape.name in given.queries.split(",")]
    if given.does == "profile":
        profile(home, shapes[0], given.seconds, given.url)
        return
    names = [name for name in NAMES if name in given.servers.split(",")]
    print(f"load before the run: {os.getloadavg()[0]:.1f}")
    run(home, shapes, names, given.rounds, given.seconds, given.url)


if __name__ == "__main__":
    main()
