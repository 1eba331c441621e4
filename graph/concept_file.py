"""Concepts as files: markdown with a frontmatter, read from bytes and written so that reading gives the same again.

A file that was read is kept as it was written, and comes back so, byte for byte, for as long as the concept says what
the file says; after that it is written anew, with what else its frontmatter said. A file that would hold what was taken
out of what it says is not kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from markdown_it import MarkdownIt

from graph import frontmatter
from graph.concept import (
    BODY_CHARS_MAX,
    DESCRIPTION_CHARS_MAX,
    FILE_CHARS_MAX,
    OCCURRENCES_MAX,
    SESSION_CHARS_MAX,
    SOURCES_KEPT_MAX,
    TYPES,
    Concept,
    checked_name,
    concept_of,
    distinct,
)
from graph.errors import ConceptFileError, Fault, ValidationError
from graph.frontmatter import Frontmatter
from graph.knowledge import State, checked_text
from graph.links import Link, link_targets, links_in
from graph.redaction import Redactor

FILE_BYTES_MAX = 4 * FILE_CHARS_MAX  # of UTF-8, which is read before its characters can be counted
CONTRADICTION = "## Contradiction"
_TEXTS = frozenset({"name", "description", "type", "tags", "source", "provenance"})
_DATES = frozenset({"created_at", "updated_at"})
_APART = "\n\n.\n\n"  # so that no text goes on in the next one
_STAMPED = ("provenance", "confidence", "sources", "occurrences", "created_at", "updated_at", "contradictions")
_OURS = frozenset({"name", "description", "type", *_STAMPED})
_HEADING = re.compile(f"^{CONTRADICTION}[ \t]*$", re.MULTILINE)
_PLAIN_NAME = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_GUESSED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})  # by other readers of YAML
# What JSON writes as it is and YAML would not read back.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class ConceptFile:
    """What a concept file says.

    Attributes:
        text: The file as it was written, byte order mark and line ends as they were.
        frontmatter: Its fields as JSON: dates as YYYY-MM-DD, instants in UTC with Z.
        body: All that stands behind, without the line breaks at its ends.
        links: Those of the body, in order, repeats kept.
        warnings: What is allowed, but was hardly meant.
        name: The concept's name, NFC.
        description: What it is, in a sentence; may be empty.
        type: One of the types that were allowed.
        claim: The body up to the first contradiction.
        contradictions: What stands under each heading ``## Contradiction``.
        sources: The sessions that said it; none where the file does not say.
        occurrences: How often it was said.
        created_at: When, as a date or an instant; None where the file does not say.
    """

    text: str
    frontmatter: Mapping[str, object]
    body: str
    links: tuple[Link, ...]
    warnings: tuple[Fault, ...]
    name: str
    description: str
    type: str
    claim: str
    contradictions: tuple[str, ...]
    sources: tuple[str, ...]
    occurrences: int
    created_at: str | None


def read(data: bytes, types: Sequence[str] = TYPES) -> ConceptFile:
    """Read a concept file.

    Args:
        data: The bytes; at most ``FILE_BYTES_MAX`` of them are of use.
        types: The types of concepts that the project has.

    Raises:
        ConceptFileError: with the kind and the line of what is wrong; of ``validation`` all that is, at once.
    """
    text = _decoded(data)
    inner, behind = frontmatter.separated(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    found = frontmatter.read(inner, texts=_TEXTS, dates=_DATES)
    body = behind.strip("\n")
    checks = _Checks(found, types)
    claim, contradictions = _divided(body, checks.ordinals())
    name, description, type_ = checks.name(), checks.description(), checks.type()
    sources = checks.sources()
    occurrences = checks.occurrences(len(sources))
    checks.body(claim, contradictions, description)
    checks.text(text)
    if checks.faults:
        raise ConceptFileError(*checks.faults)
    return ConceptFile(
        text=text,
        frontmatter=found.values,
        body=body,
        links=tuple(links_in(body)),
        warnings=tuple(found.warnings),
        name=name,
        description=description,
        type=type_,
        claim=claim,
        contradictions=contradictions,
        sources=sources,
        occurrences=occurrences,
        created_at=cast("str | None", found.values.get("created_at")),
    )


def concept_in(file: ConceptFile, session: str) -> Concept:
    """The concept that a file says, before anything is known of it.

    Args:
        file: What was read.
        session: Who says it where the file names no sources.
    """
    # Where all of the body is the claim, its links are read already.
    targets = link_targets(file.claim) if file.contradictions else [each.target for each in file.links if each.target]
    return Concept(
        name=file.name,
        description=file.description,
        type=file.type,
        body=file.claim,
        links=distinct(targets, file.name),
        occurrences=file.occurrences,
        sources=file.sources or (session,),
        file=file.text,
    )


def written(
    concept: Concept, *, state: State, created_at: str, updated_at: str, contradictions: Sequence[str] = ()
) -> str:
    """A concept as a file: its own while it says the same, else one written anew, always in the same way.

    Args:
        concept: What is known by now.
        state: Its node's.
        created_at: When its node was made, an instant.
        updated_at: When its node was last changed, an instant.
        contradictions: The claims against it, in order.
    """
    known = None if concept.file is None else _read_again(concept.file, concept.type)
    if known is not None and concept.file is not None and _says(known, concept, contradictions):
        return concept.file
    body = "\n\n".join(part for part in (concept.body.strip("\n"), *_sections(contradictions)) if part)
    fields: dict[str, object] = {
        "name": concept.name,
        "description": concept.description,
        "type": concept.type,
        "provenance": "observed",
        "confidence": round(concept.confidence(state), 2),
        "sources": list(concept.sources),
        "occurrences": concept.occurrences,
        "created_at": created_at,
        "updated_at": updated_at,
    }
    ordinals = _ordinals(concept.body.strip("\n"), contradictions)
    if _divided(body, None) != _divided(body, ordinals):
        fields["contradictions"] = ordinals
    more = {} if known is None else {name: value for name, value in known.frontmatter.items() if name not in _OURS}
    lines = [f"{_name(name)}: {_value(value)}" for name, value in {**fields, **more}.items()]
    return "\n".join(["---", *lines, "---", *(["", body] if body else []), ""])


def tells(name: str, record: Mapping[str, Any]) -> bool:
    """Whether the file that a concept was read from says all that its record does, its counts among it."""
    known = _read_again(record["file"], record["type"]) if "file" in record else None
    return known is not None and _says(known, concept_of(name, record), [text.strip() for text in known.contradictions])


def redacted(payload: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """A payload as ``Redactor.payload`` gives it, without a file that has more in it than can be seen in its text.

    YAML folds lines and has escapes, so what a field says may be a secret that its text does not show. What is found
    only so is counted.
    """
    said = redactor.payload(payload)
    for part in ("concept", "said"):
        if part in said and "file" in said[part] and _hides(said[part]["file"], redactor):
            said[part] = {name: value for name, value in said[part].items() if name != "file"}
            redactor.changed = True
    return said


def _hides(text: str, redactor: Redactor) -> bool:
    """Whether redacted text still says what is to be taken out, or cannot be read, so that nobody knows."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        inner, _ = frontmatter.separated(lines)
        said = _APART.join((lines, *frontmatter.said(inner)))
    except ConceptFileError:
        return True
    return redactor.text(said) != said


