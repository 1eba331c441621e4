"""The service behind real sockets, and those who follow a project over either of its ways."""

from __future__ import annotations

import asyncio
import json
import socket as net
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from strategies import IMPORTER, said
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from api.access import Admitting, Everyone
from api.metrics import Metrics
from api.serving import serve
from api.settings import Settings
from graph.commands import Command
from graph.service import Service

PROTOCOL = Subprotocol("graphql-transport-ws")
PATIENCE = 30.0  # for what is to come, on a busy machine
SMALL = (net.SOL_SOCKET, net.SO_RCVBUF, 65_536)  # or the kernel would hold megabytes for who does not read
STREAM = {"accept": "text/event-stream"}
Answer = dict[str, Any]


@asynccontextmanager
async def serving(
    service: Service, admission: Admitting | None = None, metrics: Metrics | None = None
) -> AsyncGenerator[str]:
    """The address of a server, as host:port, until it has ended in order."""
    bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        serve(
            service,
            Settings(home=Path("/nowhere")),
            admission or Everyone(IMPORTER),
            metrics=metrics,
            ready=lambda host, port: bound.set_result(f"{host}:{port}"),
        )
    )
    try:
        yield await asyncio.wait_for(bound, PATIENCE)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def document(project: str, after: int | None, fields: str) -> str:
    position = "" if after is None else f", afterSeq: {after}"
    return f"subscription {{ events(project: {json.dumps(project)}{position}) {{ {fields} }} }}"


@asynccontextmanager
async def stream(address: str, query: str, token: str = "none", **headers: str) -> AsyncGenerator[httpx.Response]:
    """The answer of a request for a stream, once its head is there."""
    async with (
        httpx.AsyncClient(timeout=PATIENCE, transport=httpx.AsyncHTTPTransport(socket_options=[SMALL])) as client,
        client.stream(
            "POST",
            f"http://{address}/graphql",
            json={"query": query},
            headers=STREAM | {"authorization": f"Bearer {token}"} | headers,
        ) as response,
    ):
        yield response


async def events_of(response: httpx.Response) -> AsyncGenerator[tuple[str, str, Answer | None]]:
    """The kind, the id and the data of each server-sent event."""
    kind, at, data = "", "", None
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "id":
            at = value
        elif name == "data":
            data = json.loads(value)
        elif line == "" and kind:
            yield kind, at, data
            kind, at, data = "", "", None


@asynccontextmanager
async def socket(address: str, token: str | None = "none", **options: Any) -> AsyncGenerator[ClientConnection]:
    """A websocket that has been let in."""
    small = net.socket()
    small.setsockopt(*SMALL)
    small.setblocking(False)
    host, _, port = address.partition(":")
    await asyncio.get_running_loop().sock_connect(small, (host, int(port)))
    # One that did not read all reads no reason either, and would wait for it.
    options = {"close_timeout": 0.5} | options
    async with connect(f"ws://{address}/graphql", sock=small, subprotocols=[PROTOCOL], **options) as connection:
        await say(connection, type="connection_init", payload=None if token is None else {"token": token})
        assert await hear(connection) == {"type": "connection_ack"}
        yield connection


async def say(connection: ClientConnection, **message: Any) -> None:
    await connection.send(json.dumps(message))


async def hear(connection: ClientConnection) -> Answer:
    return json.loads(await asyncio.wait_for(connection.recv(), PATIENCE))


async def ask(connection: ClientConnection, query: str, name: str = "one", **rest: Any) -> None:
    await say(connection, type="subscribe", id=name, payload={"query": query, **rest})


async def follow(
    way: str, address: str, project: str, after: int | None = 0, fields: str = "seq", token: str = "none"
) -> AsyncGenerator[Answer]:
    """A project's events as they come over one way; the first comes at the earliest when following has begun."""
    query = document(project, after, fields)
    if way == "sse":
        async with stream(address, query, token) as response, aclosing(events_of(response)) as found:
            async for kind, at, answer in found:
                assert kind == "next"
                assert answer is not None
                event = answer["data"]["events"]
                assert "seq" not in event or at == str(event["seq"])
                yield event
    else:
        async with socket(address, token) as connection:
            await ask(connection, query)
            while True:
                message = await hear(connection)
                assert (message["id"], message["type"]) == ("one", "next"), message
                yield message["payload"]["data"]["events"]


async def first(count: int, events: AsyncGenerator[Answer]) -> list[Answer]:
    """The first events that come; they are followed no longer."""
    found: list[Answer] = []
    async with aclosing(events):
        while len(found) < count:
            found.append(await asyncio.wait_for(anext(events), PATIENCE))
    return found


def uses(project: str, start: int, count: int, key: str = "k", **parts: Any) -> list[Command]:
    return [said("used", key, project, event_id=f"use-{at}", **parts) for at in range(start, start + count)]


async def begun(service: Service, project: str = "P") -> None:
    """Take a project's first event."""
    await service.run(said("proposed", "k", project, event_id="first", proposition="The gate is shut"))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something of which nobody is told."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
