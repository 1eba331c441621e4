"""What happens to the service when its own Neo4j dies, runs out of memory or of disk, hangs or is not its own."""

# pyright: strict

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psutil
import pytest
from conftest import cache
from neo4j import GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError
from strategies import said

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph.embedded import TEST, Connection, EmbeddedNeo4j, Incident, Profile
from graph.embedded import running as found
from graph.embedded.profile import Ports
from graph.embedded.room import floor_bytes, require_room_for_appends, require_room_for_start, start_bytes
from graph.errors import InDoubtError, KnowledgeError, UnavailableError
from graph.readiness import Readiness
from graph.service import Service
from graph.store import Store

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and mounts")
GREEDY: LiteralString = "UNWIND range(1, 100000000) AS number WITH collect(number) AS numbers RETURN size(numbers)"
# A text is not counted as memory of its transaction, so no bound stands before the end of the heap.
HUGE: LiteralString = "RETURN size(reduce(text = 'x', turn IN range(1, 30) | text + text)) AS size"
DISK_BYTES = 400 * 1024 * 1024
BACK_SECONDS_MAX = 120.0  # a restart on a busy machine

# As a server for work, on files that are small enough for a small disk.
WORK = replace(
    TEST,
    name="work",
    auth=True,
    durable=True,
    settings=(("db.tx_log.rotation.size", "16M"), ("db.tx_log.preallocate", "true")),
)


@dataclass
class Running:
    """A server of its own, and what it had to tell."""

    home: Path
    server: EmbeddedNeo4j
    incidents: list[Incident] = field(default_factory=list[Incident])

    @property
    def connection(self) -> Connection:
        assert self.server.connection is not None
        return self.server.connection

    @property
    def kinds(self) -> list[str]:
        return [incident.kind for incident in self.incidents]

    def ask(self, query: LiteralString) -> object:
        """The first value of its answer; asked once, whatever comes of it."""
        at = self.connection
        with (
            GraphDatabase.driver(at.uri, auth=(at.username, at.password)) as driver,  # pyright: ignore[reportUnknownMemberType]
            driver.session(database=at.database) as session,  # pyright: ignore[reportUnknownMemberType]
        ):
            return session.run(query).single(strict=True).value()


@contextmanager
def running(home: Path, profile: Profile) -> Generator[Running]:
    incidents: list[Incident] = []
    with EmbeddedNeo4j(home, profile, cache=cache(), on_incident=incidents.append) as server:
        yield Running(home, server, incidents)


def until(true: Callable[[], bool], seconds: float = BACK_SECONDS_MAX) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true within {seconds:.0f} s"
        time.sleep(0.05)


# --- Memory -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server whose transactions are bounded, as in every profile."""
    with running(tmp_path_factory.mktemp("bounded"), WORK) as it:
        yield it


def test_one_query_cannot_take_the_memory_of_all(bounded: Running) -> None:
    pid = bounded.connection.pid
    with pytest.raises(Neo4jError, match="MemoryPoolOutOfMemory"):
        bounded.ask(GREEDY)
    assert bounded.ask("SHOW SETTINGS YIELD name, value WHERE name = 'db.transaction.timeout' RETURN value") == "2m"
    assert bounded.ask("RETURN 1") == 1
    assert bounded.connection.pid == pid
    assert bounded.incidents == []


def test_a_server_that_runs_out_of_memory_ends_and_the_service_is_back_by_itself(
    bounded: Running, loop: asyncio.Runner
) -> None:
    bounded.incidents.clear()

    async def scenario() -> None:
        async with serving(bounded) as (service, client):
            await service.run(said("proposed", "before", "P", proposition="before"))
            with pytest.raises((Neo4jError, DriverError)):
                await asyncio.to_thread(bounded.ask, HUGE)
            until(lambda: "died" in bounded.kinds)
            refusals = await append_until_taken(service, "after")
            assert all(isinstance(each, UnavailableError | InDoubtError) for each in refusals)
            await client.until_ready(wanted=True, seconds=BACK_SECONDS_MAX)
            assert (await service.verify("P"))["ok"]
            assert (await service.knowledge("P", "before")) is not None

    loop.run(scenario())
    assert bounded.incidents[0].detail == "exit code 3", "not ended by a signal"
    assert bounded.kinds == ["died", "restarted"]


