"""Spans of requests, operations and statements: how they hang together, and what never stands in them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

from api import tracing
from api.access import Everyone
from api.app import create_app
from api.metrics import Metrics
from api.settings import ANONYMOUS, Settings
from graph import observed, queries
from graph.errors import KnowledgeError
from graph.service import Service

CALLER = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{CALLER}-00f067aa0ba902b7-01"
Ask = Callable[..., list[ReadableSpan]]


@pytest.fixture
def ask(service: Service, loop: asyncio.Runner, tmp_path: Path) -> Iterator[Ask]:
    """Asks GraphQL, one request after the other; gives the spans that came of the last one."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    metrics = Metrics(service)
    app = create_app(service, Settings(tmp_path), Everyone(ANONYMOUS), metrics=metrics)

    def asked(*queries: str, headers: dict[str, str] | None = None, **variables: Any) -> list[ReadableSpan]:
        async def made() -> None:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://whence") as client:
                for query in queries:
                    exporter.clear()
                    body = {"query": query, "variables": variables}
                    answer = await client.post("/graphql", json=body, headers=headers or {})
                    assert answer.status_code == 200, answer.text

        loop.run(made())
        return list(exporter.get_finished_spans())

    with tracing.by(provider.get_tracer("test")), observed.by(metrics):
        yield asked
    provider.shutdown()


