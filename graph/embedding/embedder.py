"""The one form that every model has for its callers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from graph.embedding.profile import Profile
from graph.errors import UnavailableError

Vector = list[float]
"""Of the profile's dimensions and of length 1."""


class Embedder(Protocol):
    """Makes vectors of texts."""

    @property
    def profile(self) -> Profile:
        """The model, and how it is used."""
        ...

    async def passages(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        """The vectors of texts that are stored, in their order.

        Args:
            texts: Without the profile's prefix.
            seconds: The deadline.

        Raises:
            UnavailableError: the model cannot be had, or did not answer in time.
            ValidationError: it takes one of these texts never; the same texts will be refused again.
        """
        ...

    async def query(self, text: str, seconds: float) -> Vector:
        """The vector of a text that is asked for; goes before passages that wait.

        Args:
            text: Without the profile's prefix.
            seconds: The deadline.

        Raises:
            UnavailableError, ValidationError: as for ``passages``.
        """
        ...

    async def close(self) -> None:
        """Let go of what the model holds; it can still be asked, and then holds it again."""
        ...


def away(why: str) -> UnavailableError:
    """That the embedder cannot be had."""
    return UnavailableError(
        f"the embedder cannot be had: {why}",
        field="WHENCE_EMBEDDER",
        allowed="the same request later, which words alone answer meanwhile",
    )


def too_slow() -> UnavailableError:
    """That the embedder did not answer in time."""
    return UnavailableError(
        "the embedder did not answer in time",
        field="WHENCE_EMBEDDER",
        allowed="the same request later, which words alone answer meanwhile",
    )
