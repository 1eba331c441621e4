"""What the read loop asks of a provider of knowledge, and the forms of what it gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from graph.knowledge import Kind
from graph.retrieval import Item, Retrieval
from graph.rows import Row

NAME_CHARS_MAX = 40  # of a provider, which stands before the key of each of its pieces
LINKS_MAX = 500  # of one piece, as many as a concept has


@dataclass(frozen=True, slots=True)
class Request:
    """What a provider is asked.

    Attributes:
        project: Whose reading it is; a provider that knows no projects need not look at it.
        goal: What about: 1 to 10,000 characters.
        limit: Pieces that are taken of it, 40 to 200; what comes behind them is not read.
    """

    project: str
    goal: str
    limit: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What the project itself holds: an item of its retrieval, and what that stands on."""

    item: Item
    evidence: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that serves the goal.

    Attributes:
        key: What the provider knows it by: 1 to 200 characters; pieces of several providers with one key are about
            the same thing.
        text: What it says: 1 to 10,000 characters.
        score: How well it serves, above 0; only compared with other pieces of the same provider.
        source: URI of where it came from.
        source_type: What stands there, as the type of evidence: ``file``, ``commit``.
        kind: Whether somebody claims it or it was observed.
        valid_from: Since when it holds; None where nobody said.
        links: Keys of what it is about or leads to.
        cautions: What to bear in mind, as sentences.
        stored: Where the project holds it; it was redacted and checked when it was written.
    """

    key: str
    text: str
    score: float
    source: str
    source_type: str
    kind: Kind = Kind.CLAIM
    valid_from: datetime | None = None
    links: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    stored: Stored | None = None


@dataclass(frozen=True, slots=True)
class Omitted:
    """What a provider left out: how many, and the first of them as (key, reason)."""

    count: int
    named: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Basis:
    """Which state of the project's journal is read, and by which model; only the store's provider says so."""

    seq: int
    embedder: str | None = None


class Provider(Protocol):
    """A source of knowledge that can be read for a goal."""

    @property
    def name(self) -> str:
        """By which it is told from the others of a reading: 1 to 40 characters."""
        ...

    def intent_match(self, goal: str) -> float:
        """How much the goal is its matter, 0 to 1; at 0 it is not asked. It must answer at once."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Piece | Omitted | Basis]:
        """Pieces, best first, and what was left out.

        It is cancelled at the deadline; what it gave until then counts. It must not hold up the event loop.

        Raises:
            KnowledgeError: it cannot be read; the message is told to who asked. Of other errors only the kind is.
        """
        ...


class ProviderFactory(Protocol):
    """What an entry point of the group ``whence.providers`` names: it makes a provider and reads nothing yet."""

    def __call__(self, name: str, location: str, retrieval: Retrieval) -> Provider:
        """Make a provider.

        Args:
            name: By which it is told from the others.
            location: Where what it reads is, in a form of its own.
            retrieval: Finds what projects hold.
        """
        ...
