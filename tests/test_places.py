"""How many streams may be open, whose they are, and what they cost their token while they run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from followers import PATIENCE, ask, begun, document, events_of, first, follow, hear, say, serving, socket, stream, uses
from prometheus_client.parser import text_string_to_metric_families
from test_access import AGENT
from test_live_socket import admission, closed, granted, unknown
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidStatus

from api import live_socket, places, spending, streams
from api.metrics import Metrics
from api.places import Kind, Places
from graph import feed, observed, received
from graph.errors import UnavailableError
from graph.scope import Scope
from graph.service import Service
from graph.store import Store

EVENTS = document("P", 0, "seq")
SLOW = document("P", 0, "seq reason")


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "QUIET_SECONDS", 0.2)


async def waits(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110  nobody tells of it
            await asyncio.sleep(0.05)


async def refusal(address: str) -> tuple[int, Any]:
    """With which status and extensions a websocket is turned away before it stands."""
    with pytest.raises(InvalidStatus) as refused:
        async with unknown(address):
            pass
    response = refused.value.response
    return response.status_code, json.loads(response.body or b"")["errors"][0]["extensions"]


# --- who has not said who they are ---


def test_strangers_are_few_and_take_no_place_of_those_who_are_known(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(places, "STRANGERS_MAX", 2)
    monkeypatch.setattr(places, "STREAMS_MAX", 3)

    async def play() -> None:
        await begun(service)
        async with serving(service) as address, socket(address) as known:
            async with unknown(address), unknown(address) as second:
                status, extensions = await refusal(address)
                assert status == 429
                assert (extensions["code"], extensions["field"]) == ("LIMIT", "connectionInit")
                assert extensions["allowed"].startswith("at most")
                await ask(known, EVENTS)
                assert (await hear(known))["type"] == "next"
                async with stream(address, EVENTS) as response:
                    assert response.status_code == 200
                await say(second, type="connection_init")
                assert await hear(second) == {"type": "connection_ack"}
                async with unknown(address):  # the one that is known is a stranger no longer
                    assert (await refusal(address))[0] == 429
            async with unknown(address), unknown(address):
                pass

    loop.run(play())
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_stranger_who_stays_silent_gives_its_place_back(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "STRANGERS_MAX", 1)
    monkeypatch.setattr(live_socket, "INIT_SECONDS", 0.5)

    async def play() -> None:
        async with serving(service) as address:
            async with unknown(address) as silent:
                assert (await refusal(address))[0] == 429
                assert (await closed(silent))[0] == 4408
            async with socket(address):
                pass

    loop.run(play())


class Away:
    """Knows nobody, since its database is away."""

    async def scope_of(self, credentials: str | None) -> Scope:
        raise UnavailableError(f"nothing is known of {credentials is not None}", allowed="the same later")


def test_where_nobody_can_be_known_now_a_websocket_is_told_to_come_again(
    service: Service, loop: asyncio.Runner
) -> None:
    async def play() -> tuple[int, str]:
        async with serving(service, Away()) as address, unknown(address) as connection:
            await say(connection, type="connection_init", payload={"token": "t"})
            return await closed(connection)

    code, reason = loop.run(play())
    assert code == 1013
    assert "UNAVAILABLE" in reason


# --- whose streams they are ---


def test_one_token_does_not_keep_the_others_out(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "TOKEN_STREAMS_MAX", 2)

    async def play() -> None:
        await begun(service)
        _, greedy = await granted(service)
        _, other = await granted(service)
        async with serving(service, admission(service)) as address:
            async with socket(address, greedy), stream(address, EVENTS, greedy):
                async with unknown(address) as third:
                    await say(third, type="connection_init", payload={"token": greedy})
                    code, reason = await closed(third)
                    assert code == 4429
                    assert reason == (
                        "the token has too many streams (LIMIT, streams; allowed: at most 100 of a token at a time)"
                    ).replace("100", "2")
                async with stream(address, EVENTS, greedy) as response:
                    assert response.status_code == 429
                    (error,) = json.loads(await response.aread())["errors"]
                    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("LIMIT", "streams")
                    assert error["extensions"]["allowed"] == "at most 2 of a token at a time"
                async with socket(address, other), stream(address, EVENTS, other) as response:
                    assert response.status_code == 200
            async with socket(address, greedy):
                pass

    loop.run(play())


Ending = Callable[[Service, str, str, str], Awaitable[None]]


async def _goes(_service: Service, address: str, token: str, _id: str) -> None:
    async with stream(address, EVENTS, token) as response:
        await anext(events_of(response))


async def _goes_from_a_websocket(_service: Service, address: str, token: str, _id: str) -> None:
    await first(1, follow("websocket", address, "P", 0, token=token))


async def _breaks_off(_service: Service, address: str, token: str, _id: str) -> None:
    async with socket(address, token) as connection:
        await ask(connection, EVENTS)
        await hear(connection)
        connection.transport.abort()


async def _is_refused(_service: Service, address: str, token: str, _id: str) -> None:
    async with stream(address, "subscription { nothing }", token) as response:
        assert [kind async for kind, _, _ in events_of(response)] == ["next", "complete"]


async def _asks_once(_service: Service, address: str, token: str, _id: str) -> None:
    async with stream(address, "{ projects }", token) as response:
        assert [kind async for kind, _, _ in events_of(response)] == ["next", "complete"]


async def _breaks_the_protocol(_service: Service, address: str, token: str, _id: str) -> None:
    async with socket(address, token) as connection:
        await connection.send("no JSON")
        await closed(connection)


async def _fails(_service: Service, address: str, token: str, _id: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "encoded", None)
        async with stream(address, EVENTS, token) as response:
            assert [kind async for kind, _, _ in events_of(response)] == ["next", "complete"]


async def _fails_to_open(_service: Service, address: str, token: str, _id: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "create_source_event_stream", None)
        async with stream(address, EVENTS, token) as response:
            assert response.status_code == 500


@pytest.mark.parametrize(
    "ending",
    [
        _goes,
        _goes_from_a_websocket,
        _breaks_off,
        _is_refused,
        _asks_once,
        _breaks_the_protocol,
        _fails,
        _fails_to_open,
    ],
    ids=lambda ending: ending.__name__[1:],
)
def test_a_place_is_given_back_whichever_way_a_stream_ends(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, ending: Ending
) -> None:
    monkeypatch.setattr(places, "TOKEN_STREAMS_MAX", 1)

    async def play() -> None:
        await begun(service)
        name, token = await granted(service)

        async def is_free() -> bool:
            async with stream(address, EVENTS, token) as response:
                return response.status_code == 200

        async with serving(service, admission(service)) as address:
            await ending(service, address, token, name)
            await waits(is_free)

    loop.run(play())


def test_a_place_is_given_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "STRANGERS_MAX", 1)
    every = Places()
    place = every.for_stranger()
    for _ in range(3):
        place.give_back()
    every.for_stranger()
    with pytest.raises(places.CrowdedError):
        every.for_stranger()


# --- what is told of them ---


def test_metrics_tell_how_many_are_open_and_time_a_stream_by_its_beginning(
    service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    metrics = Metrics(service, tmp_path)

    async def read(address: str) -> dict[str, float]:
        async with httpx.AsyncClient() as client:
            answer = await client.get(f"http://{address}/metrics", headers={"authorization": "Bearer none"})
        return {
            "-".join((sample.name, *(value for _, value in sorted(sample.labels.items())))): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }

    async def are_open(address: str, **counts: int) -> None:
        async def seen() -> bool:
            found = await read(address)
            return {kind: found.get(f"whence_streams_open-{kind}", 0) for kind in Kind} == counts

        await waits(seen)

    async def play() -> tuple[dict[str, float], dict[str, float]]:
        await begun(service)
        async with serving(service, metrics=metrics) as address:
            async with AsyncExitStack() as open_:
                for one in (socket(address), socket(address), stream(address, EVENTS), unknown(address)):
                    await open_.enter_async_context(one)
                await are_open(address, stranger=1, websocket=2, sse=1)
                during = await read(address)
                await asyncio.sleep(1)
            await are_open(address, stranger=0, websocket=0, sse=0)
            return during, await read(address)

    with observed.by(metrics):
        during, after = loop.run(play())
    for name in ("whence_request_seconds", "whence_operation_seconds"):
        label = "-subscription" if "operation" in name else "-POST-/graphql-200"
        assert during[f"{name}_count{label}"] == after[f"{name}_count{label}"] == 1
        assert during[f"{name}_sum{label}"] == after[f"{name}_sum{label}"] > 0  # how long it stayed open is not in it


# --- what they cost ---


@pytest.fixture
def poor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens save a second's worth, and journals are read by 50 events, which cost some 20 units."""
    monkeypatch.setattr(spending, "SAVED_SECONDS", 1)
    monkeypatch.setattr(feed, "PAGE", 50)
    monkeypatch.setattr(streams, "PAGE", 50)


