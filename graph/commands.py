"""The one door: what a caller asks for, read and checked into a ``Command`` (contract: journal.md, rules.md section 1).

A mutation and a journal line are read by the same code: both meet the same checks and come into the same form. What a
command does is decided by ``lifecycle``.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar, cast

from ulid import ULID

from graph import concept_file
from graph.concept import Merge, Verdict, checked_name, read_concept, uncounted
from graph.errors import EventConflictError, ValidationError, quoted
from graph.forms import known_fields, mapping, maybe, member, sequence
from graph.journal import Event, Json, canonical
from graph.knowledge import (
    CAUSES_MAX,
    EVIDENCE_MAX,
    KEY_CHARS_MAX,
    METADATA_BYTES_MAX,
    METADATA_DEPTH_MAX,
    REASON_CHARS_MAX,
    RELATIONS_MAX,
    SOURCES_MAX,
    Actor,
    ActorType,
    Kind,
    Relation,
    State,
    Transition,
    checked_instant,
    checked_key,
    checked_proposition,
    checked_text,
    instant_text,
)
from graph.redaction import PERSONAL, Redactor

INTEGER_BITS_MAX = 14_000  # 4,214 digits: what Python and Neo4j's clients convert without complaint
_RULE_NAMES = ("claim", "contradiction", "hint", "link", "sighting", "transfer")
_RULES = re.compile(rf"(?:#(?:{'|'.join(_RULE_NAMES)})(?:-[1-9][0-9]{{0,5}})?){{1,4}}\Z")
_RULES_CHARS_MAX = 4 * len("#contradiction-123456")
_HASH_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*:[0-9A-Fa-f]+")
_WRITTEN_ONLY = frozenset({"seq", "recorded_at", "state_after", "prev_hash", "hash"})
_ENVELOPE = frozenset(
    {"event_id", "project", "transition", "key", "generation", "actor", "time", "reason", "caused_by"}
) | {"execution", "payload"}
_EXECUTION = ("run", "frame", "task", "parent_run", "parent_frame")
# What the service fills in when the caller leaves it out: a repeat need not say it again.
_FILLED_IN = frozenset({"key", "timestamp", "valid_from", "created_at", "kind", "concept"})
R = TypeVar("R", Event, "Command")


@dataclass(frozen=True, slots=True)
class Command:
    """A checked request to change something, not yet decided.

    ``payload`` holds what the caller gave in normal form, without the values that the service fills in; ``minted`` is
    one fresh sortable id, from which the ids that the caller left out are made. What it asks for may depend on where
    its node stands by then: ``in_state`` holds the commands that take its place, which are equal to it but in their
    transition, reason and payload; a new node is proposed.
    """

    project: str
    transition: Transition
    key: str | None
    payload: Json
    actor: Actor
    event_id: str
    generation: int | None = None
    time: datetime | None = None
    reason: str | None = None
    caused_by: tuple[str, ...] = ()
    execution: Json | None = None
    minted: str = ""
    in_state: Mapping[State, Command] | None = None
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many matches of which kind were taken out of it."""
    merge: Merge | None = None
    """What a consolidator made of a concept and what it was compared with; None where nobody was asked."""
    counted_here: bool = False
    """Whether the counts of a concept are told here whatever it says: it is a line that anybody may have written."""

    @property
    def is_concept(self) -> bool:
        """Whether it records a concept, so that what becomes of it is found at the one door (rules.md section 8)."""
        return self.transition is Transition.PROPOSED and "concept" in self.payload

    @property
    def keyed(self) -> str:
        """The node's key: the caller's, or the made one."""
        return self.key if self.key is not None else f"k-{self.minted}"


def repeats(event: Event, command: Command) -> bool:
    """True when the command is a repeat of the event: the same content in everything the caller gave.

    What was redacted in other terms then, or not at all in a restored journal, is the same content still.

    Raises:
        EventConflictError: the id is the event's, the content is not.
    """
    if not _says_the_same(event, command) and not _says_the_same(_redacted(event), _redacted(command)):
        raise EventConflictError(
            f"event {command.event_id!r} was taken before with other content",
            field="event_id",
            allowed="the very same content, or a new event id",
        )
    return True


