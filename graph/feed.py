"""Live events: the journals of projects as they grow, for everybody who follows them.

Who follows is a position in a journal and nothing else. Each journal that is followed is read once for all its
followers, who are given what was read of it lately; who has fallen behind that reads on by pages. So nothing is
buffered for one who is slow, and whoever comes again with the last position it saw misses nothing and gets nothing
twice.

What this process appends wakes the feed at once; what others append it learns by asking for the heads of all journals
that are followed, in one question.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import NamedTuple

from graph import received
from graph.errors import KnowledgeError
from graph.rows import Row
from graph.store import Store

PAGE = 512  # events read at a time: a megabyte where all have long reasons
KEPT_EVENTS = 2_048  # of a journal's newest, for its followers: two seconds of the busiest project
KEPT_CHARS = 2_000_000  # of their reasons and causes, which may be a hundred times as long as is usual
SHARED_BATCHES = 16  # what was made of more than the newest is not kept: those who follow closely are all near them
SHARED_KEYS = 16  # of what is made of one batch, so much is kept
SHARED_BYTES = 1_000_000  # and nothing that is larger
QUIET_SECONDS = 5.0  # a follower to whom nothing comes is told so this often
POLL_SECONDS = (0.02, 0.1)  # between two questions for heads: while something comes, and while nothing does
BUSY_SECONDS = 5.0  # so long after an event there may be more
REST_SECONDS = (0.5, 5.0)  # after a failure, doubled each time
_LOG = logging.getLogger("whence.feed")


class Made(NamedTuple):
    """What was made of events.

    Attributes:
        bodies: One for each.
        bytes_read: What the database sent for them.
    """

    bodies: list[bytes]
    bytes_read: int


@dataclass(eq=False, slots=True)
class Batch:
    """Events of one project, one after the other: at least one, at most ``PAGE``.

    Attributes:
        events: Maps of events.
    """

    events: Sequence[Row]
    _made: dict[Hashable, asyncio.Task[Made]] = field(default_factory=dict[Hashable, "asyncio.Task[Made]"])

    @property
    def last(self) -> int:
        """The position of the newest."""
        return self.events[-1]["seq"]

    async def shared(self, key: Hashable, make: Callable[[], Awaitable[Made]], *, lasting: bool) -> Made:
        """What is made of the events, made once for all who ask for it by the same key.

        Args:
            key: What tells it from what else is made of them.
            make: Makes it; what fails is tried again by whoever asks next.
            lasting: Whether it is so for good, being made of the events alone; else it is shared by those alone who
                ask while it is made.
        """
        making = self._made.get(key)
        if making is None:
            # In a context of its own: no bound and no request of who came first concerns the others.
            making = asyncio.get_running_loop().create_task(_awaited(make), context=Context())
            if len(self._made) < SHARED_KEYS:
                self._made[key] = making
        # One who goes away while it is made takes nothing from the others.
        try:
            made = await asyncio.shield(making)
        except Exception:
            self._made.pop(key, None)
            raise
        if not lasting or sum(map(len, made.bodies)) > SHARED_BYTES:
            self._made.pop(key, None)
        return made

    def forget(self) -> None:
        """Let go of what was made."""
        self._made.clear()


async def _awaited(make: Callable[[], Awaitable[Made]]) -> Made:
    return await make()


class _Tail:
    """The newest events of one project, as long as somebody follows it."""

    def __init__(self, project: str, head: int) -> None:
        self.project = project
        self.head = head
        self.followers = 0
        self.over = False
        self.woken = asyncio.Event()
        self.grew_at = 0.0
        self._batches: deque[Batch] = deque()
        self._events = self._chars = 0
        self._grown = asyncio.Event()

    @property
    def start(self) -> int:
        """The position behind which all is kept."""
        return self._batches[0].events[0]["seq"] - 1 if self._batches else self.head

    def keep(self, batch: Batch) -> None:
        """Add the next events, and drop the oldest where there are too many."""
        self._batches.append(batch)
        self.head = batch.last
        self.grew_at = asyncio.get_running_loop().time()
        self._count(batch, 1)
        while len(self._batches) > 1 and (self._events > KEPT_EVENTS or self._chars > KEPT_CHARS):
            self._count(self._batches.popleft(), -1)
        if len(self._batches) > SHARED_BATCHES:
            self._batches[-SHARED_BATCHES - 1].forget()
        self.pulse()

    def behind(self, after: int) -> Batch | None:
        """The events that are kept right behind a position, which is not before ``start``; None for none."""
        if after >= self.head:
            return None
        for batch in reversed(self._batches):
            first = batch.events[0]["seq"]
            if first == after + 1:
                return batch
            if first <= after:
                return Batch(batch.events[after + 1 - first :])
        return None

    async def growth(self, after: int) -> None:
        """Wait until there is something behind a position, all is over, or it has been quiet for long."""
        try:
            async with asyncio.timeout(QUIET_SECONDS):
                while self.head <= after and not self.over:
                    await self._grown.wait()
        except TimeoutError:
            return

    def pulse(self) -> None:
        """Have everybody who waits look again."""
        self._grown.set()
        self._grown.clear()

    def _count(self, batch: Batch, sign: int) -> None:
        self._events += sign * len(batch.events)
        self._chars += sign * sum(_chars(event) for event in batch.events)


def _chars(event: Row) -> int:
    return len(event["reason"] or "") + sum(map(len, event["caused_by"]))


class Feed:
    """All journals of a store that somebody follows from this process.

    Args:
        store: Where they are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tails: dict[str, _Tail] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._polling: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    @property
    def followers(self) -> int:
        """How many follow something now."""
        return sum(tail.followers for tail in self._tails.values())

    def wake(self, project: str) -> None:
        """Say that a project's journal has grown."""
        if project in self._tails:
            self._tails[project].woken.set()

    @property
    def ending(self) -> asyncio.Event:
        """Set once what is followed from now on is ended."""
        return self._ending

    def end(self) -> None:
        """End what everybody follows; each has what was given to it, and can go on from there."""
        self._ending.set()
        self._ending = asyncio.Event()
        for tail in list(self._tails.values()):
            tail.over = True
            tail.pulse()
            self._drop(tail)

    async def follow(self, project: str, after: int | None = None) -> AsyncGenerator[Batch | None, None]:
        """The events of a project behind a position, each once and in order, without end.

        Args:
            project: Which; one that has no events yet may come to have some.
            after: The position, 0 or more; that of the newest event as it is now unless given.

        Returns:
            Batches as they come, and None wherever nothing has come for ``QUIET_SECONDS``, or the database is away.
            It ends when the feed does.

        Raises:
            UnavailableError: the database cannot be had.
        """
        head = (await self._heads([project])).get(project, 0)
        return self._followed(project, head, head if after is None else after)

    async def _followed(self, project: str, head: int, after: int) -> AsyncGenerator[Batch | None, None]:
        tail = self._join(project, head)
        try:
            while not tail.over:
                if after >= tail.head:
                    await tail.growth(after)
                batch = tail.behind(after) if after >= tail.start else await self._page(project, after)
                if tail.over:
                    return
                if batch is not None:
                    after = batch.last
                yield batch
        finally:
            self._leave(tail)

    def _join(self, project: str, head: int) -> _Tail:
        if project not in self._tails:
            tail = self._tails[project] = _Tail(project, head)
            tail.woken.set()
            self._tasks[project] = asyncio.get_running_loop().create_task(self._read_on(tail), context=Context())
        if self._polling is None:
            self._polling = asyncio.get_running_loop().create_task(self._poll(), context=Context())
        self._tails[project].followers += 1
        return self._tails[project]

    def _leave(self, tail: _Tail) -> None:
        tail.followers -= 1
        if tail.followers == 0 and not tail.over:
            self._drop(tail)

    def _drop(self, tail: _Tail) -> None:
        del self._tails[tail.project]
        self._tasks.pop(tail.project).cancel()
        if not self._tails and self._polling is not None:
            self._polling.cancel()
            self._polling = None

    async def _read_on(self, tail: _Tail) -> None:
        """Read what a journal has grown by, whenever it may have."""
        rest = 0.0
        while True:
            await tail.woken.wait()
            tail.woken.clear()
            try:
                while (batch := await self._events(tail.project, tail.head)) is not None:
                    tail.keep(batch)
                    if len(batch.events) < PAGE:
                        break
            except Exception as error:  # noqa: BLE001  whatever it is, who follows waits for its end
                rest = _longer(rest, error)
                await asyncio.sleep(rest)
                tail.woken.set()
            else:
                rest = 0.0

    async def _poll(self) -> None:
        """Wake those whose journals others have appended to."""
        clock, rest = asyncio.get_running_loop().time, 0.0
        while True:
            began = clock()
            try:
                heads = await self._heads(list(self._tails))
            except Exception as error:  # noqa: BLE001  as above
                rest = _longer(rest, error)
                await asyncio.sleep(rest)
                continue
            rest = 0.0
            for project, seq in heads.items():
                if project in self._tails and seq > self._tails[project].head:
                    self._tails[project].woken.set()
            busy = any(tail.grew_at + BUSY_SECONDS > began for tail in self._tails.values())
            # A database that is slow to answer is not asked the more.
            await asyncio.sleep(max(POLL_SECONDS[0 if busy else 1], clock() - began))

    async def _heads(self, projects: Sequence[str]) -> dict[str, int]:
        rows = await self._store.read("project_heads", projects=list(projects))
        return {row["project"]: row["seq"] for row in rows}

    async def _page(self, project: str, after: int) -> Batch | None:
        """As ``_events``, for one who has fallen behind; None, after a while, also where the database is away."""
        try:
            batch = await self._events(project, after)
        except KnowledgeError as error:
            _longer(0.0, error)
            batch = None
        if batch is None:
            await asyncio.sleep(REST_SECONDS[1])
        return batch

    async def _events(self, project: str, after: int) -> Batch | None:
        with received.allowed(received.ANSWER_BYTES_MAX):
            rows = await self._store.read("events_followed", project=project, after=after, first=PAGE)
        events = [_event(row["event"]) for row in rows]
        # What is being committed may be seen in part; what comes behind a gap is read once the gap is closed.
        whole = next((at for at, event in enumerate(events) if event["seq"] != after + 1 + at), len(events))
        return Batch(events[:whole]) if whole else None


def _event(row: Row) -> Row:
    if row["execution"] is not None:
        row["execution"] = json.loads(row["execution"])
    return row


def _longer(rest: float, error: Exception) -> float:
    """How long to wait after a failure; the first of several is told to the log."""
    if not rest:
        _LOG.warning("events wait for the database: %s", error, exc_info=not isinstance(error, KnowledgeError))
    least, most = REST_SECONDS
    return min(most, max(least, 2 * rest))
