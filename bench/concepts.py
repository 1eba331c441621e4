"""How fast a folder of concept files is imported, against the same events as a journal file by `whence import`.

The files hold a few paragraphs with a list, code and links, half of them to concepts that come later. Both ways write
into projects of their own and take turns; the ratio is taken within a round. A journal is tried before it is taken, a
folder is not: its files are good or bad one by one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from connection import database
from imports import ACTOR, Cost, emptied, imported, measured

from graph.concept_file import read
from graph.concept_folder import FolderTerms, commands_of, files_in, import_folder
from graph.store import Store

WORDS = ("depot", "parcel", "window", "claim", "driver", "island", "refund", "listing", "invoice", "carrier")
TYPES = ("fact", "entity", "procedure", "policy", "objection")


def write_files(folder: Path, count: int, seed: int = 7) -> None:
    """Fill a folder, a hundred files in each of its own."""
    draw = random.Random(seed)
    for at in range(count):
        path = folder / f"{at // 100:04d}" / f"{_name(at)}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_text(at, count, draw), "utf-8", newline="\n")


def _name(at: int) -> str:
    return f"{WORDS[at % len(WORDS)]}-{at:06d}"


def _text(at: int, count: int, draw: random.Random) -> str:
    def sentence() -> str:
        return " ".join(draw.choices(WORDS, k=12)).capitalize() + "."

    links = [f"[[{_name(draw.randrange(count))}]]" for _ in range(3)]
    return (
        f'---\nname: {_name(at)}\ndescription: "{sentence()}"\ntype: {draw.choice(TYPES)}\n'
        f"tags: [{draw.choice(WORDS)}, {draw.choice(WORDS)}]\nsources:\n  - run-{at}\ncreated_at: 2026-01-01\n---\n\n"
        f"{sentence()} {sentence()} See {links[0]}.\n\n- {sentence()}\n- `{draw.choice(WORDS)}` and {links[1]}\n\n"
        f"```\n{sentence()}\n```\n\n{sentence()} {sentence()} {links[2]}\n"
    )


def journal(folder: Path, terms: FolderTerms) -> Iterator[bytes]:
    """The events that the folder comes to, as lines."""
    for path in files_in(folder):
        for command in commands_of(read(path.read_bytes()), terms):
            fields = {"event_id": command.event_id, "transition": command.transition, "key": command.key}
            yield json.dumps({**fields, "payload": command.payload}).encode() + b"\n"


async def by_files(store: Store, server: int | None, folder: Path, terms: FolderTerms) -> Cost:
    """Import the folder as `whence concepts import` does."""
    memory: dict[int, int] = {}

    def progress(_phase: str, done: int) -> None:
        if done % 1_000 == 0:
            memory[done] = psutil.Process().memory_info().rss

    async with measured(server) as cost:
        report = await import_folder(store, folder, terms, progress)
    assert (report.refused, report.verdicts["new"]) == (0, report.files), report
    cost.memory = memory
    return cost


async def main(count: int, rounds: int) -> None:
    """Print the rates, the ratio and the memory."""
    found: list[tuple[Cost, Cost]] = []
    with database() as connection, TemporaryDirectory() as scratch:
        folder, file, terms = Path(scratch) / "files", Path(scratch) / "events.jsonl", FolderTerms("files", ACTOR)
        folder.mkdir()
        write_files(folder, count)
        file.write_bytes(b"".join(journal(folder, terms)))
        async with Store.open(connection.uri, connection.username, connection.password) as store:
            for at in range(rounds + 1):
                files = await by_files(store, connection.pid, folder, terms)
                await emptied(store)
                lines = await imported(store, connection.pid, file, "lines")
                await emptied(store)
                if at:  # the first one warms the server
                    found.append((files, lines))
                    print(
                        f"round {at}: files {count / files.clock:.0f}/s, lines {count / lines.clock:.0f}/s", flush=True
                    )
    for name, costs in zip(("files", "lines"), zip(*found, strict=True), strict=True):
        print(f"{name}: {min(costs, key=lambda cost: cost.clock).text(count)}")
    ratio = statistics.median(lines.clock / files.clock for files, lines in found)
    print(f"files reach {ratio:.2f} of the rate of the same events by `whence import`")
    memory = found[-1][0].memory
    print(
        f"memory after {min(memory):,} files {memory[min(memory)] >> 20} MB, at the end {memory[max(memory)] >> 20} MB"
    )


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=2)
    given = arguments.parse_args()
    asyncio.run(main(given.files, given.rounds))
