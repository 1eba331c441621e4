"""HTTP: the GraphQL endpoint, the exports and the two health questions, and the server that carries them.

Whatever goes wrong is answered in one form, ``{"errors": [{message, extensions: {code, ...}}]}``, also
outside GraphQL. A stream that fails half way is cut off, never ended: a file that arrived whole is whole.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import re
import secrets
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn, cast
from urllib.parse import quote, unquote_to_bytes

import uvicorn
from cross_web import AsyncHTTPRequestAdapter, HTTPException
from starlette.applications import Starlette
from starlette.exceptions import HTTPException as RoutingError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLHTTPResponse, GraphQLRequestData
from strawberry.http.base import BaseRequestProtocol
from strawberry.types import ExecutionResult
from strawberry.types.execution import PreExecutionError

from api import agent_endpoint, analyst
from api.agent_endpoint import AgentEndpoint
from api.checks import Facts
from api.connections import BoundedConnection
from api.direct import Direct
from api.execution import Plans, ServedSchema, facts_of
from api.loaders import REQUEST_ID, Context
from api.persisted import PersistedQueries
from api.retrieved import BLOCK_MEDIA, asked_block
from api.schema import build_schema
from api.settings import Settings
from api.wire import BODY_BYTES_MAX, GRAPHQL_MEDIA, encoded, prefers_graphql
from graph import received
from graph.compiled import CompiledReads
from graph.embedding.semantic import Semantic
from graph.errors import (
    KnowledgeError,
    NotFoundError,
    UnavailableError,
    ValidationError,
)
from graph.ingestion.choice import chosen
from graph.ingestion.stages import Stages
from graph.knowledge import checked_key
from graph.rankers import ranker
from graph.retrieval import Retrieval
from graph.service import Service
from graph.tokens import TOKENIZER

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

READY_SECONDS = 1.0  # a database that takes longer is not ready
YOUNG_OBJECTS = 20_000  # between two collections: an answer of a thousand nodes leaves half of that
DRAIN_SECONDS = 20  # what is being answered when the server is told to stop may take this long
_EXPORTS = {
    ".graphml": "application/graphml+xml",
    ".jsonl": "application/x-ndjson",
    ".provn": "text/provenance-notation; charset=utf-8",
    ".provjson": "application/json",
}
_SAFETY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
_STATUS = {"VALIDATION": 400, "NOT_FOUND": 404, "LIMIT": 413, "UNAVAILABLE": 503}
_LOG = logging.getLogger("whence.http")


class _Answer(JSONResponse):
    def render(self, content: Any) -> bytes:
        return encoded(content)


def _refusal(facts: Facts, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    body = {"errors": [{"message": facts.message, "extensions": facts.extensions}]}
    return _Answer(body, status or _STATUS.get(facts.code, 500), headers)


class _TooLargeError(Exception):
    """More bytes came than a request may have."""


def _capped(receive: Receive) -> Receive:
    """Count what comes in: a length that is announced, or not, says nothing."""
    count = 0

    async def counted() -> Message:
        nonlocal count
        message = await receive()
        count += len(message.get("body", b""))
        if count > BODY_BYTES_MAX:
            raise _TooLargeError
        return message

    return counted


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
        settings: Settings,
    ) -> None:
        super().__init__(schema, subscription_protocols=(), multipart_uploads_enabled=False)
        self.service = service
        self.reads = reads
        self.retrieval = retrieval
        self.stages = stages
        self.settings = settings
        self.persisted = PersistedQueries(schema.admits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever keeps it from GraphQL is told in JSON."""
        request = Request(scope, _capped(receive))
        try:
            response = await self.run(request)
        except _TooLargeError:
            allowed = f"at most {BODY_BYTES_MAX} bytes"
            response = _refusal(Facts("LIMIT", "the body is too large", "body", BODY_BYTES_MAX, allowed), 413)
            response.headers["connection"] = "close"
        except ClientDisconnect:  # nobody is there to be answered
            return
        except KnowledgeError as error:
            response = _refusal(facts_of(error), 200 if error.code.startswith("PERSISTED") else None)
            response.headers["cache-control"] = "no-store"
        except HTTPException as error:
            # Strawberry says 400 where the method is at fault: a mutation that came as GET.
            by_get = request.method == "GET" and "not allowed" in error.reason
            status = HTTPStatus.METHOD_NOT_ALLOWED if by_get else error.status_code
            headers = {"allow": "POST" if by_get else "GET, POST"} if status == HTTPStatus.METHOD_NOT_ALLOWED else None
            response = _refusal(Facts("VALIDATION", error.reason), status, headers)
        await response(scope, receive, send)

    async def get_context(
        self,
        request: Request | WebSocket,  # noqa: ARG002  strawberry's form
        response: Response | WebSocket,  # noqa: ARG002
    ) -> Context:
        """What the resolvers of one request share."""
        return Context.of(self.service, self.reads, self.retrieval, self.stages, self.settings.actor)

    async def run(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Strawberry's answer, in the media type that the caller prefers."""
        response = cast(Response, await super().run(request, *args, **kwargs))
        if response.headers.get("content-type") == "application/json" and prefers_graphql(
            request.headers.get("accept", "")
        ):
            response.headers["content-type"] = f"{GRAPHQL_MEDIA}; charset=utf-8"
            if getattr(request.state, "refused", False):
                response.status_code = 400
        return response

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
        """JSON in UTF-8, without the numbers that only Python knows."""
        return json.loads(data if isinstance(data, str) else data.decode(), parse_constant=_refuse_constant)

    def parse_json(self, data: str | bytes) -> Any:
        """The JSON value; HTTPException for anything that is none, is nested too deep, or is no UTF-8."""
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
        for name, kind, form in (
            ("query", str, "a string"),
            ("operationName", str, "a string"),
            ("variables", dict, "an object"),
            ("extensions", dict, "an object"),
        ):
            if not isinstance(fields.get(name), (kind, type(None))):
                raise HTTPException(400, f"`{name}` must be {form} or null")
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


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


async def _health(_request: Request) -> Response:
    return _Answer({"status": "ok"})


async def _front(_request: Request) -> Response:
    return RedirectResponse("/graphql", 307)


class _Routes:
    """The routes that need the service."""

    def __init__(self, service: Service, retrieval: Retrieval) -> None:
        self.service = service
        self.retrieval = retrieval

    async def context(self, request: Request) -> Response:
        """A context block as bare text, for callers without GraphQL; what there is to say of it stands in headers."""
        try:
            body = await Request(request.scope, _capped(request.receive)).body()
            block, form = await asked_block(self.retrieval, body)
        except _TooLargeError:
            allowed = f"at most {BODY_BYTES_MAX} bytes"
            return _refusal(Facts("LIMIT", "the body is too large", "body", BODY_BYTES_MAX, allowed), 413)
        except KnowledgeError as error:
            return _refusal(facts_of(error))
        headers = {
            "whence-tokens": str(block.tokens),
            "whence-tokenizer": TOKENIZER,
            "whence-included": str(len(block.items)),
            "whence-omitted": str(block.omitted),
            "whence-at-seq": str(block.seq),
            **({} if block.embedder is None else {"whence-embedder": quote(block.embedder)}),
            "cache-control": "no-store",
        }
        return Response(block.text or None, 200 if block.text else 204, headers, BLOCK_MEDIA[form])

    async def ready(self, _request: Request) -> Response:
        """200 when requests can be served, 503 with the cause when not; either within about a second."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                rebuilding = await self.service.ready()
        except TimeoutError:
            cause = f"the database did not answer within {READY_SECONDS:g} s"
        except Exception as error:  # noqa: BLE001  whatever it is, the answer is no
            cause = facts_of(error).message
        else:
            return _Answer({"status": "ready"} | ({"rebuilding": rebuilding} if rebuilding else {}))
        return _Answer({"status": "unavailable", "cause": cause}, 503)

    async def export(self, request: Request) -> Response:
        """A project as a file: refused while nothing of it has been sent, cut off where it fails later."""
        try:
            project, ending = _exported(request)
            chunks = cast("AsyncGenerator[bytes, None]", self._chunks(project, ending))
            first = await anext(chunks, None)
            if first is None:
                raise NotFoundError("there is no such project", field="project", allowed="a known project")
        except KnowledgeError as error:
            return _refusal(facts_of(error))
        headers = {"content-disposition": _attachment(project, ending), "cache-control": "no-store"}
        if request.method == "HEAD":
            await chunks.aclose()
            return Response(None, 200, headers, _EXPORTS[ending])
        return _File(_from_first(first, chunks), 200, headers, _EXPORTS[ending])

    def _chunks(self, project: str, ending: str) -> AsyncIterator[bytes]:
        if ending == ".graphml":
            return self.service.export_graphml(project)
        if ending == ".jsonl":
            return self.service.export_journal(project)
        from graph.prov_export import prov_file  # noqa: PLC0415  few ask for it, and the package costs memory

        return prov_file(self.service.store, project, "provn" if ending == ".provn" else "json")


class _File(StreamingResponse):
    """A stream that lets go of the database at once when its reader goes away."""

    async def stream_response(self, send: Send) -> None:
        async with aclosing(cast("AsyncGenerator[bytes, None]", self.body_iterator)):
            await super().stream_response(send)


async def _from_first(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(rest):
        yield first
        async for chunk in rest:
            yield chunk


def _exported(request: Request) -> tuple[str, str]:
    """The project and the kind of file, from the path as it was sent: projects may hold any character.

    Raises:
        NotFoundError: no such kind of file.
        ValidationError: the name is not one that a project can have.
    """
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    name = raw.partition(b"/export/")[2]
    ending = next((ending for ending in _EXPORTS if name.endswith(ending.encode())), None)
    if ending is None:
        raise NotFoundError("there is no such export", allowed="{project}" + " or {project}".join(_EXPORTS))
    try:
        project = unquote_to_bytes(name.removesuffix(ending.encode())).decode()
    except UnicodeDecodeError:
        raise ValidationError("the project's name is no UTF-8", field="project", allowed="UTF-8") from None
    return checked_key(project, "project"), ending


def _attachment(project: str, ending: str) -> str:
    """A file name for every system, and the true one for those that know RFC 5987."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", project).strip("._")[:100] or "project"
    return f"attachment; filename=\"{plain}{ending}\"; filename*=UTF-8''{quote(project + ending, safe='')}"


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


