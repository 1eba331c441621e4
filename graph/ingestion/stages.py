"""The steps of ingestion as protocols: whoever has a better one says so in a setting, and the others stay as they are.

What a step gives is data to the next one; none of them writes anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from graph.embedding.embedder import Vector
from graph.knowledge import NodeId, Relation
from graph.recording import Consolidator


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text that says something of its own.

    Attributes:
        raw: As it stands in the text; of a model's wording, what the model answered.
        claim: What it says, so that it can be understood without the text around it.
        summary: What the distiller says it comes to; empty where it says nothing of the kind.
        worded: Whether a model chose the words, so that nobody has said them yet.
        form: What it is where its form alone tells that it states nothing, as ``a heading``; else empty.
    """

    raw: str
    claim: str
    summary: str = ""
    worded: bool = False
    form: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """That a claim says how it is related to something it names: the relation, the name, and the words that say so."""

    relation: Relation
    name: str
    matched: str


@dataclass(frozen=True, slots=True)
class Validity:
    """What is to be thought of a claim.

    Attributes:
        consistency: 1 for a plain statement, 0 for what states nothing.
        doubts: Why it is less than 1, as short sentences.
    """

    consistency: float
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quality:
    """What the gate goes by, each from 0 to 1 (rules.md section 11)."""

    extraction: float
    consistency: float
    freshness: float
    usage: float = 0.0

    @property
    def final(self) -> float:
        """All of it in one number, from 0 to 1."""
        return 0.4 * self.extraction + 0.3 * self.consistency + 0.2 * self.freshness + 0.1 * self.usage

    def text(self) -> str:
        """As it stands in a reason."""
        parts = ("extraction", "consistency", "freshness", "usage")
        return f"quality {self.final:.2f}: " + ", ".join(f"{name} {getattr(self, name):.2f}" for name in parts)


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim with all that is known of it when the gate looks at it."""

    passage: Passage
    proposition: str
    summary: str
    validity: Validity
    mentions: tuple[Mention, ...] = ()
    targets: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Known:
    """What of some propositions is known already; each field has one entry for each of them, or none at all.

    Attributes:
        nodes: The live node that says it; None where none does.
        earlier: Which of the propositions before it says it; None where none does.
        vectors: The model's, where it was asked.
        opposed: Whether a live node, or another of the propositions, says otherwise in the same words.
        denied: The live node, or which of the propositions before it, says that it is not so; None where none does.
    """

    nodes: Sequence[NodeId | None]
    earlier: Sequence[int | None]
    vectors: Sequence[Vector] = ()
    opposed: Sequence[bool] = ()
    denied: Sequence[NodeId | int | None] = ()


class Distiller(Protocol):
    """Takes out of a text what it says."""

    @property
    def name(self) -> str:
        """As it stands in the lineage of what came of it."""
        ...

    async def distil(self, text: str) -> Sequence[Passage]:
        """The passages of a text, in its order.

        Raises:
            UnavailableError: a model that it needs cannot be had.
        """
        ...


class Normalizer(Protocol):
    """Brings a claim into the form in which it is stored."""

    def normalize(self, claim: str) -> str:
        """The proposition; empty where nothing is left."""
        ...


class Matcher(Protocol):
    """Knows which nodes names stand for."""

    async def match(self, project: str, names: Sequence[str]) -> Mapping[str, str]:
        """The keys of live nodes by the names that stand for them; a name that stands for none is left out."""
        ...


class Validator(Protocol):
    """Judges whether a claim states something."""

    def validate(self, proposition: str) -> Validity:
        """What is to be thought of it."""
        ...


class Summarizer(Protocol):
    """Says a claim shorter."""

    def summarize(self, proposition: str) -> str:
        """One line."""
        ...


class RelationExtractor(Protocol):
    """Reads out of a claim how it is related to what it names."""

    def relations(self, claim: str) -> Sequence[Mention]:
        """The mentions, in the order of the text."""
        ...


class Gate(Protocol):
    """Decides what is good enough to be knowledge."""

    def judge(self, fact: Fact, age: timedelta) -> tuple[Quality, str | None]:
        """The quality, and why the fact does not pass; None where it does.

        Args:
            fact: The fact.
            age: How long ago it was said.
        """
        ...


class Duplicates(Protocol):
    """Finds live nodes that say what a claim says."""

    async def find(self, project: str, propositions: Sequence[str]) -> Known:
        """What of some propositions is known already."""
        ...

    async def learned(self, project: str, nodes: Sequence[tuple[NodeId, str, Vector]]) -> None:
        """Told the nodes that became of propositions, with the vectors that were made of these."""
        ...


class Promotion(Protocol):
    """Decides which of the facts that passed are confirmed at once."""

    def promotes(self, fact: Fact, quality: Quality) -> bool:
        """Whether it is confirmed; else it stays proposed."""
        ...


@dataclass(frozen=True, slots=True)
class Stages:
    """The steps that one service uses; without a consolidator, differing texts of one concept contradict each other."""

    distiller: Distiller
    normalizer: Normalizer
    matcher: Matcher
    validator: Validator
    summarizer: Summarizer
    relation_extractor: RelationExtractor
    gate: Gate
    duplicates: Duplicates
    promotion: Promotion
    consolidator: Consolidator | None
