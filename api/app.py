"""HTTP: which request is answered where. Whatever goes wrong is answered in one form, also outside GraphQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException as RoutingError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from api import agent_endpoint, analyst
from api.access import Admitted, Admitting, scope_of
from api.agent_endpoint import AgentEndpoint
from api.checks import Facts
from api.direct import Direct
from api.event_stream import EventStreams
from api.execution import Plans, ServedSchema, facts_of
from api.explorer import Explorer
from api.graphql_endpoint import GraphQLEndpoint
from api.live_socket import LiveSockets
from api.metrics import Metrics
from api.origins import Origins
from api.places import Places
from api.refusals import Answer, refusal
from api.routes import Routes
from api.schema import build_schema
from api.settings import Settings
from api.spending import Spending
from api.streams import Streams
from api.traced import Traced
from api.wire import BODY_BYTES_MAX
from graph.compiled import CompiledReads
from graph.embedding.semantic import Semantic
from graph.errors import ForbiddenError
from graph.ingestion.choice import chosen
from graph.ingestion.stages import Stages
from graph.rankers import ranker
from graph.retrieval import Retrieval
from graph.service import Service

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


async def _health(_request: Request) -> Response:
    return Answer({"status": "ok"})


async def _unrouted(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RoutingError)
    code = "NOT_FOUND" if error.status_code == HTTPStatus.NOT_FOUND else "VALIDATION"
    return refusal(Facts(code, error.detail), error.status_code, error.headers)


async def _failed(_request: Request, error: Exception) -> Response:
    return refusal(facts_of(error))


def _of_everything(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """What is about all projects together is told to those who see all of them."""

    async def asked(request: Request) -> Response:
        if scope_of(request.scope).projects is None:
            return await answer(request)
        refused = ForbiddenError(
            "this is about all projects", field="authorization", allowed="a token for all projects"
        )
        return refusal(facts_of(refused))

    return asked


def create_app(
    service: Service,
    settings: Settings,
    admission: Admitting,
    schema: ServedSchema | None = None,
    semantic: Semantic | None = None,
    asked: Callable[[], None] = lambda: None,
    stages: Stages | None = None,
    metrics: Metrics | None = None,
) -> ASGIApp:
    """Join the service and the schema to an ASGI application; nothing is opened, so nothing needs closing.

    Args:
        service: Answers the requests; its owner closes it.
        settings: How matches are ranked, and what stands for steps of ingestion.
        admission: Knows callers.
        schema: The GraphQL schema; the public one, with plans, unless given.
        semantic: Finds by meaning; without it words alone do.
        asked: Called whenever a request comes and whenever it was answered.
        stages: The steps of ingestion; those of the settings, by words alone, unless given.
        metrics: Told at /metrics, if there are any.
    """
    learning = stages or chosen(service, None, settings.stages)
    plans, reads = Plans(), CompiledReads(service)
    retrieval = Retrieval(service, semantic, ranker(settings.ranker))
    routes = Routes(service, retrieval, admission)
    served = schema or build_schema(plans)
    streams, places = Streams(served), Places()
    spending = Spending()
    events = EventStreams(streams, places, admission, spending)
    endpoint = GraphQLEndpoint(served, service, reads, retrieval, learning, events)
    sockets = LiveSockets(streams, places, admission, spending, endpoint.context)

    def agents() -> MCPServer:
        from api import agent_tools  # noqa: PLC0415  its package is loaded for those who ask

        return agent_tools.build(service, retrieval, agent_endpoint.caller)

    framework = Starlette(
        routes=[
            *Explorer(settings.home / "cache").routes(),
            Route("/graphql", endpoint),
            WebSocketRoute("/graphql", sockets),
            Route("/context", routes.context, methods=["POST"]),
            Route("/healthz", _health),
            Route("/readyz", routes.ready),
            Route("/export/{file:path}", routes.export),
            *([] if metrics is None else [Route("/metrics", _of_everything(metrics.answer))]),
            *analyst.routes(),
            Route(agent_endpoint.PATH, AgentEndpoint(agents, BODY_BYTES_MAX)),
        ],
        exception_handlers={RoutingError: _unrouted, Exception: _failed},
    )
    admitted = Admitted(Direct(framework, plans, reads), admission, spending)
    return Traced(Origins(admitted, settings.origins), asked, metrics)