def _says_the_same(event: Event, command: Command) -> bool:
    stored, given, door = event.payload, command.payload, command.is_concept and "said" in event.payload
    if door:  # what the one door made of the concept stands beside it
        stored = {"concept": stored["said"], "evidence": stored.get("evidence", [])}
        given = {"concept": given["concept"], "evidence": given.get("evidence", [])}
    if command.counted_here or event.transition is command.transition is Transition.SIGHTED:
        carried = event.transition is Transition.CORRECTED
        stored, given = uncounted(stored, carried=carried), uncounted(given, carried=carried)
    return (
        (door or event.transition == command.transition)
        and command.key in (None, event.key)
        and (door or command.generation in (None, event.generation))
        and command.time in (None, event.time)
        and (event.reason == command.reason or (door and command.reason is None))
        and (event.actor, event.caused_by, event.execution) == (command.actor, command.caused_by, command.execution)
        and _covers(stored, given)
    )


def _redacted(said: R) -> R:
    redactor = Redactor()
    reason = None if said.reason is None else redactor.text(said.reason)
    return replace(said, payload=concept_file.redacted(said.payload, redactor), reason=reason)


def _covers(stored: object, given: object) -> bool:
    if isinstance(given, dict) and isinstance(stored, dict):
        stored_map, given_map = cast(Json, stored), cast(Json, given)
        if not (stored_map.keys() - given_map.keys()) <= _FILLED_IN:
            return False
        return all(
            name in stored_map
            and (
                canonical(stored_map[name]) == canonical(value)
                if name == "metadata"
                else _covers(stored_map[name], value)
            )
            for name, value in given_map.items()
        )
    if isinstance(given, list) and isinstance(stored, list):
        stored_list, given_list = cast(list[object], stored), cast(list[object], given)
        return len(stored_list) == len(given_list) and all(map(_covers, stored_list, given_list))
    return stored == given


