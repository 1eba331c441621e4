"""What is nearly the same and says something else is never taken for the same, and no text holds up the others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest
from hashed import HashEmbedder
from quiet import slower
from test_ingestion import WRITER, World

from graph.embedding.embedder import Vector
from graph.ingestion.pipeline import TEXT_CHARS_MAX, Given, Ingestion
from graph.store import Store


@pytest.mark.parametrize(
    ("said", "also"),
    [
        ("It is -5 degrees in the cold store", "It is 5 degrees in the cold store"),
        ("The mixture has a ratio of 1:2", "The mixture has a ratio of 2:1"),
        ("The second gate is open", "The third gate is open"),
        ("The backup runs twice a day", "The backup runs once a day"),
        ("La porte est ouverte le lundi", "La porte n'est pas ouverte le lundi"),
        ("仓库的门是开着的", "仓库的门不是开着的"),
        ("anna owns the billing service", "berta owns the billing service"),
        ("Tom reports to Kim", "Kim reports to Tom"),
        ("Service A depends on service B", "Service B depends on service A"),
        ("Refunds are allowed within the first month", "Refunds are forbidden within the first month"),
        ("The doors open inwards", "The doors open outwards"),
        ("All vans have winter tyres", "Some vans have winter tyres"),
        ("Only admins may delete a project", "Admins may delete a project"),
        ("The tank holds five litres", "The tank holds five gallons"),
        ("A pallet costs 5 €", "A pallet costs 5 $"),
        ("Goods are checked before loading", "Goods are checked after loading"),
    ],
)
def test_what_is_nearly_the_same_and_says_something_else_is_never_merged(
    store: Store, loop: asyncio.Runner, said: str, also: str
) -> None:
    world = World(store, loop, Agreeing())
    world.learn(said)
    again = world.learn(also, source="file:other.txt")
    assert again.merged == 0
    assert world.learn(said, source="file:third.txt").merged == 1


class Agreeing(HashEmbedder):
    """A model to which everything means the same."""

    async def passages(self, texts: Sequence[str], seconds: float) -> list[Vector]:  # noqa: ARG002
        return [[1.0, *([0.0] * (self.profile.dimensions - 1))] for _ in texts]


@pytest.mark.parametrize("pattern", ["depends on ", "see also ", "**a ", "a `", "x ~~~ ", "I will check "])
def test_a_text_of_one_form_throughout_keeps_nobody_else_waiting(
    store: Store, loop: asyncio.Runner, pattern: str
) -> None:
    world = World(store, loop)
    text = "x " + pattern * (TEXT_CHARS_MAX // len(pattern) - 1)

    async def both() -> int:
        learning, turns = asyncio.create_task(Ingestion(world.service, world.stages).ingest(given)), 0
        while not learning.done():
            await asyncio.sleep(0)
            turns += 1
        await learning
        return turns

    given = Given("P", text, "file:hostile.txt", WRITER)
    began = time.process_time()
    assert loop.run(both()) > 10
    assert (time.process_time() - began) / slower() < 20.0
