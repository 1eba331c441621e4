"""The semantic tier: where a question lies by one model, and what a statement needs to find what lies near."""

from __future__ import annotations

from typing import Any

from graph.embedding.embedder import Embedder, Vector
from graph.embedding.profile import Profile
from graph.embedding.representations import Representations

QUERY_SECONDS = 2.0  # for the model to read a question; who waits longer is answered by words alone


class Semantic:
    """Finds by meaning.

    Args:
        embedder: Makes the vector of a question.
        representations: The same model's vectors of nodes.
        seconds: How long the model may take to read a question.
    """

    def __init__(self, embedder: Embedder, representations: Representations, seconds: float = QUERY_SECONDS) -> None:
        self._embedder = embedder
        self._representations = representations
        self._seconds = seconds

    @property
    def profile(self) -> Profile:
        """The model, and how it is used."""
        return self._embedder.profile

    async def vector(self, text: str) -> Vector:
        """Where a question lies.

        Raises:
            LimitError, UnavailableError, ValidationError: the model cannot be had in time, or never takes such a text.
        """
        return await self._embedder.query(text, self._seconds)

    def sought(self, vector: Vector, limit: int) -> dict[str, Any]:
        """The parameters by which a statement finds the nodes that lie nearest, 1 to 1,000 of them."""
        return self._representations.sought(vector, limit)
