"""Has every node represented, in the background: vectors are made and written behind the appends, never within one.

What lacks a vector is found by the journal: every node was made by an event, so behind the position up to which a
project is filled lies all that may lack one. A page of events is read, its nodes are embedded, and vectors and the new
position are written in one transaction; so whatever breaks in between, the same page is looked at again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from graph.embedding.embedder import Embedder, Vector
from graph.embedding.representations import Filled, Representations, Wanted
from graph.errors import KnowledgeError, NotFoundError, ValidationError
from graph.store import BATCH_SECONDS, Store

# Events read, and vectors written, at a time: some megabytes, and five seconds of a small model. What is written in
# small pieces the index has to merge: a quarter of it costs the database twice as much a vector.
PAGE = 512
TEXTS = 32  # embedded at a time
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
            progress: Told the position that is done, and the journal's last one.

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
        made, after = 0, filled.seq
        while True:
            until, wanted = await self.representations.wanted(filled.project, after, PAGE)
            if until is None:
                return made
            found = await self._vectors(wanted)
            made += await self.representations.put(filled.project, after, until, found, seconds=BATCH_SECONDS)
            after = until
            progress(after, max(after, filled.head))

    async def _vectors(self, wanted: Sequence[Wanted]) -> list[tuple[Wanted, Vector]]:
        """The nodes with their vectors; without those whose text the model refuses."""
        found: list[tuple[Wanted, Vector]] = []
        for at in range(0, len(wanted), TEXTS):
            some = wanted[at : at + TEXTS]
            try:
                vectors = await self.embedder.passages([node.text for node in some], TEXTS_SECONDS)
                found += zip(some, vectors, strict=True)
            except ValidationError as refusal:
                if len(some) == 1:
                    _LOG.warning("%r is found by its words alone: %s", some[0].key, refusal)
                else:
                    for node in some:
                        found += await self._vectors([node])
        return found
