"""The documents that are built to hurt, by every other way in: GET, a websocket, server-sent events, batches."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from conftest import wipe
from corpus import Hostile, documents, repetitions, texts
from followers import PROTOCOL
from quiet import cpu_seconds
from served import Served, served
from test_hostile import CPU_SECONDS_MAX
from websockets.sync.client import ClientConnection, connect

from api.connections import HEAD_BYTES_MAX
from api.serving import MESSAGE_BYTES_MAX
from graph.embedded import Connection
from graph.store import Store

DOCUMENTS = [*documents(), *repetitions(), *texts()]
BATCH = 5
Answer = Callable[[Served, str], set[str] | None]


@pytest.fixture(scope="module")
def service(
    neo4j: Connection, open_store: Store, loop: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    loop.run(wipe(open_store))
    with served(neo4j, tmp_path_factory.mktemp("served")) as caller:
        caller.ask('mutation { propose(project: "P", key: "hub", proposition: "It holds") { applied } }')
        yield caller


def codes(body: Any) -> set[str]:
    return {error["extensions"]["code"] for error in body.get("errors", ())}


def query_of(each: Hostile) -> str:
    return json.loads(each.content)["query"]


def by_get(service: Served, query: str) -> set[str] | None:
    path = f"/graphql?query={quote(query)}"
    if len(path) > HEAD_BYTES_MAX - 1_000:
        return None
    return codes(service.client.get(path).json())


def by_events(service: Served, query: str) -> set[str] | None:
    answer = service.client.post("/graphql", json={"query": query}, headers={"accept": "text/event-stream"})
    (body,) = [
        json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: ")
    ]
    return codes(body)


def in_a_batch(service: Served, query: str) -> set[str] | None:
    answer = service.client.post("/graphql", json=[{"query": query}] * BATCH)
    assert answer.status_code in (400, 413)
    return codes(answer.json())


def as_a_subscription(service: Served, query: str) -> set[str] | None:
    """The same text where only a subscription is followed: it is refused as the query it is, or answered once."""
    text = json.dumps({"query": f'subscription S {{ events(project: "P") {{ seq }} }} {query}'})
    if len(text) > 900_000:
        return None
    answer = service.client.post("/graphql", content=text, headers={"content-type": "application/json"})
    found = codes(answer.json())
    assert found
    return found


def each_as_expected(service: Served, answered: Callable[[str], set[str] | None]) -> None:
    """Each document that goes this way at all is answered, or refused by its code, and costs little."""
    wrong, dear, tried = dict[str, Any](), dict[str, float](), 0
    for each in DOCUMENTS:
        found, spent = observed(service, answered, each)
        if found is None:
            continue
        tried += 1
        if found != (set[str]() if each.code is None else {each.code}):
            wrong[each.name] = found
        if spent > CPU_SECONDS_MAX:
            dear[each.name] = spent
    assert (wrong, dear) == ({}, {})
    assert tried > len(DOCUMENTS) / 2


def observed(
    service: Served, answered: Callable[[str], set[str] | None], each: Hostile
) -> tuple[set[str] | None, float]:
    """What a document was answered the first time, and the seconds of CPU that it takes.

    A text that came before is remembered and costs less: each further time it ends in one blank more.
    """
    query, found = query_of(each), list[set[str] | None]()
    spent = cpu_seconds(lambda: found.append(answered(query + " " * len(found))), CPU_SECONDS_MAX, service.cpu)
    return found[0], spent


@pytest.mark.parametrize("way", [by_get, by_events], ids=lambda way: way.__name__)
def test_each_is_answered_or_refused_by_its_code_and_costs_little(service: Served, way: Answer) -> None:
    each_as_expected(service, partial(way, service))


@pytest.mark.parametrize("way", [in_a_batch, as_a_subscription], ids=lambda way: way.__name__)
def test_none_is_let_in_by_a_way_that_is_closed(service: Served, way: Answer) -> None:
    dear = dict[str, float]()
    for each in DOCUMENTS:
        found, spent = observed(service, partial(way, service), each)
        assert found is None or found <= {"VALIDATION", "LIMIT"}, each.name
        if spent > CPU_SECONDS_MAX:
            dear[each.name] = spent
    assert dear == {}


@pytest.fixture
def connection(service: Served) -> Iterator[ClientConnection]:
    with connect(f"{service.url.replace('http', 'ws', 1)}/graphql", subprotocols=[PROTOCOL]) as opened:
        opened.send(json.dumps({"type": "connection_init", "payload": service.bearer}))
        assert json.loads(opened.recv()) == {"type": "connection_ack"}
        yield opened


def by_websocket(connection: ClientConnection, query: str) -> set[str] | None:
    message = json.dumps({"type": "subscribe", "id": "one", "payload": {"query": query}})
    if len(message) > MESSAGE_BYTES_MAX:
        return None
    connection.send(message)
    told = json.loads(connection.recv(60))
    if told["type"] == "next":
        assert json.loads(connection.recv(60))["type"] == "complete"
    return codes({"errors": told["payload"]}) if told["type"] == "error" else codes(told["payload"])


def test_each_costs_little_over_a_websocket_too(service: Served, connection: ClientConnection) -> None:
    each_as_expected(service, partial(by_websocket, connection))