async def _unrouted(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RoutingError)
    code = "NOT_FOUND" if error.status_code == HTTPStatus.NOT_FOUND else "VALIDATION"
    return _refusal(Facts(code, error.detail), error.status_code, error.headers)


async def _failed(_request: Request, error: Exception) -> Response:
    return _refusal(facts_of(error))


def create_app(
    service: Service,
    settings: Settings,
    schema: ServedSchema | None = None,
    semantic: Semantic | None = None,
    asked: Callable[[], None] = lambda: None,
    stages: Stages | None = None,
) -> ASGIApp:
    """Join the service and the schema to an ASGI application; nothing is opened, so nothing needs closing.

    Args:
        service: Answers the requests; its owner closes it.
        settings: Who acts when a caller does not say, and how matches are ranked.
        schema: The GraphQL schema; the public one, with plans, unless given.
        semantic: Finds by meaning; without it words alone do.
        asked: Called whenever a request comes and whenever it was answered.
        stages: The steps of ingestion; those of the settings, by words alone, unless given.
    """
    learning = stages or chosen(service, None, settings.stages)
    plans, reads = Plans(), CompiledReads(service)
    retrieval = Retrieval(service, semantic, ranker(settings.ranker))
    routes = _Routes(service, retrieval)
    endpoint = GraphQLEndpoint(schema or build_schema(plans), service, reads, retrieval, learning, settings)

    def agents() -> MCPServer:
        from api import agent_tools  # noqa: PLC0415  its package is loaded for those who ask

        return agent_tools.build(service, retrieval, settings.actor)

    framework = Starlette(
        routes=[
            Route("/", _front),
            Route("/graphql", endpoint),
            Route("/context", routes.context, methods=["POST"]),
            Route("/healthz", _health),
            Route("/readyz", routes.ready),
            Route("/export/{file:path}", routes.export),
            *analyst.routes(),
            Route(agent_endpoint.PATH, AgentEndpoint(agents, BODY_BYTES_MAX)),
        ],
        exception_handlers={RoutingError: _unrouted, Exception: _failed},
    )
    return Traced(Direct(framework, plans, reads), asked)


