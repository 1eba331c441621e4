"""The input types of the contract, and what is made of arguments before they reach the service."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import isodate  # pyright: ignore[reportMissingTypeStubs]
from strawberry import UNSET

from api.fields import JSON, DateTime, described_input
from api.loaders import NOW, Tense
from graph.errors import ValidationError, quoted
from graph.filters import Filter
from graph.knowledge import (
    ActorType,
    Kind,
    Relation,
    State,
    checked_key,
    checked_text,
)

_NUMBER = r"[0-9]+(?:[.,][0-9]+(?=[A-Z]\Z))?"
_DATE, _TIME = ("".join(f"(?:{_NUMBER}{unit})?" for unit in units) for units in ("YMD", "HMS"))
_DURATION = re.compile(rf"P(?:{_NUMBER}W|(?=[0-9T]){_DATE}(?:T(?=[0-9]){_TIME})?)")


@described_input
class KnowledgeFilter:
    """What a list is to hold; every condition must be met."""

    states: list[State] | None = UNSET
    kinds: list[Kind] | None = UNSET
    at_risk: bool | None = UNSET
    stale: bool | None = UNSET
    updated_after: DateTime | None = UNSET
    valid_at: DateTime | None = UNSET
    key_prefix: str | None = UNSET


@described_input
class ActorInput:
    """Who acts."""

    issuer: str
    subject: str
    type: ActorType


@described_input
class ExecutionInput:
    """The run, frame and task in which it happens."""

    run: str | None = UNSET
    frame: str | None = UNSET
    task: str | None = UNSET
    parent_run: str | None = UNSET
    parent_frame: str | None = UNSET


@described_input
class EventInput:
    """What a caller says of the event itself; `eventId` makes a repeat safe."""

    event_id: str | None = UNSET
    time: DateTime | None = UNSET
    reason: str | None = UNSET
    caused_by: list[str] | None = UNSET
    execution: ExecutionInput | None = UNSET
    actor: ActorInput | None = UNSET


@described_input
class EvidenceInput:
    """A pointer to what a node rests on."""

    key: str | None = UNSET
    type: str
    source: str
    timestamp: DateTime | None = UNSET
    hash: str | None = UNSET
    artifact_ref: str | None = UNSET
    metadata: JSON | None = UNSET


@described_input
class RelationInput:
    """An edge from the proposed node."""

    relation: Relation
    to: str


def given(value: Any) -> Any:
    """The value, None where the caller left it out."""
    return None if value is UNSET else value


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the caller said of some fields, by their names."""
    return {name: value for name, value in fields.items() if value is not None and value is not UNSET}


def event_fields(event: EventInput | None) -> dict[str, Any]:
    """What the caller said of the event, as the fields of a journal line."""
    if not event:
        return {}
    fields = {name: getattr(event, name) for name in ("event_id", "time", "reason", "caused_by")}
    if given(event.execution):
        fields["execution"] = present(vars(event.execution))
    if given(event.actor):
        fields["actor"] = vars(event.actor)
    return present(fields)


def chosen(values: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """A list argument as the service takes it; None where the caller left it out, and then all are meant."""
    return None if values is None or values is UNSET else tuple(values)


def instant(text: DateTime | None) -> datetime | None:
    """The instant that a checked text says."""
    return None if given(text) is None else datetime.fromisoformat(str(text))


def tense_of(as_of: DateTime | None) -> Tense:
    """The tense of an ``asOf``; what lies ahead is now, since nothing has been said there yet."""
    at = instant(as_of)
    return NOW if at is None or at >= datetime.now(UTC) else Tense(at)


def checked_prefix(prefix: str | None) -> str | None:
    """The beginning of keys; an empty one is none.

    Raises:
        ValidationError: a text that no key can begin with.
    """
    return checked_key(prefix, "filter.keyPrefix") if given(prefix) else None


def filter_of(wanted: KnowledgeFilter | None) -> Filter:
    """A filter as the service takes it.

    Raises:
        ValidationError: a text that no key can begin with.
    """
    if not wanted:
        return Filter()
    return Filter(
        states=chosen(wanted.states),
        kinds=chosen(wanted.kinds),
        at_risk=given(wanted.at_risk),
        stale=given(wanted.stale),
        updated_after=instant(wanted.updated_after),
        valid_at=instant(wanted.valid_at),
        key_prefix=checked_prefix(wanted.key_prefix),
    )


def duration(text: str, field: str) -> timedelta:
    """The time that an ISO 8601 duration takes, counted back from now where it has months or years.

    Years to seconds in their order, or weeks; each a number of decimal digits, of which the last may have a fraction.

    Raises:
        ValidationError: no such duration.
    """
    refusal = ValidationError(
        f"{quoted(checked_text(text, field, chars_max=100))} is no duration",
        field=field,
        allowed="an ISO 8601 duration, such as P90D or PT12H",
    )
    if not _DURATION.fullmatch(text):
        raise refusal
    try:
        read = cast("Any", isodate).parse_duration(text, as_timedelta_if_possible=False)
        return cast("timedelta", read.totimedelta(end=datetime.now(UTC)))
    except (ValueError, OverflowError, ArithmeticError):
        raise refusal from None


def duration_text(time: timedelta) -> str:
    """A time as an ISO 8601 duration."""
    return cast("Any", isodate).duration_isoformat(time)


def checked_hash(text: str | None) -> str | None:
    """A hash that a caller kept.

    Raises:
        ValidationError: not a text that the service can have given.
    """
    return None if given(text) is None else checked_text(text, "savedHash", chars_max=200)
