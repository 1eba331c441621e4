"""Pages of other origins: which of them may ask, over HTTP (CORS) and over websockets.

Nobody is known by a cookie here, so a page can do nothing without a token; but which pages may have one is for whoever
runs the service to say. What no page sends has no origin, and is asked for its token alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from api.access import header
from api.checks import Facts
from api.refusals import refusal

PREFLIGHT_SECONDS = 600  # a browser remembers so long what it may ask


class Origins:
    """Lets pages of some other origins ask; a browser keeps those of all others away.

    Args:
        app: Answers.
        origins: Those that may, as the settings give them; our own always may.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self.app = app
        self._shared = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=("*",),
            expose_headers=("x-request-id", "retry-after"),
            max_age=PREFLIGHT_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on so that a page that may ask can read the answer; a browser reads no other one to a page.

        A page may open a websocket to anywhere without asking first, so that one of elsewhere is refused.
        """
        origin = None if scope["type"] == "lifespan" else header(scope, b"origin")
        if origin is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket" and not self._may(origin, scope):
            facts = Facts("FORBIDDEN", "the page comes from elsewhere", "origin", None, "pages of this service")
            await refusal(facts)(scope, receive, send)
        else:
            shared = scope["type"] == "http" and self._shared.is_allowed_origin(origin)
            await (self._shared if shared else self.app)(scope, receive, send)

    def _may(self, origin: str, scope: Scope) -> bool:
        host = header(scope, b"host") or ""
        return self._shared.is_allowed_origin(origin) or origin.partition("://")[2].lower() == host.lower()
