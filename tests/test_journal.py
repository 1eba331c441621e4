"""Canonical JSON, the hash chain, repeats, and the one door."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ledger import AGENT, HUMAN, Ledger, claim, evidence
from quiet import cpu_seconds

from graph.commands import checked_event_id, lineage_of_resource, lineage_of_text, read_command, repeats
from graph.errors import EventConflictError, KnowledgeError, ValidationError
from graph.journal import Head, canonical, first_broken
from graph.knowledge import checked_instant, instant_text


def chain() -> Ledger:
    ledger = Ledger()
    for key in "abcde":
        ledger.take("proposed", key, payload=claim(f"claim {key}", **evidence(key)), event_id=f"e-{key}")
    return ledger


def test_a_line_without_its_hash_hashes_to_it() -> None:
    for event in chain().events:
        line = event.line()
        digest = line.pop("hash")
        text = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == digest


def test_the_first_event_stands_on_zeros_and_each_later_one_on_the_one_before() -> None:
    events = chain().events
    assert events[0].prev_hash == "0" * 64
    assert [event.prev_hash for event in events[1:]] == [event.hash for event in events[:-1]]
    assert first_broken(events) is None
    assert first_broken(events[2:], Head(events[1].seq, events[1].hash)) is None


@pytest.mark.parametrize(("name", "broken"), [("edited", 3), ("lost", 3), ("reordered", 2), ("inserted", 3)])
def test_a_changed_lost_reordered_or_inserted_event_shows_at_its_position(name: str, broken: int) -> None:
    events = chain().events
    tampered = {
        "edited": [*events[:2], replace(events[2], reason="edited"), *events[3:]],
        "lost": [*events[:2], *events[3:]],
        "reordered": [events[0], events[2], events[1], *events[3:]],
        "inserted": [*events[:2], events[1], *events[2:]],
    }
    assert first_broken(tampered[name]) == broken


def test_canonical_json_keeps_types_apart_and_has_no_blanks() -> None:
    value: dict[str, Any] = {"b": [1, 1.0, "1", True, None, {}], "a": "é\n", "big": 9007199254740993}
    assert canonical(value) == '{"a":"é\\n","b":[1,1.0,"1",true,null,{}],"big":9007199254740993}'
    assert json.loads(canonical(value)) == value


def test_a_repeat_need_not_say_what_the_service_filled_in() -> None:
    ledger = Ledger()
    line: dict[str, Any] = {"payload": claim("x", evidence=[{"type": "run", "source": "s"}]), "event_id": "e"}
    (event,) = ledger.take("proposed", None, **line).events
    assert event.key.startswith("k-")
    assert len(event.key) == 28
    assert ledger.take("proposed", None, **line).standing == 1
    assert ledger.take("proposed", event.key, time=event.line()["time"], **line).standing == 1


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "another"},
        {"key": "other"},
        {"payload": claim("x", kind="observation")},
        {"payload": claim("x", **evidence())},
        {"actor": AGENT},
        {"caused_by": ["e"]},
        {"execution": {"run": "r"}},
        {"time": "2025-01-01T00:00:00Z"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_same_event_id_with_other_content_is_a_conflict(change: dict[str, Any]) -> None:
    ledger = Ledger()
    line: dict[str, Any] = {"transition": "proposed", "key": "k", "payload": claim("x"), "event_id": "e"}
    ledger.take(**line)
    given = line | change
    actor = given.pop("actor", HUMAN)
    with pytest.raises(EventConflictError):
        repeats(ledger.events[0], read_command(given, actor=actor, project="P"))


def test_lineage_is_normalised() -> None:
    given = {"sources": [{"id": "a"}, {"type": "t", "id": 5}, {"type": "t"}, "bare", 7, None], "method": "m"}
    command = read_command({"transition": "proposed", "payload": claim("x", lineage=given)}, actor=HUMAN, project="P")
    assert command.payload["lineage"]["sources"] == [
        {"type": "unknown", "id": "a"},
        {"type": "t", "id": "5"},
        {"type": "unknown", "id": "bare"},
        {"type": "unknown", "id": "7"},
    ]
    assert lineage_of_resource("r", method="m")["sources"] == [{"type": "resource", "id": "r"}]
    assert lineage_of_text(" \n", method="m")["sources"] == []
    (source,) = lineage_of_text("some text", method="m")["sources"]
    assert source == {"type": "text_sha256", "id": hashlib.sha256(b"some text").hexdigest()[:16]}


BAD: list[tuple[dict[str, Any], str, int | None]] = [
    ({"transition": "nonsense", "key": "k"}, "transition", None),
    ({"transition": "confirmed"}, "key", None),
    ({"transition": "confirmed", "key": ""}, "key", None),
    ({"transition": "confirmed", "key": "a" * 201}, "key", 200),
    ({"transition": "confirmed", "key": "a\u0007b"}, "key", 1),
    ({"transition": "confirmed", "key": "a\nb"}, "key", 1),
    ({"transition": "confirmed", "key": "a\ud83d"}, "key", 1),
    ({"transition": "confirmed", "key": "k", "project": 5}, "project", None),
    ({"transition": "confirmed", "key": "k", "time": "2020-01-01"}, "time", None),
    ({"transition": "confirmed", "key": "k", "time": "2020-01-01T00:00:00"}, "time", None),
    ({"transition": "confirmed", "key": "k", "time": "0001-01-01T00:00:00+10:00"}, "time", None),
    ({"transition": "confirmed", "key": "k", "generation": 0}, "generation", None),
    ({"transition": "confirmed", "key": "k", "generation": True}, "generation", None),
    ({"transition": "confirmed", "key": "k", "reason": " "}, "reason", None),
    ({"transition": "confirmed", "key": "k", "reason": "r" * 2001}, "reason", 2000),
    ({"transition": "confirmed", "key": "k", "caused_by": "e"}, "caused_by", None),
    ({"transition": "confirmed", "key": "k", "execution": {"runs": "r"}}, "execution.runs", None),
    (
        {"transition": "confirmed", "key": "k", "actor": {"issuer": "i", "subject": "s", "type": "god"}},
        "actor.type",
        None,
    ),
    ({"transition": "confirmed", "key": "k", "surplus": 1}, "surplus", None),
    ({"transition": "used", "key": "k", "payload": {"x": 1}}, "payload.x", None),
    ({"transition": "challenged", "key": "k"}, "reason", None),
    ({"transition": "disproved", "key": "k", "reason": "r"}, "payload.evidence", None),
    ({"transition": "evidenced", "key": "k", "payload": {"evidence": []}}, "payload.evidence", None),
    ({"transition": "proposed", "payload": {}}, "payload.proposition", None),
    ({"transition": "proposed", "payload": claim("  ")}, "payload.proposition", None),
    ({"transition": "proposed", "payload": claim("x" * 10_001)}, "payload.proposition", 10_000),
    ({"transition": "proposed", "payload": claim("ab\u0000")}, "payload.proposition", 2),
    ({"transition": "proposed", "payload": claim("ab\ufffe")}, "payload.proposition", 2),
    ({"transition": "proposed", "payload": claim("x", kind="rumour")}, "payload.kind", None),
    ({"transition": "linked", "key": "k", "payload": {"relation": "由", "to": "b"}}, "payload.relation", None),
    ({"transition": "linked", "key": "k", "payload": {"relation": "supports"}}, "payload.to", None),
    (
        {"transition": "evidenced", "key": "k", "payload": {"evidence": [{"type": "t", "source": "s", "hash": "x"}]}},
        "payload.evidence[0].hash",
        None,
    ),
    (
        {"transition": "evidenced", "key": "k", "payload": {"evidence": [{"type": "t"}]}},
        "payload.evidence[0].source",
        None,
    ),
]


@pytest.mark.parametrize(("line", "field", "position"), BAD, ids=[str(at) for at in range(len(BAD))])
def test_bad_input_is_refused_with_its_field_and_position(
    line: dict[str, Any], field: str, position: int | None
) -> None:
    with pytest.raises(ValidationError) as caught:
        read_command(line, actor=HUMAN, project="P")
    assert (caught.value.field, caught.value.position) == (field, position)
    assert caught.value.allowed


@pytest.mark.parametrize("metadata", [float("nan"), float("inf"), {"s": "\ud800"}, "x" * 70_000])
def test_metadata_that_cannot_be_kept_is_refused(metadata: object) -> None:
    payload = {"evidence": [{"type": "t", "source": "s", "metadata": metadata}]}
    with pytest.raises(KnowledgeError):
        read_command({"transition": "evidenced", "key": "k", "payload": payload}, actor=HUMAN, project="P")


def test_blanks_around_a_long_proposition_do_not_count() -> None:
    padded = "\n" + "x" * 10_000 + "  "
    command = read_command({"transition": "proposed", "payload": claim(padded)}, actor=HUMAN, project="P")
    assert command.payload["proposition"] == "x" * 10_000


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2015-07-01T12:00:00+02:00", "2015-07-01T10:00:00Z"),
        ("2015-07-01T12:00:00.500Z", "2015-07-01T12:00:00.5Z"),
        ("2015-07-01T12:00:00.123456Z", "2015-07-01T12:00:00.123456Z"),
        ("0999-01-01T00:00:00Z", "0999-01-01T00:00:00Z"),
    ],
)
def test_an_instant_has_one_written_form(text: str, written: str) -> None:
    assert instant_text(checked_instant(text, "time")) == written


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**63 - 2, max_value=2**64 + 2)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@settings(deadline=None)
@given(JSON)
@example({"\ue000": 1, "\U00010000": 2, "\x7f\x1f\u2028": '\x00/"\\'})
@example([1e16, 9999999999999998.0, 1e-4, 9.999e-5, -0.0, 5e-324, 1.7976931348623157e308, 1e22])
def test_canonical_json_is_as_the_contract_defines_it(value: object) -> None:
    defined = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    assert canonical(value) == defined


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1, 2}, {"a": object()}, datetime(2026, 1, 1, tzinfo=UTC)]
)
def test_what_json_cannot_carry_has_no_canonical_form(value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical([value])


@pytest.mark.parametrize("event_id", ["e", "#hint", "e#transfer#sighting", "e" * 200 + "#contradiction-2", "e#other"])
def test_an_event_id_is_a_key_behind_which_rules_may_stand(event_id: str) -> None:
    assert checked_event_id(event_id, "event_id") == event_id


@pytest.mark.parametrize(
    "event_id",
    ["", "e" * 201, "e" * 201 + "#hint", "e" * 200 + "#other", "#hint" * 45, "z#" + "z" * 9_000, "#a" * 500_000 + "!"],
    ids=lambda event_id: f"{event_id[:3]}… of {len(event_id)}",
)
def test_an_event_id_of_another_form_is_refused_at_once(event_id: str) -> None:
    def refused() -> None:
        with pytest.raises(ValidationError) as told:
            checked_event_id(event_id, "event_id")
        assert told.value.field == "event_id"

    assert cpu_seconds(refused, 0.5) < 0.5
