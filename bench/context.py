"""What a context block costs over HTTP in a large project, against the two index look-ups that it cannot do without.

Nodes are short texts of words as common as those of a language, each resting on an earlier one, with a vector each that
is the sum of its words' own directions: the model's own time is in neither side. Goals are of three to six words and
none comes twice. The service runs in a process of its own; the look-ups are asked one after the other by the plain
driver, for as many as the service asks. On a busy machine whoever takes more turns waits longer, so the CPU of both
sides is told as well: of the service, or of this process with its driver, and of the database. Hits are those of every
statement of a block, in the small project and in the large one.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import graphs
import httpx
import numpy as np
import psutil
from connection import database
from hits import Profiled

from api.access import Everyone
from api.serving import serve
from api.settings import ANONYMOUS, Settings
from graph.context import Format, block, items_for
from graph.embedded import Connection
from graph.embedding.embedder import Vector
from graph.embedding.filler import Filler
from graph.embedding.profile import Profile
from graph.embedding.representations import Representations
from graph.embedding.semantic import Semantic
from graph.retrieval import HITS_MIN, Asked, Retrieval
from graph.service import Service
from graph.store import Store
from graph.words import query, words

WORDS, SYLLABLES = 5_000, ("ka", "lo", "mi", "ren", "su", "tav", "or", "ni", "bel", "du", "fa", "gos")
TEXT_WORDS = 14
BUDGET = 1_200
LOOK_UPS = max(HITS_MIN, 2 * items_for(BUDGET))  # hits, and neighbours, that the service asks for at first
GOALS = 60
PROFILE = Profile("sums", 384, hashlib.sha256(b"sums").hexdigest(), admission=0.3)
BY_WORDS: LiteralString = """
CALL db.index.fulltext.queryNodes('knowledge_texts', $words, {limit: $limit}) YIELD node, score
RETURN node.key AS key, score"""
BY_MEANING: LiteralString = """
CALL db.index.vector.queryNodes($index, $limit, $vector) YIELD node, score
RETURN node.key AS key, score"""
INDEX: LiteralString = """
MATCH (f:Filling {project: $project, model: $model}) RETURN coalesce(f.index, $model) AS name"""


SETTLED: tuple[LiteralString, ...] = (
    "CALL db.awaitIndexes(300)",
    "CALL db.resampleOutdatedIndexes()",
    "CALL db.clearQueryCaches()",
)


class Sums:
    """Texts as sums of their words' directions; ``Embedder`` by its form."""

    profile = PROFILE

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    async def passages(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        """The vectors of texts; the deadline is never near."""
        del seconds
        return [self.vector(text) for text in texts]

    async def query(self, text: str, seconds: float) -> Vector:
        """The vector of a text."""
        return (await self.passages([text], seconds))[0]

    async def close(self) -> None:
        """Nothing is held."""

    def vector(self, text: str) -> Vector:
        """Of length 1."""
        total = sum((self._direction(word) for word in text.lower().split()), np.zeros(PROFILE.dimensions))
        return (total / (np.linalg.norm(total) or 1.0)).tolist()

    def _direction(self, word: str) -> Any:
        if word not in self._known:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4])
            self._known[word] = np.random.default_rng(seed).standard_normal(PROFILE.dimensions)
        return self._known[word]


def vocabulary() -> list[str]:
    """Words that nobody speaks, the most common first."""
    draw = random.Random(1)
    return list(dict.fromkeys("".join(draw.choices(SYLLABLES, k=draw.randint(2, 4))) for _ in range(2 * WORDS)))[:WORDS]


def proposals(nodes: int) -> Iterator[dict[str, Any]]:
    """A journal line a node: a text, its evidence, and what it rests on."""
    draw, known = random.Random(2), vocabulary()
    weights = [1 / (at + 10) for at in range(len(known))]
    for at in range(nodes):
        text = " ".join(draw.choices(known, weights, k=TEXT_WORDS))
        payload: dict[str, Any] = {
            "proposition": f"{text.capitalize()} {at}.",
            "evidence": [{"key": f"e-{at}", "type": "log", "source": f"https://example.org/{at}"}],
        }
        if at % 50:
            payload["relations"] = [
                {"relation": "depends_on", "to": graphs.key(at - 1 - draw.randrange(min(at % 50, 5)))}
            ]
        yield {"event_id": f"p{at}", "transition": "proposed", "key": graphs.key(at), "payload": payload}


def goals(count: int, seed: int) -> list[str]:
    """Questions of words that are neither the most common nor all rare."""
    draw, known = random.Random(seed), vocabulary()[50:2_000]
    return [" ".join(draw.sample(known, draw.randint(3, 6))) for _ in range(count)]


async def filled(store: Store, project: str, nodes: int) -> float:
    """A project of so many nodes with their vectors; nodes a second that were given theirs."""
    await graphs.fill(store, project, proposals(nodes))
    began = time.perf_counter()
    await Filler(store, Sums()).fill(project)
    took = time.perf_counter() - began
    for text in SETTLED:
        await store.driver.execute_query(text, database_=store.database)
    return nodes / took