@asynccontextmanager
async def poorly(service: Service, rate: int) -> AsyncGenerator[tuple[str, str]]:
    """A service with 200 events of 2 kB, and a token that earns so many units a second."""
    await begun(service)
    await service.run_many(uses("P", 0, 199, reason="r" * 2_000))
    _, text = await granted(service, rate=rate)
    async with serving(service, admission(service)) as address:
        yield address, text


async def asks(address: str, token: str) -> int:
    async with httpx.AsyncClient() as client:
        headers = {"authorization": f"Bearer {token}"}
        answer = await client.post(f"http://{address}/graphql", json={"query": "{ projects }"}, headers=headers)
        return answer.status_code


@pytest.mark.usefixtures("poor")
def test_server_sent_events_pay_while_they_run_and_wait_until_the_token_has_earned_more(
    service: Service, loop: asyncio.Runner
) -> None:
    async def play() -> tuple[list[str], set[int]]:
        lines, statuses = list[str](), set[int]()
        async with poorly(service, 30) as (address, token), stream(address, SLOW, token) as response:
            async for line in response.aiter_lines():
                lines.append(line)
                if line.startswith(": the token"):
                    statuses.add(await asks(address, token))
                if line == "id: 200":
                    break
        return lines, statuses

    lines, statuses = loop.run(play())
    assert [line for line in lines if line.startswith("id:")] == [f"id: {seq}" for seq in range(1, 201)]
    (said, *_) = [line for line in lines if line.startswith(": the token")]
    assert said.startswith(": the token spends faster than it may (LIMIT; allowed: 30 units a second")
    assert "; it goes on in " in said
    assert 429 in statuses  # of a query by the same token, while its stream is open


