"""A model's vectors in the database: one for each node, found again by nearness and by what still lacks one.

An index of Neo4j knows no projects: of the nearest vectors that it gives, a small project may have none. So the vectors
of a project are looked at one by one while they are few, and have an index of their own before they are many. The few
are in an index of the model, which finds what lies so near that hardly anything could crowd it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from graph import schema
from graph.embedding.embedder import Vector
from graph.embedding.profile import Profile
from graph.fold import ALWAYS
from graph.rows import Row
from graph.store import READ_SECONDS, Store

EXACT_MAX = 5_000  # vectors of a project without an index; to look at one takes about 25 microseconds
SCANNED_MAX = 2 * EXACT_MAX  # that are looked at, since ten processes may each have added UNSEEN
ASKED = 100  # of the index at least: asked for ten, it misses one or two of the nearest ten
UNSEEN = 500  # vectors that a process writes before it counts a project's again, since others write too
LABELLED = 1_000  # vectors that are put into an index in one transaction
LIMIT_MAX = 1_000
PROJECTS_PAGE = 1_000
_NOWHERE = -1  # a position that no project is filled up to


@dataclass(frozen=True, slots=True)
class Filled:
    """Up to which position of a project's journal its nodes have vectors, and where the journal ends."""

    project: str
    seq: int
    head: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A node that lacks its vector, or whose text is another than that of its vector."""

    key: str
    generation: int
    text: str

    @property
    def text_sha256(self) -> str:
        """Of the text in UTF-8, lower-case hex."""
        return sha256(self.text)


@dataclass(frozen=True, slots=True)
class Near:
    """A node and its cosine to what was asked, from -1 to 1."""

    key: str
    generation: int
    cosine: float


class Representations:
    """The vectors that one model has in a store.

    Args:
        store: Where.
        profile: The model.
    """

    def __init__(self, store: Store, profile: Profile) -> None:
        self._store = store
        self._room: dict[str, int] = {}  # vectors that each may be given before it is looked at again
        self.profile = profile
        self.model = profile.model

    async def install(self) -> None:
        """Have the indexes that the model's vectors should have, also where one was lost or was never made.

        Raises:
            UnavailableError: the database cannot be had, or refuses an index.
        """
        driver, database = self._store.driver, self._store.database
        await schema.install_vectors(driver, database, self.model, self.profile.dimensions)
        async for filling in fillings(self._store):
            if filling["model"] != self.model:
                continue
            if filling["indexed_by"] is not None:
                await schema.install_vectors(driver, database, filling["indexed_by"], self.profile.dimensions)
            elif filling["seq"] > EXACT_MAX:
                await self.make_room(filling["project"], 0)

    async def make_room(self, project: str, more: int) -> None:
        """Have a project's vectors found by an index of their own, where there are to be too many to look at each.

        Args:
            project: Which.
            more: Vectors that are about to be written.

        Raises:
            UnavailableError: the database cannot be had, or refuses the index.
        """
        room = self._room.get(project, 0)
        if 0 < more <= room:
            self._room[project] = room - more
            return
        most = EXACT_MAX + 1
        row = (await self._store.read("representations_stored", project=project, model=self.model, most=most))[0]
        if row["indexed_by"] is not None:
            self._room[project] = UNSEEN
            return
        if row["stored"] + more <= EXACT_MAX:
            self._room[project] = min(UNSEEN, EXACT_MAX - row["stored"] - more)
            return
        index = f"{self.model}_{sha256(project)[:16]}"
        await schema.install_vectors(self._store.driver, self._store.database, index, self.profile.dimensions)
        labelled = LABELLED
        while labelled == LABELLED:
            rows = await self._store.project_write(
                "representations_apart", project=project, model=self.model, index=index, first=LABELLED
            )
            labelled = rows[0]["labelled"]

    async def due(self, after: str = "") -> list[Filled]:
        """Projects that may hold nodes without a vector, behind a name, in the order of names; a page of them."""
        rows = await self._store.read("representations_due", model=self.model, after=after, first=PROJECTS_PAGE)
        return [Filled(row["project"], row["filled"], row["head"]) for row in rows]

    async def filled(self, project: str) -> Filled | None:
        """How far a project is; None where there is no such project."""
        rows = await self._store.read("representations_filled", project=project, model=self.model)
        return Filled(project, rows[0]["filled"], rows[0]["head"]) if rows else None

    async def wanted(self, project: str, after: int, first: int) -> tuple[int | None, list[Wanted]]:
        """A page of a journal, and which of the nodes that it is about want a vector.

        Args:
            project: Whose journal.
            after: The position behind which the page begins.
            first: Events of the page.

        Returns:
            The position at which the page ends, None where the journal does before it; and the nodes.
        """
        row = (
            await self._store.read(
                "representations_wanted", project=project, model=self.model, after=after, first=first
            )
        )[0]
        lacking = [
            Wanted(node["key"], node["generation"], node["proposition"])
            for node in row["nodes"]
            if node["proposition"] is not None and node["text_sha256"] != sha256(node["proposition"])
        ]
        return row["until"], lacking

    async def put(
        self, project: str, after: int, until: int, found: Sequence[tuple[Wanted, Vector]], *, seconds: float
    ) -> int:
        """Write vectors, and that the project is filled up to ``until`` if it was up to ``after``, in one transaction.

        Returns:
            How many were written: a node that is gone gets none.

        Raises:
            UnavailableError: the database cannot be had, or has no room.
        """
        await self.make_room(project, len(found))
        rows = await self._store.project_write(
            "representations_put",
            seconds=seconds,
            project=project,
            model=self.model,
            model_name=self.profile.name,
            model_hash=self.profile.sha256,
            after=after,
            until=until,
            rows=[
                {
                    "key": node.key,
                    "generation": node.generation,
                    "text_sha256": node.text_sha256,
                    "vector": vector,
                }
                for node, vector in found
            ],
        )
        return rows[0]["written"]

    async def add(self, project: str, found: Sequence[tuple[Wanted, Vector]], *, seconds: float) -> None:
        """Write vectors that were made before the filler came by; how far the project is filled stays as it is.

        Raises:
            UnavailableError: the database cannot be had, or has no room.
        """
        await self.put(project, _NOWHERE, _NOWHERE, found, seconds=seconds)

    async def alike(
        self, project: str, vectors: Sequence[Vector], least: float, asked: int, *, seconds: float = READ_SECONDS
    ) -> list[list[Near]]:
        """For each vector the nodes of a project that lie very near to it, whatever their state, the nearest first.

        Args:
            project: Where.
            vectors: Of the model.
            least: The least cosine.
            asked: How many of the index are looked at for each.
            seconds: The deadline.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        rows = await self._store.read(
            "representations_alike",
            seconds=seconds,
            project=project,
            model=self.model,
            vectors=list(vectors),
            least=least,
            asked=asked,
        )
        found = [[Near(**near) for near in row["near"]] for row in rows]
        for at, vector in enumerate(vectors):
            if rows[at]["crowded"]:
                nearest = await self.nearest(project, vector, asked, seconds=seconds)
                found[at] = [near for near in nearest if near.cosine >= least]
        return found

    async def nearest(self, project: str, vector: Vector, limit: int, *, seconds: float = READ_SECONDS) -> list[Near]:
        """The nodes of a project that are nearest to a vector, whatever their state, the nearest first.

        Args:
            project: Where; no other project's node is among the answer.
            vector: Of the model.
            limit: How many at most, 1 to 1,000.
            seconds: The deadline.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        rows = await self._store.read(
            "search_candidates",
            seconds=seconds,
            project=project,
            words="",
            seq=ALWAYS,
            first=1,
            **self.sought(vector, limit),
        )
        found = [Near(row["node"]["key"], row["node"]["generation"], row["cosine"]) for row in rows]
        return sorted(found, key=lambda near: (-near.cosine, near.key, near.generation))

    def sought(self, vector: Vector, limit: int) -> dict[str, Any]:
        """The parameters by which ``search_candidates`` finds the nodes that are nearest to a vector.

        Args:
            vector: Of the model.
            limit: How many at most, 1 to 1,000.
        """
        assert 1 <= limit <= LIMIT_MAX, "whoever takes the number from a caller has checked it"
        return {
            "model": self.model,
            "vector": vector,
            "scanned_max": SCANNED_MAX,
            "asked": max(ASKED, limit),
            "limit": limit,
        }


async def fillings(store: Store) -> AsyncIterator[Row]:
    """Which projects have vectors of which models: project, model, name (of the model), seq, indexed_by (or None)."""
    async for row in store.stream(
        "representations_fillings",
        lambda last: {"project": "", "model": ""} if last is None else {n: last[n] for n in ("project", "model")},
        PROJECTS_PAGE,
    ):
        yield row


def sha256(text: str) -> str:
    """Of a text in UTF-8, lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()
