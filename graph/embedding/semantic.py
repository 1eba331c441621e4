"""The semantic tier: which nodes lie nearest to a text by one model."""

from __future__ import annotations

from graph.embedding.embedder import Embedder
from graph.embedding.profile import Profile
from graph.embedding.representations import Representations
from graph.knowledge import NodeId

QUERY_SECONDS = 2.0  # for the model to read a question; who waits longer is answered by words alone
NEAREST_SECONDS = 5.0


class Semantic:
    """Finds by meaning.

    Args:
        embedder: Makes the vector of a question.
        representations: The same model's vectors of nodes.
    """

    def __init__(self, embedder: Embedder, representations: Representations) -> None:
        self._embedder = embedder
        self._representations = representations

    @property
    def profile(self) -> Profile:
        """The model, and how it is used."""
        return self._embedder.profile

    async def nearest(self, project: str, text: str, limit: int) -> dict[NodeId, float]:
        """The nodes of a project that lie nearest to a text, by id, each with its cosine; those without a vector not.

        Args:
            project: Where.
            text: Any.
            limit: How many at most, 1 to 1,000.

        Raises:
            LimitError, UnavailableError, ValidationError: the model or its vectors cannot be had in time, or it never
                takes such a text.
        """
        vector = await self._embedder.query(text, QUERY_SECONDS)
        found = await self._representations.nearest(project, vector, limit, seconds=NEAREST_SECONDS)
        return {(near.key, near.generation): near.cosine for near in found.items}
