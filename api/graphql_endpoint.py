"""The GraphQL endpoint: strawberry's, with the whole of GraphQL over HTTP."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from cross_web import AsyncHTTPRequestAdapter, HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLHTTPResponse, GraphQLRequestData
from strawberry.http.base import BaseRequestProtocol
from strawberry.types import ExecutionResult
from strawberry.types.execution import PreExecutionError

from api.access import refused, scope_of
from api.at_hand import REQUEST
from api.checks import Facts
from api.event_stream import EventStreams
from api.execution import ServedSchema, facts_of
from api.loaders import Context
from api.persisted import PersistedQueries
from api.refusals import TooLargeError, capped, refusal, too_large
from api.streams import Operation, misformed
from api.wire import (
    GRAPHQL_MEDIA,
    encoded,
    prefers_graphql,
    takes_stream,
    takes_stream_alone,
)
from graph import scope as scopes
from graph import strict_json
from graph.compiled import CompiledReads
from graph.errors import KnowledgeError
from graph.ingestion.stages import Stages
from graph.retrieval import Retrieval
from graph.service import Service

_GRAPHIQL = (
    "default-src 'none'; script-src 'unsafe-inline' https://unpkg.com; style-src 'unsafe-inline' https://unpkg.com; "
    "font-src data: https://unpkg.com; img-src data:; worker-src blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class GraphQLEndpoint(GraphQL[Context, None]):
    """Strawberry's endpoint, with the whole of GraphQL over HTTP and no way to a 500.

    It adds the media type ``application/graphql-response+json`` (400 where nothing was executed), a cap on
    the body, and JSON errors for requests that never reach GraphQL. GraphiQL, which browsers get, loads its
    scripts from unpkg.com.
    """

    def __init__(
        self,
        schema: ServedSchema,
        service: Service,
        reads: CompiledReads,
        retrieval: Retrieval,
        stages: Stages,
        event_streams: EventStreams,
    ) -> None:
        super().__init__(schema, subscription_protocols=(), multipart_uploads_enabled=False)
        self.service = service
        self.reads = reads
        self.retrieval = retrieval
        self.stages = stages
        self.event_streams = event_streams
        self.persisted = PersistedQueries(schema.admits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever keeps it from GraphQL is told in JSON."""
        request = Request(scope, capped(receive))
        try:
            response = await self.run(request)
        except TooLargeError:
            response = too_large()
            response.headers["connection"] = "close"
        except ClientDisconnect:  # nobody is there to be answered
            return
        except KnowledgeError as error:
            response = refusal(facts_of(error), 200) if error.code.startswith("PERSISTED") else refused(error)
            response.headers["cache-control"] = "no-store"
        except HTTPException as error:
            # Strawberry says 400 where the method is at fault: a mutation that came as GET.
            by_get = request.method == "GET" and "not allowed" in error.reason
            status = HTTPStatus.METHOD_NOT_ALLOWED if by_get else error.status_code
            headers = {"allow": "POST" if by_get else "GET, POST"} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
            response = refusal(Facts("VALIDATION", error.reason), status, headers)
        await response(scope, receive, send)

    async def get_context(
        self,
        request: Request | WebSocket,
        response: Response | WebSocket,  # noqa: ARG002  strawberry's form
    ) -> Context:
        """What the resolvers of one request share."""
        return self.context(scope_of(request.scope))

    def context(self, scope: scopes.Scope) -> Context:
        """What the resolvers of one operation share, within a scope."""
        return Context.of(self.service, self.reads, self.retrieval, self.stages, scope)

    async def run(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Strawberry's answer, in the media type that the caller prefers; or a stream of answers."""
        response = await self._streamed(request) or cast(Response, await super().run(request, *args, **kwargs))
        if response.headers.get("content-type", "").startswith("text/html"):
            response.headers["content-security-policy"] = _GRAPHIQL
        if response.headers.get("content-type") == "application/json" and prefers_graphql(
            request.headers.get("accept", "")
        ):
            response.headers["content-type"] = f"{GRAPHQL_MEDIA}; charset=utf-8"
            if getattr(request.state, "refused", False):
                response.status_code = 400
        return response

    async def _streamed(self, request: Request) -> Response | None:
        """A stream, where one is asked for: by a subscription, or because the caller takes nothing else."""
        accept = request.headers.get("accept", "")
        if request.method != "POST" or not takes_stream(accept):
            return None
        asked = await self.parse_http_body(self.request_adapter_class(request))
        assert not isinstance(asked, list), "batches are refused"
        if not asked.query:
            return None
        operation = Operation(asked.query, asked.variables or {}, asked.operation_name)
        follows = self.event_streams.streams.follows(operation)
        if not follows and not takes_stream_alone(accept):
            return None
        if follows and (at_hand := REQUEST.get()) is not None:
            at_hand.runs("subscription", operation.name)
        context = await self.get_context(request, Response())
        return await self.event_streams.answer(operation, context, request.headers.get("authorization"))

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        """The body of an answer; a request that was refused before its execution has no ``data``."""
        body = await super().process_result(request, result)
        errors = result.errors or []
        if isinstance(result, PreExecutionError) or (
            result.data is None and errors and all(error.path is None for error in errors)
        ):
            request.state.refused = True
            body.pop("data", None)
        return body

    def encode_json(self, data: object) -> bytes:
        """JSON of any value."""
        return encoded(data)

    def decode_json(self, data: str | bytes) -> object:
        """JSON in UTF-8, as ``strict_json`` reads it."""
        return strict_json.loads(data if isinstance(data, str) else data.decode())

    def parse_json(self, data: str | bytes) -> Any:
        """The JSON value; HTTPException for anything that is none, is nested too deep, or is no UTF-8.

        Raises:
            ValidationError: a name stands twice in one object.
        """
        try:
            return self.decode_json(data)
        except (ValueError, RecursionError):
            raise HTTPException(400, "Unable to parse request body as JSON") from None

    def parse_query_params(self, params: Any) -> dict[str, Any]:
        """The request of a GET; an empty parameter is none."""
        return super().parse_query_params({name: value for name, value in params.items() if value != ""})

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData | list[GraphQLRequestData]:
        """The request, of the form that GraphQL over HTTP wants; HTTPException for anything else."""
        content_type = (request.content_type or "").partition(";")[0].strip().lower()
        if request.method == "GET":
            body: object = self.parse_query_params(request.query_params)
        elif content_type == "application/json":
            body = self.parse_json(await request.get_body())
        else:
            raise HTTPException(415, "The request body must be application/json")
        if isinstance(body, list):
            raise HTTPException(400, "Batching is not enabled")
        if not isinstance(body, dict):
            raise HTTPException(400, "The request body must be a JSON object")
        fields = cast("dict[str, Any]", body)
        if fault := misformed(fields):
            raise HTTPException(400, fault)
        return GraphQLRequestData(
            self.persisted.text(fields.get("query"), fields.get("extensions")),
            fields.get("variables"),
            fields.get("operationName"),
            fields.get("extensions"),
        )

    def should_render_graphql_ide(self, request: BaseRequestProtocol) -> bool:
        """Only for what asks for a page: `curl` and the like get JSON."""
        wants = request.headers.get("accept", "")
        asks = {"query", "extensions"} & set(request.query_params)
        return request.method == "GET" and not asks and "text/html" in wants
