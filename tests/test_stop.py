"""A service that is told to stop answers what it took, takes nothing more, and ends with 0."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from served import JSON_TYPE, Served, served

from api.serving import DRAIN_SECONDS
from graph.embedded import Connection
from graph.service import Service

CALLERS = 12
PROPOSE = """mutation ($key: String!) {
  propose(project: "p", key: $key, proposition: "x", evidence: [{type: "t", source: "s"}]) { applied }
}"""


@dataclass
class Told:
    """What callers were told: keys that were acknowledged, and the others by their answer."""

    acknowledged: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])
    unanswered: list[str] = field(default_factory=list[str])


def call(running: Served, caller: int, told: Told) -> None:
    """Propose one node after the other until the service is no more there."""
    for at in range(100_000):
        key = f"k-{caller}-{at}"
        body = {"query": PROPOSE, "variables": {"key": key}}
        try:
            answer = httpx.post(
                f"{running.url}/graphql", json=body, headers={**JSON_TYPE, **running.bearer}, timeout=60
            )
        except httpx.ConnectError:
            return
        except httpx.TransportError as error:  # the port was closed before the request was read
            told.unanswered.append(repr(error))
            return
        said = answer.json()
        if "errors" in said:
            told.refused.append(said["errors"][0]["extensions"]["code"])
        else:
            told.acknowledged.append(key)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM")
def test_a_service_that_is_told_to_stop_answers_what_it_took_and_loses_nothing(
    neo4j: Connection, service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    told = Told()
    with served(neo4j, tmp_path) as running, ThreadPoolExecutor(CALLERS) as callers:
        calls = [callers.submit(call, running, number, told) for number in range(CALLERS)]
        while len(told.acknowledged) < 5 * CALLERS:
            time.sleep(0.05)
            for each in calls:
                assert not each.done() or each.exception() is None
        begun = time.monotonic()
        assert stopped(running) == 0
        assert time.monotonic() - begun < DRAIN_SECONDS + 10
        for each in calls:
            each.result()
    assert set(told.refused) <= {"UNAVAILABLE"}
    kept = loop.run(service.nodes("p", [(key, 1) for key in told.acknowledged]))
    assert len(kept) == len(told.acknowledged)
    assert loop.run(service.verify("p"))["ok"]
    head = loop.run(service.head("p"))
    assert head is not None
    assert head.seq - len(told.acknowledged) <= len(told.unanswered)


def stopped(running: Served) -> int | None:
    """End it as an operator does; its exit code."""
    running.process.send_signal(signal.SIGTERM)
    return running.process.wait(60)
