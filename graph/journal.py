"""Events, their canonical JSON and the chain of hashes that ties each to the one before it (contract: journal.md).

A changed, lost, reordered or inserted event shows; what an event does to knowledge is ``projection``'s.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

import orjson

from graph.knowledge import Actor, Evidence, State, Transition, instant_text

_CANONICAL = (
    orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
)  # what JSON does not know stays refused
_PLAIN_FLOAT_MIN = 1e-4  # Python writes what is smaller with an exponent of two digits at least
_NEGATIVE_EXPONENT = re.compile(rb"e-[0-9]")
GENESIS_HASH = "0" * 64  # prev_hash of a project's first event
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """One immutable entry of a project's journal (PROV: Activity)."""

    project: str
    seq: int
    event_id: str
    transition: Transition
    key: str
    generation: int
    actor: Actor
    time: datetime
    recorded_at: datetime
    reason: str | None
    caused_by: tuple[str, ...]
    execution: Json | None
    payload: Json
    state_after: State
    prev_hash: str
    hash: str = field(default="")

    def line(self) -> Json:
        """The event as the object of a journal line, every field in its place."""
        return {**_hashed_fields(self), "hash": self.hash}


@dataclass(frozen=True, slots=True)
class Head:
    """The newest event's position, hash and recorded time; a new project starts at seq 0."""

    seq: int = 0
    hash: str = GENESIS_HASH
    recorded_at: datetime | None = None


def canonical(value: object) -> str:
    """JSON with sorted keys, no blanks and no escapes but those that JSON needs: the form that is hashed.

    Numbers are written as Python writes them. orjson writes the same, ten times as fast, but for small floats, those
    that are none (as null) and what it refuses: integers of more than 64 bits, lone surrogates, deep nesting.
    """
    try:
        text = orjson.dumps(value, option=_CANONICAL)
    except orjson.JSONEncodeError:
        return _written_by_python(value)
    if _may_differ(text) and not _written_alike(value):
        return _written_by_python(value)
    return text.decode()


def _written_by_python(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _may_differ(text: bytes) -> bool:
    """Whether there is anything in what orjson wrote, be it in a text, that may be a float written in its own way."""
    if b"null" in text or b"0.0000" in text:
        return True
    return any(text[found.start() - 1 : found.start()].isdigit() for found in _NEGATIVE_EXPONENT.finditer(text))


def _written_alike(value: object) -> bool:
    kind = type(value)
    if kind is dict or kind is list or kind is tuple:
        items = cast(dict[str, object], value).values() if kind is dict else cast(list[object], value)
        # Most items are texts, which need no call of their own.
        return all(_written_alike(item) for item in items if type(item) is not str)
    return kind is not float or value == 0 or _PLAIN_FLOAT_MIN <= abs(cast(float, value)) < math.inf


def sealed(event: Event) -> Event:
    """The event with its hash: sha256 over the canonical JSON of every other field, ``prev_hash`` included."""
    return replace(event, hash=hash_of(_hashed_fields(event), canonical(event.payload)))


def hash_of(fields: Json, payload: str) -> str:
    """The hash of an event from its other fields, of which the payload is canonical JSON already."""
    try:
        # Only a payload holds what orjson writes in its own way: the other fields need not be looked through.
        text = orjson.dumps({**fields, "payload": orjson.Fragment(payload)}, option=_CANONICAL)
    except orjson.JSONEncodeError:
        text = canonical({**fields, "payload": json.loads(payload)}).encode()
    return hashlib.sha256(text).hexdigest()


def _hashed_fields(event: Event) -> Json:
    return {
        "event_id": event.event_id,
        "project": event.project,
        "seq": event.seq,
        "transition": event.transition.value,
        "key": event.key,
        "generation": event.generation,
        "actor": {"issuer": event.actor.issuer, "subject": event.actor.subject, "type": event.actor.type.value},
        "time": instant_text(event.time),
        "recorded_at": instant_text(event.recorded_at),
        "reason": event.reason,
        "caused_by": list(event.caused_by),
        "execution": event.execution,
        "payload": event.payload,
        "state_after": event.state_after.value,
        "prev_hash": event.prev_hash,
    }


def first_broken(events: Iterable[Event], head: Head = Head()) -> int | None:
    """The position of the first event that does not follow ``head`` in the chain; None when all do.

    A changed, lost, reordered or inserted event shows as a wrong position, a wrong ``prev_hash`` or a wrong hash.
    """
    seq, last = head.seq, head.hash
    for event in events:
        seq += 1
        if event.seq != seq or event.prev_hash != last or sealed(event).hash != event.hash:
            return seq
        last = event.hash
    return None


def evidence_of(payload: Json) -> list[Evidence]:
    """The evidence records of a decided event's payload, in order."""
    return [
        Evidence(
            key=record["key"],
            type=record["type"],
            source=record["source"],
            timestamp=datetime.fromisoformat(record["timestamp"]),
            hash=record.get("hash"),
            artifact_ref=record.get("artifact_ref"),
            metadata=canonical(record["metadata"]) if "metadata" in record else None,
        )
        for record in payload.get("evidence", ())
    ]


def evidence_record(evidence: Evidence) -> Json:
    """The evidence as it stands in a payload: absent fields left out, metadata as JSON."""
    record: Json = {
        "key": evidence.key,
        "type": evidence.type,
        "source": evidence.source,
        "timestamp": instant_text(evidence.timestamp),
    }
    if evidence.hash is not None:
        record["hash"] = evidence.hash
    if evidence.artifact_ref is not None:
        record["artifact_ref"] = evidence.artifact_ref
    if evidence.metadata is not None:
        record["metadata"] = json.loads(evidence.metadata)
    return record
