"""How many bytes the database may send for one request, counted as they arrive.

A page of nodes may stand on gigabytes of evidence, and the driver reads a record to its end before anybody sees it. It
has no setting for that; so the sockets that it opens count what comes, and break off where a bound is passed. The
database, which is still writing then, ends the transaction.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from neo4j._async.io import _bolt  # pyright: ignore[reportPrivateUsage]
from neo4j._async.io._bolt_socket import AsyncBoltSocket

ANSWER_BYTES_MAX = 32_000_000  # twice a walk of ten thousand nodes; in Python it takes about three times as much


@dataclass(slots=True)
class _Allowance:
    most: int
    left: int
    within: int = 0  # what those that were opened within it took
    told: int = 0  # what ``untold`` said of it


_ALLOWANCE: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)
_COUNTED: ContextVar[_Allowance | None] = ContextVar("counted", default=None)


@contextmanager
def allowed(most: int | None) -> Generator[None]:
    """Bound what the statements that are begun within may bring together; None bounds nothing.

    Args:
        most: Bytes, as the database sends them. One within another counts for itself.
    """
    outer, own = _ALLOWANCE.get(), None if most is None else _Allowance(most, most)
    token = _ALLOWANCE.set(own)
    try:
        yield
    finally:
        _ALLOWANCE.reset(token)
        if outer is not None and own is not None:
            outer.within += own.most - own.left + own.within


@contextmanager
def counted() -> Generator[None]:
    """Count what comes within; not what a connection is opened, begun or put right with, which the driver repeats."""
    token = _COUNTED.set(_ALLOWANCE.get())
    try:
        yield
    finally:
        _COUNTED.reset(token)


def passed() -> int | None:
    """The bound in force here if it was passed."""
    allowance = _ALLOWANCE.get()
    return allowance.most if allowance is not None and allowance.left < 0 else None


def untold() -> int:
    """How many bytes were counted since this was asked before, under the bound in force here and those within it."""
    allowance = _ALLOWANCE.get()
    if allowance is None:
        return 0
    before, allowance.told = allowance.told, allowance.most - allowance.left + allowance.within
    return allowance.told - before


class _CountedSocket(AsyncBoltSocket):
    async def recv_into(self, buffer: Any, nbytes: int) -> int:
        count = await super().recv_into(buffer, nbytes)  # pyright: ignore[reportUnknownMemberType]
        allowance = _COUNTED.get()
        if allowance is not None:
            allowance.left -= count
            if allowance.left < 0:
                raise OSError("the database sends more than the request may bring")
        return count


# No public way leads to the driver's sockets; a test sees that they count.
_bolt.AsyncBoltSocket = _CountedSocket  # pyright: ignore[reportPrivateImportUsage]
