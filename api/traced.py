"""What every request goes through first: it gets an id and a bound, and how it went is told."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from urllib.parse import quote

from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import tracing
from api.at_hand import REQUEST, AtHand
from api.metrics import Metrics
from graph import received

# What every answer has that does not say otherwise itself. What is known of a project is kept by nobody on the way.
_SAFETY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"cache-control", b"no-store"),
)
_POLICY = b"content-security-policy"
_NOTHING = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_PAGE = (
    b"default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_NAMES = frozenset({*dict(_SAFETY), _POLICY})
_PLAIN = (*_SAFETY, (_POLICY, _NOTHING))  # of most answers
# Behind TLS alone: elsewhere browsers pay no heed to it, and must not.
_TLS = (b"strict-transport-security", b"max-age=31536000")
_LOG = logging.getLogger("whence.http")


class Traced:
    """Gives each request an id and a bound, tells how it went, and sets the headers that every answer has.

    Args:
        app: Answers.
        asked: Called whenever a request comes and whenever it was answered.
        metrics: Where requests are counted and timed, if they are.
    """

    def __init__(self, app: ASGIApp, asked: Callable[[], None], metrics: Metrics | None = None) -> None:
        self.app = app
        self._asked = asked
        self._metrics = metrics

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
                own = message.get("headers", ())
                message["headers"] = [*own, *_safety(own, scope), (b"x-request-id", at_hand.id.encode())]
            await send(message)

        with tracing.request(at_hand, scope["method"], scope["headers"]) as span:
            try:
                with received.allowed(received.ANSWER_BYTES_MAX):
                    await self.app(scope, receive, sending)
            finally:
                self._note(scope, status, time.perf_counter() - started, at_hand, span)
                REQUEST.reset(token)
                self._asked()

    def _note(
        self, scope: Scope, status: int, seconds: float, at_hand: AtHand, span: tracing.RequestSpan | None
    ) -> None:
        """Tell the trace, the metrics and the log how a request went."""
        route, method = _route(scope), scope["method"]
        if span is not None:
            span.note(route, status)
        if self._metrics is not None:
            self._metrics.request(route, method, status, seconds, at_hand.kind)
        admitted = scope.get("state", {}).get("scope")
        facts = {
            "actor": admitted and f"{admitted.actor.issuer}:{admitted.actor.subject}",
            "token": admitted and admitted.id,
            "method": method,
            "path": quote(scope["path"], errors="replace"),
            "status": status,
            "ms": round(seconds * 1000, 1),
            "kind": at_hand.kind,
            "operation": at_hand.operation,
        }
        _LOG.info("answered", extra={"facts": facts})


def _safety(own: Iterable[tuple[bytes, bytes]], scope: Scope) -> tuple[tuple[bytes, bytes], ...]:
    """The headers that make an answer safe, but for those that it has already."""
    has = dict(own)
    safe = _PLAIN
    if has.get(b"content-type", b"").startswith(b"text/html"):
        safe = (*_SAFETY, (_POLICY, _PAGE))
    if not _NAMES.isdisjoint(has):
        safe = tuple(header for header in safe if header[0] not in has)
    return (*safe, _TLS) if scope.get("scheme") == "https" else safe


def _route(scope: Scope) -> str:
    """The path of the route that answered, its parameters unfilled; that of what was answered before there was one."""
    route = scope.get("route")
    if isinstance(route, Route):
        return route.path
    return "/graphql" if scope["path"] == "/graphql" else "other"
