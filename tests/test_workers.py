"""Several processes on one port: whichever is asked answers as one service would, and none is missed when it dies."""

# pyright: strict

from __future__ import annotations

import asyncio
import hashlib
import re
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from hashed import REFUSED, HashEmbedder
from served import Served, served

from api.channel import Channel, OwnersEmbedder
from api.workers import embed, listening
from graph.embedded import Connection
from graph.embedding.embedder import Embedder, Vector
from graph.errors import KnowledgeError, UnavailableError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is one process alone")
WORKERS = 2
PROPOSE = """mutation ($project: String!, $key: String!) {
  propose(project: $project, key: $key, proposition: "x") { applied event { seq } }
}"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def running(neo4j: Connection, home: Path) -> Iterator[Served]:
    with served(neo4j, home, "--workers", str(WORKERS)) as it:
        yield it


def fresh(running: Served) -> httpx.Client:
    """A caller with a connection of its own, so that any worker may get it."""
    return httpx.Client(base_url=running.url, headers=running.client.headers, timeout=60)


def workers_of(running: Served) -> list[psutil.Process]:
    return [child for child in running.process.children() if "api.worker" in child.cmdline()]


def ask(client: httpx.Client, query: str, **variables: Any) -> Any:
    return client.post("/graphql", json={"query": query, "variables": variables}).json()


def everywhere(running: Served, ask_one: Callable[[httpx.Client], Any], times: int = 12) -> list[Any]:
    """What so many callers are told, one after the other; any worker may be asked."""
    found: list[Any] = []
    for _ in range(times):
        with fresh(running) as client:
            found.append(ask_one(client))
    return found


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true within {seconds:.0f} s"
        time.sleep(0.05)


def test_connections_are_shared_out_and_the_log_says_to_whom(running: Served, home: Path) -> None:
    def named(number: int) -> Callable[[httpx.Client], int]:
        return lambda client: client.get("/healthz", headers={"x-request-id": f"share-{number}"}).status_code

    for number in range(40):
        assert everywhere(running, named(number), 1) == [200]
    shares = Counter(re.findall(r"worker=(\d+) request=share-\d+ ", (home / "log").read_text("utf-8")))
    assert set(shares) == {"1", "2"}
    assert sum(shares.values()) == 40
    assert min(shares.values()) >= 8


def test_metrics_are_those_of_all_workers_whichever_is_asked(running: Served) -> None:
    everywhere(running, lambda client: client.get("/healthz").status_code)

    def counted(client: httpx.Client) -> str:
        found = re.search(
            r'^whence_request_seconds_count\{.*"/healthz".*\} (\S+)$', client.get("/metrics").text, re.MULTILINE
        )
        assert found
        return found[1]

    assert len(set(everywhere(running, counted))) == 1
    assert float(everywhere(running, counted, 1)[0]) >= 12


def test_what_one_worker_sets_the_others_go_by_at_once(running: Served) -> None:
    ask(running.client, PROPOSE, project="aged", key="a")
    stale = '{ knowledge(project: "aged", key: "a") { stale } }'
    assert {str(each) for each in everywhere(running, lambda client: ask(client, stale)["data"])} == {
        "{'knowledge': {'stale': False}}"
    }
    time.sleep(1.1)
    ask(running.client, 'mutation { setAgingTime(project: "aged", aging: "PT1S") }')
    began = time.monotonic()
    until(lambda: all(each["data"]["knowledge"]["stale"] for each in everywhere(running, lambda c: ask(c, stale))), 4.0)
    assert time.monotonic() - began < 4.0, "what is kept of a setting lasts for five seconds"


def test_a_query_that_one_worker_knows_by_its_hash_is_answered_or_asked_for_by_the_others(running: Served) -> None:
    query = "query Known { projects }"
    named = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(query.encode()).hexdigest()}}
    running.client.post("/graphql", json={"query": query, "extensions": named})

    def by_hash(client: httpx.Client) -> str:
        told = client.post("/graphql", json={"extensions": named}).json()
        if "data" in told:
            return "known"
        again = client.post("/graphql", json={"query": query, "extensions": named}).json()
        assert "data" in again
        return told["errors"][0]["message"]

    assert set(everywhere(running, by_hash, 20)) <= {"known", "PersistedQueryNotFound"}
    assert set(everywhere(running, by_hash, 6)) == {"known"}


def test_writers_at_several_workers_share_one_journal_without_gaps(running: Served) -> None:
    def write(caller: int) -> list[int]:
        with fresh(running) as client:
            return [
                ask(client, PROPOSE, project="shared", key=f"k-{caller}-{at}")["data"]["propose"]["event"]["seq"]
                for at in range(5)
            ]

    with ThreadPoolExecutor(8) as callers:
        found = sorted(seq for seqs in callers.map(write, range(8)) for seq in seqs)
    assert found == list(range(1, 41))


def test_a_worker_that_dies_is_begun_anew_and_nobody_is_turned_away(running: Served, home: Path) -> None:
    before = {worker.pid for worker in workers_of(running)}
    assert len(before) == WORKERS
    victim = workers_of(running)[0]
    victim.kill()
    assert set(everywhere(running, lambda client: client.get("/readyz").status_code, 16)) == {200}
    until(lambda: len(workers_of(running)) == WORKERS)
    after = {worker.pid for worker in workers_of(running)}
    assert victim.pid not in after
    assert len(after & before) == WORKERS - 1
    assert f"(process {victim.pid}) ended with code -9" in (home / "log").read_text("utf-8")
    with fresh(running) as client:
        assert "whence_request_seconds_count" in client.get("/metrics").text


def test_all_end_in_order_with_what_they_took_answered(neo4j: Connection, tmp_path: Path) -> None:
    answers: Counter[str] = Counter()

    def call(caller: int) -> None:
        for at in range(100_000):
            with fresh(it) as client:
                try:
                    told = ask(client, PROPOSE, project="ended", key=f"k-{caller}-{at}")
                except httpx.ConnectError:
                    return
                except httpx.TransportError:  # it had waited in a line that nobody looks at any more
                    answers["unanswered"] += 1
                    return
            answers["taken" if "data" in told else told["errors"][0]["extensions"]["code"]] += 1

    with served(neo4j, tmp_path, "--workers", str(WORKERS)) as it, ThreadPoolExecutor(6) as callers:
        children = workers_of(it)
        calls = [callers.submit(call, number) for number in range(6)]
        until(lambda: answers["taken"] >= 20)
        it.process.send_signal(signal.SIGTERM)
        assert it.process.wait(60) == 0
        for each in calls:
            each.result()
    assert set(answers) <= {"taken", "unanswered", "UNAVAILABLE"}
    assert answers["unanswered"] <= 6
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)


def test_workers_end_when_their_owner_is_gone(neo4j: Connection, tmp_path: Path) -> None:
    with served(neo4j, tmp_path, "--workers", str(WORKERS)) as it:
        children = workers_of(it)
        assert len(children) == WORKERS
        it.process.kill()
        until(lambda: not any(child.is_running() for child in children))


def test_a_port_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(UnavailableError) as caught:
        listening("127.0.0.1", other.getsockname()[1], 2)
    assert caught.value.field == "--port"


# --- The owner's model ---


async def shared(owner: Embedder, work: Callable[[OwnersEmbedder], Any]) -> Any:
    """What a worker does with a model that its owner has."""
    ends = socket.socketpair()
    above, below = await Channel.over(ends[0]), await Channel.over(ends[1])
    asking = OwnersEmbedder(owner.profile, below)

    async def answer() -> None:
        answering: set[asyncio.Task[None]] = set()
        while (message := await above.hear()) is not None:
            answering.add(asyncio.create_task(embed(owner, above, message)))
        for task in answering:
            task.cancel()

    async def hear() -> None:
        while (message := await below.hear()) is not None:
            asking.answered(message)

    tasks = [asyncio.create_task(answer()), asyncio.create_task(hear())]
    try:
        return await work(asking)
    finally:
        below.close()
        above.close()
        await asyncio.wait(tasks)


def test_workers_get_the_vectors_of_the_owners_model(loop: asyncio.Runner) -> None:
    owner = HashEmbedder()

    async def work(asking: OwnersEmbedder) -> tuple[list[Vector], list[Vector]]:
        together = await asyncio.gather(
            asking.passages(["one", "two"], 5.0), asking.query("three", 5.0), asking.passages(["x" * 100_000], 5.0)
        )
        return together[0], [together[1], *together[2]]

    passages, rest = loop.run(shared(owner, work))
    assert passages == loop.run(owner.passages(["one", "two"], 5.0))
    assert rest == [loop.run(owner.query("three", 5.0)), *loop.run(owner.passages(["x" * 100_000], 5.0))]


@pytest.mark.parametrize(("text", "pause", "code"), [(REFUSED, 0.0, "VALIDATION"), ("slow", 60.0, "UNAVAILABLE")])
def test_what_the_owners_model_refuses_is_refused_alike(
    text: str, pause: float, code: str, loop: asyncio.Runner
) -> None:
    owner = HashEmbedder()

    async def work(asking: OwnersEmbedder) -> KnowledgeError:
        owner.pause = pause
        with pytest.raises(KnowledgeError) as caught:
            await asking.passages([text], 0.2)
        owner.pause = 0.0
        assert len(await asking.passages(["another"], 5.0)) == 1
        return caught.value

    error = loop.run(shared(owner, work))
    assert error.code == code
    assert error.allowed
