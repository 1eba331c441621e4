"""An embedder whose model runs in a process of its own, begun when it is first needed and ended when it is idle.

Texts go to it a few at a time, and what is asked for goes before what is stored: a question waits for those few at
most, however many passages stand in line.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from array import array
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from graph.embedding.child import ERROR, HEADER, MESSAGE_BYTES_MAX, TEXTS, job
from graph.embedding.embedder import Vector, away, too_slow
from graph.embedding.profile import ModelFiles, Profile
from graph.errors import UnavailableError

IDLE_SECONDS = 600.0  # it takes a quarter of a gigabyte, and a second to begin again
START_SECONDS_MAX = 900.0  # the first start fetches the model
TOGETHER = 4  # texts in a message, or a whole batch of the profile: by one the messages cost a twentieth of the time
ANSWER_SECONDS_MAX = 120.0  # long texts on a busy machine; a child that takes longer hangs
END_SECONDS_MAX = 5.0
REST_SECONDS = (1.0, 60.0)  # after a start that failed, doubled each time: whoever asks meanwhile is told at once
WAITING_MAX = 1_024  # messages in line
_URGENT, _LATER = 0, 1
_LOG = logging.getLogger("whence.embedder")


@dataclass(order=True, slots=True)
class _Request:
    urgency: int
    arrival: int
    texts: Sequence[str] = field(compare=False)
    answer: asyncio.Future[list[Vector]] = field(compare=False)


class LocalEmbedder:
    """A model in ONNX on this machine; ``Embedder`` by its form.

    Args:
        profile: The model, and how it is used.
        files: Where it lies; None for the packaged one, which is fetched where it is missing.
        cache: Where the packaged one is kept.
        idle_seconds: After so long without a question its process ends.
    """

    def __init__(
        self, profile: Profile, files: ModelFiles | None, cache: Path, *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        self._profile = profile
        self._job = job(profile, files, cache)
        self._idle_seconds = idle_seconds
        self._line: asyncio.PriorityQueue[_Request] = asyncio.PriorityQueue()
        self._arrivals = count()
        self._working: asyncio.Task[None] | None = None
        self._child: Process | None = None
        self._rest = 0.0
        self._rests_until = 0.0
        self._refusal = away("it has not been started")

    @property
    def profile(self) -> Profile:
        """The model, and how it is used."""
        return self._profile

    @property
    def process(self) -> int | None:
        """The number of the process in which the model runs, while it does."""
        return None if self._child is None or self._child.returncode is not None else self._child.pid

    async def passages(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        """The vectors of texts that are stored; see ``Embedder``."""
        return await self._asked([self._profile.passage_prefix + text for text in texts], seconds, _LATER)

    async def query(self, text: str, seconds: float) -> Vector:
        """The vector of a text that is asked for; see ``Embedder``."""
        return (await self._asked([self._profile.query_prefix + text], seconds, _URGENT))[0]

    async def close(self) -> None:
        """End the process, and refuse whoever waits."""
        working, self._working = self._working, None
        if working is not None:
            working.cancel()
            await asyncio.wait((working,))
        while not self._line.empty():
            self._line.get_nowait().answer.cancel()

    async def _asked(self, texts: Sequence[str], seconds: float, urgency: int) -> list[Vector]:
        loop = asyncio.get_running_loop()
        parts = _parts(texts, max(TOGETHER, self._profile.batch_size))
        if loop.time() < self._rests_until:
            raise UnavailableError(self._refusal.message, field=self._refusal.field, allowed=self._refusal.allowed)
        if self._line.qsize() + len(parts) > WAITING_MAX:
            raise away("too much waits for it")
        requests = [_Request(urgency, next(self._arrivals), part, loop.create_future()) for part in parts]
        for request in requests:
            self._line.put_nowait(request)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        try:
            async with asyncio.timeout(seconds):
                return [vector for request in requests for vector in await request.answer]
        except TimeoutError:
            raise too_slow() from None
        except asyncio.CancelledError:
            if any(request.answer.cancelled() for request in requests) and not _is_cancelled():
                raise away("it was closed") from None
            raise
        finally:
            for request in requests:
                if not request.answer.cancel() and not request.answer.cancelled():
                    request.answer.exception()  # of the parts behind a failed one nobody else will ask

    async def _work(self) -> None:
        """Have requests answered until there have been none for long."""
        try:
            while True:
                try:
                    async with asyncio.timeout(self._idle_seconds):
                        request = await self._line.get()
                except TimeoutError:
                    await self._end()
                    if self._line.empty():
                        return
                    continue
                if not request.answer.done():
                    await self._answer(request)
        finally:
            await self._end()

    async def _answer(self, request: _Request) -> None:
        try:
            vectors = await self._vectors(request.texts)
        except UnavailableError as error:
            if not request.answer.done():
                request.answer.set_exception(error)
        except BaseException:
            request.answer.cancel()
            raise
        else:
            if not request.answer.done():
                request.answer.set_result(vectors)

    async def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        """The child's answer; where it has died, that of another one."""
        for _ in range(2):
            child = await self._begun()
            try:
                async with asyncio.timeout(ANSWER_SECONDS_MAX):
                    return await self._exchange(child, texts)
            except TimeoutError:
                _LOG.warning("the embedder's process %d did not answer and is ended", child.pid)
            except (OSError, asyncio.IncompleteReadError):
                _LOG.warning("the embedder's process %d has ended, another one is begun", child.pid)
            await self._end()
        raise away("its process ended twice over the same text")

    async def _exchange(self, child: Process, texts: Sequence[str]) -> list[Vector]:
        assert child.stdin is not None, "its input is a pipe"
        body = json.dumps(list(texts)).encode()
        child.stdin.write(HEADER.pack(TEXTS, len(body)) + body)
        await child.stdin.drain()
        _, answer = await _message(child)
        numbers = array("f", answer)
        if sys.byteorder == "big":
            numbers.byteswap()
        size = self._profile.dimensions
        if len(numbers) != size * len(texts):
            raise away("it gave another number of vectors than texts")
        return [numbers[at : at + size].tolist() for at in range(0, len(numbers), size)]

    async def _begun(self) -> Process:
        """The child, its model loaded."""
        if self._child is not None and self._child.returncode is None:
            return self._child
        loop = asyncio.get_running_loop()
        if loop.time() < self._rests_until:
            raise self._refusal
        command = (sys.executable, "-P", "-m", "graph.embedding.child", self._job)
        # The password of the database and the key of an endpoint are none of its business.
        environment = {n: v for n, v in os.environ.items() if not n.startswith(("NEO4J_", "WHENCE_"))}
        try:
            self._child = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, env=environment, start_new_session=True
            )
            async with asyncio.timeout(START_SECONDS_MAX):
                await _ready(self._child)
        except (OSError, asyncio.IncompleteReadError, UnavailableError) as error:
            await self._end()
            failed = error if isinstance(error, UnavailableError) else away("its process did not start")
            least, most = REST_SECONDS
            self._rest = min(most, max(least, 2 * self._rest))
            self._refusal, self._rests_until = failed, loop.time() + self._rest
            raise failed from error
        self._rest = 0.0
        return self._child

    async def _end(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.kill()  # it holds nothing that a kill could harm
        assert child.stdin is not None, "its input is a pipe"
        child.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS_MAX):
                await child.wait()


async def _ready(child: Process) -> None:
    """Return once a child has loaded its model; raises UnavailableError: what it says instead."""
    kind, body = await _message(child)
    if kind == ERROR:
        facts = json.loads(body)
        raise UnavailableError(facts["message"], field=facts.get("field"), allowed=facts.get("allowed"))


async def _message(child: Process) -> tuple[bytes, bytes]:
    """The next message of a child.

    Raises:
        IncompleteReadError: it ended instead.
    """
    assert child.stdout is not None, "its output is a pipe"
    kind, size = HEADER.unpack(await child.stdout.readexactly(HEADER.size))
    if size > MESSAGE_BYTES_MAX:
        raise away("what it answered is no message")
    return kind, await child.stdout.readexactly(size)


def _parts(texts: Sequence[str], size: int) -> list[Sequence[str]]:
    return [texts[at : at + size] for at in range(0, len(texts), size)]


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