async def _until_it_waits(connection: ClientConnection) -> tuple[list[int], Any]:
    seen = list[int]()
    while (message := await hear(connection))["type"] != "ping":
        seen.append(message["payload"]["data"]["events"]["seq"])
    return seen, message["payload"]


@pytest.mark.usefixtures("poor")
def test_a_websocket_is_told_why_it_waits_and_whoever_comes_again_has_lost_nothing(
    service: Service, loop: asyncio.Runner
) -> None:
    async def play() -> tuple[list[int], Any]:
        async with poorly(service, 30) as (address, token):
            async with socket(address, token) as connection:
                await ask(connection, SLOW)
                seen, why = await _until_it_waits(connection)
                assert why["id"] == "one"
                while (message := await hear(connection))["type"] == "ping":
                    pass
                seen.append(message["payload"]["data"]["events"]["seq"])

            async def goes_on() -> bool:
                return await asks(address, token) == 200

            await waits(goes_on)
            async with socket(address, token) as connection:
                await ask(connection, document("P", seen[-1], "seq reason"))
                while seen[-1] < 200:
                    message = await hear(connection)
                    if message["type"] == "next":
                        seen.append(message["payload"]["data"]["events"]["seq"])
            return seen, why

    seen, why = loop.run(play())
    assert seen == list(range(1, 201))
    assert why["extensions"]["code"] == "LIMIT"
    assert why["extensions"]["retryAfter"] >= 1


@pytest.mark.usefixtures("poor")
def test_a_stream_that_waits_ends_with_the_service(service: Service, loop: asyncio.Runner) -> None:
    async def play() -> float:
        clock = asyncio.get_running_loop().time
        server = poorly(service, 1)
        address, token = await server.__aenter__()
        async with stream(address, SLOW, token) as response:
            lines = response.aiter_lines()
            async for line in lines:
                if line.startswith(": the token"):
                    break
            began = clock()
            ending = asyncio.create_task(server.__aexit__(None, None, None))
            rest = [line async for line in lines]
            assert "event: complete" not in rest
            await ending
            return clock() - began

    assert loop.run(play()) < 4


def test_what_hangs_on_events_is_paid_by_each_who_follows(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read once for all of them, outside of what is counted for any."""
    spent: dict[str, int] = {}
    spend = spending.Spending.spend

    def counted(purse: spending.Spending, scope: Scope, moved: int) -> None:
        spent[scope.id] = spent.get(scope.id, 0) + moved
        spend(purse, scope, moved)

    async def play() -> list[int]:
        await begun(service)
        tokens = [await granted(service) for _ in range(2)]
        async with serving(service, admission(service)) as address, AsyncExitStack() as open_:
            following = [
                await open_.enter_async_context(
                    stream(
                        address, document("P", None, "seq knowledge { key events { edges { node { hash } } } }"), text
                    )
                )
                for _, text in tokens
            ]
            monkeypatch.setattr(spending.Spending, "spend", counted)
            await service.run_many(uses("P", 0, 100))
            for response in following:
                async for _, seq, _ in events_of(response):
                    if seq == "101":
                        break
            return [spent[name] for name, _ in tokens]

    one, other = loop.run(play())
    sent = 100 * 100
    assert one > 3 * sent
    assert abs(one - other) < one / 3


def test_what_was_counted_is_told_once(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> list[int]:
        with received.allowed(received.ANSWER_BYTES_MAX):
            await store.read("project_heads", projects=["P"])
            with received.allowed(received.ANSWER_BYTES_MAX):
                await store.read("project_heads", projects=["P"])
            found = [received.untold(), received.untold()]
            await store.read("project_heads", projects=["P"])
            return [*found, received.untold()]

    both, none, again = loop.run(play())
    assert both > again > 0
    assert none == 0


def test_little_by_little_costs_as_much_as_at_once() -> None:
    purse, scope = spending.Spending(lambda: 0.0), Scope(AGENT, {}, "token", "t", rate=5)
    for _ in range(5 * spending.SAVED_SECONDS * 100):
        purse.spend(scope, spending.UNIT_BYTES // 100)
    assert purse.spent(scope) is not None
