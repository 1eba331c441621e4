"""What a Prometheus server reads at /metrics: what was counted and timed, and how the service stands now.

Values of labels are names of ours (routes, statements, codes): never a text, a project or a person, so that there are
as many series as the code has names, whoever calls. Where several workers answer, the numbers of all of them are kept
in files that each of them reads, and whichever is asked tells the sum.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from api import tracing
from graph.embedded.room import disk_of, floor_bytes
from graph.errors import KnowledgeError
from graph.observed import Observer
from graph.service import Service

if TYPE_CHECKING:
    from prometheus_client.metrics import MetricWrapperBase
    from prometheus_client.metrics_core import Metric

SHARED = "PROMETHEUS_MULTIPROC_DIR"  # where the files are that workers share, by the variable of the client's own
ASKED_SECONDS = 2.0  # for what the database has to say; without it the rest is told
_REQUEST_SECONDS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_STATEMENT_SECONDS = (0.002, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0)
_MARKED = (1, 3, 10, 30, 100, 300, 1_000, 10_000, 100_000)
_TOKENS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS"})
M = TypeVar("M", bound="MetricWrapperBase")


def share(folder: Path) -> None:
    """Have this process, and those that it begins, keep their numbers in a folder, which is emptied.

    It counts for metrics that are made afterwards, before the first of which it must be called.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    os.environ[SHARED] = str(folder)


def forget(process: int) -> None:
    """Leave out what a process that has ended said of itself; what it counted stays counted."""
    if SHARED in os.environ:
        from prometheus_client.multiprocess import (  # noqa: PLC0415
            mark_process_dead,  # pyright: ignore[reportUnknownVariableType]
        )

        mark_process_dead(process)


