"""Instants and durations at every door: what ISO 8601 has is taken for what it says, what resembles it is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from api.command import instant_of
from api.fields import read_instant
from api.inputs import duration
from graph import frontmatter
from graph.commands import read_command
from graph.errors import ConceptFileError, ValidationError
from graph.knowledge import Actor, ActorType, instant_text

ADA = Actor("here", "ada", ActorType.HUMAN)

TAKEN = {
    "2024-01-01T00:00:00Z": "2024-01-01T00:00:00Z",
    "2024-01-01T00:00Z": "2024-01-01T00:00:00Z",
    "2024-01-01T12Z": "2024-01-01T12:00:00Z",
    "2024-01-01T00:00:00+01:00": "2023-12-31T23:00:00Z",
    "2024-01-01T00:00:00-01": "2024-01-01T01:00:00Z",
    "2024-01-01T00:00:00+00:00": "2024-01-01T00:00:00Z",
    "2024-01-01T00:00:00+23:59": "2023-12-31T00:01:00Z",
    "2024-01-01T00:00:00.5Z": "2024-01-01T00:00:00.5Z",
    "2024-01-01T00:00:00,25Z": "2024-01-01T00:00:00.25Z",
    "2024-01-01T00:00:00.123456789Z": "2024-01-01T00:00:00.123456Z",
    "20240101T000000Z": "2024-01-01T00:00:00Z",
    "20240101T0000+0130": "2023-12-31T22:30:00Z",
    "2024-W01-1T00:00Z": "2024-01-01T00:00:00Z",
    "2024W011T0000Z": "2024-01-01T00:00:00Z",
    "2024-366T12:00Z": "2024-12-31T12:00:00Z",
    "2024001T1200Z": "2024-01-01T12:00:00Z",
    "2024-02-28T24:00:00Z": "2024-02-29T00:00:00Z",
    "2024-060T24:00Z": "2024-03-01T00:00:00Z",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z",
}
REFUSED = (
    *("2024-01-01T00:00:00 Z", "2024-01-01T00:00:00Z ", " 2024-01-01T00:00:00Z", "2024-01-01T00:00:00 +01:00"),
    *("2024-01-01 00:00:00Z", "2024-01-01x00:00:00Z", "2024-01-01t00:00:00Z", "2024-01-01T00:00:00z"),
    *("2024-01-01T00:00:00Z\n", "2024-01-01T00:00:00ZZ", "2024-01-01T00:00:00Z+01:00", "2024-01-01Z"),
    *("2024-01-01T000000Z", "20240101T00:00:00Z", "2024-0101T00:00:00Z", "2024-01-01T00:00:00+0100"),
    *("2024-01-01T00:00:00.Z", "2024-01-01T00:00.5Z", "2024-01-01T0:0:0Z", "2024-1-1T00:00:00Z"),
    *("2024-W01T00:00Z", "2024-W01-0T00:00Z", "2024-W54-1T00:00Z", "2023-W53-1T00:00Z", "2023-366T00:00Z"),
    *("2024-000T00:00Z", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z"),
    *("2024-01-01T24:00:01Z", "2024-01-01T24:00:00.1Z", "2024-01-01T25:00Z", "2024-01-01T00:60Z"),
    *("2016-12-31T23:59:60Z", "2024-01-01T00:00:61Z"),
    *("2024-01-01T00:00:00+25:00", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+01:60"),
    *("2024-01-01T00:00:00+01:00:30", "2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00\u221201:00"),
    *("0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "+2024-01-01T00:00:00Z", "-2024-01-01T00:00:00Z"),
    *("9999-12-31T24:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "0000-001T00:00Z"),
    *("\u0662\u0660\u0662\u0664-01-01T00:00:00Z", "2024-01-01T00:00:0\u0660Z", "2024-01-01T00:00:00.\u0665Z"),
    *("", "now", "2024-01-01", "2024-01-01T00:00:00", "1704067200"),
)
"""Each was seen in the wild, or is what a parser of instants is known to let through."""


def line(payload: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"transition": "proposed", "key": "k", "event_id": "e", "payload": {"proposition": "p", **payload}, **rest}


def read(**given: Any) -> Any:
    return read_command(given, actor=ADA, project="P")


def stamped(text: str) -> Any:
    return {"evidence": [{"type": "run", "source": "run:1", "timestamp": text}]}


DOORS: dict[str, Callable[[str], str]] = {
    "time": lambda text: instant_text(read(**line({}, time=text)).time),
    "payload.valid_from": lambda text: read(**line({"valid_from": text})).payload["valid_from"],
    "payload.valid_to": lambda text: read(**line({"valid_to": text})).payload["valid_to"],
    "payload.lineage.created_at": lambda text: read(**line({"lineage": {"sources": [], "created_at": text}})).payload[
        "lineage"
    ]["created_at"],
    "payload.evidence[0].timestamp": lambda text: read(**line(stamped(text))).payload["evidence"][0]["timestamp"],
    "the instant": read_instant,
    "--as-of": lambda text: instant_text(instant_of(text) or pytest.fail("no instant")),
}
"""Where instants come in, by the field that a refusal names: journal lines and mutations, GraphQL, the command."""


@pytest.mark.parametrize("field", DOORS)
@pytest.mark.parametrize("text", TAKEN)
def test_an_instant_of_iso_8601_is_taken_for_what_it_says(field: str, text: str) -> None:
    assert DOORS[field](text) == TAKEN[text]


@pytest.mark.parametrize("field", DOORS)
@pytest.mark.parametrize("text", REFUSED)
def test_what_only_resembles_an_instant_is_refused_by_its_field(field: str, text: str) -> None:
    if (field, text) == ("--as-of", "2024-01-01"):
        assert DOORS[field](text) == "2024-01-01T00:00:00Z"  # of the command alone a day is its beginning
        return
    with pytest.raises(ValidationError) as refusal:
        DOORS[field](text)
    assert refusal.value.field == field
    assert refusal.value.allowed


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-01-01 00:00:00 +01:30", "2023-12-31T22:30:00Z"),
        ("2024-01-01T00:00:00 Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00+01:60", None),
        ("2024-01-01T00:00:00+25:00", None),
        ("2024-01-01T00:00:60Z", None),
        ("2024-01-01T24:00:00Z", None),
        ("\u0662\u0660\u0662\u0664-01-01", None),
        ("0000-01-01", None),
    ],
)
def test_a_frontmatter_has_the_instants_of_yaml(text: str, written: str | None) -> None:
    """YAML's own forms have blanks and lower-case letters, as its standard says; times that are none are refused."""
    fields = f"created_at: {text}\n"
    if written is None:
        with pytest.raises(ConceptFileError) as refusal:
            frontmatter.read(fields, texts=frozenset(), dates=frozenset({"created_at"}))
        assert (refusal.value.kind, refusal.value.line) == ("invalid_date", 2)
    else:
        found = frontmatter.read(fields, texts=frozenset(), dates=frozenset({"created_at"}))
        assert found.values == {"created_at": written}


