"""What every request goes through first: it gets an id and a bound, and how it went is logged."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.loaders import REQUEST_ID
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
        request_id = secrets.token_hex(6)
        token = REQUEST_ID.set(request_id)
        started, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_SAFETY, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            with received.allowed(received.ANSWER_BYTES_MAX):
                await self.app(scope, receive, sending)
        finally:
            path = quote(scope["path"], errors="replace")  # what a caller sends must not forge a line of the log
            spent = (time.perf_counter() - started) * 1000
            _LOG.info("%s %s %s %d %.1f ms", request_id, scope["method"], path, status, spent)
            REQUEST_ID.reset(token)
            self._asked()
