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
from api.wire import STREAM_MEDIA
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
_STREAM = STREAM_MEDIA.encode()
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
        answer = _Answer(scope, at_hand)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.begin(message)
                if answer.streams:  # it may go on for days; what a caller waits for is its beginning
                    self._count(answer)
            await send(message)

        with tracing.request(at_hand, scope["method"], scope["headers"]) as span:
            try:
                with received.allowed(received.ANSWER_BYTES_MAX):
                    await self.app(scope, receive, sending)
            finally:
                if not answer.streams:
                    self._count(answer)
                self._note(answer, span)
                REQUEST.reset(token)
                self._asked()

    def _count(self, answer: _Answer) -> None:
        """Tell the metrics how a request went."""
        if self._metrics is not None:
            route, method = _route(answer.scope), answer.scope["method"]
            self._metrics.request(route, method, answer.status, answer.seconds(), answer.at_hand.kind)

    def _note(self, answer: _Answer, span: tracing.RequestSpan | None) -> None:
        """Tell the trace and the log how a request went."""
        scope, at_hand = answer.scope, answer.at_hand
        if span is not None:
            span.note(_route(scope), answer.status)
        admitted = scope.get("state", {}).get("scope")
        facts = {
            "actor": admitted and f"{admitted.actor.issuer}:{admitted.actor.subject}",
            "token": admitted and admitted.id,
            "method": scope["method"],
            "path": quote(scope["path"], errors="replace"),
            "status": answer.status,
            "ms": round(answer.seconds() * 1000, 1),
            "kind": at_hand.kind,
            "operation": at_hand.operation,
        }
        _LOG.info("answered", extra={"facts": facts})


class _Answer:
    """A request on its way to its answer.

    Attributes:
        scope: The request's.
        at_hand: What else is known of it.
        status: 0 while nothing was sent.
        streams: Whether it goes on for as long as its reader likes.
    """

    def __init__(self, scope: Scope, at_hand: AtHand) -> None:
        self.scope = scope
        self.at_hand = at_hand
        self.status = 0
        self.streams = False
        self._started = time.perf_counter()

    def begin(self, message: Message) -> None:
        """Read the head, and give it what every answer has."""
        self.status, own = message["status"], message.get("headers", ())
        self.streams = any(name == b"content-type" and value.startswith(_STREAM) for name, value in own)
        message["headers"] = [*own, *_safety(own, self.scope), (b"x-request-id", self.at_hand.id.encode())]

    def seconds(self) -> float:
        """How long ago the request began."""
        return time.perf_counter() - self._started


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