def context_of(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


def tree(spans: list[ReadableSpan]) -> Any:
    """Names of spans, each with those below it, sorted."""

    def below(parent: int | None) -> list[Any]:
        found = [span for span in spans if (span.parent.span_id if span.parent else None) == parent]
        return sorted((str(span.name), below(context_of(span).span_id)) for span in found)

    return below(None)


def test_statements_hang_below_the_operation_and_that_below_the_request(ask: Ask) -> None:
    spans = ask('mutation Take { propose(project: "p", key: "a", proposition: "x") { applied } }')
    ((request, (below,)),) = tree(spans)
    operation, statements = below
    assert (request, operation) == ("POST /graphql", "GraphQL mutation")
    names = [name for name, inner in statements if inner == []]
    assert {"project_lock", "slice_load", "nodes_create", "events_create", "project_advance"} <= set(names)
    assert set(names) <= set(queries.names())
    by_name = {span.name: span for span in spans}
    assert by_name["POST /graphql"].kind is SpanKind.SERVER
    assert by_name["project_lock"].kind is SpanKind.CLIENT
    assert dict(by_name["GraphQL mutation"].attributes or {}) == {
        "graphql.operation.type": "mutation",
        "graphql.operation.name": "Take",
    }
    assert dict(by_name["project_lock"].attributes or {}) == {
        "db.system.name": "neo4j",
        "db.query.summary": "project_lock",
        "db.response.returned_rows": 1,
    }
    for span in spans:
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time


def test_a_query_has_its_operation_also_by_plan_and_where_the_answer_was_kept(ask: Ask) -> None:
    query = 'query One { knowledge(project: "p", key: "a") { key } }'
    shapes = [tree(ask(query)) for _ in range(4)]
    for ((request, operations),) in shapes:
        assert request == "POST /graphql"
        assert [name for name, _ in operations if name.startswith("GraphQL")] == ["GraphQL query"]
    assert ("compiled_knowledge", []) in shapes[0][0][1][0][1]
    ((_, kept),) = shapes[3]
    assert ("GraphQL query", []) in kept
    assert ("version", []) in kept


def test_a_commit_that_comes_later_is_no_part_of_an_earlier_request(ask: Ask) -> None:
    for key in "abc":
        spans = ask(f'mutation {{ propose(project: "p", key: "{key}", proposition: "x") {{ applied }} }}')
        assert len({context_of(span).trace_id for span in spans}) == 1
        assert "events_create" in {span.name for span in spans}


def test_the_callers_trace_goes_on_where_it_has_the_form_of_the_standard(ask: Ask) -> None:
    spans = ask("{ projects }", headers={"traceparent": TRACEPARENT})
    assert {format(context_of(span).trace_id, "032x") for span in spans} == {CALLER}
    odd = ask("{ projects }", headers={"traceparent": TRACEPARENT.upper()})
    assert CALLER not in {format(context_of(span).trace_id, "032x") for span in odd}


def test_no_text_of_a_caller_stands_in_a_span(ask: Ask) -> None:
    seeded = ask(
        "mutation ($p: String!, $t: String!) { propose(project: $p, key: $t, proposition: $t) { applied } }",
        "query ($p: String!, $t: String!) { search(project: $p, text: $t) { knowledge { proposition } } }",
        "mutation ($p: String!, $t: String!) { challenge(project: $p, key: $t, event: {reason: $t}) { applied } }",
        "query ($p: String!, $t: String!) { knowledge(project: $p, key: $t) { nothing } }",
        p="hush-project",
        t="hush text",
    )
    refused = ask("mutation ($t: String!) { confirm(project: $t, key: $t) { applied } }", t="hush")
    for span in (*seeded, *refused):
        told = json.loads(span.to_json())
        assert "hush" not in json.dumps([told["name"], told["attributes"], told["events"], told["status"]])


def test_a_statement_that_fails_has_its_failure_by_name(ask: Ask, loop: asyncio.Runner) -> None:
    async def failing() -> list[str]:
        await asyncio.sleep(0)
        raise KnowledgeError("hush")

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with tracing.by(provider.get_tracer("test")), pytest.raises(KnowledgeError):
        loop.run(observed.statement("project_list", failing(), len))
    (span,) = exporter.get_finished_spans()
    assert (span.status.status_code, (span.attributes or {})["error.type"]) == (StatusCode.ERROR, "INTERNAL")
    assert "hush" not in span.to_json()


@pytest.mark.parametrize(
    ("environment", "field"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER"),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        ),
    ],
)
def test_an_exporter_that_there_is_not_is_refused(environment: dict[str, str], field: str) -> None:
    with pytest.raises(KnowledgeError) as caught, tracing.exported(environment):
        pass
    assert (caught.value.code, caught.value.field) == ("VALIDATION", field)
    assert caught.value.allowed


def test_without_the_sdk_traces_that_are_asked_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(KnowledgeError) as caught, tracing.exported({"OTEL_TRACES_EXPORTER": "console"}):
        pass
    assert caught.value.code == "UNAVAILABLE"
    assert "tracing" in (caught.value.allowed or "")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
    ],
)
def test_nothing_is_loaded_where_no_traces_are_asked_for(environment: dict[str, str]) -> None:
    program = (
        "import sys; from api import serving, tracing\n"
        f"with tracing.exported({environment!r}): pass\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, encoding="utf-8")
    assert ran.stdout == "[]\n"


def test_an_endpoint_gets_the_spans_by_otlp_before_the_program_ends(loop: asyncio.Runner) -> None:
    got: list[tuple[bytes, bytes]] = []

    async def collector(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")).split()[1])
        got.append((head, await reader.readexactly(size)))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def found() -> list[str]:
        return ["a"]

    def traced(port: int) -> None:
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", environment["OTEL_EXPORTER_OTLP_ENDPOINT"])
            patch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
            with tracing.exported(environment):
                asyncio.run(observed_list(found))

    async def scenario() -> None:
        server = await asyncio.start_server(collector, "127.0.0.1", 0)
        async with server:
            await asyncio.to_thread(traced, server.sockets[0].getsockname()[1])

    loop.run(scenario())
    ((head, body),) = got
    assert head.startswith(b"POST /v1/traces HTTP/1.1\r\n")
    assert b"project_list" in body
    assert b"whence" in body
    assert b"deployment.environment.name" in body


async def observed_list(found: Callable[[], Any]) -> None:
    tracing.statement("project_list", 0.001, len(await found()), None)
