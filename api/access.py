"""Who is let in: every request shows a token, and goes on with the scope that it gives.

Pages and styles that hold nothing of any project are given to everybody, and so is whether the service is well; a page
asks for a token before it asks for anything else.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol, cast

from cachetools import TTLCache
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Asked

from api.execution import facts_of
from api.json_web_tokens import Issuer
from api.refusals import refusal
from api.spending import Spending
from api.trust import Trust
from graph import received
from graph.access_tokens import AccessTokens, read_token
from graph.errors import CrowdedError, KnowledgeError, RateError, UnauthenticatedError
from graph.knowledge import Actor, ActorType
from graph.scope import Scope, everything
from graph.sharing import Shared
from graph.store import Store

SEEN_SECONDS = 1.0  # a token that was revoked opens nothing this much later
SEEN_MAX = 10_000  # tokens
TOKEN_CHARS_MAX = 8_192
OPEN_PATHS = frozenset({"/", "/healthz", "/readyz"})
OPEN_FOLDERS = ("/explorer/", "/browser/")
STRANGER = Scope(Actor("whence", "stranger", ActorType.SERVICE), {}, "nothing", "")
"""Of whoever has shown no token: there is nothing to see."""
_SCHEME = "bearer "


class Admitting(Protocol):
    """Knows callers by what they show."""

    async def scope_of(self, credentials: str | None) -> Scope:
        """What a caller may see and do.

        Args:
            credentials: As the header ``Authorization`` has them; None for no header.

        Raises:
            UnauthenticatedError: they are missing, unknown, expired or revoked.
            UnavailableError: it cannot be found out now.
        """
        ...


class Everyone:
    """Lets everybody do everything, as one actor: for a program that carries the application within itself."""

    def __init__(self, actor: Actor) -> None:
        self._scope = everything(actor)

    async def scope_of(self, credentials: str | None) -> Scope:  # noqa: ARG002  they do not matter
        """All there is."""
        return self._scope


class Admission:
    """Knows callers by the tokens of a store, and by those of an issuer where there is one.

    Args:
        tokens: The store's.
        issuer: Another that is trusted.
        clock: Seconds.
    """

    def __init__(
        self, tokens: AccessTokens, issuer: Issuer | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tokens = tokens
        self._issuer = issuer
        self._seen: TTLCache[bytes, Scope] = TTLCache(SEEN_MAX, SEEN_SECONDS, clock)
        self._shared = Shared[None, tuple[str, str], Scope | None](self._opened)

    @classmethod
    def to(cls, store: Store, trust: Trust | None) -> Admission:
        """Admission to a store, for callers with its own tokens or with those of an issuer that is trusted."""
        return cls(AccessTokens(store), None if trust is None else Issuer(trust))

    async def scope_of(self, credentials: str | None) -> Scope:
        """See ``Admitting``; what was found out holds for a second."""
        shown = _shown(credentials)
        digest = hashlib.sha256(shown.encode(errors="replace")).digest()
        scope = self._seen.get(digest)
        if scope is None and (scope := await self._found(shown)) is not None:
            self._seen[digest] = scope
        if scope is None or (scope.expires_at is not None and scope.expires_at <= datetime.now(UTC)):
            raise unauthenticated("the token is unknown, expired or revoked")
        return scope

    async def _found(self, shown: str) -> Scope | None:
        read = read_token(shown)
        if read is not None:
            return await self._shared.get(None, read)
        return None if self._issuer is None else await self._issuer.scope_of(shown)

    async def _opened(self, _kind: None, together: list[tuple[str, str]]) -> list[Scope | None]:
        return [None if token is None else token.scope() for token in await self._tokens.opened(together)]


def unauthenticated(message: str) -> UnauthenticatedError:
    """The refusal of a caller whom nobody knows."""
    return UnauthenticatedError(
        message,
        field="authorization",
        allowed="the header `Authorization: Bearer TOKEN`; `whence token create` makes one",
    )


def _shown(credentials: str | None) -> str:
    if not credentials:
        raise unauthenticated("there is no token")
    if credentials[: len(_SCHEME)].lower() != _SCHEME or len(credentials) > TOKEN_CHARS_MAX:
        raise unauthenticated("the credentials are no bearer token")
    return credentials[len(_SCHEME) :].strip()


class Admitted:
    """Passes requests on with their scope, and refuses those that show no token that holds.

    What comes over a socket of its own shows its token there, and is passed on without one.

    Args:
        app: Answers what is let in.
        admission: Knows callers.
        spending: What they have left.
    """

    def __init__(self, app: ASGIApp, admission: Admitting, spending: Spending) -> None:
        self.app = app
        self._admission = admission
        self._spending = spending

    async def __call__(self, asked: Asked, receive: Receive, send: Send) -> None:
        """Let one request in, or refuse it."""
        if asked["type"] != "http" or _is_open(asked):
            asked.setdefault("state", {})["scope"] = STRANGER
            await self.app(asked, receive, send)
            return
        try:
            scope = await self._admission.scope_of(header(asked, b"authorization"))
            self._spending.require(scope)
        except KnowledgeError as error:
            await refused(error)(asked, receive, send)
            return
        asked.setdefault("state", {})["scope"] = scope
        try:
            await self.app(asked, receive, send)
        finally:
            self._spending.spend(scope, received.untold())


def scope_of(asked: Asked) -> Scope:
    """The scope with which a request was let in."""
    return cast(Scope, asked["state"]["scope"])


def _is_open(asked: Asked) -> bool:
    path = asked["path"]
    if path in OPEN_PATHS or path.startswith(OPEN_FOLDERS):
        return True
    # The page of GraphiQL, which asks for the token itself.
    wants = header(asked, b"accept") or ""
    return path == "/graphql" and asked["method"] == "GET" and not asked["query_string"] and "text/html" in wants


def header(asked: Asked, name: bytes) -> str | None:
    """A header of a request; None where it has none of the name, which is in lower case."""
    return next((value.decode("latin-1") for known, value in asked["headers"] if known == name), None)


def refused(error: KnowledgeError) -> Response:
    """The answer to a request that is not let in, or not now."""
    headers = {"cache-control": "no-store"}
    if isinstance(error, UnauthenticatedError):
        headers["www-authenticate"] = "Bearer"
    if isinstance(error, RateError):
        headers["retry-after"] = str(error.retry_after)
    return refusal(facts_of(error), 429 if isinstance(error, CrowdedError | RateError) else None, headers)
