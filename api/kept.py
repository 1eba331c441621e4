"""Answers that are given again for as long as the database says that nothing was committed since.

Frontends and agents ask the same again and again, and between two commits the answer is the same. What a kept answer
costs is one small question, shared by all that wait at the same time: which transaction is the newest? An answer is
kept under the one that was the newest before it was read, and given while that one still is, so nothing is ever given
that a read of the same moment could not have found, whoever writes and by whichever way.

A request is kept from the second time on that it comes, so that what is asked once takes no room and waits for nothing.
Where somebody writes all the time nothing can be kept, and it is not tried more than twice a second.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cachetools import LRUCache

from graph.errors import KnowledgeError
from graph.sharing import Shared

KEPT_BYTES_MAX = 32 * 1024 * 1024  # of all answers with their requests; the one not asked for the longest goes first
ANSWER_BYTES_MAX = 256 * 1024  # a hundred nodes with evidence are 40 KB; a few huge ones would drive out all others
REQUEST_BYTES_MAX = 16 * 1024  # longer ones are made by programs and hardly come again
ENTRY_BYTES = 500  # what an entry takes besides
UNSETTLED_SECONDS = 0.5  # after a commit was seen nothing is looked up for so long


@dataclass(frozen=True, slots=True)
class Made:
    """An answer.

    Attributes:
        body: As it is sent.
        lasting: Whether it stays the same until the next commit: not where it tells the time.
        operation: The name of the operation that it answers, where it has one.
    """

    body: bytes
    lasting: bool
    operation: str | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer under the newest transaction before it was read; no version and no answer for what came once."""

    size: int
    version: str = ""
    made: Made | None = None


class KeptAnswers:
    """The answers of one database.

    Args:
        version: Tells what changes with every commit; each call tells what was so after it was made.
        clock: Seconds, for ``UNSETTLED_SECONDS``.
    """

    def __init__(self, version: Callable[[], Awaitable[str]], clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: LRUCache[bytes, _Kept] = LRUCache(KEPT_BYTES_MAX, lambda kept: kept.size)
        self._version = version
        self._shared = Shared[None, None, str](self._versions)
        self._clock = clock
        self._newest = ""
        self._settled_at = 0.0

    async def answer(self, request: bytes, make: Callable[[], Awaitable[Made | None]]) -> Made | None:
        """The answer to a request: a kept one that still holds, or one that is made now; None where none is made.

        Args:
            request: Whatever tells one request from another.
            make: Reads the answer, from the database whose version is told and as it is when it is called or later.
        """
        known = self._kept.get(request)
        if known is None:
            made = await make()
            self._keep(request, made, "")
            return made
        version = await self._seen() if self._clock() >= self._settled_at else ""
        if version and version == known.version:
            return known.made
        made = await make()
        if version:
            self._keep(request, made, version)
        return made

    def _keep(self, request: bytes, made: Made | None, version: str) -> None:
        self._kept.pop(request, None)
        if made is None or not made.lasting or len(made.body) > ANSWER_BYTES_MAX or len(request) > REQUEST_BYTES_MAX:
            return
        size = len(request) + ENTRY_BYTES
        self._kept[request] = _Kept(size + len(made.body), version, made) if version else _Kept(size)

    async def _seen(self) -> str:
        """The version, looked at now; empty where the database does not say, which whoever reads will hear."""
        try:
            version = await self._shared.get(None, None)
        except KnowledgeError:
            version = ""
        if not version or (self._newest and version != self._newest):
            self._settled_at = self._clock() + UNSETTLED_SECONDS
        self._newest = version
        return version

    async def _versions(self, _kind: None, together: list[None]) -> list[str]:
        return [await self._version()] * len(together)
