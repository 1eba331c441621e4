"""The server that carries the application, from its first connection to its last."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Callable
from typing import Any, cast

import uvicorn

from api.access import Admitting
from api.app import create_app
from api.connections import BoundedConnection
from api.metrics import Metrics
from api.settings import Settings
from graph.embedding.semantic import Semantic
from graph.errors import UnavailableError
from graph.ingestion.stages import Stages
from graph.service import Service

YOUNG_OBJECTS = 20_000  # between two collections: an answer of a thousand nodes leaves half of that
MESSAGE_BYTES_MAX = 65_536  # over a websocket: a long subscription with its variables; what is larger goes over HTTP
DRAIN_SECONDS = 20  # what is being answered when the server is told to stop may take this long


def event_loop() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the loop that a server runs on: uvloop's where there is one."""
    if sys.platform == "win32":
        return asyncio.new_event_loop
    import uvloop  # noqa: PLC0415  not to be had there

    return uvloop.new_event_loop


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UnavailableError(f"{host}:{port} cannot be listened on", field="port", allowed="a free port") from error


def _spare_the_collector() -> None:
    """Have cycles looked for among what requests leave, and not each time among all that was there at the start."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


class _Server(uvicorn.Server):
    """uvicorn's, which says when it can be reached, and when it is about to end."""

    def __init__(self, config: uvicorn.Config, reached: Callable[[], None], ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._reached = reached
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._reached()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets)


def _socket(**options: Any) -> asyncio.Protocol:
    from api.sockets import BoundedSocket  # noqa: PLC0415  its package is loaded for those who ask

    return BoundedSocket(**options)


async def serve(
    service: Service,
    settings: Settings,
    admission: Admitting,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    listening: socket.socket | None = None,
    semantic: Semantic | None = None,
    asked: Callable[[], None] = lambda: None,
    stages: Stages | None = None,
    metrics: Metrics | None = None,
    ready: Callable[[str, int], None] = lambda _host, _port: None,
) -> None:
    """Answer requests until SIGINT or SIGTERM, or until this task is cancelled; then finish those under way.

    Run it on the fastest loop: ``asyncio.Runner(loop_factory=event_loop())``.

    Args:
        service: Open, on the running event loop.
        settings: How the application is set up.
        admission: Knows callers.
        host: The address to listen on.
        port: The port; 0 takes a free one.
        listening: A socket that listens already, in place of host and port.
        semantic: Finds by meaning; without it words alone do.
        asked: Called whenever a request comes and whenever it was answered.
        stages: The steps of ingestion; those of the settings, by words alone, unless given.
        metrics: Told at /metrics, if there are any.
        ready: Told the address and the real port once connections are accepted.

    Raises:
        UnavailableError: the address cannot be had.
    """
    listening = listening or _listening(host, port)
    config = uvicorn.Config(
        create_app(service, settings, admission, semantic=semantic, stages=stages, asked=asked, metrics=metrics),
        http=BoundedConnection,
        ws=cast("type[asyncio.Protocol]", _socket),
        ws_max_size=MESSAGE_BYTES_MAX,
        ws_ping_timeout=None,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    _spare_the_collector()
    with listening:
        bound = listening.getsockname()
        server = _Server(config, lambda: ready(bound[0], bound[1]), service.feed.end)
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            await serving
            raise
