"""What it costs to have nodes embedded and stored, against what their texts alone cost the model.

The filler embeds nodes on a server that is started for it. Between its pages the model is run bare in this process, on
other texts, one after the other: so whatever else the machine does slows both alike. Throughputs are nodes a second of
CPU, that of all processes together: this one, the model's and the database's. So they say what one core would do.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from dataclasses import dataclass

import psutil
from connection import database
from platformdirs import user_data_path

from graph.commands import read_command
from graph.embedded import Connection
from graph.embedding.filler import Filler
from graph.embedding.local import LocalEmbedder
from graph.embedding.model import Model
from graph.embedding.packaged import packaged_files
from graph.embedding.profile import E5_SMALL
from graph.knowledge import Actor, ActorType
from graph.service import Service
from graph.store import Store

WORDS = [line.strip() for line in str(__doc__).split() if line.isalpha()]
TEXT_WORDS = 30
BATCH = 500
BESIDE = 64  # texts that the model is given bare at each page of the filler's
WARM = 2_000  # nodes until the server has planned and compiled what it does with them
ACTOR = Actor("bench", "embedding", ActorType.SERVICE)


@dataclass(frozen=True, slots=True)
class Cpu:
    """Seconds of CPU so far, of this process, of the model's and of the database's."""

    own: float
    model: float
    server: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--nodes", type=int, default=3_000)
    options.add_argument("--rounds", type=int, default=2)
    given = options.parse_args()
    with database() as connection:
        asyncio.run(measure(connection, given.nodes, given.rounds))


async def measure(connection: Connection, nodes: int, rounds: int) -> None:
    cache = user_data_path("whence", appauthor=False) / "cache"
    model = Model(E5_SMALL, packaged_files(cache))
    embedder = LocalEmbedder(E5_SMALL, None, cache)
    login = (connection.uri, connection.username, connection.password, connection.database)
    async with Store.open(*login) as store:
        service, filler = Service(store), Filler(store, embedder)
        await propose(service, "warm", WARM)
        await filler.fill("warm")
        for number in range(rounds):
            project, beside = f"p{number}", Beside(model, number)
            await propose(service, project, nodes)
            began, before = time.monotonic(), spent(embedder)
            made = await filler.fill(project, beside.page)
            after, seconds = spent(embedder), time.monotonic() - began - beside.seconds
            assert made == nodes
            own, child, server = after.own - before.own, after.model - before.model, after.server - before.server
            own -= beside.cpu
            alone, rate = beside.texts / beside.cpu, nodes / (own + child + server)
            print(
                f"bare {alone:.1f}, filled {rate:.1f} nodes a CPU second: {rate / alone:.2f} of it; "
                f"ms of CPU a node: model {child / nodes * 1e3:.2f}, filler {own / nodes * 1e3:.2f}, "
                f"database {server / nodes * 1e3:.2f}; {nodes / seconds:.0f} nodes a second by the clock"
            )
    await embedder.close()


class Beside:
    """The model run bare between the pages of a filling: on how many texts, and the seconds of CPU and by the clock."""

    def __init__(self, model: Model, seed: int) -> None:
        self.texts, self.cpu, self.seconds = 0, 0.0, 0.0
        self._model, self._seed = model, seed

    def page(self, until: int, _total: int) -> None:
        """Run it once more; called as a filling's progress is."""
        began = time.monotonic()
        self.cpu += bare(self._model, texts(BESIDE, f"bare {self._seed} {until}"))
        self.seconds += time.monotonic() - began
        self.texts += BESIDE


def bare(model: Model, given: list[str]) -> float:
    """Seconds of CPU for some texts, one after the other."""
    prepared = [E5_SMALL.passage_prefix + text for text in given]
    began = time.process_time()
    for text in prepared:
        model.vectors([text])
    return time.process_time() - began


async def propose(service: Service, project: str, nodes: int) -> None:
    made = texts(nodes, project)
    for at in range(0, nodes, BATCH):
        lines = [{"transition": "proposed", "payload": {"proposition": text}} for text in made[at : at + BATCH]]
        await service.run_many([read_command(line, actor=ACTOR, project=project) for line in lines])


def texts(count: int, seed: str) -> list[str]:
    chosen = random.Random(seed)
    return [f"{at} " + " ".join(chosen.choices(WORDS, k=TEXT_WORDS)) for at in range(count)]


def spent(embedder: LocalEmbedder) -> Cpu:
    this = psutil.Process()
    server = [each for each in this.children() if "java" in each.name()]
    return Cpu(
        cpu(this), 0.0 if embedder.process is None else cpu(psutil.Process(embedder.process)), sum(map(cpu, server))
    )


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


if __name__ == "__main__":
    main()
