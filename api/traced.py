"""What every request goes through first: it gets an id and a bound, and how it went is logged."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.at_hand import REQUEST, AtHand
from graph import received

_SAFETY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
_LOG = logging.getLogger("whence.http")


class Traced:
    """Gives each request an id and a bound, logs how it went, and sets the headers that every answer has."""

    def __init__(self, app: ASGIApp, asked: Callable[[], None]) -> None:
        self.app = app
        self._asked = asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, whichever way it goes from here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self._asked()
        at_hand = AtHand.of(scope["headers"])
        token = REQUEST.set(at_hand)
        started, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_SAFETY, (b"x-request-id", at_hand.id.encode())]
            await send(message)

        try:
            with received.allowed(received.ANSWER_BYTES_MAX):
                await self.app(scope, receive, sending)
        finally:
            _tell(scope, at_hand, status, time.perf_counter() - started)
            REQUEST.reset(token)
            self._asked()


def _tell(scope: Scope, at_hand: AtHand, status: int, seconds: float) -> None:
    """Log how a request went."""
    facts = {
        "method": scope["method"],
        "path": quote(scope["path"], errors="replace"),
        "status": status,
        "ms": round(seconds * 1000, 1),
        "kind": at_hand.kind,
        "operation": at_hand.operation,
    }
    _LOG.info("answered", extra={"facts": facts})
