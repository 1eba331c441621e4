"""Group commit: appends of a project that wait at the same time share a transaction.

A commit costs many times what one event in it costs. So a project has at most one transaction under way from this
process (a second one would only wait for the first one's lock), and what comes meanwhile waits in the project's line;
the next transaction takes all that waits there. Nobody waits for company: where nothing is under way, a request goes
at once. What several share they share only as long as all goes well: each is answered or refused by itself, and where
a shared transaction fails for a reason that may lie in one of them, each is tried alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import Context, copy_context
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol, cast

from graph import observed
from graph.commands import Command
from graph.errors import DatabaseFailedError, InDoubtError, KnowledgeError, TooSlowError, UnavailableError
from graph.slices import projects
from graph.store import WRITE_SECONDS, Taken

SHARED_COMMANDS_MAX = 512  # of one transaction: more gains nothing, and the last would wait longer for their answers
SHARED_CHARS_MAX = 4_000_000  # of the payloads of one transaction, which the database holds in memory
WAITING_COMMANDS_MAX = 4_096  # of all projects: some seconds of work; whoever comes then had better ask again later
WAITING_CHARS_MAX = 64_000_000  # of the payloads that wait
BATCHES_MAX = 16  # under way at a time; more would wait for the database's processors
ALONE_SECONDS = 10.0  # of the time are kept for trying each alone, but never more than half of what there is
ANSWER_SECONDS = 0.8  # behind the deadline: the store hears within half a second of what the database gave up

Answer = Taken | KnowledgeError


class Door(Protocol):
    """Where a transaction's worth of commands is taken; ``Store`` by its form."""

    async def append(self, commands: Sequence[Command], now: datetime, *, seconds: float) -> list[Answer]:
        """Take commands in their order, in one transaction; each has its own answer or its own refusal."""
        ...


@dataclass(eq=False, slots=True)
class Request:
    """What one caller wants taken, and where its answer comes.

    Attributes:
        commands: In their order, for one transaction.
        projects: All that they concern.
        chars: The size of their payloads.
        deadline: When the caller goes, by the event loop's clock.
        answer: Done when the caller is answered or has gone.
        under_way: Whether a transaction has it, so that it may come to be taken.
        context: Of the caller: a transaction that several share is told of as the first one's.
    """

    commands: Sequence[Command]
    projects: frozenset[str]
    chars: int
    deadline: float
    answer: asyncio.Future[list[Answer]]
    under_way: bool = False
    context: Context = field(default_factory=copy_context)


class Lines:
    """Who waits, in a line for each project, in the order of arrival.

    A request that concerns several projects stands in each of their lines and goes when it is first in all of them.
    The oldest request of all is always first everywhere, so none waits for ever, and no two wait for each other.
    """

    def __init__(self) -> None:
        self._lines: OrderedDict[str, OrderedDict[Request, None]] = OrderedDict()
        self._busy: set[str] = set()
        self.commands = 0
        self.chars = 0

    def join(self, request: Request) -> None:
        """Wait."""
        for project in request.projects:
            self._lines.setdefault(project, OrderedDict())[request] = None
        self.commands += len(request.commands)
        self.chars += request.chars

    def leave(self, request: Request) -> None:
        """Wait no longer; nothing happens to one who does not wait."""
        if not self._waits(request):
            return
        for project in request.projects:
            del self._lines[project][request]
            if not self._lines[project]:
                del self._lines[project]
        self.commands -= len(request.commands)
        self.chars -= request.chars

    def take(self) -> list[Request]:
        """Those who can go together now, taken out of their lines; their projects are busy until ``free``."""
        for project, line in self._lines.items():
            first = next(iter(line))
            if not first.projects & self._busy and self._is_first(first):
                self._busy |= first.projects
                # The others come before this project's next turn.
                self._lines.move_to_end(project)
                return list(self._together(first))
        return []

    def free(self, concerned: Iterable[str]) -> None:
        """The transaction that concerned these projects is over."""
        self._busy.difference_update(concerned)

    def _together(self, first: Request) -> Iterator[Request]:
        commands = chars = 0
        found: Request | None = first
        while found is not None:
            self.leave(found)
            yield found
            commands, chars = commands + len(found.commands), chars + found.chars
            found = next(
                (
                    other
                    for other in self._firsts(first.projects)
                    if commands + len(other.commands) <= SHARED_COMMANDS_MAX and chars + other.chars <= SHARED_CHARS_MAX
                ),
                None,
            )

    def _firsts(self, concerned: frozenset[str]) -> Iterator[Request]:
        for project in concerned:
            if project in self._lines:
                first = next(iter(self._lines[project]))
                if first.projects <= concerned and self._is_first(first):
                    yield first

    def _is_first(self, request: Request) -> bool:
        return all(next(iter(self._lines[project])) is request for project in request.projects)

    def _waits(self, request: Request) -> bool:
        return all(request in self._lines.get(project, ()) for project in request.projects)


