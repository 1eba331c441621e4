"""The eleven operations by which an agent's memory knows its store, as a protocol over one project.

Whoever implements them keeps the rules: what was saved is never overwritten, what is deleted is hidden and not gone,
and a state changes by an event that says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from graph.embedding.embedder import Vector
from graph.embedding.profile import Profile
from graph.errors import KnowledgeError
from graph.filters import Filter
from graph.ingestion.stages import Quality
from graph.knowledge import Kind, NodeId, Relation, State
from graph.store import Taken

CANDIDATES = 100  # of each tier of a hybrid search: asked for fewer, the index of vectors misses some of the nearest
SCORED = 5  # of them that are given


@dataclass(frozen=True, slots=True)
class KnowledgeObject:
    """A node with what it stands on and what it leads to.

    The fields from ``generation`` on are the store's answer; a saved object's are not looked at.

    Attributes:
        key: Its identity in the project.
        proposition: What it says: 1 to 10,000 characters.
        kind: Whether somebody claims it or it was observed.
        evidence: Records as journal lines have them: type and source, and whatever else is known.
        relations: Where its edges lead, as (relation, key).
        lineage: How it was made, as journal lines have it; None where nobody said.
        generation: Which node of the key it is, from 1 on.
        state: Where it stands in its lifecycle.
        at_risk: Whether something that it rests on was retired.
        stale: Whether nothing verified it within the project's aging time.
    """

    key: str
    proposition: str
    kind: Kind = Kind.CLAIM
    evidence: Sequence[Mapping[str, Any]] = ()
    relations: Sequence[tuple[Relation, str]] = ()
    lineage: Mapping[str, Any] | None = None
    generation: int = 1
    state: State = State.PROPOSED
    at_risk: bool = False
    stale: bool = False


@dataclass(frozen=True, slots=True)
class ObjectPage:
    """Objects by key and generation, and behind which node the next page begins; None on the last one."""

    objects: list[KnowledgeObject]
    after: NodeId | None


@dataclass(frozen=True, slots=True)
class Representation:
    """One model's vector of the newest node of a key; the vectors of several models stand beside each other."""

    key: str
    profile: Profile
    vector: Vector


@dataclass(frozen=True, slots=True)
class HybridQuery:
    """What a hybrid search goes by.

    Attributes:
        text: What about: 1 to 10,000 characters.
        profile: The model that made the vector; None for words alone.
        vector: Where the text lies, as the caller had it embedded.
        kinds: Those that are wanted; all for None.
        states: Those that are wanted.
        candidates: Of each tier that are scored, 1 to 1,000.
        limit: Objects of the answer, 1 to ``candidates``.
        score_min: What scores less is left out.
    """

    text: str
    profile: Profile | None = None
    vector: Vector | None = None
    kinds: Sequence[Kind] | None = None
    states: Sequence[State] = (State.CONFIRMED,)
    candidates: int = CANDIDATES
    limit: int = SCORED
    score_min: float = 0.0


@dataclass(frozen=True, slots=True)
class Scored:
    """An object that a hybrid search found.

    Attributes:
        object: It.
        cosine: Of its vector and the asked one, -1 to 1; None where one of them is missing.
        likeness: Of its words and the asked ones, 0 to 1.
        score: 0.7 of the cosine and 0.3 of the likeness; the likeness alone where there is no cosine.
    """

    object: KnowledgeObject
    cosine: float | None
    likeness: float
    score: float


@dataclass(frozen=True, slots=True)
class Change:
    """What a change of state says beside the state.

    Attributes:
        reason: Why; challenging and invalidating need one.
        by: The key that supersedes the object; superseding needs it.
        evidence: What speaks for the change.
        event_id: By which a repeat is known again; made where it is None.
    """

    reason: str | None = None
    by: str | None = None
    evidence: Sequence[Mapping[str, Any]] = field(default_factory=tuple[Mapping[str, Any], ...])
    event_id: str | None = None


class KnowledgeStore(Protocol):
    """Persists knowledge objects of one project.

    Every operation may raise UnavailableError where the database cannot be had, and ValidationError for a value that
    is not of its form.
    """

    async def save(self, *objects: KnowledgeObject) -> list[Taken | KnowledgeError]:
        """Propose objects in their order, in one transaction; each has its own answer or refusal.

        The same claim again changes nothing, but that a deleted object is there again; another claim of a key that
        lives is refused. A retired key begins its next generation.

        Raises:
            LimitError: more than 1,000 objects.
        """
        ...

    async def get(self, key: str) -> KnowledgeObject:
        """The newest generation of a key.

        Raises:
            NotFoundError: there is none, or it was deleted.
        """
        ...

    async def query(self, wanted: Filter, first: int = 50, after: NodeId | None = None) -> ObjectPage:
        """A page of what a filter lets through, 1 to 1,000 objects behind the node ``after``; nothing deleted.

        Raises:
            LimitError: a larger page.
        """
        ...

    async def delete(self, key: str, event_id: str | None = None) -> Taken:
        """Hide an object from all other operations; its history stays.

        Raises:
            NotFoundError: there is none.
        """
        ...

    async def search(self, text: str, limit: int = 20, model: str | None = None) -> list[KnowledgeObject]:
        """What answers a text, best first, by words and by the meaning that a model of this name sees; never retired.

        Raises:
            LimitError: more than 200 objects.
            ValidationError: no such model is in use here.
        """
        ...

    async def save_representation(self, representation: Representation) -> None:
        """Keep a model's vector of an object; its length is brought to 1. It replaces an earlier one of the model.

        Raises:
            NotFoundError: there is no such object.
        """
        ...

    async def get_representation(self, key: str, profile: Profile) -> Representation:
        """A model's vector of an object.

        Raises:
            NotFoundError: there is no such object, or the model has no vector of it.
        """
        ...

    async def hybrid_search(self, wanted: HybridQuery) -> list[Scored]:
        """What words and a given vector find, best first, equals by key.

        Raises:
            LimitError: more candidates than are looked at.
        """
        ...

    async def list_by_status(self, status: State, limit: int = 50) -> list[KnowledgeObject]:
        """Objects in one state, by key, 1 to 1,000; candidates are proposed, active ones confirmed.

        Raises:
            LimitError: a larger limit.
        """
        ...

    async def update_status(self, key: str, status: State, change: Change | None = None) -> Taken:
        """Confirm, challenge, supersede or invalidate an object.

        Raises:
            NotFoundError: there is none.
            TerminalStateError, AuthorityError, RelationRefusedError: the rules of the lifecycle are against it.
            ValidationError: nothing becomes proposed or corrected in this way, or the change lacks what it needs.
        """
        ...

    async def promote(self, key: str, quality: Quality, event_id: str | None = None) -> Taken:
        """Confirm an object with its quality as the reason.

        Raises:
            NotFoundError, TerminalStateError: there is none, or it is retired.
        """
        ...
