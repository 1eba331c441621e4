"""What it costs to learn from the turns of conversations without a model endpoint, against embedding the same turns.

The model is run bare in this process, one turn after the other, as in `embedding.py`. Then the same turns are ingested
on a server that is started for it, in files of so many turns as `whence ingest` takes them: taken apart, judged,
compared by meaning with what is known, and written. Costs are seconds of CPU of all processes together: this one, the
model's and the database's, and beside them time by the clock. The turns are made up, and each states two facts; with
`--data`, what people said in the conversations that `recall.py` reads, who state less.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from dataclasses import dataclass
from pathlib import Path

from connection import database
from embedding import ACTOR, bare, spent
from platformdirs import user_data_path
from recall import read

from graph.embedded import Connection
from graph.embedding.local import LocalEmbedder
from graph.embedding.model import Model
from graph.embedding.packaged import packaged_files
from graph.embedding.profile import E5_SMALL
from graph.ingestion.choice import chosen
from graph.ingestion.parts import parts
from graph.ingestion.pipeline import Given, Ingestion
from graph.service import Service
from graph.store import Store

WARM = 400
THINGS = ("depot", "ferry", "crane", "harbour", "parcel", "island", "driver", "invoice", "carrier", "pier")
DOING = ("opens at", "waits for", "is kept in", "depends on", "was moved to", "is painted by", "closes before")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--turns", type=int, default=1_000)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--together", type=int, default=20, help="turns of one file")
    options.add_argument("--warm", type=int, default=WARM, help="turns until the server has planned what it does")
    options.add_argument("--data", type=Path, help="folder of conversations")
    given = options.parse_args()
    spoken = turns if given.data is None else Conversations.read(given.data).turns
    warm, *rounds = [spoken(given.turns if at else given.warm, at) for at in range(given.rounds + 1)]
    with database() as connection:
        asyncio.run(measure(connection, warm, rounds, given.together))


async def measure(connection: Connection, warm: list[str], rounds: list[list[str]], together: int) -> None:
    """Print what the turns cost, and the ratio, each round in a project of its own."""
    cache = user_data_path("whence", appauthor=False) / "cache"
    model, embedder = Model(E5_SMALL, packaged_files(cache)), LocalEmbedder(E5_SMALL, None, cache)
    login = (connection.uri, connection.username, connection.password, connection.database)
    async with Store.open(*login) as store:
        service = Service(store)
        ingestion = Ingestion(service, chosen(service, embedder))
        for number, said in enumerate([warm, *rounds]):
            began = time.perf_counter()
            alone = bare(model, said)
            before, begun = spent(embedder), time.perf_counter()
            accepted = 0
            for at in range(0, len(said), together):
                for part in parts(f"{text}\n" for text in said[at : at + together]):
                    done = await ingestion.ingest(Given(f"p{number}", part, f"session:{at}", ACTOR))
                    accepted += done.accepted
            after, clock = spent(embedder), (time.perf_counter() - begun) / (begun - began)
            own, child, server = after.own - before.own, after.model - before.model, after.server - before.server
            count = len(said)
            if number:
                each = f"model {child / count * 1e3:.2f}, ingestion {own / count * 1e3:.2f}"
                print(
                    f"{count} turns, {accepted} facts: {(own + child + server) / alone:.2f} times what embedding them "
                    f"costs in CPU, {clock:.2f} by the clock; ms of CPU a turn: embedding alone "
                    f"{alone / count * 1e3:.2f}; {each}, "
                    f"database {server / count * 1e3:.2f}",
                    flush=True,
                )
    await embedder.close()


@dataclass(frozen=True, slots=True)
class Conversations:
    """What was said in all of them, one after the other."""

    said: list[str]

    @classmethod
    def read(cls, folder: Path) -> Conversations:
        """From the files of a folder."""
        sessions = (each for file in sorted(folder.glob("*.json")) for each in read(file).sessions.values())
        return cls([text for session in sessions for _, text in session])

    def turns(self, count: int, part: int) -> list[str]:
        """So many turns, none of which stands in another part."""
        found = self.said[part * count : (part + 1) * count]
        assert len(found) == count, f"{len(self.said)} turns are there"
        return found


def turns(count: int, seed: int) -> list[str]:
    """Turns of two claims and a question, no two of them alike."""
    draw = random.Random(seed)

    def claim(at: int) -> str:
        one, other = draw.sample(THINGS, 2)
        return f"The {one} number {at} {draw.choice(DOING)} the {other} of street {draw.randrange(10_000)}."

    return [f"{claim(at)} {claim(at + count)} Is that what you wanted to know?" for at in range(count)]


if __name__ == "__main__":
    main()
