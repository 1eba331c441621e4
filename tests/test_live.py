"""Live events over real sockets: from any position, each once and in order, whatever happens in between."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from followers import (
    STREAM,
    Answer,
    ask,
    begun,
    document,
    events_of,
    first,
    follow,
    hear,
    serving,
    socket,
    stream,
    until,
    uses,
)
from served import Served, served
from strategies import said

from graph import feed
from graph.embedded import Connection
from graph.service import Service
from graph.store import Store

WAYS = pytest.mark.parametrize("way", ["sse", "websocket"])
ROW = (
    "id eventId seq transition time recordedAt reason stateAfter hash __typename "
    "actor { issuer subject type __typename } execution { run frame task parentRun parentFrame }"
)
MORE = f"{ROW} knowledge {{ key state uses events(first: 2) {{ edges {{ node {{ seq }} }} }} }} causedBy {{ eventId }}"


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "QUIET_SECONDS", 0.3)


def seqs(events: list[Answer]) -> list[int]:
    return [event["seq"] for event in events]


@WAYS
@pytest.mark.parametrize("after", [0, 2, 5])
def test_what_was_taken_before_comes_first_and_then_what_is_taken(
    service: Service, loop: asyncio.Runner, way: str, after: int
) -> None:
    async def play() -> list[Answer]:
        await begun(service)
        await service.run_many(uses("P", 0, 4))
        async with serving(service) as address:
            following = asyncio.create_task(first(8 - after, follow(way, address, "P", after)))
            await asyncio.sleep(0.2)
            for command in uses("P", 4, 3):
                await service.run(command)
            return await following

    assert seqs(loop.run(play())) == list(range(after + 1, 9))


def test_without_a_position_events_come_from_the_head_as_it_was_when_it_began(
    service: Service, loop: asyncio.Runner
) -> None:
    async def play() -> list[Answer]:
        await begun(service)
        async with serving(service) as address, stream(address, document("P", None, "seq")) as response:
            await service.run_many(uses("P", 0, 2))  # the head of the answer was there already
            events = events_of(response)
            found = [(await anext(events))[2] for _ in range(2)]
            await events.aclose()
            return [answer["data"]["events"] for answer in found if answer is not None]

    assert seqs(loop.run(play())) == [2, 3]


@WAYS
def test_a_position_ahead_of_the_journal_and_a_project_to_come_are_waited_for(
    service: Service, loop: asyncio.Runner, way: str
) -> None:
    async def play() -> tuple[list[Answer], list[Answer]]:
        async with serving(service) as address:
            new = asyncio.create_task(first(3, follow(way, address, "P", None)))
            ahead = asyncio.create_task(first(1, follow(way, address, "P", 2)))
            await asyncio.sleep(0.5)
            await begun(service)
            await service.run_many(uses("P", 0, 2))
            return await new, await ahead

    new, ahead = loop.run(play())
    assert (seqs(new), seqs(ahead)) == ([1, 2, 3], [3])


@pytest.mark.parametrize("fields", [ROW, MORE], ids=["row", "more"])
@WAYS
def test_an_event_is_told_as_the_journal_tells_it(
    service: Service, loop: asyncio.Runner, way: str, fields: str
) -> None:
    async def play(address: str) -> tuple[list[Answer], Any]:
        run = {"run": "r", "task": "t"}
        await begun(service)
        await service.run(said("used", "k", "P", event_id="u", execution=run, caused_by=["first"]))
        await service.run(said("challenged", "k", "P", event_id="c", reason="who says so", caused_by=["u", "first"]))
        await service.run(said("invalidated", "k", "P", event_id="i", reason="there is no gate"))
        query = f'{{ journal(project: "P") {{ edges {{ node {{ {fields} }} }} }} }}'
        async with httpx.AsyncClient() as client:
            told = await client.post(f"http://{address}/graphql", json={"query": query})
        return await first(4, follow(way, address, "P", 0, fields)), told.json()["data"]["journal"]["edges"]

    async def served() -> tuple[list[Answer], Any]:
        async with serving(service) as address:
            return await play(address)

    events, edges = loop.run(served())
    assert events == [edge["node"] for edge in edges]
    assert events[2]["reason"] == "who says so"


@WAYS
def test_whoever_comes_and_goes_while_others_write_has_the_journal_exactly(
    service: Service, loop: asyncio.Runner, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PAGE", 7)
    monkeypatch.setattr(feed, "KEPT_EVENTS", 20)
    total = 121

    async def reads(address: str, seed: int) -> list[int]:
        drawn, found = random.Random(seed), list[int]()
        while len(found) < total:
            count = min(drawn.choice([1, 2, 9, 40]), total - len(found))
            found += seqs(await first(count, follow(way, address, "P", found[-1] if found else 0)))
            await asyncio.sleep(drawn.choice([0, 0, 0.05, 0.3]))
        return found

    async def writes() -> None:
        drawn, commands = random.Random(7), uses("P", 0, total - 1)
        await begun(service)
        while commands:
            count = drawn.choice([1, 1, 3, 12, 30])
            await service.run_many(commands[:count])
            del commands[:count]
            await asyncio.sleep(drawn.choice([0, 0.01, 0.05]))

    async def play() -> list[list[int]]:
        async with serving(service) as address:
            writing = asyncio.create_task(writes())
            found = await asyncio.gather(*(reads(address, seed) for seed in range(3)))
            await writing
            return found

    assert loop.run(play()) == [list(range(1, total + 1))] * 3


@WAYS
def test_what_one_process_takes_comes_from_every_other(
    service: Service, neo4j: Connection, loop: asyncio.Runner, way: str
) -> None:
    async def play() -> list[list[Answer]]:
        login = (neo4j.username, neo4j.password, neo4j.database)
        async with Store.open(neo4j.uri, *login) as other_store:
            other = Service(other_store)
            async with serving(service) as here, serving(other) as there:
                following = [
                    asyncio.create_task(first(41, follow(way, address, "P", 0))) for address in (here, there) * 2
                ]
                await asyncio.sleep(0.3)
                await begun(service)
                for at in range(20):
                    await (service, other)[at % 2].run_many(uses("P", 2 * at, 2))
                return await asyncio.gather(*following)

    assert [seqs(found) for found in loop.run(play())] == [list(range(1, 42))] * 4


def test_a_journal_is_read_once_for_all_who_follow_it_and_not_at_all_for_nobody(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    read = Store.read

    async def counted(store: Store, name: str, **params: Any) -> Any:
        asked.append(name)
        return await read(store, name, **params)

    async def play() -> tuple[int, int]:
        await begun(service)
        async with serving(service) as address:
            following = [asyncio.create_task(first(3, follow("websocket", address, "P", 1))) for _ in range(12)]
            await until(lambda: service.feed.followers == 12)
            monkeypatch.setattr(Store, "read", counted)
            await service.run_many(uses("P", 0, 3))
            await asyncio.gather(*following)
            followed = asked.count("events_followed")
            await until(lambda: service.feed.followers == 0)
            asked.clear()
            await asyncio.sleep(0.5)
            return followed, len(asked)

    followed, left = loop.run(play())
    assert followed <= 3  # when it is told of the growth, and when it finds it by itself
    assert left == 0


@WAYS
def test_a_reader_who_takes_nothing_is_not_read_ahead_for_and_gets_everything_in_the_end(
    service: Service, loop: asyncio.Runner, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PAGE", 50)
    monkeypatch.setattr(feed, "KEPT_EVENTS", 100)
    count, pages = 1_500, list[int]()
    read = Store.read

    async def counted(store: Store, name: str, **params: Any) -> Any:
        if name == "events_followed":
            pages.append(params["after"])
        return await read(store, name, **params)

    async def play() -> tuple[int, list[Answer]]:
        await begun(service)
        for at in range(0, count, 1_000):
            await service.run_many(uses("P", at, 1_000, reason="r" * 2_000))
        monkeypatch.setattr(Store, "read", counted)
        async with serving(service) as address:
            events = follow(way, address, "P", 0, "seq reason")
            found = [await anext(events)]
            read_ahead, stalled = 0, 0
            while stalled < 5:  # until it stands still
                await asyncio.sleep(0.3)
                furthest = max(after for after in pages if after <= count)  # beyond it looks who reads for all
                stalled = stalled + 1 if furthest == read_ahead else 0
                read_ahead = furthest
            return read_ahead, found + await first(count, events)

    read_ahead, found = loop.run(play())
    assert read_ahead < count / 2  # so much is in the sockets, the kernel's and the client's
    assert seqs(found) == list(range(1, count + 2))


def test_a_subscription_wants_a_stream_and_a_query_gets_what_its_caller_takes(
    service: Service, loop: asyncio.Runner
) -> None:
    many = {"accept": "application/graphql-response+json, application/json, text/event-stream"}

    async def play(address: str) -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=f"http://{address}") as client:
            query, events = {"query": "{ projects }"}, {"query": document("P", 0, "seq")}
            return [
                await client.post("/graphql", json=events),
                await client.post("/graphql", json=query, headers=many),
                await client.post("/graphql", json=query, headers=STREAM),
            ]

    async def served() -> list[httpx.Response]:
        async with serving(service) as address:
            await begun(service)
            assert seqs(await first(1, follow("sse", address, "P", 0))) == [1]
            async with stream(address, document("P", 0, "seq"), accept=many["accept"]) as response:
                assert response.headers["content-type"].startswith("text/event-stream")
                assert response.headers["cache-control"] == "no-store"
            return await play(address)

    refused, plain, streamed = loop.run(served())
    (error,) = refused.json()["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("VALIDATION", "accept")
    assert plain.json() == {"data": {"projects": ["P"]}}
    assert streamed.text.endswith('event: next\ndata: {"data":{"projects":["P"]}}\n\nevent: complete\ndata:\n\n')


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        (document("P", -1, "seq"), "VALIDATION", "afterSeq"),
        (document("", 0, "seq"), "VALIDATION", "project"),
        (document("P", 0, "nothing"), "VALIDATION", "nothing"),
        ("subscription {", "VALIDATION", "query"),
        ("subscription($p: String!) { events(project: $p) { seq } }", "VALIDATION", "project"),
        (document("P", 0, "causedBy { " * 60 + "seq" + " }" * 60), "LIMIT", "query"),
        (document("P", 0, " ".join(f"a{at}: seq" for at in range(1_000))), "LIMIT", "query"),
        ('subscription A { events(project: "P") { seq } } query B { projects }', "VALIDATION", "operationName"),
    ],
)
def test_what_is_refused_of_a_query_is_refused_of_a_subscription(
    service: Service, loop: asyncio.Runner, query: str, code: str, field: str
) -> None:
    async def play() -> tuple[list[tuple[str, str, Answer | None]], Answer]:
        async with serving(service) as address:
            async with stream(address, query) as response:
                told = [event async for event in events_of(response)]
            async with socket(address) as connection:
                await ask(connection, query)
                return told, await hear(connection)

    told, answer = loop.run(play())
    assert [kind for kind, _, _ in told] == ["next", "complete"]
    assert told[0][2] is not None
    assert (answer["type"], answer["payload"]) == ("error", told[0][2]["errors"])
    facts: Mapping[str, Any] = answer["payload"][0]["extensions"]
    assert (facts["code"], facts["field"]) == (code, field)


@pytest.mark.slow
@WAYS
def test_processes_of_their_own_on_one_database_tell_the_same(
    neo4j: Connection, store: Store, tmp_path: Path, loop: asyncio.Runner, way: str
) -> None:
    use = 'mutation($e: String!) { use(project: "P", key: "k", event: { eventId: $e }) { applied } }'

    async def play(both: Sequence[Served]) -> list[list[Answer]]:
        following = [
            asyncio.create_task(first(41, follow(way, one.url[7:], "P", 0, token=one.bearer["authorization"][7:])))
            for one in both
        ]
        await asyncio.to_thread(
            both[0].ask, 'mutation { propose(project: "P", key: "k", proposition: "x") { applied } }'
        )
        for at in range(40):
            await asyncio.to_thread(both[at % 2].ask, use, e=f"use-{at}")
        return await asyncio.gather(*following)

    with served(neo4j, tmp_path / "one") as one, served(neo4j, tmp_path / "other") as other:
        found = loop.run(play((one, other)))
    assert [seqs(events) for events in found] == [list(range(1, 42))] * 2