async def hits(store: Store, project: str) -> list[int]:
    """Database hits of each of some blocks."""
    profiled = Profiled(store.driver, store.database)
    service = Service(profiled)
    retrieval = Retrieval(service, Semantic(Sums(), Representations(profiled, PROFILE)))
    found: list[int] = []
    for goal in goals(20, 3):
        await block(retrieval, Asked(project, goal), BUDGET, Format.PROMPT)  # so that its plans are there
        profiled.hits = 0
        await block(retrieval, Asked(project, goal), BUDGET, Format.PROMPT)
        found.append(profiled.hits)
    return found


async def looked_up(store: Store, project: str, index: str, goal: str, embedder: Sums) -> float:
    """Seconds of the two look-ups by the plain driver."""
    asked = {"words": query(words(goal), project), "limit": LOOK_UPS}
    near = {"index": index, "vector": embedder.vector(goal), "limit": LOOK_UPS}
    began = time.perf_counter()
    await store.driver.execute_query(BY_WORDS, asked, database_=store.database)
    await store.driver.execute_query(BY_MEANING, near, database_=store.database)
    return time.perf_counter() - began


async def answered(client: httpx.AsyncClient, project: str, goal: str) -> float:
    """Seconds of a block over HTTP."""
    began = time.perf_counter()
    answer = await client.post("/context", json={"project": project, "goal": goal, "budget": BUDGET})
    took = time.perf_counter() - began
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.headers["whence-embedder"] == PROFILE.name
    return took


@dataclass(slots=True)
class Spent:
    """What some answers took: seconds each by the clock, and seconds of CPU of processes in all."""

    processes: Sequence[psutil.Process]
    seconds: list[float] = field(default_factory=list[float])
    cpu: float = 0.0

    async def of(self, answering: Awaitable[float]) -> None:
        """Count one in."""
        before = self._so_far()
        self.seconds.append(await answering)
        self.cpu += self._so_far() - before

    def _so_far(self) -> float:
        times = [process.cpu_times() for process in self.processes]
        return sum(each.user + each.system for each in times)


@asynccontextmanager
async def serving(connection: Connection) -> AsyncGenerator[tuple[str, int]]:
    """The address of the service and its process, which is one of its own."""
    login = (connection.uri, connection.username, connection.password)
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "serve", *login, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield (await process.stdout.readline()).decode().strip(), process.pid
    finally:
        process.terminate()
        await process.wait()


async def serve_alone(uri: str, username: str, password: str) -> None:
    """Serve until terminated, and say where."""
    async with Store.open(uri, username, password) as store:
        semantic = Semantic(Sums(), Representations(store, PROFILE))
        settings = Settings(home=Path("/nowhere"))

        def ready(host: str, port: int) -> None:
            print(f"http://{host}:{port}", flush=True)

        await serve(Service(store), settings, Everyone(ANONYMOUS), semantic=semantic, ready=ready)


async def compared(connection: Connection, store: Store, project: str) -> tuple[Spent, Spent]:
    """What blocks took and what look-ups did, by turns; a first part of them warms both and is not counted."""
    record = await store.driver.execute_query(
        INDEX, {"project": project, "model": PROFILE.model}, database_=store.database
    )
    index, embedder = record.records[0]["name"], Sums()
    server = [psutil.Process(connection.pid)] if connection.pid else []
    async with serving(connection) as (base, served), httpx.AsyncClient(base_url=base, timeout=60) as client:
        asked = goals(2 * GOALS, 4)
        for goal in asked[:GOALS]:
            await looked_up(store, project, index, goal, embedder)
            await answered(client, project, goal)
        blocks, looks = Spent([psutil.Process(served), *server]), Spent([psutil.Process(), *server])
        for goal in asked[GOALS:]:
            await looks.of(looked_up(store, project, index, goal, embedder))
            await blocks.of(answered(client, project, goal))
    return blocks, looks


async def main(small: int, large: int) -> None:
    """Print what a block costs in the large project, and its hits in both."""
    with database() as connection:
        async with Store.open(connection.uri, connection.username, connection.password) as store:
            found: dict[int, list[int]] = {}
            for nodes in (small, large):
                rate = await filled(store, f"of-{nodes}", nodes)
                print(f"{nodes:,} nodes; vectors written at {rate:.0f} a second", flush=True)
                found[nodes] = await hits(store, f"of-{nodes}")
            blocks, looks = await compared(connection, store, f"of-{large}")
    few, many = (statistics.median(found[nodes]) for nodes in (small, large))
    ratio = statistics.median(one / other for one, other in zip(blocks.seconds, looks.seconds, strict=True))
    print(f"hits of a block, median of 20: {few:,.0f} at {small:,}, {many:,.0f} at {large:,}: {many / few:.2f}")
    print(
        f"a block over HTTP {1e3 * statistics.median(blocks.seconds):.1f} ms, the look-ups alone "
        f"{1e3 * statistics.median(looks.seconds):.1f} ms: {ratio:.2f} times; of CPU "
        f"{1e3 * blocks.cpu / GOALS:.1f} and {1e3 * looks.cpu / GOALS:.1f} ms: {blocks.cpu / looks.cpu:.2f} times"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("serve", nargs="*", help=argparse.SUPPRESS)
    arguments.add_argument("--small", type=int, default=10_000)
    arguments.add_argument("--large", type=int, default=100_000)
    options = arguments.parse_args()
    asyncio.run(serve_alone(*options.serve[1:]) if options.serve else main(options.small, options.large))
