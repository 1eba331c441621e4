"""What is counted, timed and told at /metrics: right, and with as many series whoever calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from neo4j import AsyncGraphDatabase
from neo4j.exceptions import Neo4jError
from prometheus_client.parser import text_string_to_metric_families
from strategies import said

from api.access import Everyone
from api.app import create_app
from api.metrics import Metrics
from api.settings import ANONYMOUS, Settings
from graph import observed, queries
from graph.errors import NotFoundError
from graph.service import Service
from graph.store import Store

DEADLOCK = Neo4jError._hydrate_neo4j(code="Neo.TransientError.Transaction.DeadlockDetected")  # pyright: ignore[reportPrivateUsage]
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]
PROPOSE = """mutation Take($key: String!, $id: String!) {
  propose(project: "p", key: $key, proposition: "x", event: {eventId: $id}) { applied }
}"""


class Watched:
    """A service whose metrics are read as Prometheus reads them."""

    def __init__(self, service: Service, loop: asyncio.Runner, home: Path) -> None:
        self.metrics = Metrics(service, home)
        self._app = create_app(service, Settings(home), Everyone(ANONYMOUS), metrics=self.metrics)
        self._loop = loop

    def calls(self, *asked: tuple[str, str, Any]) -> list[httpx.Response]:
        """The answers to requests: method, path and JSON."""

        async def made() -> list[httpx.Response]:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://whence") as client:
                with observed.by(self.metrics):
                    return [await client.request(method, path, json=body) for method, path, body in asked]

        return self._loop.run(made())

    def asks(self, query: str, **variables: Any) -> Any:
        return self.calls(("POST", "/graphql", {"query": query, "variables": variables}))[0].json()

    def read(self) -> Samples:
        (answer,) = self.calls(("GET", "/metrics", None))
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(answer.text)
            for sample in family.samples
        }


@pytest.fixture
def watched(service: Service, loop: asyncio.Runner, tmp_path: Path) -> Watched:
    return Watched(service, loop, tmp_path)


def of(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((f"whence_{name}", tuple(sorted(labels.items()))), 0.0)


def test_appends_are_counted_by_what_became_of_them(watched: Watched) -> None:
    for key, event in (("a", "e1"), ("a", "e1"), ("b", "e2"), ("c", "e2")):
        watched.asks(PROPOSE, key=key, id=event)
    watched.asks('mutation { confirm(project: "p", key: "none") { applied } }')
    found = watched.read()
    assert {
        name: of(found, "appends_total", result=name) for name in ("new", "repeat", "EVENT_CONFLICT", "NOT_FOUND")
    } == {"new": 2, "repeat": 1, "EVENT_CONFLICT": 1, "NOT_FOUND": 1}
    assert of(found, "append_seconds_count") == 5
    assert of(found, "refusals_total", code="EVENT_CONFLICT") == 1
    assert of(found, "operation_seconds_count", kind="mutation") == 5


def test_a_retirement_tells_how_many_nodes_it_put_at_risk(watched: Watched) -> None:
    for key, rests in (("a", None), ("b", "a"), ("c", "b")):
        relations = "" if rests is None else f', relations: [{{relation: DEPENDS_ON, to: "{rests}"}}]'
        watched.asks(
            f'mutation {{ propose(project: "p", key: "{key}", proposition: "{key}"{relations}) {{ applied }} }}'
        )
    watched.asks('mutation { invalidate(project: "p", key: "a", event: {reason: "r"}) { newlyAtRisk } }')
    found = watched.read()
    assert (of(found, "at_risk_nodes_count"), of(found, "at_risk_nodes_sum")) == (1, 2)


def test_requests_statements_and_blocks_are_timed_by_names_of_ours(watched: Watched) -> None:
    watched.asks(PROPOSE, key="a", id="e1")
    for _ in range(3):
        watched.asks('query Names { knowledge(project: "p", key: "a") { key } }')
    block = watched.asks('{ context(project: "p", goal: "x", budget: 200) { tokens } }')["data"]["context"]["tokens"]
    watched.calls(("GET", "/healthz", None), ("GET", "/export/p.jsonl", None), ("POST", "/no/such/route", None))
    found = watched.read()
    assert of(found, "request_seconds_count", route="/graphql", method="POST", status="200") == 5
    assert of(found, "request_seconds_count", route="/healthz", method="GET", status="200") == 1
    assert of(found, "request_seconds_count", route="/export/{file:path}", method="GET", status="200") == 1
    assert of(found, "request_seconds_count", route="other", method="POST", status="404") == 1
    assert of(found, "operation_seconds_count", kind="query") == 4
    assert of(found, "statement_seconds_count", statement="events_create") == 1
    assert of(found, "statement_seconds_count", statement="compiled_knowledge") >= 1
    assert of(found, "statement_rows_total", statement="journal_page") == 1
    assert (of(found, "context_block_tokens_count"), of(found, "context_block_tokens_sum")) == (1, block)


def test_callers_make_no_series(watched: Watched) -> None:
    """Whatever they name, only values of labels that the code knows come of it."""

    def call(name: str) -> None:
        watched.asks(f'query {name} {{ knowledge(project: "{name}", key: "{name}") {{ key }} }}')
        watched.asks(PROPOSE.replace('"p"', f'"{name}"'), key=name, id=name)
        watched.calls(
            ("GET", f"/{name}", None),
            ("GET", f"/export/{name}.jsonl", None),
            ("GET", f"/export/{name}.{name}", None),
            ("PUT", "/graphql", None),
            (name.upper(), "/healthz", None),
            ("POST", "/graphql", {"query": f"{{ {name} }}"}),
            ("POST", "/context", {"project": name, "goal": name, "budget": 1}),
        )

    watched.read()
    call("one")
    before = watched.read()
    call("another")
    call("third")
    after = watched.read()
    assert after.keys() == before.keys()
    assert not [labels for _, labels in after for _, value in labels if value in ("one", "another", "third")]
    statements = {value for _, labels in after for name, value in labels if name == "statement"}
    assert statements <= {*queries.names(), "version"}


def test_what_the_filler_has_before_it_is_the_sum_of_all_projects(watched: Watched) -> None:
    for project, events in (("a", 5), ("b", 7), ("a", 2)):
        watched.metrics.due(project, events)
    assert of(watched.read(), "vectors_due_events") == 9
    watched.metrics.due("b", 0)
    watched.metrics.embedded(7)
    found = watched.read()
    assert (of(found, "vectors_due_events"), of(found, "vectors_written_total")) == (2, 7)


def test_it_tells_how_the_service_stands(watched: Watched) -> None:
    for key in "abc":
        watched.asks(PROPOSE, key=key, id=key)
    found = watched.read()
    names = ("database_up", "ready", "projects", "journal_events")
    assert [of(found, name) for name in names] == [1, 1, 1, 3]
    assert of(found, "disk_free_bytes") > of(found, "disk_floor_bytes") > 0


def test_without_a_database_it_tells_that_there_is_none_and_all_that_was_counted(
    loop: asyncio.Runner, tmp_path: Path
) -> None:
    driver = AsyncGraphDatabase.driver("bolt://127.0.0.1:1", auth=("neo4j", "x"))  # pyright: ignore[reportUnknownMemberType]
    watched = Watched(Service(Store(driver, "neo4j")), loop, tmp_path)
    watched.asks("{ projects }")
    found = watched.read()
    loop.run(driver.close())
    assert (of(found, "database_up"), of(found, "ready")) == (0, 0)
    assert ("whence_database_up", ()) in found
    assert ("whence_projects", ()) not in found
    assert of(found, "refusals_total", code="UNAVAILABLE") == 1
    assert of(found, "statement_failures_total", statement="project_list", failure="UNAVAILABLE") == 1


def test_a_transaction_that_is_tried_again_is_counted_by_its_failure(store: Store, loop: asyncio.Runner) -> None:
    heard: list[str] = []

    class Heard(observed.Observer):
        def retried(self, failure: str) -> None:
            heard.append(failure)

    failing = 2

    async def work(_tx: object) -> None:
        nonlocal failing
        failing -= 1
        if failing >= 0:
            raise DEADLOCK

    transactions: Any = store.__dict__["_transactions"]
    with observed.by(Heard()):
        loop.run(transactions.write(work, 20.0))
    assert heard == ["DeadlockDetected", "DeadlockDetected"]


def test_a_statement_that_fails_is_told_by_the_name_of_its_failure(store: Store, loop: asyncio.Runner) -> None:
    heard: list[tuple[str, int, str | None]] = []

    class Heard(observed.Observer):
        def statement(self, name: str, seconds: float, rows: int, failure: str | None) -> None:
            assert seconds > 0
            heard.append((name, rows, failure))

    async def failing() -> list[Mapping[str, Any]]:
        await asyncio.sleep(0)
        raise NotFoundError("there is no project")

    async def asked() -> None:
        await store.read("project_list", projects=None)
        await observed.statement("project_list", failing(), len)

    with observed.by(Heard()), pytest.raises(NotFoundError):
        loop.run(asked())
    assert heard == [("project_list", 0, None), ("project_list", 0, "NOT_FOUND")]
    heard.clear()
    loop.run(Service(store).run(said("proposed", "a", "p", proposition="a")))
    assert heard == [], "nobody observes any more"
