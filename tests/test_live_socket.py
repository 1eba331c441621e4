"""Who may follow, for how long, and what a connection may not do; and how all of it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from followers import (
    PATIENCE,
    PROTOCOL,
    ask,
    begun,
    document,
    events_of,
    first,
    follow,
    hear,
    say,
    serving,
    socket,
    stream,
    until,
    uses,
)
from test_access import AGENT
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from api import connections, live_socket, places, sockets
from api.access import Admission
from graph import feed
from graph.access_tokens import AccessTokens, Grant
from graph.scope import Role
from graph.service import Service

EVENTS = document("P", 0, "seq")
Step = Callable[[ClientConnection], Awaitable[None]]


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "QUIET_SECONDS", 0.2)


async def closed(connection: ClientConnection) -> tuple[int, str]:
    """How the other side closes, after all that it says."""
    with pytest.raises(ConnectionClosed) as raised:
        while True:
            await asyncio.wait_for(connection.recv(), PATIENCE)
    assert raised.value.rcvd is not None, "it was closed without a word"
    return raised.value.rcvd.code, raised.value.rcvd.reason


@asynccontextmanager
async def unknown(address: str, **options: Any) -> AsyncGenerator[ClientConnection]:
    """A websocket that has not said who it is."""
    async with connect(f"ws://{address}/graphql", subprotocols=[PROTOCOL], **options) as connection:
        yield connection


async def granted(service: Service, project: str = "P", **rest: Any) -> tuple[str, str]:
    """A token for a reader of one project: its id, and what is shown."""
    token, text = await AccessTokens(service.store).create(Grant(AGENT, Role.READER, [project], **rest))
    return token.id, text


def admission(service: Service) -> Admission:
    return Admission(AccessTokens(service.store))


async def _twice(connection: ClientConnection) -> None:
    await say(connection, type="connection_init")


async def _same_name(connection: ClientConnection) -> None:
    await ask(connection, EVENTS)
    await ask(connection, EVENTS)


def _raw(text: str | bytes) -> Step:
    async def step(connection: ClientConnection) -> None:
        await connection.send(text)

    return step


@pytest.mark.parametrize(
    ("step", "code", "reason"),
    [
        (_twice, 4429, "Too many initialisation requests"),
        (_same_name, 4409, "Subscriber for one already exists"),
        (_raw("no JSON"), 4400, "Messages are JSON"),
        (_raw("[" * 60_000), 4400, "Messages are JSON"),
        (
            _raw('{"type": "ping", "type": "pong"}'),
            4400,
            "the name 'type' stands twice in one object (VALIDATION, type",
        ),
        (_raw('["ping"]'), 4400, "Messages are objects with a type"),
        (_raw('{"type": 5}'), 4400, "Messages are objects with a type"),
        (_raw('{"type": "start"}'), 4400, "Unknown message type"),
        (_raw(b"bytes"), 4400, "Messages are texts"),
        (_raw('{"type": "complete", "id": {}}'), 4400, "The id of an operation"),
        (_raw('{"type": "subscribe", "payload": {"query": "{ projects }"}}'), 4400, "The id of an operation"),
        (_raw('{"type": "subscribe", "id": "' + "x" * 200 + '"}'), 4400, "The id of an operation"),
        (
            _raw('{"type": "subscribe", "id": "\\ud800", "payload": {"query": "{projects}"}}'),
            4400,
            "The id of an operation",
        ),
        (_raw('{"type": "subscribe", "id": "one", "payload": []}'), 4400, "The payload of subscribe"),
        (_raw('{"type": "subscribe", "id": "one", "payload": {}}'), 4400, "The payload of subscribe"),
        (_raw('{"type": "subscribe", "id": "one", "payload": {"query": 5}}'), 4400, "`query` must be a string"),
        (_raw('{"type": "subscribe", "id": "one", "payload": {"query": "q", "variables": []}}'), 4400, "`variables`"),
        (_raw("x" * 70_000), 1009, ""),
    ],
)
def test_what_breaks_the_protocol_is_closed_with_its_code(
    service: Service, loop: asyncio.Runner, step: Step, code: int, reason: str
) -> None:
    async def play() -> tuple[int, str]:
        async with serving(service) as address, socket(address) as connection:
            await step(connection)
            return await closed(connection)

    found = loop.run(play())
    assert found[0] == code
    assert found[1].startswith(reason)


def test_whoever_says_nothing_asks_before_it_says_who_it_is_or_speaks_otherwise_is_closed(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_socket, "INIT_SECONDS", 0.5)

    async def play() -> list[int]:
        async with serving(service) as address:
            found: list[int] = []
            async with unknown(address) as silent:
                found.append((await closed(silent))[0])
            async with unknown(address) as hasty:
                await ask(hasty, EVENTS)
                found.append((await closed(hasty))[0])
            async with unknown(address) as odd:
                await say(odd, type="connection_init", payload=[])
                found.append((await closed(odd))[0])
            other = Subprotocol("graphql-ws")
            async with connect(f"ws://{address}/graphql", subprotocols=[other]) as old:
                found.append((await closed(old))[0])
            return found

    assert loop.run(play()) == [4408, 4401, 4400, 4406]


def test_a_token_is_shown_in_any_of_four_ways_and_one_that_opens_nothing_is_refused(
    service: Service, loop: asyncio.Runner
) -> None:
    async def shows(address: str, payload: Any = None, **headers: str) -> Any:
        async with unknown(address, additional_headers=headers) as connection:
            await say(connection, type="connection_init", payload=payload)
            try:
                return (await hear(connection))["type"]
            except ConnectionClosed as end:
                return end.rcvd and end.rcvd.code

    async def play() -> tuple[list[Any], list[Any]]:
        _, text = await granted(service)
        async with serving(service, admission(service)) as address:
            bearer = f"Bearer {text}"
            let_in = [
                await shows(address, {"authorization": bearer}),
                await shows(address, {"Authorization": bearer}),
                await shows(address, {"token": text}),
                await shows(address, authorization=bearer),
            ]
            return let_in, [
                await shows(address),
                await shows(address, {"token": 5}),
                await shows(address, {"token": text[:-1] + "x"}),
                await shows(address, {"authorization": f"Basic {text}"}),
            ]

    let_in, refused = loop.run(play())
    assert let_in == ["connection_ack"] * 4
    assert refused == [4401, 4401, 4403, 4403]


def test_a_page_from_elsewhere_is_refused_and_one_of_this_service_is_not(
    service: Service, loop: asyncio.Runner
) -> None:
    async def play() -> tuple[int, Any]:
        async with serving(service) as address:
            async with socket(address, origin=f"http://{address}") as connection:
                await say(connection, type="ping")
                assert await hear(connection) == {"type": "pong"}
            with pytest.raises(InvalidStatus) as refused:
                async with socket(address, origin="http://elsewhere.example"):
                    pass
            return refused.value.response.status_code, json.loads(refused.value.response.body or b"")

    status, body = loop.run(play())
    assert status == 403
    assert body["errors"][0]["extensions"]["field"] == "origin"


def test_there_are_only_so_many_operations_of_a_connection_and_so_many_streams(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "STREAMS_MAX", 2)

    async def play() -> None:
        async with serving(service) as address:
            async with socket(address) as connection:
                for at in range(live_socket.OPERATIONS_MAX + 1):
                    await ask(connection, EVENTS, f"op{at}")
                refused = await hear(connection)
                assert (refused["id"], refused["type"]) == (f"op{live_socket.OPERATIONS_MAX}", "error")
                assert refused["payload"][0]["extensions"]["code"] == "LIMIT"
                await say(connection, type="complete", id="op0")
                await ask(connection, "{ projects }", f"op{live_socket.OPERATIONS_MAX}")
                assert (await hear(connection))["payload"] == {"data": {"projects": []}}
                async with stream(address, EVENTS) as response:
                    assert response.status_code == 200
                    async with stream(address, EVENTS) as another:
                        assert another.status_code == 503
                    async with unknown(address) as late:
                        await say(late, type="connection_init", payload={"token": "none"})
                        assert (await closed(late))[0] == 1013
            async with socket(address):  # both places are free again
                pass

    loop.run(play())


def test_an_operation_that_is_over_is_told_so_and_its_name_may_be_used_again(
    service: Service, loop: asyncio.Runner
) -> None:
    async def play() -> list[Any]:
        await begun(service)
        async with serving(service) as address, socket(address) as connection:
            found: list[Any] = []
            for _ in range(2):
                await ask(connection, "{ projects }")
                found += [await hear(connection), await hear(connection)]
            await ask(connection, "{ nothing }")
            found.append((await hear(connection))["type"])
            await ask(connection, EVENTS)
            found.append((await hear(connection))["payload"]["data"]["events"]["seq"])
            await say(connection, type="complete", id="one")
            await service.run_many(uses("P", 0, 2))
            await ask(connection, document("P", 2, "seq"))
            found.append((await hear(connection))["payload"]["data"]["events"]["seq"])
            return found

    answer = [
        {"id": "one", "type": "next", "payload": {"data": {"projects": ["P"]}}},
        {"id": "one", "type": "complete"},
    ]
    assert loop.run(play()) == [*answer, *answer, "error", 1, 3]


@pytest.mark.parametrize("ending", ["revoked", "expired"])
def test_a_token_that_ends_ends_what_it_follows(service: Service, loop: asyncio.Runner, ending: str) -> None:
    async def play() -> tuple[tuple[int, str], list[Any], int]:
        await begun(service)
        soon = datetime.now(UTC) + timedelta(seconds=4)
        token, text = await granted(service, expires_at=soon if ending == "expired" else None)
        async with serving(service, admission(service)) as address:
            async with socket(address, text) as connection, stream(address, EVENTS, text) as response:
                await ask(connection, EVENTS)
                assert (await hear(connection))["payload"] == {"data": {"events": {"seq": 1}}}
                if ending == "revoked":
                    await AccessTokens(service.store).revoke(token)
                else:
                    await asyncio.sleep(4)
                await asyncio.sleep(1.2)  # what was found out of a token holds for a second
                await service.run_many(uses("P", 0, 1))
                told = [event async for event in events_of(response)]
                end = await closed(connection)
            async with stream(address, EVENTS, text) as again:
                return end, told, again.status_code

    (code, _), told, again = loop.run(play())
    assert code == 4403
    assert [kind for kind, _, _ in told] == ["next", "next", "complete"]
    assert told[0][2] == {"data": {"events": {"seq": 1}}}
    assert told[1][2]["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert again == 401


def test_another_project_is_as_silent_as_one_that_is_not_there(service: Service, loop: asyncio.Runner) -> None:
    async def heard(address: str, project: str, text: str) -> bytes:
        async with stream(address, document(project, 0, "seq knowledge { key }"), text) as response:
            found = b""
            with suppress(TimeoutError):
                async with asyncio.timeout(1.5):
                    async for chunk in response.aiter_bytes():
                        found += chunk
            return found

    async def play() -> tuple[list[bytes], list[Any]]:
        await begun(service, "P")
        await begun(service, "Q")
        _, text = await granted(service, "P")
        async with serving(service, admission(service)) as address:
            following = asyncio.gather(*(heard(address, project, text) for project in ("Q", "nowhere")))
            await asyncio.sleep(0.5)
            await service.run_many(uses("Q", 0, 2))
            seen = await first(1, follow("websocket", address, "P", 0, token=text))
            return list(await following), seen

    (other, nowhere), seen = loop.run(play())
    assert set(other) == set(nowhere) == set(b":\n")
    assert seen == [{"seq": 1}]


@pytest.mark.parametrize("way", ["sse", "websocket"])
def test_a_reader_who_never_reads_is_let_go_and_a_websocket_is_told_why(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(connections, "READER_SECONDS", 1.0)
    monkeypatch.setattr(sockets, "CLOSE_SECONDS", 20.0)
    query = document("P", 0, "seq reason")

    async def play() -> tuple[int, int | None]:
        await begun(service)
        await service.run_many(uses("P", 0, 1_000, reason="r" * 2_000))
        async with serving(service) as address:
            if way == "sse":
                async with stream(address, query) as response:
                    await _left_alone(service)
                    count = 0
                    with suppress(Exception):  # cut off in the middle of anything
                        async for _ in events_of(response):
                            count += 1
                    return count, None
            async with socket(address, max_queue=1) as connection:
                await ask(connection, query)
                await _left_alone(service)
                count = 0
                with pytest.raises(ConnectionClosed) as end:
                    while True:
                        await asyncio.wait_for(connection.recv(), PATIENCE)
                        count += 1
                return count, end.value.rcvd and end.value.rcvd.code

    count, code = loop.run(play())
    assert 0 < count < 1_000
    assert code == (None if way == "sse" else 1013)


async def _left_alone(service: Service) -> None:
    """Wait until the service, which follows for somebody, follows for nobody."""
    await until(lambda: service.feed.followers > 0)
    await until(lambda: service.feed.followers == 0)


def test_a_service_that_ends_ends_its_streams_in_order_and_another_goes_on_from_there(
    service: Service, loop: asyncio.Runner
) -> None:
    async def play() -> tuple[list[str], tuple[int, str], float, list[Any]]:
        await begun(service)
        clock = asyncio.get_running_loop().time
        server = serving(service)
        address = await server.__aenter__()
        async with socket(address) as connection, stream(address, EVENTS) as response:
            await ask(connection, EVENTS)
            seen = (await hear(connection))["payload"]["data"]["events"]["seq"]
            async with aclosing(events_of(response)) as events:
                assert (await anext(events))[1] == "1"
                began = clock()
                ending = asyncio.create_task(server.__aexit__(None, None, None))
                kinds = [kind async for kind, _, _ in events]
            end = await closed(connection)
            await ending
            took = clock() - began
        await service.run_many(uses("P", 0, 2))
        async with serving(service) as later:
            return kinds, end, took, await first(2, follow("websocket", later, "P", seen))

    kinds, (code, _), took, more = loop.run(play())
    assert kinds == []  # the body is whole, and does not say that this was all
    assert code == 1012
    assert took < 5
    assert more == [{"seq": 2}, {"seq": 3}]