class GroupCommit:
    """The queue in front of a store through which every append of one caller goes.

    Args:
        door: Takes what goes together.
        clock: The present, for recorded times.
    """

    def __init__(self, door: Door, clock: Callable[[], datetime]) -> None:
        self._door = door
        self._clock = clock
        self._lines = Lines()
        self._running: set[asyncio.Task[None]] = set()
        self._woken = False

    async def append(self, commands: Sequence[Command], *, seconds: float = WRITE_SECONDS) -> list[Answer]:
        """Take commands in their order, in one transaction; each has its own answer or its own refusal.

        A caller who is cancelled takes with it what still waits; what is under way goes on.

        Args:
            commands: Any projects; at most a few thousand.
            seconds: When to be answered; the answer comes within a second of it at the latest.

        Returns:
            For each command what became of it.

        Raises:
            InDoubtError: whether they were taken could not be learnt in time.
            LimitError: they take more memory than the database grants one transaction; nothing was taken.
            UnavailableError: too much waits already, or the database did not take them in time; nothing was taken.
        """
        if not commands:
            return []
        begun, observer = time.perf_counter(), observed.observer()
        try:
            answers = await self._appended(commands, seconds)
        except KnowledgeError as error:
            observer.appended([error.code] * len(commands), time.perf_counter() - begun)
            raise
        observer.appended(list(map(_outcome, answers)), time.perf_counter() - begun)
        for answer in answers:
            if isinstance(answer, Taken) and answer.applied and answer.newly_at_risk:
                observer.spread(answer.newly_at_risk)
        return answers

    async def _appended(self, commands: Sequence[Command], seconds: float) -> list[Answer]:
        loop = asyncio.get_running_loop()
        concerned = frozenset(projects(commands, rules=True))
        chars = sum(_chars(command.payload) for command in commands)
        request = Request(commands, concerned, chars, loop.time() + seconds, loop.create_future())
        self._admit(request)
        try:
            async with asyncio.timeout_at(request.deadline + ANSWER_SECONDS):
                return await request.answer
        except TimeoutError as error:
            if request.under_way:
                raise InDoubtError(
                    "the database did not answer in time", allowed="the same request with the same event id"
                ) from error
            raise _too_slow() from error
        finally:
            self._lines.leave(request)

    def _admit(self, request: Request) -> None:
        lines = self._lines
        commands, chars = lines.commands + len(request.commands), lines.chars + request.chars
        # One that is larger than all that may wait is let in where nobody waits.
        if lines.commands and (commands > WAITING_COMMANDS_MAX or chars > WAITING_CHARS_MAX):
            raise UnavailableError(
                "too much waits to be taken",
                allowed=f"at most {WAITING_COMMANDS_MAX:,} commands, and {WAITING_CHARS_MAX:,} characters of theirs, "
                "at a time; the same request later",
            )
        lines.join(request)
        self._wake()

    def _wake(self) -> None:
        """Look for what can go, once the callers who were answered just now have had their turn to ask again."""
        if not self._woken:
            self._woken = True
            asyncio.get_running_loop().call_soon(self._start)

    def _start(self) -> None:
        self._woken = False
        while len(self._running) < BATCHES_MAX and (together := self._lines.take()):
            task = asyncio.create_task(self._commit(together), context=together[0].context)
            self._running.add(task)
            task.add_done_callback(partial(self._over, together))

    def _over(self, together: list[Request], task: asyncio.Task[None]) -> None:
        for request in together:
            request.answer.cancel()  # one that is answered takes no notice
        self._running.discard(task)
        self._lines.free(together[0].projects)
        self._wake()

    async def _commit(self, together: list[Request]) -> None:
        """Have requests taken and their callers answered: in one transaction, else each in its own."""
        now = asyncio.get_running_loop().time()
        for late in (request for request in together if request.deadline <= now):
            _settle(late, _too_slow())
        present = [request for request in together if not request.answer.done()]
        if not present:
            return
        patience = max(request.deadline for request in present) - now
        alone = len(present) == 1
        try:
            answers = await self._taken(present, patience if alone else max(patience / 2, patience - ALONE_SECONDS))
        except Exception as error:  # noqa: BLE001  whatever it is, it is told to whom it concerns
            if alone or not _may_lie_in_one(error):
                for request in present:
                    _settle(request, error)
            else:
                for request in present:
                    await self._commit([request])
        else:
            for request, answer in zip(present, answers, strict=True):
                _settle(request, answer)

    async def _taken(self, together: list[Request], seconds: float) -> Iterator[list[Answer]]:
        for request in together:
            request.under_way = True
        try:
            commands = [command for request in together for command in request.commands]
            answers = iter(await self._door.append(commands, self._clock(), seconds=seconds))
        except InDoubtError:
            raise
        except BaseException:
            for request in together:
                request.under_way = False
            raise
        return ([next(answers) for _ in request.commands] for request in together)


def _outcome(answer: Answer) -> str:
    """What became of a command, in one word."""
    if isinstance(answer, KnowledgeError):
        return answer.code
    return "new" if answer.applied else "repeat"


def _may_lie_in_one(error: Exception) -> bool:
    """Whether others may go through without the one at fault; a lost connection or commit is nobody's."""
    return isinstance(error, TooSlowError | DatabaseFailedError) or not isinstance(
        error, UnavailableError | InDoubtError
    )


def _too_slow() -> TooSlowError:
    return TooSlowError("the database did not answer in time", allowed="the same request later")


def _settle(request: Request, outcome: list[Answer] | Exception) -> None:
    if request.answer.done():
        return
    if isinstance(outcome, Exception):
        # Each caller raises an error of its own: a traceback is written into it.
        request.answer.set_exception(copy(outcome) if isinstance(outcome, KnowledgeError) else outcome)
    else:
        request.answer.set_result(outcome)


def _chars(value: object) -> int:
    """About how long a payload is, written out."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(_chars, cast("Mapping[str, object]", value).values()))
    if isinstance(value, list):
        return sum(map(_chars, cast("list[object]", value)))
    return 1
