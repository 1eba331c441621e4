"""Bounds on a connection: how long a request may take to arrive, and how large it may be on its way.

uvicorn leaves all of it to a proxy in front, which is not always there. What passes a bound is answered in the form of
every other refusal, and the connection is closed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

ARRIVAL_SECONDS = 30.0  # from a request's first byte to its last: a full body at 35 kB a second
READER_SECONDS = 60.0  # a reader that takes nothing for as long has gone, or means harm
HEAD_BYTES_MAX = 65_536  # the request line and the headers
MESSAGE_BYTES_MAX = 8 * 1_048_576  # on the wire: a full body in chunks of one byte each fits
_OPTIONS = (
    # So a slow reader shows here, and not megabytes later.
    ("TCP_NOTSENT_LOWAT", 131_072),
    # Milliseconds without a sign from the other side's kernel; longer than the patience with its reader.
    ("TCP_USER_TIMEOUT", 90_000),
)
CONNECTIONS_MAX = 800  # what a process may have open is often 1,024, and the database takes a hundred
_REASONS = {
    400: "Bad Request",
    408: "Request Timeout",
    413: "Content Too Large",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class Patience:
    """Waits for a reader that does not keep up, as long as it takes anything.

    Args:
        transport: How it is written to.
        give_up: Called when it has taken nothing for ``READER_SECONDS``.
    """

    def __init__(self, transport: asyncio.Transport, give_up: Callable[[], None]) -> None:
        self.seconds = READER_SECONDS
        self._transport = transport
        self._give_up = give_up
        self._left = 0
        self._clock: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to wait."""
        self.stop()
        self._left = self._transport.get_write_buffer_size()
        self._clock = asyncio.get_running_loop().call_later(self.seconds, self._look)

    def stop(self) -> None:
        """Wait no longer."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _look(self) -> None:
        if self._transport.get_write_buffer_size() < self._left:
            self.start()
        else:
            self._give_up()


def tune(transport: asyncio.Transport) -> None:
    """Have the kernel keep little that was not sent, and notice a peer that is gone."""
    connection = transport.get_extra_info("socket")
    for name, value in _OPTIONS:
        if hasattr(socket, name):  # not every system has each
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class _TooLargeError(Exception):
    """The head of a request is larger than it may be."""


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection, with bounds."""

    _clock: asyncio.TimerHandle | None = None
    _arriving = False
    _handed_over = False
    _received = 0
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or turn it away where there are too many."""
        super().connection_made(transport)
        self._patience = Patience(transport, transport.abort)
        tune(transport)
        if len(self.connections) > CONNECTIONS_MAX:
            allowed = f"at most {CONNECTIONS_MAX} connections at a time; the same request later"
            self._turn_away(503, "UNAVAILABLE", "there are too many connections", "connections", allowed)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the bounds."""
        self._stop_clock()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count and read what came."""
        self._received += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self._handed_over:
            return
        if not self._arriving and self._is_answering():
            self._stop_clock()
            return
        self._start_clock()
        if self._received > MESSAGE_BYTES_MAX:
            allowed = f"at most {MESSAGE_BYTES_MAX} bytes on the wire"
            self._turn_away(413, "LIMIT", "the request is too large", "body", allowed)
        elif self._head >= 0 and self._received > HEAD_BYTES_MAX:
            self._refuse_head()

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._arriving, self._head = True, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header, or a trailer."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Note that the head is there."""
        self._head = -HEAD_BYTES_MAX  # trailers are counted anew
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that the request is there."""
        self._arriving, self._received = False, 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Give a reader that does not keep up some time."""
        super().pause_writing()
        self._patience.start()

    def resume_writing(self) -> None:
        """Note that the reader goes on."""
        self._patience.stop()
        super().resume_writing()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over; it has bounds of its own from then on."""
        self._stop_clock()
        self._handed_over = True
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        if self._head > HEAD_BYTES_MAX:
            self._refuse_head()
        else:
            self._turn_away(400, "VALIDATION", msg.rstrip("."), "request", "HTTP/1.1")

    def _is_answering(self) -> bool:
        cycle = getattr(self, "cycle", None)  # None before the first request, whatever its type says
        return cycle is not None and not cycle.response_complete

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > HEAD_BYTES_MAX:
            raise _TooLargeError

    def _refuse_head(self) -> None:
        allowed = f"at most {HEAD_BYTES_MAX} bytes"
        self._turn_away(431, "LIMIT", "the request line and the headers are too large", "headers", allowed)

    def _start_clock(self) -> None:
        if self._clock is None and not self.transport.is_closing():
            self._clock = self.loop.call_later(ARRIVAL_SECONDS, self._too_slow)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_slow(self) -> None:
        self._clock = None
        if self._arriving:
            allowed = f"at most {ARRIVAL_SECONDS:g} s from its first byte to its last"
            self._turn_away(408, "LIMIT", "the request did not arrive in time", "request", allowed)
        else:
            self.transport.close()

    def _turn_away(self, status: int, code: str, message: str, field: str, allowed: str) -> None:
        """Refuse in the form of every other refusal, unless an answer is under way, and close."""
        if not self._is_answering() or not self.cycle.response_started:
            extensions = {"code": code, "field": field, "allowed": allowed}
            body = orjson.dumps({"errors": [{"message": message, "extensions": extensions}]})
            head = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
            head += "x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
            head += f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(head.encode() + body)
        self.transport.close()
