"""Requests that wait at the same time share a statement.

A statement costs the driver and the database about as much for one small request as for ten. Nothing waits for
company: while few statements are under way a request goes at once, and what comes meanwhile goes together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from graph import received

UNDER_WAY_MAX = 2  # statements of one kind at once: with four, half as many requests shared one, and each cost more
TOGETHER_MAX = 64  # requests in one statement

K = TypeVar("K", bound=Hashable)
A = TypeVar("A")
V = TypeVar("V")


class Shared(Generic[K, A, V]):
    """Requests of one kind that are answered together.

    Args:
        read: Answers requests of one kind in their order; an error of it is the error of each of them.
    """

    def __init__(self, read: Callable[[K, list[A]], Awaitable[list[V]]]) -> None:
        self._read = read
        self._waiting: dict[K, list[tuple[A, asyncio.Future[V]]]] = {}
        self._under_way: dict[K, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(self, kind: K, asked: A) -> V:
        """The answer to one request; whoever gives up leaves the others undisturbed."""
        future: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(kind, []).append((asked, future))
        # Of each kind some: a kind that is slow holds up no other.
        if self._under_way.get(kind, 0) < UNDER_WAY_MAX:
            self._under_way[kind] = self._under_way.get(kind, 0) + 1
            task = asyncio.get_running_loop().create_task(self._work(kind))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await future

    async def _work(self, kind: K) -> None:
        while waiting := self._waiting.pop(kind, None):
            if len(waiting) > TOGETHER_MAX:
                self._waiting[kind] = waiting[TOGETHER_MAX:]
            together = [(asked, future) for asked, future in waiting[:TOGETHER_MAX] if not future.done()]
            if together:
                await self._answer(kind, together)
        # Counted down here and not when the task is seen to be done: who comes between would find nobody to work.
        self._under_way[kind] -= 1
        if not self._under_way[kind]:
            del self._under_way[kind]

    async def _answer(self, kind: K, together: list[tuple[A, asyncio.Future[V]]]) -> None:
        try:
            with received.allowed(received.ANSWER_BYTES_MAX):  # of all who share it, not of the one who came first
                answers = await self._read(kind, [asked for asked, _ in together])
        except Exception as error:  # noqa: BLE001  whatever it is, it is told to those who asked
            for _, future in together:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(together, answers, strict=True):
            if not future.done():
                future.set_result(answer)
