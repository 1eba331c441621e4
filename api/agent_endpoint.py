"""``/mcp``: the tools for agents over streamable HTTP, begun when the first agent comes.

The protocol's package takes memory and a third of a second to load, which a service that no agent asks is spared. Each
request stands for itself, so any process of several may answer it. Tools see what the caller's token lets them see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from api.access import scope_of
from api.bodies import again, received
from api.checks import Facts
from api.execution import facts_of
from api.refusals import refusal
from graph import scope as scopes
from graph import strict_json
from graph.errors import KnowledgeError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

PATH = "/mcp"
_CALLER: ContextVar[scopes.Scope] = ContextVar("caller")


def caller() -> scopes.Scope:
    """Who calls the tool at hand."""
    return _CALLER.get()


class AgentEndpoint:
    """Answers the protocol's requests.

    Args:
        build: Makes the server with the tools.
        body_bytes_max: How long a request may be.
    """

    def __init__(self, build: Callable[[], MCPServer], body_bytes_max: int) -> None:
        self._build = build
        self._body_bytes_max = body_bytes_max
        self._begun: asyncio.Task[ASGIApp] | None = None
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] != "POST":  # a stream that nothing would ever be sent on
            refused = refusal(Facts("VALIDATION", "only POST is answered here"), 405, {"allow": "POST"})
            await refused(scope, receive, send)
            return
        messages, body = await received(receive)
        try:
            strict_json.loads(body.decode())
        except KnowledgeError as error:  # the protocol's package would take the last of two
            await refusal(facts_of(error))(scope, receive, send)
            return
        except (ValueError, RecursionError):  # of which the package says what is wrong, as the protocol has it
            pass
        if self._begun is None:
            self._begun = asyncio.create_task(self._begin())
        app = await asyncio.shield(self._begun)
        _CALLER.set(scope_of(scope))  # the tools run in what this begins
        await app(scope, again(messages, receive), send)

    async def _begin(self) -> ASGIApp:
        from mcp.server.transport_security import TransportSecuritySettings  # noqa: PLC0415

        server, started = self._build(), asyncio.Event()
        app = server.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,
            max_request_body_size=self._body_bytes_max,
            # Every request shows a token, which no page of the web has; so the service may have any name.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

        async def run() -> None:
            async with server.session_manager.run():
                started.set()
                await asyncio.Event().wait()  # until the loop ends

        self._running = asyncio.create_task(run())
        await started.wait()
        return app
