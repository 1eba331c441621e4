"""Bounds on a websocket's connection; loaded with the first one, since few callers want any.

Pings keep a connection open for what stands between. They prove nothing of a reader: one who is slow but there answers
them after all that was sent before. What proves it is that it takes what is sent.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from api.connections import Patience

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

CLOSE_SECONDS = 5.0  # a reader has so long to take the rest, and the reason
_TRY_AGAIN_LATER = 1013
_LOG = logging.getLogger("whence.http")


class BoundedSocket(WebSocketsSansIOProtocol):
    """uvicorn's websocket, with bounds."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection."""
        super().connection_made(transport)
        self._patience = Patience(self.transport, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the bounds."""
        self._patience.stop()
        super().connection_lost(exc)

    async def send(self, message: ASGISendEvent) -> None:
        """Send what the application says; its refusal ends the handshake, or uvicorn would log an error for each."""
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True

    def pause_writing(self) -> None:
        """Give a reader that does not keep up some time; what it says meanwhile has to wait as well."""
        super().pause_writing()
        self.transport.pause_reading()
        self._patience.start()

    def resume_writing(self) -> None:
        """Note that the reader goes on."""
        self._patience.stop()
        if not self.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()
        super().resume_writing()

    def shutdown(self) -> None:
        """Say that the service ends; who does not take that is cut off."""
        super().shutdown()
        self._cut_off()

    def _give_up(self) -> None:
        _LOG.warning("a websocket is closed: its reader took nothing for %g s", self._patience.seconds)
        if not self.close_sent and self.handshake_complete:
            self.conn.send_close(_TRY_AGAIN_LATER, f"nothing was taken for {self._patience.seconds:g} s")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
        # Whoever waits to write, or for what is said next, need not wait until all of it is over.
        self.queue.put_nowait({"type": "websocket.disconnect", "code": _TRY_AGAIN_LATER})
        self.disconnected = True
        self.writable.set()
        self.transport.close()
        self._cut_off()

    def _cut_off(self) -> None:
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
