"""The read benchmark compares like with like: the bare driver answers what GraphQL answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import bare
import dataset
import httpx
import pytest
from dataset import Rests
from shapes import SHAPES, Shape, flat
from starlette.types import ASGIApp

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph.exchange import Terms, import_journal
from graph.knowledge import Actor, ActorType
from graph.service import Service
from graph.store import Store

NODES = 400


@pytest.fixture(scope="module")
def graphs() -> dict[str, Rests]:
    return dataset.graphs(projects=1, nodes=NODES)


@pytest.fixture
def filled(store: Store, loop: asyncio.Runner, graphs: dict[str, Rests]) -> Store:
    terms = Terms("bench", Actor("bench", "reads", ActorType.SYSTEM))
    report = loop.run(import_journal(store, lambda: dataset.journal(graphs), terms))
    assert (report.taken, report.refused) == (dataset.EVENTS * NODES, 0)
    return store


def answer(loop: asyncio.Runner, app: ASGIApp, path: str, body: object) -> dict[str, Any]:
    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bench") as client:
            return await client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})

    told = loop.run(asked()).json()
    assert "errors" not in told, told
    return told["data"]


def test_the_bare_driver_answers_each_shape_as_graphql_does(
    filled: Store, loop: asyncio.Runner, graphs: dict[str, Rests]
) -> None:
    limit = bare.create_app(filled.driver, filled.database)
    served = create_app(Service(filled), Settings(home=Path("/nowhere")), Everyone(ANONYMOUS))
    (project, rests), *_ = graphs.items()

    def same(shape: Shape, variables: dict[str, str]) -> dict[str, Any]:
        ours = answer(loop, served, "/graphql", {"query": shape.whence, "variables": variables})
        theirs = answer(loop, limit, f"/{shape.name}", variables)
        assert flat(shape, "bare", theirs) == flat(shape, "whence", ours)
        assert ours.get("provenance", {}).get("truncated") == theirs.get("provenance", {}).get("truncated")
        return ours

    point, hop, walk, listed = SHAPES
    cut = 0
    for node in range(NODES - 40, NODES, 4):
        named = {"project": project, "key": dataset.key(node)}
        same(point, named)
        assert len(same(hop, named)["knowledge"]["relations"]) == len(rests[node])
        cut += same(walk, named)["provenance"]["truncated"]
    assert cut, "no walk is longer than its depth"
    assert len(same(listed, {"project": project})["knowledgeList"]["edges"]) == 100
