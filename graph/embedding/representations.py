"""A model's vectors in the database: one for each node, found again by nearness and by what still lacks one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graph import schema
from graph.embedding.embedder import Vector
from graph.embedding.profile import Profile
from graph.fold import ALWAYS
from graph.store import READ_SECONDS, Store

EXACT_MAX = 5_000  # vectors of a project that are looked at one by one, which takes about 25 microseconds each
ASKED = 100  # of the index at first: asked for ten, it misses one or two of the nearest ten
WIDER = 10_000  # where other projects crowd it out
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
        self.profile = profile
        self.model = profile.model

    async def install(self) -> None:
        """Have the model's vector index; it changes nothing of other models.

        Raises:
            UnavailableError: the database cannot be had, or refuses the index.
        """
        await schema.install_vectors(self._store.driver, self._store.database, self.model, self.profile.dimensions)

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
            "exact_max": EXACT_MAX,
            "asked": max(ASKED, limit),
            "wider": WIDER,
            "limit": limit,
        }


def sha256(text: str) -> str:
    """Of a text in UTF-8, lower-case hex."""
    return hashlib.sha256(text.encode()).hexdigest()