def _spare_the_collector() -> None:
    """Have cycles looked for among what requests leave, and not each time among all that was there at the start."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


class _Server(uvicorn.Server):
    """uvicorn's, which says when it can be reached."""

    def __init__(self, config: uvicorn.Config, reached: Callable[[], None]) -> None:
        super().__init__(config)
        self._reached = reached

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._reached()


async def serve(
    service: Service,
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    semantic: Semantic | None = None,
    asked: Callable[[], None] = lambda: None,
    stages: Stages | None = None,
    ready: Callable[[str, int], None] = lambda _host, _port: None,
) -> None:
    """Answer requests until SIGINT or SIGTERM, or until this task is cancelled; then finish those under way.

    Run it on uvloop where there is one: ``asyncio.Runner(loop_factory=uvloop.new_event_loop)``.

    Args:
        service: Open, on the running event loop.
        settings: Who acts when a caller does not say.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        semantic: Finds by meaning; without it words alone do.
        asked: Called whenever a request comes and whenever it was answered.
        stages: The steps of ingestion; those of the settings, by words alone, unless given.
        ready: Told the address and the real port once connections are accepted.

    Raises:
        UnavailableError: the address cannot be had.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UnavailableError(f"{host}:{port} cannot be listened on", field="port", allowed="a free port") from error
    config = uvicorn.Config(
        create_app(service, settings, semantic=semantic, stages=stages, asked=asked),
        http=BoundedConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    _spare_the_collector()
    with listening:
        bound = listening.getsockname()
        server = _Server(config, lambda: ready(bound[0], bound[1]))
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            await serving
            raise
