"""Has every node represented, in the background: vectors are made and written behind the appends, never within one.

What lacks a vector is found by the journal: every node was made by an event, so behind the position up to which a
project is filled lies all that may lack one. Pages of events are read, their nodes are embedded, and vectors and the
new position are written in one transaction; so whatever breaks in between, the same pages are looked at again.

Every commit makes the answers that are kept for callers worthless, and the model takes a core. So many vectors go into
one transaction, and while callers ask, the filler rests for most of the time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from graph import observed
from graph.embedding.embedder import Embedder, Vector
from graph.embedding.representations import Filled, Representations, Wanted
from graph.errors import KnowledgeError, NotFoundError, ValidationError
from graph.store import BATCH_SECONDS, Store

PAGE = 512  # events read at a time: 20 MB where each is of a node with the longest text
# Written at a time: numbers of vectors, 25 MB of them, and 20 seconds of a small model. What is written in small pieces
# the index has to merge: 128 vectors at a time cost the database twice as much a vector as 512.
NUMBERS = 800_000
COMMIT_SECONDS = 30.0  # after so long what is there is written, so that no more is lost with this process
TEXTS = 32  # embedded at a time
CALLERS_SECONDS = 0.5  # so long after a request there may be more of them
WAY = 3.0  # while there are, it rests so many times as long as it has worked
TEXTS_SECONDS = 120.0  # for so many of the longest, on a busy machine
GATHER_SECONDS = 0.25  # appends of so long share a page
POLL_SECONDS = 30.0  # other processes append too, and wake nobody here
REST_SECONDS = (1.0, 60.0)  # after a failure, doubled each time
_LOG = logging.getLogger("whence.embedding")


def unwatched(_done: int, _total: int) -> None:
    """For a caller who does not watch."""


class Filler:
    """Fills the projects of a store with the vectors of one model.

    Args:
        store: Where.
        embedder: The model.
        poll_seconds: How often all projects are looked at.

    Attributes:
        embedder: The model.
        representations: Its vectors.
    """

    def __init__(self, store: Store, embedder: Embedder, *, poll_seconds: float = POLL_SECONDS) -> None:
        self.embedder = embedder
        self.representations = Representations(store, embedder.profile)
        self._poll_seconds = poll_seconds
        self._woken = asyncio.Event()
        self._changed: set[str] = set()
        self._installed = False
        self._together = max(1, NUMBERS // embedder.profile.dimensions)
        self._callers_until = 0.0

    def give_way(self) -> None:
        """Say that a caller wants an answer, or was just given one."""
        self._callers_until = time.monotonic() + CALLERS_SECONDS

    def wake(self, project: str) -> None:
        """Say that a project's journal has grown."""
        self._changed.add(project)
        self._woken.set()

    async def run(self) -> None:
        """Fill whatever lacks a vector, until cancelled; what fails is told to the log once, and tried again."""
        rest, everywhere = 0.0, True
        while True:
            try:
                await (self.fill_due() if everywhere else self._fill_changed())
            except Exception as error:  # noqa: BLE001  whatever it is, it must not end the filling for good
                if not rest:
                    ours = isinstance(error, KnowledgeError)
                    _LOG.warning("what is new is found by its words alone for now: %s", error, exc_info=not ours)
                least, most = REST_SECONDS
                rest, everywhere = min(most, max(least, 2 * rest)), True
                await asyncio.sleep(rest)
                continue
            if rest:
                _LOG.info("what is new is found by its meaning again")
            rest, everywhere = 0.0, not await self._awaited()

    async def fill(self, project: str, progress: Callable[[int, int], None] = unwatched) -> int:
        """Have every node of a project represented, from the journal's beginning on, whatever was filled before.

        Args:
            project: Which.
            progress: Told the position up to which all is embedded, and the journal's last one.

        Returns:
            How many vectors were made.

        Raises:
            NotFoundError: there is no such project.
            UnavailableError: the embedder or the database cannot be had; what was made before stays.
        """
        await self._install()
        filled = await self.representations.filled(project)
        if filled is None:
            raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
        return await self._fill(Filled(project, 0, filled.head), progress)

    async def fill_due(self) -> None:
        """Have all nodes represented that came behind what was filled before, in every project.

        Raises:
            UnavailableError: the embedder or the database cannot be had; what was made before stays.
        """
        await self._install()
        self._forget()
        page = await self.representations.due()
        while page:
            for filled in page:
                await self._fill(filled)
            page = await self.representations.due(page[-1].project)

    async def _install(self) -> None:
        if not self._installed:
            await self.representations.install()
            self._installed = True

    async def _awaited(self) -> bool:
        """Wait until there may be something to do; whether that is for the projects that have changed alone."""
        try:
            async with asyncio.timeout(self._poll_seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        await asyncio.sleep(GATHER_SECONDS)
        return True

    async def _fill_changed(self) -> None:
        for project in self._forget():
            filled = await self.representations.filled(project)
            if filled is not None:
                await self._fill(filled)

    def _forget(self) -> set[str]:
        changed, self._changed = self._changed, set()
        self._woken.clear()
        return changed

    async def _fill(self, filled: Filled, progress: Callable[[int, int], None] = unwatched) -> int:
        made, after, ends = 0, filled.seq, False
        while not ends:
            observed.observer().due(filled.project, max(0, filled.head - after))
            gathered = _Gathered(after)
            try:
                ends = await self._gather(filled, gathered, progress)
            except KnowledgeError:
                await self._write(filled.project, after, gathered)
                raise
            made += await self._write(filled.project, after, gathered)
            after = gathered.until
        observed.observer().due(filled.project, 0)
        return made

    async def _write(self, project: str, after: int, gathered: _Gathered) -> int:
        if gathered.until == after:
            return 0
        found = list(gathered.found.items())
        written = await self.representations.put(project, after, gathered.until, found, seconds=BATCH_SECONDS)
        observed.observer().embedded(written)
        return written

    async def _gather(self, filled: Filled, gathered: _Gathered, progress: Callable[[int, int], None]) -> bool:
        """Gather what one transaction is to write; whether the journal ends there."""
        enough = time.monotonic() + COMMIT_SECONDS
        while True:
            until, wanted = await self.representations.wanted(filled.project, gathered.until, PAGE)
            if until is None:
                return True
            gathered.found |= await self._vectors([node for node in wanted if node not in gathered.found])
            gathered.until = until
            progress(until, max(until, filled.head))
            if len(gathered.found) >= self._together or time.monotonic() >= enough:
                return False

    async def _vectors(self, wanted: Sequence[Wanted]) -> dict[Wanted, Vector]:
        """The nodes with their vectors; without those whose text the model refuses."""
        found: dict[Wanted, Vector] = {}
        for at in range(0, len(wanted), TEXTS):
            some = wanted[at : at + TEXTS]
            began = time.monotonic()
            try:
                vectors = await self.embedder.passages([node.text for node in some], TEXTS_SECONDS)
                found |= zip(some, vectors, strict=True)
            except ValidationError as refusal:
                if len(some) == 1:
                    _LOG.warning("%r is found by its words alone: %s", some[0].key, refusal)
                else:
                    for node in some:
                        found |= await self._vectors([node])
            if time.monotonic() < self._callers_until:
                await asyncio.sleep(WAY * (time.monotonic() - began))
        return found


@dataclass(slots=True)
class _Gathered:
    """Nodes with their vectors, and up to which position of the journal they are all."""

    until: int
    found: dict[Wanted, Vector] = field(default_factory=dict[Wanted, Vector])
