"""Answers are bounded in bytes, in the database and here, however few objects they hold."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import psutil
import pytest
from conftest import wipe
from starlette.types import ASGIApp

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph import received
from graph.columns import EdgesColumn, EndColumn, EvidenceColumn
from graph.commands import Command, read_command
from graph.compiled import CompiledReads, WalkColumns, Wanted
from graph.errors import LimitError
from graph.service import Filter, Service
from graph.store import Store

NODES = 130
LARGE, VAST = 64_000, 3_000_000  # characters of the evidence that all of them stand on
SMALL_BOUND = 500_000
FILL = """
CREATE (e:Evidence {project: 'p', key: 'e', type: 't', source: 's', timestamp: datetime(), metadata: $metadata})
MERGE (p:Project {name: 'p'}) SET p.seq = 1, p.hash = 'h', p.recorded_at = datetime()
WITH e
UNWIND range(0, $nodes - 1) AS at
CREATE (n:Knowledge:Claim:Proposed {
  project: 'p', key: 'k-' + at, generation: 1, proposition: 'x', kind: 'claim', state: 'proposed', uses: 0, risk_seq: 0,
  valid_from: datetime(), created_at: datetime(), created_seq: 1, updated_at: datetime(), updated_seq: 1,
  forgotten: false
})-[:EVIDENCED_BY {seq: 1}]->(e)
WITH collect(n) AS all
WITH all[0] AS root, all[1..] AS rest
UNWIND rest AS n
CREATE (root)-[:DEPENDS_ON {turns: [1], times: [datetime()], since: datetime(), event_ids: ['a']}]->(n)
"""
NODE = ("key", EvidenceColumn(("key", "metadata")))
EVENT = ("relation", EndColumn("to", NODE))
HOP = ("key", EdgesColumn("upstream", None, ended=False, columns=EVENT))
WALK = WalkColumns(("key",), ("key",), ("relation",), ("key", "metadata"))
PAGE = '{ knowledgeList(project: "p", first: 130) { edges { node { key evidence { key metadata } } } } }'
NODE_OF = 'knowledge(project: "p", key: "k-{0}") {{ key evidence {{ metadata }} }}'


def reads(service: Service) -> dict[str, Callable[[], Awaitable[object]]]:
    """Every read that brings the evidence of many nodes."""
    compiled, ids = CompiledReads(service), [(f"k-{at}", 1) for at in range(NODES)]

    def walked(columns: WalkColumns) -> Awaitable[object]:
        return compiled.walk(columns, "p", "k-0", "upstream", None, 6, 1_000)

    return {
        "page": lambda: service.page("p", Filter(), 1_000, evidence=True),
        "evidence": lambda: service.evidence("p", ids),
        "walk": lambda: service.provenance("p", "k-0"),
        "compiled page": lambda: compiled.page(NODE, "p", Filter(), 1_000, None),
        "compiled walk": lambda: walked(WalkColumns(("key",), NODE, ("relation",), None)),
        "compiled node with one hop": lambda: compiled.knowledge(HOP, Wanted("p", "k-0", 1, 9)),
    }


@pytest.fixture
def filled(store: Store, loop: asyncio.Runner) -> Iterator[Callable[[int], Service]]:
    """Fills the store with nodes that all stand on one piece of evidence, of so many characters."""

    def fill(size: int) -> Service:
        given = {"nodes": NODES, "metadata": json.dumps("x" * size)}
        loop.run(store.driver.execute_query(FILL, given, database_=store.database))
        return Service(store)

    yield fill
    loop.run(wipe(store))


@pytest.mark.parametrize("name", list(reads(Service.__new__(Service))))
def test_an_answer_of_too_many_bytes_is_broken_off_while_it_arrives(
    filled: Callable[[int], Service], loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    service = filled(LARGE)
    read = reads(service)[name]
    loop.run(within(None, read))
    monkeypatch.setattr(received, "ANSWER_BYTES_MAX", SMALL_BOUND)
    before = psutil.Process().memory_info().rss
    for _ in range(5):
        with pytest.raises(LimitError) as refused:
            loop.run(within(SMALL_BOUND, read))
        assert refused.value.allowed == f"at most {SMALL_BOUND} bytes from the database: ask for less"
    assert psutil.Process().memory_info().rss - before < 5_000_000
    assert loop.run(within(SMALL_BOUND, lambda: service.knowledge("p", "k-1", evidence=True))) is not None


async def within(most: int | None, read: Callable[[], Awaitable[object]]) -> object:
    with received.allowed(most):
        return await read()


def test_what_no_memory_holds_is_refused_and_the_database_lives(
    filled: Callable[[int], Service], loop: asyncio.Runner
) -> None:
    service = filled(VAST)
    for name, read in reads(service).items():
        with pytest.raises(LimitError):
            loop.run(within(received.ANSWER_BYTES_MAX, read))
            pytest.fail(name)
    assert loop.run(service.projects()) == ["p"]


def proposal(at: int) -> Command:
    evidence = {"type": "t", "source": "s", "metadata": "x" * (LARGE - 100)}
    payload = {"proposition": "x", "evidence": [evidence]}
    line = {"event_id": f"e{at}", "transition": "proposed", "key": f"k-{at}", "payload": payload}
    return read_command(line, actor=ANONYMOUS, project="p")


def test_a_caller_is_told_the_bound_and_it_holds_for_all_fields_of_a_request_together(
    filled: Callable[[int], Service], loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(filled(LARGE), Settings.from_environment(), Everyone(ANONYMOUS))
    one, many = (" ".join(f"a{at}: {NODE_OF.format(at)}" for at in range(count)) for count in (1, 10))
    monkeypatch.setattr(received, "ANSWER_BYTES_MAX", SMALL_BOUND)
    for query, refused in ((f"{{ {one} }}", False), (PAGE, True), (f"{{ {one} }}", False), (f"{{ {many} }}", True)):
        for _ in range(3):  # executed, and then as it is compiled
            answer = loop.run(posted(app, query))
            assert ("errors" in answer) == refused, query
            for error in answer.get("errors", ()):
                assert error["extensions"]["code"] == "LIMIT"
                assert str(SMALL_BOUND) in error["extensions"]["allowed"]


async def posted(app: ASGIApp, query: str) -> Any:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://whence") as client:
        return (await client.post("/graphql", json={"query": query})).json()


def test_a_file_is_read_in_smaller_pages_where_its_events_are_large(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lines() -> bytes:
        return b"".join([chunk async for chunk in service.export_journal("p")])

    async def filled() -> None:
        for at in range(12):
            await service.run(proposal(at))

    loop.run(filled())
    whole = loop.run(lines())
    assert len(whole) > 12 * (LARGE - 100)
    monkeypatch.setattr(received, "ANSWER_BYTES_MAX", 3 * LARGE)
    assert loop.run(lines()) == whole
    assert loop.run(service.verify("p"))["ok"]
