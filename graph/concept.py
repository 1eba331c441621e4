"""Concepts: claims with a name, a description, a type and links, and how often and by whom they were said.

A concept is a node whose key is the concept's name. The node carries what is here as one JSON text, as it carries its
lineage; state and validity are the node's own. Counts are worked out from events, never taken from who writes
(rules.md section 8).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

from graph.errors import ValidationError
from graph.journal import Json, canonical
from graph.knowledge import State, checked_text

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
_JOINERS = "-._"


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

    def seen(self, session: str, *, counted: bool) -> Concept:
        """As it is once a session has said it again (counted), or something against it (not counted)."""
        sources = self.sources
        if session not in sources and len(sources) < SOURCES_KEPT_MAX:
            sources = (*sources, session)
        return replace(self, sources=sources, occurrences=self.occurrences + counted)

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


def distinct(targets: Iterable[str], name: str) -> tuple[str, ...]:
    """Targets of links as a concept keeps them: each once, in order, itself left out."""
    return tuple(target for target in dict.fromkeys(targets) if target != name)


def checked_name(value: object, field: str) -> str:
    """A concept's name: lower-case letters and digits of any script, joined by ``-``, ``.`` or ``_``.

    Raises:
        ValidationError: not such a text, with the position of the first fault.
    """
    name = unicodedata.normalize("NFC", checked_text(value, field, chars_max=NAME_CHARS_MAX))
    for at, char in enumerate(name):
        inside = 0 < at < len(name) - 1
        joins = inside and char in _JOINERS and name[at - 1] not in _JOINERS
        letter = char.isalnum() or (at > 0 and unicodedata.category(char).startswith("M"))
        if not (joins or (letter and char == char.lower())):
            raise ValidationError(
                f"{field} is no name of a concept",
                field=field,
                position=at,
                allowed="1 to 80 lower-case letters and digits, joined by single hyphens, points or underscores",
            )
    return name
