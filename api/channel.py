"""What the process that owns the service and one of its workers say to each other, over a socket that they share.

Every message is its length and one JSON object. A worker whose channel ends ends too, so that none outlives the owner.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import orjson

from graph.embedding.embedder import Vector, away, too_slow
from graph.embedding.profile import Profile
from graph.errors import KnowledgeError, UnavailableError, ValidationError

MESSAGE_BYTES_MAX = 64_000_000  # vectors of the largest batch, written out
_LENGTH = struct.Struct("<I")
Message = dict[str, Any]


class Channel:
    """One end.

    Args:
        reader: What comes from the other end.
        writer: What goes there.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> Channel:
        """The channel over one end of a pair of sockets."""
        return cls(*await asyncio.open_unix_connection(sock=end))

    async def hear(self) -> Message | None:
        """The next message; None when there will be no more."""
        try:
            (size,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            return orjson.loads(await self._reader.readexactly(size)) if size <= MESSAGE_BYTES_MAX else None
        except (asyncio.IncompleteReadError, OSError):
            return None

    def say(self, **message: object) -> None:
        """Send a message; nothing happens where nobody hears any more."""
        if not self._writer.is_closing():
            body = orjson.dumps(message)
            self._writer.write(_LENGTH.pack(len(body)) + body)

    def close(self) -> None:
        """Say no more."""
        self._writer.close()


class OwnersEmbedder:
    """The owner's model, asked over the channel; ``Embedder`` by its form. So one model serves all workers.

    Args:
        profile: The model, and how it is used.
        channel: To the owner.
    """

    def __init__(self, profile: Profile, channel: Channel) -> None:
        self._profile = profile
        self._channel = channel
        self._numbers = count()
        self._waiting: dict[int, asyncio.Future[list[Vector]]] = {}

    @property
    def profile(self) -> Profile:
        """The model, and how it is used."""
        return self._profile

    async def passages(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        """The vectors of texts that are stored; see ``Embedder``."""
        return await self._asked(list(texts), seconds, question=False)

    async def query(self, text: str, seconds: float) -> Vector:
        """The vector of a text that is asked for; see ``Embedder``."""
        return (await self._asked([text], seconds, question=True))[0]

    async def close(self) -> None:
        """Refuse whoever waits."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(away("it was closed"))

    def answered(self, message: Mapping[str, Any]) -> None:
        """Take the owner's answer to a question."""
        waiting = self._waiting.get(message["number"])
        if waiting is None or waiting.done():
            return
        if (refused := message.get("refused")) is None:
            waiting.set_result(message["vectors"])
        else:
            kind = ValidationError if refused["code"] == ValidationError.code else UnavailableError
            waiting.set_exception(
                kind(refused["message"], field=refused.get("field"), allowed=refused.get("allowed") or "another try")
            )

    async def _asked(self, texts: list[str], seconds: float, *, question: bool) -> list[Vector]:
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._channel.say(of="embed", number=number, texts=texts, seconds=seconds, question=question)
        try:
            async with asyncio.timeout(seconds):
                return await self._waiting[number]
        except TimeoutError:
            raise too_slow() from None
        finally:
            del self._waiting[number]


def refused(number: int, error: KnowledgeError) -> Message:
    """The owner's answer where the model refused."""
    return {"of": "embedded", "number": number, "refused": error.facts()}
