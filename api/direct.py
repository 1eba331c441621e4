"""The short way: a request whose query has a plan is answered before the web framework looks at it.

A query's first request goes the long way, which parses, measures and validates it and makes its plan
(``api.execution``). Later ones come as JSON by POST like nearly all requests do, and from their bytes to the bytes
of the answer there are only the plan and its statement, or an answer that was kept (``api.kept``). Everything else, and
every request that a plan hands back, goes on as if nobody had looked: the bytes that were read are given again.
"""

from __future__ import annotations

from typing import Any, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from api import tracing
from api.access import scope_of
from api.at_hand import REQUEST
from api.bodies import again, received
from api.execution import Plans
from api.kept import KeptAnswers, Made
from api.plans import Plan
from api.selections import Variables
from api.streams import misformed
from api.wire import BODY_BYTES_MAX, GRAPHQL_MEDIA, JSON_MEDIA, encoded, prefers_graphql, takes_stream_alone
from graph import strict_json
from graph.compiled import CompiledReads
from graph.errors import KnowledgeError

_PLAIN = (b"content-type", JSON_MEDIA.encode())
_GRAPHQL = (b"content-type", f"{GRAPHQL_MEDIA}; charset=utf-8".encode())


class Direct:
    """Answers what has a plan, and passes everything else on.

    Args:
        app: Answers the rest.
        plans: The plans of the queries that came before.
        reads: What plans read from.
    """

    def __init__(self, app: ASGIApp, plans: Plans, reads: CompiledReads) -> None:
        self._app = app
        self.plans = plans
        self._reads = reads
        self._kept = KeptAnswers(reads.version)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or pass it on."""
        if scope["type"] != "http" or scope["path"] != "/graphql" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        headers = dict(cast("list[tuple[bytes, bytes]]", scope["headers"]))
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            await self._app(scope, receive, send)
            return
        accept = headers.get(b"accept", b"").decode("latin-1")
        if takes_stream_alone(accept):
            await self._app(scope, receive, send)
            return
        messages, body = await received(receive)
        answer = None
        if len(body) <= BODY_BYTES_MAX:
            caller = scope_of(scope)
            # Of what two callers see alike, one is given what was read for the other.
            request = caller.sight + body
            answer = await self._kept.answer(request, lambda: self._made(body, self._reads.within(caller)))
        if answer is None:
            await self._app(scope, again(messages, receive), send)
            return
        if (at_hand := REQUEST.get()) is not None and at_hand.kind is None:  # it was kept, and nothing ran
            with tracing.operation():
                at_hand.runs("query", answer.operation)
        await _send(send, answer.body, graphql=prefers_graphql(accept))

    async def _made(self, body: bytes, reads: CompiledReads) -> Made | None:
        planned = self._planned(body)
        if planned is None:
            return None
        plan, variables = planned
        with tracing.operation():
            if (at_hand := REQUEST.get()) is not None:
                at_hand.runs("query", plan.name)
            data = await plan.answer(reads, variables)
        if data is None:
            return None
        return Made(encoded({"data": data}), lasting=not plan.tells_time(variables), operation=plan.name)

    def _planned(self, body: bytes) -> tuple[Plan, Variables] | None:
        try:
            asked = strict_json.loads(body.decode())
        except (KnowledgeError, ValueError, RecursionError):
            return None
        if not isinstance(asked, dict):
            return None
        fields = cast("dict[str, Any]", asked)
        if misformed(fields) or not fields.get("query") or fields.get("extensions"):
            return None
        plan = self.plans.known(fields["query"], fields.get("operationName"))
        return None if plan is None else (plan, fields.get("variables") or {})


async def _send(send: Send, body: bytes, *, graphql: bool) -> None:
    headers = [_GRAPHQL if graphql else _PLAIN, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