class Metrics(Observer):
    """The series of this process.

    Args:
        service: Asked how the database stands.
        disk: A folder on the disk that Neo4j writes to; None where that is another machine's.
    """

    def __init__(self, service: Service, disk: Path | None = None) -> None:
        # Where the client keeps its numbers it decides when it is imported.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: PLC0415

        self._service = service
        self._disk = disk
        self._due: dict[str, int] = {}
        self._known: dict[tuple[int | str, ...], Any] = {}
        self._registry = to = CollectorRegistry()
        self._requests = Histogram(
            "whence_request_seconds",
            "Requests, by the route that answered them.",
            ("route", "method", "status"),
            registry=to,
            buckets=_REQUEST_SECONDS,
        )
        self._operations = Histogram(
            "whence_operation_seconds", "Operations of GraphQL.", ("kind",), registry=to, buckets=_REQUEST_SECONDS
        )
        self._refusals = Counter("whence_refusals", "What callers were refused, by its code.", ("code",), registry=to)
        self._statements = Histogram(
            "whence_statement_seconds", "Statements.", ("statement",), registry=to, buckets=_STATEMENT_SECONDS
        )
        self._rows = Counter("whence_statement_rows", "Rows that statements gave.", ("statement",), registry=to)
        self._failures = Counter(
            "whence_statement_failures", "Statements that failed.", ("statement", "failure"), registry=to
        )
        self._retries = Counter(
            "whence_transaction_retries", "Transactions that were tried again.", ("failure",), registry=to
        )
        self._appends = Counter(
            "whence_appends", "Commands: new, repeat, or the code of the refusal.", ("result",), registry=to
        )
        self._append_seconds = Histogram(
            "whence_append_seconds", "From commands to their answer.", registry=to, buckets=_REQUEST_SECONDS
        )
        self._at_risk = Histogram(
            "whence_at_risk_nodes", "Nodes that one event put at risk.", registry=to, buckets=_MARKED
        )
        self._blocks = Histogram(
            "whence_context_block_tokens", "Tokens of context blocks.", registry=to, buckets=_TOKENS
        )
        self._streams = Gauge(
            "whence_streams_open",
            "Streams that are open: websockets, server-sent events, and websockets that did not say yet who they are.",
            ("kind",),
            registry=to,
            multiprocess_mode="livesum",
        )
        self._vectors = Counter("whence_vectors_written", "Vectors that were written.", registry=to)
        self._vectors_due = Gauge(
            "whence_vectors_due_events",
            "Events that may be about nodes without a vector.",
            registry=to,
            multiprocess_mode="livesum",
        )

    def request(self, route: str, method: str, status: int, seconds: float, kind: str | None) -> None:
        """A request was answered.

        Args:
            route: The route's own path, with its parameters unfilled.
            method: As it was sent.
            status: 0 where nothing was sent.
            seconds: From its beginning to its end; for a stream, to the beginning of its answer.
            kind: Of the operation, where it is one of GraphQL.
        """
        named = method if method in _METHODS else "other"
        self._one(self._requests, route, named, str(status)).observe(seconds)
        if kind is not None:
            self._one(self._operations, kind).observe(seconds)

    def _one(self, metric: M, *labels: str) -> M:
        """A metric with its labels; looking it up with the client costs more than counting does."""
        key = (id(metric), *labels)
        if key not in self._known:
            self._known[key] = metric.labels(*labels)
        return self._known[key]

    def refused(self, code: str) -> None:
        """Count a refusal."""
        self._refusals.labels(code).inc()

    def statement(self, name: str, seconds: float, rows: int, failure: str | None) -> None:
        """Count and time a statement."""
        self._one(self._statements, name).observe(seconds)
        if rows:
            self._one(self._rows, name).inc(rows)
        if failure is not None:
            self._failures.labels(name, failure).inc()
        tracing.statement(name, seconds, rows, failure)

    def retried(self, failure: str) -> None:
        """Count a transaction that is tried again."""
        self._retries.labels(failure).inc()

    def appended(self, results: Sequence[str], seconds: float) -> None:
        """Count commands and time their answer."""
        for result in results:
            self._appends.labels(result).inc()
        self._append_seconds.observe(seconds)

    def spread(self, nodes: int) -> None:
        """Note how many nodes an event put at risk."""
        self._at_risk.observe(nodes)

    def block(self, tokens: int) -> None:
        """Note how large a context block was."""
        self._blocks.observe(tokens)

    def streams(self, kind: str, change: int) -> None:
        """Count the streams that are open."""
        self._one(self._streams, kind).inc(change)

    def embedded(self, vectors: int) -> None:
        """Count vectors."""
        self._vectors.inc(vectors)

    def due(self, project: str, events: int) -> None:
        """Note how many events of a project the filler has before it."""
        self._due.pop(project, None)
        if events:
            self._due[project] = events
        self._vectors_due.set(sum(self._due.values()))

    async def answer(self, _request: Request) -> Response:
        """All series, in Prometheus's text form; what the database does not say in time is left out."""
        from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest  # noqa: PLC0415
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

        counted, now = self._registry, CollectorRegistry()
        if SHARED in os.environ:
            counted = CollectorRegistry()
            MultiProcessCollector(counted)  # pyright: ignore[reportUnknownArgumentType]
        now.register(_Standing(await self._standing()))
        text = await asyncio.to_thread(lambda: generate_latest(counted) + generate_latest(now))
        return Response(text, headers={"content-type": CONTENT_TYPE_PLAIN_0_0_4})

    async def _standing(self) -> list[tuple[str, str, float]]:
        """How the service stands, each fact with its name and what it says."""
        found = list[tuple[str, str, float]]()
        if self._disk is not None:
            total, free = disk_of(self._disk)
            found += [
                ("whence_disk_free_bytes", "Free on the disk that Neo4j writes to.", free),
                ("whence_disk_floor_bytes", "Below it appends are refused.", floor_bytes(total)),
            ]
        up = ready = False
        try:
            async with asyncio.timeout(ASKED_SECONDS):
                finding = await self._service.readiness.ask()
                up, ready = not finding.silent, finding.cause is None
                totals = await self._service.store.totals()
                found += [
                    ("whence_projects", "Projects that have events.", totals["projects"]),
                    ("whence_journal_events", "Events in all journals together.", totals["events"]),
                ]
        except (TimeoutError, KnowledgeError):
            pass
        return [
            *found,
            ("whence_database_up", "Whether the database answers.", up),
            ("whence_ready", "Whether requests can be served.", ready),
        ]


class _Standing:
    """Facts that are asked for when they are read, as the client collects them."""

    def __init__(self, facts: Iterable[tuple[str, str, float]]) -> None:
        self._facts = facts

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415

        for name, about, value in self._facts:
            yield GaugeMetricFamily(name, about, float(value))