DURATIONS = {
    "P1D": timedelta(days=1),
    "P90D": timedelta(days=90),
    "PT12H": timedelta(hours=12),
    "P1DT2H3M4S": timedelta(days=1, hours=2, minutes=3, seconds=4),
    "P1W": timedelta(weeks=1),
    "P1.5D": timedelta(hours=36),
    "PT1H30,5M": timedelta(minutes=90, seconds=30),
    "PT0.5S": timedelta(milliseconds=500),
    "P007D": timedelta(days=7),
    "P0D": timedelta(0),
}
NO_DURATIONS = (
    *("P1DT", "P", "PT", "", "1D", "D", "P1", "P1DT1", "PD", "P1D ", " P1D", "P1 D", "P1D\n"),
    *("-P1D", "+P1D", "P-1D", "P+1D", "P1DT-1H", "p1d", "P1d", "P1Dt1H", "P1S", "PT1D", "P1H"),
    *("P1W1D", "P1WT1H", "P1M1Y", "PT1M1H", "P1D1D", "PT1H1H", "P0003-06-04T12:30:05"),
    *("P1.5DT1H", "PT1.5H30M", "P1.5Y6M", "P.5D", "P1.D", "P1.2.3D", "P\u0661D", "P\uff11D", "P1e3D"),
    *("P99999999999Y", "P999999999999999D", "P" + "9" * 99 + "D"),
)


@pytest.mark.parametrize("text", DURATIONS)
def test_a_duration_of_iso_8601_is_taken_for_what_it_says(text: str) -> None:
    assert duration(text, "olderThan") == DURATIONS[text]


@pytest.mark.parametrize("text", NO_DURATIONS)
def test_what_only_resembles_a_duration_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        duration(text, "olderThan")
    assert refusal.value.field == "olderThan"
    assert refusal.value.allowed


def test_months_and_years_are_counted_back_from_now() -> None:
    assert timedelta(days=28) <= duration("P1M", "olderThan") <= timedelta(days=31)
    assert timedelta(days=365) <= duration("P1Y", "olderThan") <= timedelta(days=366)
