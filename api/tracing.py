"""Spans of OpenTelemetry: one for each request, one for each operation of GraphQL, one for each statement.

Nothing of it is loaded, and nothing is measured, until the standard variables ask for traces; then the SDK reads
whatever else they say. A span has names, counts and codes: never a text, a parameter, a project or a person.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from api.at_hand import REQUEST, AtHand
from graph.errors import UnavailableError, ValidationError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

OTLP, CONSOLE, NONE = "otlp", "console", "none"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP = "http/protobuf"
_CARRIED = frozenset({b"traceparent", b"tracestate"})
_SERVER_ERROR = 500
_NO_SPAN = nullcontext()
_tracer: Tracer | None = None


@contextmanager
def exported(environment: Mapping[str, str]) -> Generator[None]:
    """Trace what this process does, if the environment asks for it, until the context is left; then send what is left.

    ``OTEL_TRACES_EXPORTER`` names ``otlp``, ``console`` or ``none``; where it is not set, an endpoint for OTLP asks for
    ``otlp``. ``OTEL_SDK_DISABLED=true`` overrules both.

    Args:
        environment: Variables by name.

    Raises:
        ValidationError: it names an exporter or a protocol that there is not here.
        UnavailableError: it asks for traces, and what makes them is not installed.
    """
    kind = _asked(environment)
    if kind == NONE:
        yield
        return
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        exporter = _exporter(kind)
    except ImportError as error:
        raise UnavailableError(
            "traces are asked for, and OpenTelemetry's SDK is not installed",
            field="OTEL_TRACES_EXPORTER",
            allowed="Whence with its extra `tracing`, or OTEL_TRACES_EXPORTER=none",
        ) from error
    named = Resource({SERVICE_NAME: "whence"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=named)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    try:
        with by(provider.get_tracer("whence")):
            yield
    finally:
        provider.shutdown()


@contextmanager
def by(tracer: Tracer) -> Generator[None]:
    """Have spans made by a tracer, until the context is left."""
    global _tracer  # noqa: PLW0603  statements are asked far from where it is known who traces
    before, _tracer = _tracer, tracer
    try:
        yield
    finally:
        _tracer = before


def request(
    at_hand: AtHand, method: str, headers: Iterable[tuple[bytes, bytes]]
) -> AbstractContextManager[RequestSpan | None]:
    """The span of a request; a child of the caller's where its ``traceparent`` has the form of the standard.

    It gives where to note how the request was answered; None where nothing is traced.
    """
    return _NO_SPAN if _tracer is None else _request(_tracer, at_hand, method, headers)


@contextmanager
def _request(
    tracer: Tracer, at_hand: AtHand, method: str, headers: Iterable[tuple[bytes, bytes]]
) -> Generator[RequestSpan]:
    from opentelemetry.trace import SpanKind, format_trace_id  # noqa: PLC0415
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    carried = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers if name in _CARRIED}
    with tracer.start_as_current_span(
        method,
        TraceContextTextMapPropagator().extract(carried),
        SpanKind.SERVER,
        {"http.request.method": method, "whence.request_id": at_hand.id},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        if span.is_recording():
            at_hand.trace = format_trace_id(span.get_span_context().trace_id)
        yield RequestSpan(span, method)


class RequestSpan:
    """The span of a request, for how it was answered."""

    def __init__(self, span: Span, method: str) -> None:
        self._span = span
        self._method = method

    def note(self, route: str, status: int) -> None:
        """Note the route's own path and the status; a failure of ours makes the span one of an error."""
        from opentelemetry.trace import StatusCode  # noqa: PLC0415

        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= _SERVER_ERROR or not status:
            self._span.set_status(StatusCode.ERROR)


def operation() -> AbstractContextManager[None]:
    """The span of an operation of GraphQL, named as the request at hand comes to know it."""
    return _NO_SPAN if _tracer is None else _operation(_tracer)


@contextmanager
def _operation(tracer: Tracer) -> Generator[None]:
    with tracer.start_as_current_span("GraphQL", record_exception=False, set_status_on_exception=False) as span:
        try:
            yield
        finally:
            at_hand = REQUEST.get()
            if at_hand is not None and at_hand.kind is not None:
                span.update_name(f"GraphQL {at_hand.kind}")
                span.set_attribute("graphql.operation.type", at_hand.kind)
                if at_hand.operation is not None:
                    span.set_attribute("graphql.operation.name", at_hand.operation)


def statement(name: str, seconds: float, rows: int, failure: str | None) -> None:
    """The span of a statement that has just ended, below whatever is at hand."""
    tracer = _tracer
    if tracer is None:
        return
    from opentelemetry.trace import SpanKind, StatusCode  # noqa: PLC0415

    ended = time.time_ns()
    span = tracer.start_span(
        name,
        kind=SpanKind.CLIENT,
        attributes={
            "db.system.name": "neo4j",
            "db.query.summary": name,
            "db.response.returned_rows": rows,
        },
        start_time=ended - int(seconds * 1e9),
    )
    if failure is not None:
        span.set_attribute("error.type", failure)
        span.set_status(StatusCode.ERROR)
    span.end(ended)


def _asked(environment: Mapping[str, str]) -> str:
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return NONE
    kind = environment.get("OTEL_TRACES_EXPORTER", "").strip()
    if not kind:
        kind = OTLP if any(environment.get(name) for name in _ENDPOINTS) else NONE
    if kind not in (OTLP, CONSOLE, NONE):
        raise ValidationError(
            "OTEL_TRACES_EXPORTER names no exporter of ours",
            field="OTEL_TRACES_EXPORTER",
            allowed=f"{OTLP}, {CONSOLE}, {NONE}",
        )
    protocol = next((environment[name] for name in _PROTOCOLS if environment.get(name)), _HTTP)
    if kind == OTLP and protocol != _HTTP:
        raise ValidationError("OTLP is spoken over HTTP alone", field=_PROTOCOLS[0], allowed=_HTTP)
    return kind


def _exporter(kind: str) -> SpanExporter:
    if kind == CONSOLE:
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter  # noqa: PLC0415

        return ConsoleSpanExporter(out=sys.stderr)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415

    return OTLPSpanExporter()
