"""Linking: what connects pieces of several providers, as far as they say it themselves; nothing is guessed from words.

A linker takes all pieces and gives links between them. What many share connects each with the first of them, so that
links grow with the pieces and not with their pairs.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from graph.reading.provider import Piece

LINKS_MAX = 10_000  # of one reading
SHARED_MAX = 20  # others on the same evidence, as search has it: what everything stands on connects nothing
SAME_NAME, RELATED, EVIDENCE = "same_name", "related_to", "evidence"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """That two pieces, by their numbers, are connected, and how; ``relation`` is one word."""

    source: int
    target: int
    relation: str


Linker = Callable[[Sequence[Piece]], Iterable[Link]]


def same_names(pieces: Sequence[Piece]) -> Iterator[Link]:
    """Pieces of one key are about the same thing."""
    return _connected(_grouped((_name(piece.key), at) for at, piece in enumerate(pieces)), SAME_NAME)


def links(pieces: Sequence[Piece]) -> Iterator[Link]:
    """A ``[[link]]`` leads to the first piece of that key."""
    first: dict[str, int] = {}
    for at, piece in enumerate(pieces):
        first.setdefault(_name(piece.key), at)
    for at, piece in enumerate(pieces):
        for target in piece.links:
            if _name(target) in first:
                yield Link(at, first[_name(target)], RELATED)


def shared_evidence(pieces: Sequence[Piece]) -> Iterator[Link]:
    """Pieces that come from the same source, or stand on it."""
    groups = _grouped((source, at) for at, piece in enumerate(pieces) for source in _sources(piece))
    return _connected((group for group in groups if len(group) <= SHARED_MAX + 1), EVIDENCE)


LINKERS: Sequence[Linker] = (same_names, links, shared_evidence)


def linked(pieces: Sequence[Piece], linkers: Sequence[Linker] = LINKERS) -> list[Link]:
    """All links between different pieces, each once, sorted; at most 10,000, in the order of the linkers."""
    found = (link for linker in linkers for link in linker(pieces) if link.source != link.target)
    return sorted(set(islice(found, LINKS_MAX)))


def _name(key: str) -> str:
    return unicodedata.normalize("NFC", key)


def _sources(piece: Piece) -> list[str]:
    if piece.stored is None:
        return [piece.source]
    return list(dict.fromkeys(record["source"] for record in piece.stored.evidence))


def _grouped(named: Iterable[tuple[str, int]]) -> Iterable[list[int]]:
    groups: dict[str, list[int]] = {}
    for name, at in named:
        groups.setdefault(name, []).append(at)
    return groups.values()


def _connected(groups: Iterable[Sequence[int]], relation: str) -> Iterator[Link]:
    for group in groups:
        yield from (Link(group[0], at, relation) for at in group[1:])