def read_command(
    line: Mapping[str, Any], *, actor: Actor, project: str | None = None, redacting: frozenset[str] | None = PERSONAL
) -> Command:
    """A journal line, or a mutation written as one, as a checked command without secrets.

    Args:
        line: The fields of journal.md; those that are only written are ignored.
        actor: Who acts when the line does not say.
        project: The project when the line does not say.
        redacting: The kinds of personal data that are taken out beside secrets; None leaves all in, for a written
            journal whose hashes are to hold.

    Raises:
        ValidationError: with the field (``payload.evidence[0].source``), the position and what is allowed.
    """
    if not isinstance(line, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValidationError("a journal line is one JSON object", allowed="an object with the fields of journal.md")
    known_fields(line, _ENVELOPE | _WRITTEN_ONLY, "")
    transition = member(Transition, line.get("transition"), "transition")
    minted = str(ULID())
    payload = _PAYLOADS[transition](mapping(_given(line, "payload", {}), "payload"))
    reason = _reason(line.get("reason"), transition)
    redactor = Redactor(redacting or frozenset())
    if redacting is not None:
        redacted = concept_file.redacted(payload, redactor), None if reason is None else redactor.text(reason)
        if redactor.changed:  # what stands in place of a match may be longer, so it is checked once more
            payload, reason = _PAYLOADS[transition](redacted[0]), _reason(redacted[1], transition)
    return Command(
        project=checked_key(_given(line, "project", project), "project"),
        transition=transition,
        key=_key(line, transition),
        payload=payload,
        actor=_actor(line["actor"]) if line.get("actor") is not None else actor,
        event_id=checked_event_id(_given(line, "event_id", minted), "event_id"),
        generation=_generation(line.get("generation")),
        time=maybe(checked_instant, line.get("time"), "time"),
        reason=reason,
        caused_by=_caused_by(line.get("caused_by")),
        execution=_execution(line.get("execution")),
        minted=minted,
        redacted=redactor.counts,
    )


def read_event(line: Mapping[str, Any], command: Command) -> Event:
    """The event that a written journal line says it is; ``command`` is what ``read_command`` made of the line.

    Whether it follows from the journal before it shows when the command is decided again: the hash must come out
    the same.

    Raises:
        ValidationError: a field that a written line carries is missing or not of its form.
    """
    seq, digest, previous = line.get("seq"), line.get("hash"), line.get("prev_hash")
    if isinstance(seq, bool) or not isinstance(seq, int) or seq < 1:
        raise ValidationError("a written line carries its position", field="seq", allowed="1, 2, 3 …")
    for name, value in (("hash", digest), ("prev_hash", previous)):
        if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
            raise ValidationError(f"a written line carries its {name}", field=name, allowed="64 hex digits")
    if command.key is None or command.generation is None or command.time is None:
        missing = "key" if command.key is None else "generation" if command.generation is None else "time"
        raise ValidationError(f"a written line carries its {missing}", field=missing, allowed="the written value")
    return Event(
        project=command.project,
        seq=seq,
        event_id=command.event_id,
        transition=command.transition,
        key=command.key,
        generation=command.generation,
        actor=command.actor,
        time=command.time,
        recorded_at=checked_instant(line.get("recorded_at"), "recorded_at"),
        reason=command.reason,
        caused_by=command.caused_by,
        execution=command.execution,
        payload=command.payload,
        state_after=member(State, line.get("state_after"), "state_after"),
        prev_hash=cast(str, previous),
        hash=cast(str, digest),
    )


def _given(line: Mapping[str, Any], name: str, otherwise: object) -> object:
    value = line.get(name)
    return otherwise if value is None else value


def _key(line: Mapping[str, Any], transition: Transition) -> str | None:
    if transition is not Transition.PROPOSED:
        return checked_key(line.get("key"), "key")
    if mapping(_given(line, "payload", {}), "payload").get("concept") is not None:
        return checked_name(line.get("key"), "key")
    return maybe(checked_key, line.get("key"), "key")


def _actor(value: object) -> Actor:
    given = mapping(value, "actor")
    known_fields(given, {"issuer", "subject", "type"}, "actor.")
    return Actor(
        checked_text(given.get("issuer"), "actor.issuer", chars_max=200),
        checked_text(given.get("subject"), "actor.subject", chars_max=200),
        member(ActorType, given.get("type"), "actor.type"),
    )


def _generation(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise ValidationError("generation must be a positive integer", field="generation", allowed="1, 2, 3 …")
    return value


_NEEDS_REASON = frozenset({Transition.CHALLENGED, Transition.CORRECTED, Transition.INVALIDATED, Transition.DISPROVED})


def _reason(value: object, transition: Transition) -> str | None:
    if value is None and transition not in _NEEDS_REASON:
        return None
    if value is None:
        raise ValidationError(
            f"{transition.value} needs a reason", field="reason", allowed=f"1 to {REASON_CHARS_MAX} characters"
        )
    return checked_text(value, "reason", chars_max=REASON_CHARS_MAX)


def _caused_by(value: object) -> tuple[str, ...]:
    items = sequence(value, "caused_by", CAUSES_MAX)
    return tuple(checked_event_id(item, f"caused_by[{at}]") for at, item in enumerate(items))


def checked_event_id(value: object, name: str) -> str:
    """An event id: a key's form, to which the service may have added ``#`` and a rule's name, up to four (journal.md).

    Raises:
        ValidationError: not such a text, or one of more rules or of unknown ones that is too long for a key.
    """
    if isinstance(value, str) and len(value) <= KEY_CHARS_MAX + _RULES_CHARS_MAX and (rules := _RULES.search(value)):
        checked_key(value[: rules.start()] or value, name)
        return value
    return checked_key(value, name)


def _execution(value: object) -> Json | None:
    if value is None:
        return None
    given = mapping(value, "execution")
    known_fields(given, set(_EXECUTION), "execution.")
    named = {name: checked_text(given[name], f"execution.{name}") for name in _EXECUTION if given.get(name) is not None}
    return named or None


def _evidence_list(payload: Mapping[str, Any]) -> Json:
    items = sequence(payload.get("evidence"), "payload.evidence", EVIDENCE_MAX)
    records = [_evidence_record(item, f"payload.evidence[{at}]") for at, item in enumerate(items)]
    seen: set[str] = set()
    for at, record in enumerate(records):
        if "key" in record and record["key"] in seen:
            raise ValidationError(
                "the same evidence key stands twice in one command",
                field=f"payload.evidence[{at}].key",
                position=at,
                allowed="each key once",
            )
        seen.add(record.get("key", ""))
    return {"evidence": records} if records else {}


def _evidence_record(value: object, at: str) -> Json:
    given = mapping(value, at)
    known_fields(given, {"key", "type", "source", "timestamp", "hash", "artifact_ref", "metadata"}, f"{at}.")
    record: Json = {
        "type": checked_text(given.get("type"), f"{at}.type"),
        "source": checked_text(given.get("source"), f"{at}.source"),
    }
    if given.get("key") is not None:
        record["key"] = checked_key(given["key"], f"{at}.key")
    if given.get("timestamp") is not None:
        record["timestamp"] = instant_text(checked_instant(given["timestamp"], f"{at}.timestamp"))
    if given.get("hash") is not None:
        record["hash"] = _content_hash(given["hash"], f"{at}.hash")
    if given.get("artifact_ref") is not None:
        record["artifact_ref"] = checked_text(given["artifact_ref"], f"{at}.artifact_ref")
    if given.get("metadata") is not None:
        record["metadata"] = _metadata(given["metadata"], f"{at}.metadata")
    return record


def _content_hash(value: object, name: str) -> str:
    text = checked_text(value, name)
    if not _HASH_FORM.fullmatch(text):
        raise ValidationError(f"{name} is not a content hash: {quoted(text)}", field=name, allowed="algorithm:hex")
    return text


def _metadata(value: object, name: str) -> object:
    _check_json(value, name, 0)
    size = len(canonical(value).encode())
    if size > METADATA_BYTES_MAX:
        raise ValidationError(
            f"{name} is {size} bytes of JSON", field=name, allowed=f"at most {METADATA_BYTES_MAX} bytes"
        )
    return value


def _check_json(value: object, name: str, depth: int) -> None:
    if depth > METADATA_DEPTH_MAX:
        raise ValidationError(f"{name} is nested too deep", field=name, allowed=f"{METADATA_DEPTH_MAX} levels")
    if isinstance(value, dict):
        for key, item in cast(dict[object, object], value).items():
            _check_json(key, name, depth + 1)
            _check_json(item, name, depth + 1)
    elif isinstance(value, list):
        for item in cast(list[object], value):
            _check_json(item, name, depth + 1)
    elif isinstance(value, str):
        if surrogate := re.search("[\ud800-\udfff]", value):
            raise ValidationError(
                f"{name} holds a lone surrogate", field=name, position=surrogate.start(), allowed="Unicode text"
            )
    elif (isinstance(value, float) and not math.isfinite(value)) or _beyond_digits(value):
        raise ValidationError(f"{name} holds a number that JSON cannot carry", field=name, allowed="finite numbers")


def _relation(given: Mapping[str, Any], at: str) -> Json:
    return {
        "relation": member(Relation, given.get("relation"), f"{at}.relation").value,
        "to": checked_key(given.get("to"), f"{at}.to"),
    }


def _proposed(payload: Mapping[str, Any]) -> Json:
    known = {"proposition", "kind", "valid_from", "valid_to", "lineage", "evidence", "relations", "concept"}
    known_fields(payload, known, "payload.")
    read = _claimed(payload)
    if payload.get("kind") is not None:
        read["kind"] = member(Kind, payload["kind"], "payload.kind").value
    for name in ("valid_from", "valid_to"):
        if payload.get(name) is not None:
            read[name] = instant_text(checked_instant(payload[name], f"payload.{name}"))
    if payload.get("lineage") is not None:
        read["lineage"] = _lineage(payload["lineage"])
    read |= _evidence_list(payload)
    if "concept" in read and payload.get("relations"):
        raise ValidationError("the links of a concept are its relations", field="payload.relations", allowed="none")
    relations: list[Json] = []
    for at, item in enumerate(sequence(payload.get("relations"), "payload.relations", RELATIONS_MAX)):
        given = mapping(item, f"payload.relations[{at}]")
        known_fields(given, {"relation", "to"}, f"payload.relations[{at}].")
        relations.append(_relation(given, f"payload.relations[{at}]"))
    return read | ({"relations": relations} if relations else {})


def _claimed(payload: Mapping[str, Any]) -> Json:
    """The proposition, which a concept makes of its body; the concept beside it where there is one."""
    if payload.get("concept") is None:
        return {"proposition": checked_proposition(payload.get("proposition"), "payload.proposition")}
    concept = read_concept(payload["concept"], "payload.concept")
    proposition = concept["body"].strip() or concept["description"].strip()
    if payload.get("proposition") not in (None, proposition):
        raise ValidationError(
            "the proposition of a concept is its body", field="payload.proposition", allowed="the body, or nothing"
        )
    return {"proposition": proposition, "concept": concept}


def _lineage(value: object) -> Json:
    """How an item was made; sources are normalised as rules.md section 7 says."""
    given = mapping(value, "payload.lineage")
    known_fields(given, {"sources", "method", "confidence", "created_at"}, "payload.lineage.")
    items = sequence(given.get("sources"), "payload.lineage.sources", SOURCES_MAX)
    read = [_source(item, f"payload.lineage.sources[{at}]") for at, item in enumerate(items)]
    lineage: Json = {"sources": [source for source in read if source is not None]}
    if given.get("method") is not None:
        lineage["method"] = checked_text(given["method"], "payload.lineage.method")
    if given.get("confidence") is not None:
        lineage["confidence"] = _number(given["confidence"], "payload.lineage.confidence")
    if given.get("created_at") is not None:
        lineage["created_at"] = instant_text(checked_instant(given["created_at"], "payload.lineage.created_at"))
    return lineage


def _source(value: object, at: str) -> Json | None:
    given = cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {"id": value}
    known_fields(given, {"type", "id"}, f"{at}.")
    if given.get("id") is None:
        return None
    if isinstance(given["id"], (bool, dict, list)) or _beyond_digits(given["id"]):
        raise ValidationError(f"{at}.id must be a text or a number", field=f"{at}.id", allowed="a text or a number")
    kind = "unknown" if given.get("type") is None else checked_text(given["type"], f"{at}.type")
    return {"type": kind, "id": checked_text(str(given["id"]), f"{at}.id")}


def _beyond_digits(value: object) -> bool:
    """True for an integer that Python would not write out, and no reader of ours would read."""
    return isinstance(value, int) and value.bit_length() > INTEGER_BITS_MAX


def _number(value: object, name: str) -> float:
    number = None if isinstance(value, bool) or not isinstance(value, (int, float)) else value
    if number is None or abs(number) > sys.float_info.max or not math.isfinite(number):
        raise ValidationError(f"{name} must be a number", field=name, allowed="a finite number")
    return float(number)


def lineage_of_resource(resource: str, *, method: str) -> Json:
    """The lineage of what was read from a stored resource (rules.md section 7)."""
    return {"sources": [{"type": "resource", "id": resource}], "method": method}


def lineage_of_text(text: str, *, method: str) -> Json:
    """The lineage of what was read from text that is not stored: a fingerprint; no source for blank text."""
    if not text.strip():
        return {"sources": [], "method": method}
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {"sources": [{"type": "text_sha256", "id": fingerprint}], "method": method}


def _evidence_only(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, {"evidence"}, "payload.")
    return _evidence_list(payload)


def _evidence_required(payload: Mapping[str, Any]) -> Json:
    read = _evidence_only(payload)
    if not read:
        raise ValidationError("evidence is needed", field="payload.evidence", allowed="at least one record")
    return read


def _corrected(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, {"proposition", "evidence", "concept", "said"}, "payload.")
    said = {} if payload.get("said") is None else {"said": read_concept(payload["said"], "payload.said")}
    return _claimed(payload) | said | _evidence_list(payload)


def _sighted(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, {"verdict", "said", "evidence"}, "payload.")
    verdict = member(Verdict, payload.get("verdict"), "payload.verdict")
    if verdict not in (Verdict.SAME, Verdict.CONTRADICTING):
        raise ValidationError("no sighting has this verdict", field="payload.verdict", allowed="same, contradicting")
    said = read_concept(payload.get("said"), "payload.said")
    return {"verdict": verdict.value, "said": said} | _evidence_list(payload)


def _superseded(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, {"by"}, "payload.")
    return {"by": checked_key(payload.get("by"), "payload.by")}


def _linked(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, {"relation", "to"}, "payload.")
    return _relation(payload, "payload")


def _hinted(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, {"outcome", "supported"}, "payload.")
    outcome, supported = payload.get("outcome"), payload.get("supported")
    if outcome not in ("helpful", "harmful"):
        raise ValidationError("outcome is not known", field="payload.outcome", allowed="helpful, harmful")
    if supported is not None and not isinstance(supported, bool):
        raise ValidationError("supported must be true or false", field="payload.supported", allowed="true, false")
    return {"outcome": outcome, "supported": bool(supported)}


def _transferred(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, {"to_project"}, "payload.")
    return {"to_project": checked_key(payload.get("to_project"), "payload.to_project")}


def _nothing(payload: Mapping[str, Any]) -> Json:
    known_fields(payload, set(), "payload.")
    return {}


_PAYLOADS: dict[Transition, Callable[[Mapping[str, Any]], Json]] = {
    Transition.PROPOSED: _proposed,
    Transition.CONFIRMED: _evidence_only,
    Transition.CHALLENGED: _evidence_only,
    Transition.CORRECTED: _corrected,
    Transition.SUPERSEDED: _superseded,
    Transition.INVALIDATED: _evidence_only,
    Transition.DISPROVED: _evidence_required,
    Transition.USED: _nothing,
    Transition.HINTED: _hinted,
    Transition.FORGOTTEN: _nothing,
    Transition.RECALLED: _nothing,
    Transition.EVIDENCED: _evidence_required,
    Transition.LINKED: _linked,
    Transition.UNLINKED: _linked,
    Transition.TRANSFERRED: _transferred,
    Transition.SIGHTED: _sighted,
}
