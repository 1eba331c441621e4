"""The output types that are nothing but their fields."""

from __future__ import annotations

from collections.abc import Mapping

from api.fields import DateTime, described
from graph.knowledge import ActorType


@described
class Actor:
    """An issuer-scoped identity."""

    issuer: str
    subject: str
    type: ActorType


@described
class Redacted:
    """How many matches of a kind were taken out of what was said, before anything else saw it."""

    kind: str
    count: int

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> list[Redacted]:
        """The counts of all kinds that there were, sorted by kind."""
        return [cls(kind=kind, count=count) for kind, count in sorted(counts.items())]


@described
class Execution:
    """The run, frame and task in which something happened."""

    run: str | None
    frame: str | None
    task: str | None
    parent_run: str | None
    parent_frame: str | None


@described
class LineageSource:
    """Something that an item was made from."""

    type: str
    id: str


@described
class Lineage:
    """How an item was made."""

    sources: list[LineageSource]
    method: str | None
    confidence: float | None
    created_at: DateTime


@described
class PageInfo:
    """Where a page stands in its list."""

    has_next_page: bool
    has_previous_page: bool
    start_cursor: str | None
    end_cursor: str | None


@described
class JournalHead:
    """The newest event; who keeps one can later prove that nothing before it was changed."""

    seq: int
    hash: str


@described
class JournalCheck:
    """What a check of the journal and its projection found."""

    ok: bool
    events: int
    first_broken: int | None
    projection_matches: bool
    differences: list[str]