def _says(file: ConceptFile, concept: Concept, contradictions: Sequence[str]) -> bool:
    """Whether the file is still all that is known; who was the first to say it need not stand in it."""
    said = (concept.name, concept.description, concept.type, concept.body.strip("\n"), concept.occurrences)
    return (
        said == (file.name, file.description, file.type, file.claim, file.occurrences)
        and (concept.sources == file.sources or (not file.sources and len(concept.sources) == 1))
        and set(contradictions) == {text.strip() for text in file.contradictions}
    )


def _read_again(text: str, type_: str) -> ConceptFile | None:
    """A file that was read before; None where what was redacted since has made it another."""
    try:
        return read(text.encode(), (*TYPES, type_))
    except ConceptFileError:
        return None


def _sections(contradictions: Sequence[str]) -> list[str]:
    return [f"{CONTRADICTION}\n\n{text}" for text in contradictions]


def _ordinals(body: str, contradictions: Sequence[str]) -> list[int]:
    """Which of the headings in a written file begin a contradiction, counted from 1."""
    count, ordinals = len(_HEADING.findall(body)), list[int]()
    for text in contradictions:
        count += 1
        ordinals.append(count)
        count += len(_HEADING.findall(text))
    return ordinals


def _divided(body: str, ordinals: Sequence[int] | None) -> tuple[str, tuple[str, ...]]:
    """The claim and the contradictions: at the named headings, else at all that are no code."""
    found = list(_HEADING.finditer(body))
    if ordinals is not None:
        found = [heading for at, heading in enumerate(found, start=1) if at in ordinals]
    elif found:
        lines = _heading_lines(body)
        found = [heading for heading in found if body.count("\n", 0, heading.start()) in lines]
    ends = [*(heading.start() for heading in found), len(body)]
    parts = [body[heading.end() : end].strip("\n") for heading, (_, end) in zip(found, pairwise(ends), strict=True)]
    return body[: ends[0]].strip("\n"), tuple(part for part in parts if part.strip())


