"""Reads that are refused for their size: the statement stops one row behind the bound, and the refusal names it."""

# pyright: strict

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from graph import service as bounds
from graph.commands import read_command
from graph.errors import LimitError
from graph.knowledge import Actor, ActorType
from graph.rows import Row
from graph.service import Service
from graph.store import Store

WRITER = Actor("tests", "writer", ActorType.HUMAN)
LENGTH = 8
PLACES: list[tuple[str, int]] = [(f"n{at}", 1) for at in range(LENGTH)]
Ask = Callable[[Service], Awaitable[Any]]


@pytest.fixture
def chain(service: Service, loop: asyncio.Runner) -> Service:
    """n7 rests on n6, and so on down to n0, which is retired."""
    lines: list[dict[str, Any]] = [
        {
            "transition": "proposed",
            "key": f"n{at}",
            "payload": {"proposition": f"says {at}"}
            | ({"relations": [{"relation": "depends_on", "to": f"n{at - 1}"}]} if at else {}),
        }
        for at in range(LENGTH)
    ]
    lines.append({"transition": "invalidated", "key": "n0", "reason": "wrong"})
    for line in lines:
        loop.run(service.run(read_command(line, actor=WRITER, project="P")))
    return service


ASKED: dict[str, tuple[Ask, str, str, int]] = {
    "why a node is at risk": (lambda s: s.why_at_risk("P", "n7"), "risk_graph", "RISK_GRAPH_MAX", LENGTH),
    "whether a node was at risk": (
        lambda s: s.knowledge("P", "n7", as_of=datetime.now(UTC)),
        "risk_graph_as_of",
        "RISK_GRAPH_MAX",
        LENGTH,
    ),
    "the edges of nodes": (
        lambda s: s.relations("P", PLACES, "upstream", most=bounds.EDGES_MAX),
        "relations_of",
        "EDGES_MAX",
        LENGTH - 1,
    ),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_read_behind_its_bound_is_refused_and_reads_one_row_more(
    chain: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    ask, statement, bound, size = ASKED[what]
    read, rows = Store.read, list[int]()

    async def counted(store: Store, name: str, **params: Any) -> list[Row]:
        found = await read(store, name, **params)
        if name == statement:
            rows.append(len(found))
        return found

    monkeypatch.setattr(Store, "read", counted)
    monkeypatch.setattr(f"graph.service.{bound}", size)
    assert loop.run(_awaited(ask(chain)))
    monkeypatch.setattr(f"graph.service.{bound}", 3)
    with pytest.raises(LimitError) as refused:
        loop.run(_awaited(ask(chain)))
    assert refused.value.allowed is not None
    assert refused.value.allowed.startswith("at most 3 ")
    assert rows == [size, 4]


async def _awaited(asked: Awaitable[Any]) -> Any:
    return await asked
