"""The default distiller: a text's sentences, each a passage, without what states nothing by its form.

Headings, tables, code and rules are left out; a bullet is a passage of its own; hard line breaks within a paragraph are
blanks. In a conversation who speaks is kept where a sentence says I or you, since nobody else can tell who that is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import sentencex  # pyright: ignore[reportMissingTypeStubs]

from graph.ingestion.stages import Passage

_LANGUAGE = "en"  # of the abbreviations that end no sentence; the ends of sentences are known in all scripts
FENCE = re.compile(r"\s*(```|~~~)")
_SKIPPED = re.compile(r"\s*(#{1,6}\s|\||[-*_=]{3,}\s*$)")
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
        return [passage for speaker, block in _blocks(text) for passage in _passages(speaker, block)]


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs and bullets, each with who speaks, or an empty name."""
    speaker, lines, fenced = "", list[str](), False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
            line = ""  # noqa: PLW2901  it ends what was before it, and says nothing
        if fenced or not line.strip() or _SKIPPED.match(line):
            if lines:
                yield speaker, "\n".join(lines)
            speaker, lines = "", []
            continue
        said, begins = _said(line)
        if begins is not None or _BULLET.match(line):
            if lines:
                yield speaker, "\n".join(lines)
            speaker, lines = begins or "", []
        lines.append(said)
    if lines:
        yield speaker, "\n".join(lines)


def _said(line: str) -> tuple[str, str | None]:
    """A line without what marks it, and who begins to speak there; None where nobody does."""
    marked = _BULLET.match(line) or _QUOTE.match(line)
    rest = line if marked is None else line[marked.end() :]
    found = _SPEAKER.match(rest)
    if found is None or found[1].lower() in _LABELS or len(found[1].split()) > 3:  # noqa: PLR2004  a name has few words
        return rest.strip(), None
    return rest[found.end() :].strip(), found[1].strip()


def _passages(speaker: str, block: str) -> Iterator[Passage]:
    split = cast("Callable[[str, str], list[str]]", sentencex.segment)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    for raw in split(_LANGUAGE, " ".join(block.split("\n"))):
        said = raw.strip()
        if said:
            yield Passage(said, f"{speaker}: {said}" if speaker and _SOMEBODY.search(said) else said)
