"""The default distiller: a text's sentences, each a passage; headings, tables and code, told as what they are.

A bullet is a passage of its own; hard line breaks within a paragraph are blanks, and rules are left out. In a
conversation who speaks is kept where a sentence says I or you, since nobody else can tell who that is.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import sentencex  # pyright: ignore[reportMissingTypeStubs]

from graph.ingestion.orders import ROLES
from graph.ingestion.stages import Passage

_LANGUAGE = "en"  # of the abbreviations that end no sentence; the ends of sentences are known in all scripts
_PIECE_CHARS_MAX = 4_000
_ENDING = re.compile(r"(?<![.!?])[.!?]++\s+|[\u3002\uff01\uff1f]")
FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"\s*#{1,6}\s+(?=\S)")
_UNDERLINE = re.compile(r"\s*={3,}\s*$")
_ROW = re.compile(r"\s*\|")
_RULE = re.compile(r"\s*(?:[-*_=]{3,}|#{1,6})\s*$")
CODE, HEADING, TABLE = "code", "a heading", "a table"
_BULLET = re.compile(r"\s*(?:>\s*)*(?:[-*+•]\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)")
_QUOTE = re.compile(r"\s*(?:>\s*)+")
_SPEAKER = re.compile(r"\s*(?:\*\*)?([\w][\w .'-]{0,39}?)(?:\*\*)?\s*(?:\([^)]{1,40}\)\s*)?:(?:\*\*)?\s+(?=\S)")
_SOMEBODY = re.compile(
    r"\b(?:I|I'm|I've|I'd|I'll|me|my|mine|we|we're|we've|us|our|ours|you|you're|your|yours)\b|[我你您]", re.IGNORECASE
)
_LABELS = frozenset(("note", "example", "warning", "tip", "hint", "todo", "caution", "important", "source", "summary"))


class Sentences:
    """Takes a text's sentences; ``Distiller`` by its form."""

    name = "sentences"

    async def distil(self, text: str) -> Sequence[Passage]:
        """The sentences, in the order of the text."""
        return await asyncio.to_thread(_sentences, text)


def _sentences(text: str) -> list[Passage]:
    return [passage for block in _blocks(text) for passage in _passages(block)]


@dataclass(slots=True)
class _Block:
    """Lines that belong together: what their form is, empty where they may state something, and who speaks."""

    form: str = ""
    speaker: str = ""
    lines: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without what marks it, its form, who begins to speak there, and whether a block begins with it."""

    said: str
    form: str = ""
    speaker: str = ""
    begins: bool = False


def _blocks(text: str) -> Iterator[_Block]:
    """Paragraphs, bullets, headings, tables and pieces of code; some may be empty."""
    block, fenced = _Block(), False
    for line in text.splitlines():
        fence = bool(FENCE.match(line))
        read = _Line("" if fence else line.strip(), CODE, begins=not fenced) if fence or fenced else _read(line)
        fenced = fenced != fence
        if _UNDERLINE.match(line) and not block.form and len(block.lines) == 1:
            block.form = HEADING
        if read.begins or read.form != block.form or not (read.said or read.form):
            yield block
            block = _Block(read.form, read.speaker)
        if read.said:
            block.lines.append(read.said)
    yield block


def _read(line: str) -> _Line:
    """A line outside of code."""
    if _RULE.match(line):
        return _Line("")
    if heading := _HEADING.match(line):
        return _Line(line[heading.end() :].strip(), HEADING, begins=True)
    if _ROW.match(line):
        return _Line(line.strip(), TABLE)
    said, speaker = _said(line)
    return _Line(said, "", speaker or "", begins=speaker is not None or bool(_BULLET.match(line)))


def _said(line: str) -> tuple[str, str | None]:
    """A line without what marks it, and who begins to speak there; None where nobody does."""
    marked = _BULLET.match(line) or _QUOTE.match(line)
    rest = line if marked is None else line[marked.end() :]
    found = _SPEAKER.match(rest)
    if found is None or found[1].lower() in _LABELS or len(found[1].split()) > 3:  # noqa: PLR2004  a name has few words
        return rest.strip(), None
    return rest[found.end() :].strip(), found[1].strip()


def _pieces(block: str) -> Iterator[str]:
    """A block in parts of at most 4,000 characters, cut behind a sentence where there is an end of one.

    Of some texts that are no prose the ends of sentences take the square of their length to find.
    """
    at = 0
    while len(block) - at > _PIECE_CHARS_MAX:
        ends = [found.end() for found in _ENDING.finditer(block, at, at + _PIECE_CHARS_MAX)]
        cut = ends[-1] if ends else at + _PIECE_CHARS_MAX
        yield block[at:cut]
        at = cut
    yield block[at:]


def _passages(block: _Block) -> Iterator[Passage]:
    whole = " ".join(block.lines)
    if block.form:
        if whole:
            yield Passage(whole, whole, form=block.form)
        return
    split = cast("Callable[[str, str], list[str]]", sentencex.segment)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    for raw in (sentence for piece in _pieces(whole) for sentence in split(_LANGUAGE, piece)):
        said = raw.strip()
        if said:
            # Who gives orders is kept as well, so that nobody takes them for what is so.
            kept = block.speaker and (_SOMEBODY.search(said) or block.speaker.lower() in ROLES)
            yield Passage(said, f"{block.speaker}: {said}" if kept else said)