async def append_until_taken(service: Service, key: str) -> list[KnowledgeError]:
    """Send one event again and again, with its id; the refusals before it was taken."""
    refusals: list[KnowledgeError] = []
    command = said("proposed", key, "P", proposition=key)
    deadline = time.monotonic() + BACK_SECONDS_MAX
    while True:
        try:
            await service.run(command)
        except KnowledgeError as refusal:
            assert time.monotonic() < deadline, refusal
            refusals.append(refusal)
            await asyncio.sleep(0.2)
        else:
            return refusals


# --- A full disk --------------------------------------------------------------------------------------------


class Client:
    """Asks the API in this process."""

    def __init__(self, service: Service, home: Path) -> None:
        transport = httpx.ASGITransport(create_app(service, Settings(home), Everyone(ANONYMOUS)))
        self._http = httpx.AsyncClient(transport=transport, base_url="http://whence", timeout=60)

    async def ready(self) -> tuple[int, dict[str, Any]]:
        answer = await self._http.get("/readyz")
        return answer.status_code, answer.json()

    async def alive(self) -> bool:
        return (await self._http.get("/healthz")).status_code == 200

    async def until_ready(self, *, wanted: bool, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while True:
            status, told = await self.ready()
            if (status == 200) is wanted:
                return told
            assert time.monotonic() < deadline, told
            await asyncio.sleep(0.1)


@asynccontextmanager
async def serving(it: Running, *, careful: bool = True) -> AsyncGenerator[tuple[Service, Client]]:
    """A service on a server, watched as `whence up` watches it; one that is not careful appends to the last byte."""
    at = it.connection
    login = (at.username, at.password, at.database)
    async with Store.open(at.uri, *login, at.require_room if careful else lambda: None) as store:
        service = Service(store)
        service.readiness = Readiness(store.driver, store.database, at.require_room)
        watching = asyncio.create_task(service.readiness.watch(it.server.restart))
        try:
            yield service, Client(service, it.home)
        finally:
            watching.cancel()
            await asyncio.wait((watching,))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server on a small disk."""
    disk = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False, encoding="utf-8")
    except OSError as failure:
        pytest.skip(f"no mount here: {failure}")
    if mounted.returncode != 0:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        with running(disk, WORK) as it:
            yield it
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@contextmanager
def filled(disk: Path, left: int) -> Generator[None]:
    """All but so many bytes of the disk taken by somebody else."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - left)
    try:
        yield
    finally:
        ballast.unlink()


def large(number: int) -> dict[str, Any]:
    evidence = [{"type": "run", "source": f"run:{number}", "metadata": {"log": f"{number:06d}" * 10_000}}]
    return {"proposition": f"claim {number}", "evidence": evidence}


@pytest.mark.parametrize(
    ("gigabytes", "start", "floor"), [(1, 100, 100), (3, 200, 200), (6, 200, 300), (10, 200, 500), (4000, 200, 500)]
)
def test_the_floor_is_500_mb_or_5_percent_and_never_less_than_a_start_wants(
    gigabytes: int, start: int, floor: int
) -> None:
    total = gigabytes * 1_000_000_000
    assert (start_bytes(total), floor_bytes(total)) == (start * 1_000_000, floor * 1_000_000)


@POSIX
def test_below_the_floor_appends_are_refused_and_reading_goes_on(full: Running, loop: asyncio.Runner) -> None:
    async def scenario() -> None:
        async with serving(full) as (service, client):
            await service.run(said("proposed", "base", "P", proposition="before"))
            await client.until_ready(wanted=True, seconds=BACK_SECONDS_MAX)
            with filled(full.home, floor_bytes(DISK_BYTES) - 1_000_000):
                with pytest.raises(UnavailableError, match="MB free: nothing can be appended") as caught:
                    await service.run(said("proposed", "more", "P", proposition="more"))
                assert caught.value.allowed == f"{floor_bytes(DISK_BYTES) / 1e6:.0f} MB free or more"
                assert (await service.knowledge("P", "base")) is not None
                assert (await service.verify("P"))["ok"]
                told = await client.until_ready(wanted=False, seconds=2)
                assert "MB free" in told["cause"]
                assert await client.alive()
            await service.run(said("proposed", "more", "P", proposition="more"))
            await client.until_ready(wanted=True, seconds=10)

    loop.run(scenario())
    assert full.incidents == []


@POSIX
def test_a_store_that_broke_on_a_full_disk_is_restarted_once_there_is_room(full: Running, loop: asyncio.Runner) -> None:
    acknowledged: dict[str, int] = {}

    async def append(service: Service, number: int) -> KnowledgeError | None:
        began = time.monotonic()
        try:
            taken = await service.run(said("proposed", f"n{number}", "Q", **large(number)))
        except KnowledgeError as refusal:
            assert isinstance(refusal, UnavailableError | InDoubtError), refusal
            return refusal
        finally:
            assert time.monotonic() - began < 40
        acknowledged[f"n{number}"] = taken.seq
        return None

    async def scenario() -> None:
        numbers = itertools.count()
        # Between a look at the disk and the commit somebody else may take what is left: here nobody looks.
        async with serving(full, careful=False) as (service, client):
            for _ in range(20):
                assert await append(service, next(numbers)) is None
            pid = full.connection.pid
            with filled(full.home, 2_000_000):
                while await append(service, next(numbers)) is None:
                    pass
                told = await client.until_ready(wanted=False, seconds=5)
                assert "restarted" in told["cause"]
                assert await client.alive()
                refused = await asyncio.gather(*(append(service, next(numbers)) for _ in range(4)))
                assert None not in refused
                assert full.connection.pid == pid or "died" in full.kinds
            assert await append(service, next(numbers)) is not None
            await client.until_ready(wanted=True, seconds=BACK_SECONDS_MAX)
            assert await append(service, next(numbers)) is None
            assert full.connection.pid != pid
            found = await service.nodes("Q", [(key, 1) for key in acknowledged])
            assert {key for key, _ in found} == acknowledged.keys()
            journal = {e["key"]: e["seq"] for e in (await service.journal("Q", 0, 1_000)).items}
            assert acknowledged.items() <= journal.items()
            assert (await service.verify("Q"))["ok"]

    loop.run(scenario())


# --- Whose server it is -------------------------------------------------------------------------------------


def test_a_server_is_brought_back_only_on_a_port_that_nobody_else_has_taken(bounded: Running) -> None:
    before = bounded.connection
    port = int(before.uri.rpartition(":")[2])
    bounded.incidents.clear()
    psutil.Process(before.pid).kill()
    with taken(port):
        until(lambda: "failed" in bounded.kinds)
        assert bounded.server.connection is None
        assert found(bounded.home) is None, "what listens there is not ours"
    until(lambda: "restarted" in bounded.kinds)
    assert bounded.connection.uri == before.uri
    assert bounded.ask("RETURN 1") == 1


@contextmanager
def taken(port: int) -> Generator[None]:
    """Another program on the port, from the moment on that it is free."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        until(lambda: bound(other, port))
        other.listen()
        yield


def bound(other: socket.socket, port: int) -> bool:
    try:
        other.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


class Open(Profile):
    """A server that takes any password, though one was to be asked for."""

    def conf(self, ports: Ports) -> str:
        return super().conf(ports).replace("auth_enabled=true", "auth_enabled=false")


@pytest.mark.slow
def test_a_server_that_takes_any_password_is_refused(tmp_path: Path) -> None:
    careless = Open(**{each.name: getattr(WORK, each.name) for each in fields(WORK)})
    with pytest.raises(UnavailableError, match="takes any password"), running(tmp_path, careless):
        pass


@pytest.mark.slow
def test_the_store_of_another_home_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with running(tmp_path / name, WORK):
            pass
    one, two = tmp_path / "one" / "neo4j", tmp_path / "two" / "neo4j"
    (one / "data").rename(tmp_path / "aside")
    shutil.copytree(two / "data", one / "data")
    with pytest.raises(UnavailableError, match="refuses the password"), running(tmp_path / "one", WORK):
        pass
    shutil.copy(two / "password", one / "password")
    with pytest.raises(UnavailableError, match="not the one that was there before"), running(tmp_path / "one", WORK):
        pass


def test_a_folder_that_is_gone_has_no_room(tmp_path: Path) -> None:
    for require in (require_room_for_appends, require_room_for_start):
        with pytest.raises(UnavailableError, match="cannot be looked at"):
            require(tmp_path / "gone")
