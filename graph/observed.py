"""What the store and those on it tell of their work, for whoever measures or traces it.

Names of statements, counts, seconds and the names of failures: never a text, a parameter, or anything else that came
from a caller. Where nobody observes, nothing is measured either.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from graph.errors import failure_name

T = TypeVar("T")


class Observer:
    """Is told what has happened; each of these does nothing unless a class that observes says what.

    They are called on the event loop, between a statement and its answer, so they must be quick and never raise.
    """

    def statement(self, name: str, seconds: float, rows: int, failure: str | None) -> None:
        """A statement was asked: its file's name, how long it took, what it gave, and the failure that it met."""

    def refused(self, code: str) -> None:
        """A caller was refused something, with this code."""

    def retried(self, failure: str) -> None:
        """A transaction is tried again, after a failure that passes."""

    def appended(self, results: Sequence[str], seconds: float) -> None:
        """Commands were answered together: ``new``, ``repeat``, or the code of a refusal, for each of them."""

    def spread(self, nodes: int) -> None:
        """An event put so many nodes at risk."""

    def block(self, tokens: int) -> None:
        """A context block of so many tokens was made."""

    def streams(self, kind: str, change: int) -> None:
        """So many more streams of a kind are open, or so many fewer."""

    def embedded(self, vectors: int) -> None:
        """So many vectors were written."""

    def due(self, project: str, events: int) -> None:
        """So many events of a project may be about nodes that lack a vector."""


_SILENT = Observer()
_observer = _SILENT


@contextmanager
def by(other: Observer) -> Generator[None]:
    """Have all work in this process told to an observer, until the context is left."""
    global _observer  # noqa: PLW0603  work is done far from where it is known who observes
    before, _observer = _observer, other
    try:
        yield
    finally:
        _observer = before


def observer() -> Observer:
    """Who is told; one who does nothing where nobody observes."""
    return _observer


async def statement(name: str, asked: Awaitable[T], rows: Callable[[T], int]) -> T:
    """What a statement gives; how it went is told.

    Args:
        name: Its file's.
        asked: The statement under way.
        rows: How many rows there are in what it gives.
    """
    told = _observer
    if told is _SILENT:
        return await asked
    begun = time.perf_counter()
    try:
        found = await asked
    except BaseException as error:
        told.statement(name, time.perf_counter() - begun, 0, failure_name(error))
        raise
    told.statement(name, time.perf_counter() - begun, rows(found), None)
    return found
