"""Brings a store that an earlier Whence has written up to this one, step by step, while it is read and written.

A step may be done again after an interruption: it looks for what is lacking. The version that it leads to is recorded
when it is done, so the next start goes on where the last one ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from graph.errors import KnowledgeError, ValidationError
from graph.rebuild import rebuild
from graph.store import Store
from graph.store_format import SCHEMA_VERSION

REST_SECONDS = 60.0  # after a failure, until it is tried again
TOLD_SECONDS = 15.0  # between two lines of the log
Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it, and of how much."""
_LOG = logging.getLogger("whence.migration")


@dataclass(frozen=True, slots=True)
class Step:
    """What leads to a version from the one before.

    Attributes:
        version: The schema's, once it is done.
        name: What it does, for the log.
        run: Does it; repeatable.
    """

    version: int
    name: str
    run: Callable[[Store, Progress], Awaitable[None]]


async def make_projections_whole(store: Store, progress: Progress) -> None:
    """Have every project's projection be the fold of its journal, with what earlier versions did not write in it.

    Those lacked scopes and descriptions on nodes, and counts of sightings. A project whose journal is broken stays as
    it is, which ``verify`` tells.
    """
    names = [row["name"] for row in await store.read("project_list", projects=None)]
    for at, name in enumerate(names):
        progress("projects", at, len(names))
        try:
            await rebuild(store, name)
        except ValidationError as error:
            _LOG.warning("%s: %s", name, error.sentence())
    progress("projects", len(names), len(names))


STEPS: Sequence[Step] = (Step(1, "make projections whole", make_projections_whole),)
assert STEPS[-1].version == SCHEMA_VERSION, "the last step leads to the version of today"


async def migrate(store: Store, progress: Progress | None = None) -> list[str]:
    """Bring a store up to this version.

    Args:
        store: Open, so that its constraints and indexes are there already.
        progress: Told how far a step is; the log unless given.

    Returns:
        The names of the steps that were done, in their order.

    Raises:
        UnavailableError: the database cannot be had; what was done stays.
    """
    found = await store.form()
    done: list[str] = []
    for step in STEPS:
        if found.schema_version < step.version:
            _LOG.info("bringing the store up to version %d: %s", step.version, step.name)
            await step.run(store, progress or _logged())
            await store.record_form(step.version)
            _LOG.info("the store is of version %d", step.version)
            done.append(step.name)
    return done


async def migrate_in_the_end(store: Store) -> None:
    """As ``migrate``; what keeps it from being done is told to the log, and it is tried again."""
    while True:
        try:
            await migrate(store)
        except KnowledgeError as error:
            _LOG.warning("the store is not of this version yet: %s", error)
            await asyncio.sleep(REST_SECONDS)
        else:
            return


def _logged() -> Progress:
    told = time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= TOLD_SECONDS:
            told = time.monotonic()
            _LOG.info("%d of %d %s", done, total, what)

    return progress
