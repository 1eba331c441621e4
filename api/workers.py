"""Several processes that answer on one port: begun by the service's owner, watched, begun anew, and ended with it.

Each has a listening socket of its own on the same address, and the kernel gives each the same share of connections.
The sockets are the owner's: what waits in one while its worker is begun anew is answered by the next. Where the kernel
does not share out so, all have one socket together.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Callable, Sequence
from dataclasses import asdict

from api import metrics
from api.channel import Channel, Message, refused
from graph.embedded import Connection
from graph.embedding.embedder import Embedder
from graph.embedding.filler import Filler
from graph.errors import KnowledgeError, UnavailableError, ValidationError

DRAIN_SECONDS_MAX = 25.0  # it has 20 for what it is answering
SHORT_SECONDS = 5.0  # one that ends so soon after its start is begun anew after a pause
PAUSE_SECONDS = (0.5, 10.0)  # doubled each time
_LOG = logging.getLogger("whence.workers")


def listening(host: str, port: int, count: int) -> list[socket.socket]:
    """A socket for each worker, all at one address.

    Raises:
        UnavailableError: the address cannot be had.
        ValidationError: this system gives no sockets to other processes.
    """
    if sys.platform == "win32":
        raise ValidationError("several workers are not to be had on Windows", field="--workers", allowed="1")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    shares = sys.platform == "linux"
    try:
        first = socket.create_server((host, port), family=family, backlog=2048, reuse_port=shares)
        if not shares:
            return [first, *(first.dup() for _ in range(count - 1))]
        at = first.getsockname()[:2]
        rest = [socket.create_server(at, family=family, backlog=2048, reuse_port=True) for _ in range(count - 1)]
    except OSError as error:
        raise UnavailableError(f"{host}:{port} cannot be listened on", field="--port", allowed="a free port") from error
    return [first, *rest]


class Workers:
    """The workers of one service.

    Args:
        database: Where they find the database.
        embedder: The one model that they all ask; None where there is none.
        filler: Told what they say of projects and callers.
    """

    def __init__(self, database: Connection, embedder: Embedder | None, filler: Filler | None) -> None:
        self._sockets: Sequence[socket.socket] = ()
        self._database = database
        self._embedder = embedder
        self._filler = filler
        self._channels: dict[int, Channel] = {}
        self._ready: set[int] = set()
        self._embedding: set[asyncio.Task[None]] = set()
        self._reached: Callable[[], None] = lambda: None

    async def run(self, sockets: Sequence[socket.socket], reached: Callable[[], None]) -> None:
        """Have all of them answer until this is cancelled; then end them in order, with what they took answered.

        Args:
            sockets: One for each, which are closed at the end.
            reached: Called once all of them answer.

        Raises:
            UnavailableError: one of them could not be begun.
        """
        self._sockets, self._reached = sockets, reached
        keeping = [asyncio.create_task(self._keep(number)) for number in range(1, len(self._sockets) + 1)]
        try:
            await asyncio.gather(*keeping)
        finally:
            for task in keeping:
                if not task.cancelling():  # once is enough: the second time would cut off what is drained
                    task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
            for each in self._sockets:
                each.close()

    async def _keep(self, number: int) -> None:
        """Have one worker answer, and another one in its place when it has ended."""
        clock = asyncio.get_running_loop().time
        least, most = PAUSE_SECONDS
        pause = 0.0
        while True:
            begun = clock()
            process, channel = await self._begin(number)
            try:
                await self._hear(number, channel)
                code = await process.wait()
            finally:
                await self._end(number, process, channel)
            if number not in self._ready:
                raise UnavailableError(
                    f"worker {number} ended with code {code} before it answered", allowed="what the log asks for"
                )
            _LOG.warning("worker %d (process %d) ended with code %d; another one is begun", number, process.pid, code)
            pause = min(most, max(least, 2 * pause)) if clock() - begun < SHORT_SECONDS else 0.0
            await asyncio.sleep(pause)

    async def _begin(self, number: int) -> tuple[Process, Channel]:
        own, given = socket.socketpair()
        end = self._sockets[number - 1]
        with given:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "api.worker",
                str(number),
                str(end.fileno()),
                str(given.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=(end.fileno(), given.fileno()),
                start_new_session=True,  # Ctrl-C is for the owner, which ends all in order
            )
        channel = self._channels[number] = await Channel.over(own)
        channel.say(database=asdict(self._database) | {"folder": self._database.folder and str(self._database.folder)})
        return process, channel

    async def _hear(self, number: int, channel: Channel) -> None:
        """Do what a worker says, until it says no more."""
        while (message := await channel.hear()) is not None:
            match message["of"]:
                case "ready":
                    _LOG.info("worker %d answers", number)
                    lacked = len(self._sockets) - len(self._ready)
                    self._ready.add(number)
                    if lacked and len(self._ready) == len(self._sockets):
                        self._reached()
                case "grown" if self._filler is not None:
                    self._filler.wake(message["project"])
                case "asked" if self._filler is not None:
                    self._filler.give_way()
                case "changed":
                    for other, to in self._channels.items():
                        if other != number:
                            to.say(of="changed", project=message["project"])
                case "embed" if self._embedder is not None:
                    task = asyncio.create_task(embed(self._embedder, channel, message))
                    self._embedding.add(task)
                    task.add_done_callback(self._embedding.discard)
                case _:
                    pass

    async def _end(self, number: int, process: Process, channel: Channel) -> None:
        """End a worker if it has not ended: in order, else by force."""
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(DRAIN_SECONDS_MAX):
                    await process.wait()
            except TimeoutError:
                _LOG.warning("worker %d (process %d) did not end and is killed", number, process.pid)
                process.kill()
                await process.wait()
        self._channels.pop(number, None)
        channel.close()
        metrics.forget(process.pid)


async def embed(embedder: Embedder, channel: Channel, asked: Message) -> None:
    """Answer what a worker asks of the model."""
    number, texts, seconds = asked["number"], asked["texts"], asked["seconds"]
    try:
        if asked["question"]:
            vectors = [await embedder.query(texts[0], seconds)]
        else:
            vectors = await embedder.passages(texts, seconds)
    except KnowledgeError as error:
        channel.say(**refused(number, error))
    else:
        channel.say(of="embedded", number=number, vectors=vectors)
