"""A link between the driver and Neo4j that can be slow, stand still, be down, or break at a chosen message of Bolt."""

# pyright: strict

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

BEGIN, RUN, COMMIT = b"\xb1\x11", b"\xb3\x10", b"\x00\x02\xb0\x12\x00\x00"
CHUNK = 65_536


@dataclass(slots=True)
class Break:
    """Where the link breaks.

    Attributes:
        message: The bytes by which a message of the driver is known.
        delivered: Whether the server has the message, and has answered it, before both sides are closed.
        times: How often it breaks there; it works afterwards.
        down: Whether the link is down after the last time.
    """

    message: bytes
    delivered: bool
    times: int = 1
    down: bool = False


class Link:
    """A port on the loopback that leads to a server.

    Attributes:
        port: Where the driver connects to.
        breaks: Where the link breaks next; None where nowhere.
        broken: How often it broke.
        delay: Seconds that everything takes in each direction.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._down = False
        self.port = 0
        self.breaks: Break | None = None
        self.broken = 0
        self.delay = 0.0

    @classmethod
    @asynccontextmanager
    async def to(cls, uri: str) -> AsyncGenerator[Link]:
        """A link to the server at this address."""
        host, _, port = uri.rpartition("/")[2].partition(":")
        link = cls(host, int(port))
        server = await asyncio.start_server(link._joined, "127.0.0.1", 0)
        link.port = server.sockets[0].getsockname()[1]
        try:
            yield link
        finally:
            server.close()
            link.down()
            link.still(on=False)
            await server.wait_closed()

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self.port}"

    def down(self) -> None:
        """Close every connection, and every new one as soon as it is made."""
        self._down = True
        for writer in self._writers:
            writer.transport.abort()

    def up(self) -> None:
        """Let connections through again."""
        self._down = False

    def still(self, *, on: bool) -> None:
        """Hold back whatever is sent, or let it go on."""
        if on:
            self._flowing.clear()
        else:
            self._flowing.set()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._down:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        sides = (writer, far_writer)
        self._writers.update(sides)
        lost = asyncio.Event()  # the next answer of the server is not passed on
        there = asyncio.ensure_future(self._there(reader, far_writer, lost))
        back = asyncio.ensure_future(self._back(far_reader, writer, lost))
        await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
        for task in (there, back):
            task.cancel()
        for side in sides:
            side.transport.abort()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(there, back)
        self._writers.difference_update(sides)
        if self._down:
            self.down()  # the others as well

    async def _there(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        while data := await reader.read(CHUNK):
            await self._pass()
            if self._breaks_at(data):
                assert self.breaks is not None
                if not self.breaks.delivered:
                    return
                lost.set()
            writer.write(data)
            await writer.drain()

    async def _back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event) -> None:
        while data := await reader.read(CHUNK):
            if lost.is_set():
                return
            await self._pass()
            writer.write(data)
            await writer.drain()

    async def _pass(self) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        await self._flowing.wait()

    def _breaks_at(self, data: bytes) -> bool:
        breaks = self.breaks
        if breaks is None or breaks.times == 0 or breaks.message not in data:
            return False
        breaks.times -= 1
        self.broken += 1
        self._down = self._down or (breaks.down and breaks.times == 0)
        return True
