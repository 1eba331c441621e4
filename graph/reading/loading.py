"""Loading: all providers are asked at the same time, each by itself, and none of them can hold up the others.

What comes from elsewhere than the project is somebody's text: it is checked and redacted here, before anything else
sees it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from graph.errors import KnowledgeError, ValidationError
from graph.knowledge import PROPOSITION_CHARS_MAX, Kind, checked_instant, checked_key, checked_text, without_forbidden
from graph.reading.planning import Outcome, Plan, Planned, Report
from graph.reading.provider import LINKS_MAX, Basis, Omitted, Piece, Provider, Request, Stored
from graph.redaction import Redactor, redact
from graph.retrieval import OMISSIONS_MAX

GRACE_SECONDS = 1.0  # for a provider to end once it was told to; whoever does not is left behind
OTHERS_MAX = 100  # messages beside pieces: a provider that gives nothing else would never end
CAUTIONS_MAX = 10  # of one piece
TOLD_CHARS_MAX = 500  # of a reason, or of the key that it is about
_LOOKED_AT = 10 * TOLD_CHARS_MAX  # a secret that is cut is none that could be known
_LOG = logging.getLogger("whence.reading")
_left_behind: set[asyncio.Task[None]] = set()  # the event loop itself holds tasks weakly


@dataclass(slots=True)
class Loaded:
    """What one provider gave.

    Attributes:
        source: Who.
        pieces: In its order, redacted.
        basis: Which state of the journal it read; None for all but the store.
    """

    source: Planned
    pieces: list[Piece]
    basis: Basis | None


@dataclass(slots=True)
class _Given:
    """What came of a provider so far, as it gave it; ``failure`` says why no more will come."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    basis: Basis | None = None
    omitted: int = 0
    omissions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    failure: str | None = None
    messages: int = 0

    def take(self, one: Piece | Omitted | Basis, limit: int) -> bool:
        """Keep what was given next; False where no more is taken."""
        self.messages += 1
        if isinstance(one, Basis):
            self.basis = one
        elif isinstance(one, Omitted):
            self.omit(one)
        elif len(self.pieces) == limit:
            return False
        else:
            self.pieces.append(one)
        return self.messages < limit + OTHERS_MAX

    def omit(self, omitted: Omitted) -> None:
        """Count what was left out, and keep the first reasons."""
        self.omitted += max(omitted.count, len(omitted.named))
        named = omitted.named[: OMISSIONS_MAX - len(self.omissions)]
        self.omissions += [(str(key)[:_LOOKED_AT], str(reason)[:_LOOKED_AT]) for key, reason in named]


async def loaded(plan: Plan, seconds: float) -> list[Loaded]:
    """What the providers of a plan gave until the deadline, in their order; the reports say what became of each."""
    given = [_Given() for _ in plan.asked]
    tasks = [
        asyncio.create_task(_ask(source.provider, plan.request, one))
        for source, one in zip(plan.asked, given, strict=True)
    ]
    late: list[asyncio.Task[None]] = []
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
    finally:
        late += await _ended(tasks)
    for task, one in zip(tasks, given, strict=True):
        if task in late:
            one.failure = f"no answer within {seconds:g} s"
        elif task.cancelled():
            one.failure = "it cancelled itself"
    # One that is left behind may still add to what it gave.
    given = [replace(one, pieces=list(one.pieces), omissions=list(one.omissions)) for one in given]
    outcomes = [Outcome.TOO_SLOW if task in late else Outcome.FAILED for task in tasks]
    return await asyncio.to_thread(_checked_all, plan, given, outcomes)


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> list[asyncio.Task[None]]:
    """Have tasks end, and say which had not; those that do not end now are left to themselves."""
    late = [task for task in tasks if task.cancel()]
    if late:
        _, still = await asyncio.wait(late, timeout=GRACE_SECONDS)
        for task in still:
            _LOG.warning("a provider does not end when it is cancelled")
            _left_behind.add(task)
            task.add_done_callback(_left_behind.discard)
    return late


async def _ask(provider: Provider, request: Request, given: _Given) -> None:
    try:
        async with _closing(provider.stream(request)) as stream:
            async for one in stream:
                if not given.take(one, request.limit):
                    break
    except KnowledgeError as error:
        given.failure = f"{error.code}: {error.message}"
    except Exception as error:  # noqa: BLE001  whatever somebody else's provider does
        _LOG.warning("a provider failed", exc_info=True)
        given.failure = f"it raised {type(error).__name__}"


@asynccontextmanager
async def _closing(stream: AsyncIterator[Any]) -> AsyncGenerator[AsyncIterator[Any]]:
    """Close a stream at the end where it is a generator; any other has nothing to close."""
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()


def _checked_all(plan: Plan, given: Sequence[_Given], outcomes: Sequence[Outcome]) -> list[Loaded]:
    """Keep what can be taken of what the providers gave, without what may not be told, and report on it."""
    results: list[Loaded] = []
    for source, one, outcome in zip(plan.asked, given, outcomes, strict=True):
        report = source.report
        pieces: list[Piece] = []
        for piece in one.pieces:
            try:
                pieces.append(_checked(piece, report))
            except ValidationError as error:
                one.omit(_refused(piece, f"{error.field}: {error.message}"))
            except Exception as error:  # noqa: BLE001  fields may hold anything
                one.omit(_refused(piece, f"it is no piece: {type(error).__name__}"))
        report.pieces, report.omitted = len(pieces), one.omitted
        report.omissions = [(_told(key), _told(reason)) for key, reason in one.omissions]
        if one.failure is not None:
            report.outcome, report.reason = outcome, _told(one.failure)
        results.append(Loaded(source, pieces, one.basis))
    return results


def _told(text: str) -> str:
    """What a provider says of itself, which may quote what it read."""
    return without_forbidden(redact(text[:_LOOKED_AT])[0][:TOLD_CHARS_MAX])


def _refused(piece: Piece, reason: str) -> Omitted:
    key = getattr(piece, "key", "")
    return Omitted(1, ((key if isinstance(key, str) else "", reason),))


def _checked(piece: Piece, report: Report) -> Piece:
    """A piece that keeps to its bounds, redacted unless the project holds it.

    Raises:
        ValidationError: it does not.
    """
    if not piece.score > 0 or piece.score == float("inf"):
        raise ValidationError(f"score is {piece.score}", field="score", allowed="a finite number above 0")
    if isinstance(piece.stored, Stored):
        return piece
    redactor = Redactor()
    # Before it is looked at for secrets, whose time grows with the text.
    text, source = (
        checked_text(piece.text, "text", chars_max=PROPOSITION_CHARS_MAX),
        checked_text(piece.source, "source"),
    )
    cautions = tuple(checked_text(caution, "cautions") for caution in piece.cautions[:CAUTIONS_MAX])
    checked = replace(
        piece,
        key=checked_key(piece.key, "key"),
        text=checked_text(redactor.text(text), "text", chars_max=PROPOSITION_CHARS_MAX).strip(),
        source=checked_text(redactor.text(source), "source"),
        source_type=checked_text(piece.source_type, "source_type"),
        kind=Kind(piece.kind),
        valid_from=None if piece.valid_from is None else checked_instant(piece.valid_from, "valid_from"),
        links=tuple(checked_key(link, "links") for link in piece.links[:LINKS_MAX]),
        cautions=tuple(redactor.text(caution) for caution in cautions),
        stored=None,
    )
    report.redacted += redactor.counts
    return checked
