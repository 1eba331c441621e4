"""Bounds on connections, met with bare sockets: what no client library would send."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from api import connections
from api.access import Everyone
from api.serving import serve
from api.settings import Settings
from graph.feed import Feed
from graph.scope import Scope
from graph.service import Service
from graph.store import Store

SETTINGS = Settings(home=Path("/nowhere"))
BODY = b'{"query": "{ projects }"}'
HEAD = b"POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
REQUEST = HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY
ANSWER = {"data": {"projects": ["real"]}}


class Plain:
    """A service that knows one project, that nobody follows, and whose export never ends."""

    feed = Feed(cast(Store, None))

    def within(self, _scope: Scope) -> Plain:
        return self

    async def projects(self) -> list[str]:
        return ["real"]

    async def export_journal(self, _project: str) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1_000_000
            await asyncio.sleep(0)


class Wire:
    """A bare connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *chunks: bytes, pause: float = 0.0) -> None:
        """Send in pieces, as long as somebody listens."""
        with suppress(ConnectionError):
            for chunk in chunks:
                self.writer.write(chunk)
                await self.writer.drain()
                await asyncio.sleep(pause)

    async def answer(self) -> tuple[int, Any]:
        """The status and the JSON of the next answer."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 20)
        length = next(
            int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length")
        )
        return int(head.split()[1]), json.loads(await self.reader.readexactly(length))

    async def is_closed(self) -> bool:
        with suppress(ConnectionError):
            return await asyncio.wait_for(self.reader.read(), 20) == b""
        return True


@asynccontextmanager
async def served() -> AsyncGenerator[Callable[[], Awaitable[Wire]]]:
    bound: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve(
            cast(Service, Plain()),
            SETTINGS,
            Everyone(SETTINGS.actor),
            ready=lambda host, port: bound.set_result((host, port)),
        )
    )
    host, port = await asyncio.wait_for(bound, 20)
    wires: list[Wire] = []

    async def connect() -> Wire:
        wires.append(Wire(*await asyncio.open_connection(host, port)))
        return wires[-1]

    try:
        yield connect
    finally:
        for wire in wires:
            wire.writer.close()
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


def refused(answer: tuple[int, Any], status: int, code: str) -> None:
    assert answer[0] == status
    (error,) = answer[1]["errors"]
    assert error["extensions"]["code"] == code
    assert error["extensions"]["allowed"]


async def is_turned_away(wire: Wire, *chunks: bytes) -> None:
    """Refused, or cut off in the middle of what it sends, which may lose it the refusal."""
    sending = asyncio.ensure_future(wire.send(*chunks))
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        status, answer = await wire.answer()
        assert status in (400, 413, 431)
        assert answer["errors"][0]["extensions"]["code"] in ("VALIDATION", "LIMIT")
    await asyncio.wait_for(sending, 20)
    assert await wire.is_closed()


async def serves(connect: Callable[[], Awaitable[Wire]]) -> None:
    """A caller who means no harm is answered."""
    wire = await connect()
    await wire.send(REQUEST)
    assert await wire.answer() == (200, ANSWER)


Scenario = Callable[[Callable[[], Awaitable[Wire]]], Awaitable[None]]


def play(loop: asyncio.Runner, scenario: Scenario) -> None:
    async def played() -> None:
        async with served() as connect:
            await scenario(connect)
            await serves(connect)

    loop.run(played())


class Server:
    """What happens at the other end, so that a test waits for that and not for some time."""

    def __init__(self, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        self._ahead = 0.0
        self.arrived = 0
        self._came = asyncio.Event()
        self.lost = asyncio.Event()
        real = loop.get_loop().time
        monkeypatch.setattr(loop.get_loop(), "time", lambda: real() + self._ahead)
        read, lose = connections.BoundedConnection.data_received, connections.BoundedConnection.connection_lost

        def data_received(connection: connections.BoundedConnection, data: bytes) -> None:
            read(connection, data)
            self.arrived += len(data)
            self._came.set()

        def connection_lost(connection: connections.BoundedConnection, exc: Exception | None) -> None:
            lose(connection, exc)
            self.lost.set()

        monkeypatch.setattr(connections.BoundedConnection, "data_received", data_received)
        monkeypatch.setattr(connections.BoundedConnection, "connection_lost", connection_lost)

    async def takes(self, wire: Wire, text: bytes) -> None:
        """Send a text and wait until it was read."""
        awaited = self.arrived + len(text)
        await wire.send(text)
        while self.arrived < awaited:
            self._came.clear()
            await asyncio.wait_for(self._came.wait(), 20)

    def leap(self, seconds: float) -> None:
        """Let time pass, for all that waits here."""
        self._ahead += seconds


def test_a_request_that_arrives_byte_by_byte_is_given_up(loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    server, steps = Server(loop, monkeypatch), 10

    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        for text in (REQUEST, HEAD + b"x: y\r\n" * 50):
            wire = await connect()
            for at in range(steps):
                await server.takes(wire, text[at : at + 1])
                server.leap(connections.ARRIVAL_SECONDS / steps)
            refused(await wire.answer(), 408, "LIMIT")
            await wire.send(*(text[at : at + 1] for at in range(steps, len(text))))
            assert await wire.is_closed()

    play(loop, scenario)


def test_a_connection_that_says_nothing_is_closed(loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "ARRIVAL_SECONDS", 0.3)

    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        wires = [await connect() for _ in range(5)]
        await wires[0].send(*[b"\r\n"] * 3, pause=0.05)
        assert all([await wire.is_closed() for wire in wires])

    play(loop, scenario)


def test_a_body_that_is_sent_in_a_few_pieces_is_taken(loop: asyncio.Runner) -> None:
    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        wire = await connect()
        await wire.send(REQUEST[:50], REQUEST[50:-5], REQUEST[-5:], pause=0.05)
        assert await wire.answer() == (200, ANSWER)
        chunked = HEAD + b"transfer-encoding: chunked\r\n\r\n"
        await wire.send(chunked, *(b"1\r\n%c\r\n" % byte for byte in BODY), b"0\r\n\r\n")
        assert await wire.answer() == (200, ANSWER)

    play(loop, scenario)


def test_heads_without_end_are_refused(loop: asyncio.Runner) -> None:
    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        for text in (
            HEAD + b"x: y\r\n" * 20_000,
            HEAD + b"x: " + b"y" * 200_000,
            HEAD + b"y" * 200_000,
            b"GET /graphql?query=" + b"y" * 200_000,
            b"Y" * 200_000,
        ):
            wire = await connect()
            await is_turned_away(wire, text)

    play(loop, scenario)


def test_chunks_without_end_are_refused(loop: asyncio.Runner) -> None:
    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        chunked = HEAD + b"transfer-encoding: chunked\r\n\r\n"
        endless = (chunked, *[b"10000\r\n" + b" " * 65_536 + b"\r\n"] * 200)
        trailers = (chunked + b"1\r\n \r\n0\r\n", *[b"x: " + b"y" * 60_000 + b"\r\n"] * 200)
        tiny = (chunked, *[b"1\r\n \r\n" * 10_000] * 200)
        for chunks in (endless, trailers, tiny):
            wire = await connect()
            await is_turned_away(wire, *chunks)

    play(loop, scenario)


def test_what_is_no_http_is_refused_in_json(loop: asyncio.Runner) -> None:
    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        for text in (
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"GET\r\n\r\n",
            b"GET http:// HTTP/9.9\r\n\r\n",
        ):
            wire = await connect()
            await wire.send(text)
            refused(await wire.answer(), 400, "VALIDATION")
        smuggled = await connect()
        await smuggled.send(HEAD + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")
        assert (await smuggled.answer())[0] == 400

    play(loop, scenario)


def test_requests_sent_ahead_are_answered_in_their_order(loop: asyncio.Runner) -> None:
    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        wire = await connect()
        await wire.send(REQUEST * 50)
        assert [await wire.answer() for _ in range(50)] == [(200, ANSWER)] * 50

    play(loop, scenario)


def test_one_connection_too_many_is_turned_away(loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", 3)

    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        wires = [await connect() for _ in range(3)]
        for wire in wires:
            await wire.send(REQUEST)
            assert await wire.answer() == (200, ANSWER)
        refused(await (await connect()).answer(), 503, "UNAVAILABLE")
        wires[0].writer.close()
        await asyncio.sleep(0.1)

    play(loop, scenario)


def test_a_reader_that_takes_nothing_is_let_go(loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "READER_SECONDS", 0.3)
    server = Server(loop, monkeypatch)

    async def scenario(connect: Callable[[], Awaitable[Wire]]) -> None:
        wire = await connect()
        await wire.send(b"GET /export/real.jsonl HTTP/1.1\r\nhost: x\r\n\r\n")
        await asyncio.wait_for(server.lost.wait(), 60)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(wire.reader.readexactly(1_000_000_000), 20)

    play(loop, scenario)
