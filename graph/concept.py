"""Concepts: claims with a name, a description, a type and links, and how often and by whom they were said.

A concept is a node whose key is the concept's name. The node carries what is here as one JSON text, as it carries its
lineage; state and validity are the node's own. Counts are worked out from events, never taken from who writes
(rules.md section 8).
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

from graph.errors import ValidationError
from graph.forms import known_fields, mapping, sequence
from graph.journal import Json, canonical
from graph.knowledge import State, Transition, checked_key, checked_text, claim_form
from graph.links import link_targets
from graph.unseen import emoji_length, needed, unseen

NAME_CHARS_MAX = 80  # rules.md section 8
DESCRIPTION_CHARS_MAX = 300  # rules.md section 8
BODY_CHARS_MAX = 2_000  # rules.md section 8
TYPE_CHARS_MAX = 80  # as a name
SESSION_CHARS_MAX = 200  # as a key
FILE_CHARS_MAX = 32_768  # the longest body ten times over, for what else a frontmatter says
LINKS_MAX = 500  # a body of the longest kind has room for no more
OCCURRENCES_MAX = 2**53  # above it floats, and so other readers of JSON, lose count
SOURCES_KEPT_MAX = 1_000  # distinct ones; confidence ends to grow at the fifth
TYPES = ("fact", "entity", "procedure", "policy", "objection")  # rules.md section 8; a project may set its own
AGAINST_KEYS = 3  # of one claim; all of them are looked up with each saying
_JOINERS = "-._"
_EMOJI_STYLE = "\ufe0f"  # what stands before it is the beginning of an emoji


class Verdict(StrEnum):
    """What the one door made of something said (rules.md section 8)."""

    NEW = "new"
    SAME = "same"
    RELATED = "related"
    CONTRADICTING = "contradicting"


@dataclass(frozen=True, slots=True)
class Concept:
    """What makes a node a concept.

    Attributes:
        name: The node's key.
        description: What it is, in a sentence; may be empty.
        type: One of the project's types of concepts.
        body: The claim itself; where it is blank, the description is the node's proposition.
        links: Distinct targets of ``[[links]]`` in the body, in order, itself left out.
        occurrences: How often it was said.
        sources: Distinct sessions that said it or something against it, in order; at most 1,000 are kept.
        file: The concept file that it was first read from, as it was written; None where it was in none.
    """

    name: str
    description: str
    type: str
    body: str
    links: tuple[str, ...] = ()
    occurrences: int = 1
    sources: tuple[str, ...] = ()
    file: str | None = None

    @property
    def claim(self) -> str:
        """The node's proposition."""
        return self.body.strip() or self.description.strip()

    def seen(self, said: Mapping[str, Any], *, counted: bool) -> Concept:
        """As it is once it was said again (counted), or something against it was (not counted)."""
        sources = tuple(dict.fromkeys((*self.sources, *said["sources"])))[:SOURCES_KEPT_MAX]
        occurrences = min(self.occurrences + said["occurrences"] * counted, OCCURRENCES_MAX)
        return replace(self, sources=sources, occurrences=occurrences)

    def confidence(self, state: State) -> float:
        """How sure the count of its sources makes it, 0.40 while it is challenged (rules.md section 8)."""
        if state is State.CHALLENGED:
            return 0.4
        return min(95, 50 + 10 * len(self.sources)) / 100


def concept_record(concept: Concept) -> Json:
    """The concept as it stands in a payload and on a node: without its name, absent fields left out."""
    record: Json = {
        "description": concept.description,
        "type": concept.type,
        "body": concept.body,
        "links": list(concept.links),
        "occurrences": concept.occurrences,
        "sources": list(concept.sources),
    }
    return record if concept.file is None else {**record, "file": concept.file}


def said_once(record: Json) -> Json:
    """What somebody says of a concept, counted once, of the first source that it names."""
    return {**record, "occurrences": 1, "sources": record["sources"][:1]}


def uncounted(payload: Json, *, carried: bool) -> Json:
    """Without what the one door tells: what a sighting comes to, and a concept's counts; corrections carry them."""
    told: Json = {**payload, "verdict": None} if "verdict" in payload else dict(payload)
    for part in told.keys() & {"concept", "said"}:
        sources = None if carried and part == "concept" else told[part]["sources"][:1]
        told[part] = {**told[part], "occurrences": None, "sources": sources}
    return told


def concept_text(concept: Concept) -> str:
    """What a node carries."""
    return canonical(concept_record(concept))


def concept_of(name: str, given: str | Mapping[str, Any]) -> Concept:
    """The concept that ``concept_record`` or ``concept_text`` wrote."""
    record = cast(Mapping[str, Any], json.loads(given)) if isinstance(given, str) else given
    return Concept(
        name=name,
        description=record["description"],
        type=record["type"],
        body=record["body"],
        links=tuple(record["links"]),
        occurrences=record["occurrences"],
        sources=tuple(record["sources"]),
        file=record.get("file"),
    )


def described_by(text: str | None) -> str | None:
    """The description in what a node carries; None where it is no concept, or its description is its claim."""
    if text is None:
        return None
    concept = concept_of("", text)
    return concept.description or None if concept.body.strip() else None


@dataclass(frozen=True, slots=True)
class Merge:
    """What a consolidator made of a concept and something said of the same name.

    Attributes:
        against: The proposition that it was asked about; of another one it says nothing.
        body: The merged text; None where it found them contradicting.
    """

    against: str
    body: str | None