def _heading_lines(body: str) -> frozenset[int]:
    tokens = MarkdownIt("commonmark").parse(body)
    return frozenset(token.map[0] for token in tokens if token.type == "heading_open" and token.map is not None)


def _name(name: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name) is not None and name.lower() not in _GUESSED
    return name if plain else _value(name)


def _value(value: object) -> str:
    """JSON that is YAML as well."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _decoded(data: bytes) -> str:
    if len(data) > FILE_BYTES_MAX:
        allowed = f"at most {FILE_BYTES_MAX:,} bytes"
        raise ConceptFileError(Fault("validation", 1, "the file is too long", allowed=allowed))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConceptFileError(Fault("not_utf8", line, "the file is not UTF-8", allowed="UTF-8")) from None


class _Checks:
    """What rules.md section 8 asks of a concept's fields; each fault is kept, so that all are told at once."""

    def __init__(self, found: Frontmatter, types: Sequence[str]) -> None:
        self._found = found
        self._types = types
        self.faults: list[Fault] = []

    def name(self) -> str:
        value = self._found.values.get("name")
        if value is None:
            return self._fault("name", "the concept has no name", "a name in the frontmatter") or ""
        try:
            return checked_name(value, "name")
        except ValidationError as error:
            return self._fault("name", error.message, error.allowed) or ""

    def description(self) -> str:
        value = self._found.values.get("description", "")
        if value == "":
            return ""
        return self._checked(value, "description", DESCRIPTION_CHARS_MAX)

    def type(self) -> str:
        value = self._found.values.get("type")
        if not isinstance(value, str) or value not in self._types:
            message = "the concept has no type" if value in (None, "") else "the type is not known"
            return self._fault("type", message, ", ".join(self._types)) or ""
        return value

    def sources(self) -> tuple[str, ...]:
        """Their ids; of a map its ``id`` (rules.md section 7)."""
        value: object = self._found.values.get("sources") or []
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        ids: list[str] = []
        for item in items:
            source = cast("Mapping[str, object]", item).get("id") if isinstance(item, Mapping) else item
            if isinstance(source, str | int | float) and not isinstance(source, bool):
                ids.append(self._checked(str(source), "sources", SESSION_CHARS_MAX))
            elif source is not None:
                self._fault("sources", "a source is no text", "texts, or maps with an id")
        if len(ids) > SOURCES_KEPT_MAX:
            self._fault("sources", f"{len(ids):,} sources", f"at most {SOURCES_KEPT_MAX:,}")
        return tuple(dict.fromkeys(ids))

    def occurrences(self, sources: int) -> int:
        value = self._found.values.get("occurrences", max(1, sources))
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= OCCURRENCES_MAX:
            self._fault("occurrences", "occurrences is no count", "a whole number from 1 on")
            return 1
        return value

    def ordinals(self) -> list[int] | None:
        value = self._found.values.get("contradictions")
        if not isinstance(value, list):
            return None
        return [item for item in cast("list[object]", value) if isinstance(item, int)]

    def body(self, claim: str, contradictions: Sequence[str], description: str) -> None:
        for text in (claim, *contradictions):
            if text:
                self._checked(text, "body", BODY_CHARS_MAX, blank=True)
        if not claim.strip() and not description.strip():
            self._fault("body", "the concept says nothing", "a body, or a description")

    def text(self, text: str) -> None:
        if len(text) > FILE_CHARS_MAX:
            self._fault("file", f"the file is {len(text):,} characters long", f"at most {FILE_CHARS_MAX:,}")

    def _checked(self, value: object, field: str, chars_max: int, *, blank: bool = False) -> str:
        try:
            return checked_text(value, field, chars_max=chars_max, blank=blank)
        except ValidationError as error:
            return self._fault(field, error.message, error.allowed) or ""

    def _fault(self, field: str, message: str, allowed: str | None) -> None:
        line = self._found.body_line if field == "body" else self._found.lines.get(field, 1)
        self.faults.append(Fault("validation", line, message, field, allowed))
