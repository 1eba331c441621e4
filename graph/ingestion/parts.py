"""A document as parts that one call each can take: cut between paragraphs or bullets, else behind a sentence's end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from graph.ingestion.pipeline import FACTS_MAX
from graph.ingestion.sentences import FENCE

PART_CHARS_MAX = 50_000
_SENTENCES_MAX = FACTS_MAX - 5  # as they are counted here, which is about as the distiller will
_WIDE_ENDS = "\u3002\uff01\uff1f"
_CLOSING = "\"')\\]\u201d\u2019"
_SENTENCE = re.compile(rf"(?<![.!?])[.!?]++[{_CLOSING}]*+(?=\s|$)|[{_WIDE_ENDS}][{_CLOSING}]*")
_END = re.compile(rf"[.!?:;{_WIDE_ENDS}][{_CLOSING}]*\s*$|^\s*$")
_BEGINNING = re.compile(r"\s*(?:[-*+\u2022>]\s|\d{1,3}[.)]\s|#{1,6}\s|[\w][\w .'-]{0,39}:\s)")


def parts(lines: Iterable[str]) -> Iterator[str]:
    """The parts of a document, none of them blank.

    Args:
        lines: Its lines, with their ends; what nothing divides is cut at 50,000 characters.
    """
    held, chars, sentences, fenced = list[str](), 0, 0, False
    for line in _short(lines):
        full = sentences >= _SENTENCES_MAX or chars + len(line) > PART_CHARS_MAX
        divided = not fenced and held and (_END.search(held[-1]) or FENCE.match(held[-1]) or _BEGINNING.match(line))
        if full and (divided or chars + len(line) > PART_CHARS_MAX):
            yield from _said(held)
            held, chars, sentences = [], 0, 0
        fenced = fenced != bool(FENCE.match(line))
        sentences += 0 if fenced or not line.strip() else max(1, len(_SENTENCE.findall(line)))
        chars += len(line)
        held.append(line)
    yield from _said(held)


def _said(held: list[str]) -> Iterator[str]:
    text = "".join(held)
    if text.strip():
        yield text


def _short(lines: Iterable[str]) -> Iterator[str]:
    """The lines; one that says more than a part may in several pieces."""
    for line in lines:
        at = last = sentences = 0
        ends = [found.end() for found in _SENTENCE.finditer(line)]
        for number, end in enumerate((*ends, len(line))):
            full = sentences == _SENTENCES_MAX and number < len(ends)
            if last > at and (full or end - at > PART_CHARS_MAX):
                yield line[at:last]
                at, sentences = last, 0
            while end - at > PART_CHARS_MAX:
                yield line[at : at + PART_CHARS_MAX]
                at += PART_CHARS_MAX
            last, sentences = end, sentences + 1
        yield line[at:]