def read_concept(value: object, at: str) -> Json:
    """A concept as somebody writes it into a payload, in normal form: as ``concept_record`` writes it.

    Links that are not given are those of the body.

    Raises:
        ValidationError: with the field and what is allowed.
    """
    given = mapping(value, at)
    known_fields(given, {"description", "type", "body", "links", "occurrences", "sources", "file"}, f"{at}.")
    body = _text(given.get("body"), f"{at}.body", BODY_CHARS_MAX)
    description = _text(given.get("description"), f"{at}.description", DESCRIPTION_CHARS_MAX)
    if not body.strip() and not description.strip():
        raise ValidationError("a concept says something", field=f"{at}.body", allowed="a body, or a description")
    links = link_targets(body) if given.get("links") is None else sequence(given["links"], f"{at}.links", LINKS_MAX)
    sources = sequence(given.get("sources"), f"{at}.sources", SOURCES_KEPT_MAX)
    occurrences = 1 if given.get("occurrences") is None else given["occurrences"]
    if isinstance(occurrences, bool) or not isinstance(occurrences, int) or not 1 <= occurrences <= OCCURRENCES_MAX:
        raise ValidationError("occurrences are counted from 1", field=f"{at}.occurrences", allowed="1, 2, 3 …")
    record: Json = {
        "description": description,
        "type": checked_text(given.get("type"), f"{at}.type", chars_max=TYPE_CHARS_MAX),
        "body": body,
        "links": [link for link in dict.fromkeys(links) if _names_a_key(link)][:LINKS_MAX],
        "occurrences": occurrences,
        "sources": list(
            dict.fromkeys(
                checked_text(each, f"{at}.sources[{n}]", chars_max=SESSION_CHARS_MAX) for n, each in enumerate(sources)
            )
        ),
    }
    if given.get("file") is not None:
        record["file"] = checked_text(given["file"], f"{at}.file", chars_max=FILE_CHARS_MAX)
    return record


def _text(value: object, field: str, chars_max: int) -> str:
    return "" if value in (None, "") else checked_text(value, field, chars_max=chars_max, blank=True)


def _names_a_key(link: object) -> bool:
    """Whether a link can lead to a node: other targets are no keys."""
    try:
        checked_key(link, "links")
    except ValidationError:
        return False
    return True


def merged(concept: Concept, body: str) -> Concept:
    """The concept with another body, and the links of that."""
    return replace(concept, body=body, links=tuple(link for link in link_targets(body) if _names_a_key(link)))


def carried(name: str, text: str, proposition: str) -> Json:
    """The concept of a node that is corrected to another proposition; counts and sources are carried on."""
    return concept_record(merged(concept_of(name, text), proposition))


def concept_then(name: str, creation: Mapping[str, Any], sightings: Iterable[str]) -> str | None:
    """What a node carried at a moment, by the payloads of the event that made it and of what sighted it since."""
    if "concept" not in creation:
        return None
    concept = concept_of(name, creation["concept"])
    for payload in map(json.loads, sightings):
        concept = concept.seen(payload["said"], counted=payload["verdict"] == Verdict.SAME)
    return concept_text(concept)


def verdict_of(transition: Transition, payload: Mapping[str, Any]) -> Verdict | None:
    """What the one door made of what an event came from; None where it did not pass there."""
    if transition is Transition.SIGHTED:
        return Verdict(payload["verdict"])
    if transition is Transition.CORRECTED and "said" in payload:
        return Verdict.RELATED
    return Verdict.NEW if transition is Transition.PROPOSED and "concept" in payload else None


def contradicting_keys(name: str, claim: str) -> tuple[str, ...]:
    """The keys that the node of a claim against a concept may have, the first unless another claim holds it.

    The same claim always has the same.
    """
    first = f"{name}~{hashlib.sha256(claim_form(claim).encode()).hexdigest()[:16]}"
    return (first, *(f"{first}-{count}" for count in range(2, AGAINST_KEYS + 1)))


def distinct(targets: Iterable[str], name: str) -> tuple[str, ...]:
    """Targets of links as a concept keeps them: each once, in order, itself left out."""
    return tuple(target for target in dict.fromkeys(targets) if target != name)


def checked_name(value: object, field: str) -> str:
    """A concept's name: lower-case letters and digits of any script and emoji, joined by ``-``, ``.`` or ``_``.

    What cannot be seen is part of it where a script or an emoji needs it, so that no two names look the same by it.

    Raises:
        ValidationError: not such a text, with the position of the first fault.
    """
    name = unicodedata.normalize("NFC", checked_text(value, field, chars_max=NAME_CHARS_MAX))
    at = 0
    while at < len(name):
        size = 1 if _names(name, at) else emoji_length(name, at)
        if not size:
            raise ValidationError(
                f"{field} is no name of a concept",
                field=field,
                position=at,
                allowed="1 to 80 lower-case letters, digits and emoji, joined by single hyphens, points or underscores",
            )
        at += size
    return name


def _names(name: str, at: int) -> bool:
    """Whether the character at a place may stand there by itself."""
    char = name[at]
    if char in _JOINERS:
        return 0 < at < len(name) - 1 and name[at - 1] not in _JOINERS
    if unseen(char):
        return needed(name, at)
    letter = char.isalnum() or (at > 0 and unicodedata.category(char).startswith("M"))
    return letter and char == char.lower() and not name.startswith(_EMOJI_STYLE, at + 1)
