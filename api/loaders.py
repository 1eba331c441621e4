"""What one request shares: the service, who acts, and loaders that turn many small reads into one.

Resolvers of one level ask one at a time; a loader waits until all have asked and then calls the service
once for each project and moment among them. Nothing is kept between requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from strawberry.dataloader import DataLoader

from graph.compiled import CompiledReads
from graph.errors import LimitError
from graph.ingestion.stages import Stages
from graph.knowledge import Actor, Relation
from graph.retrieval import Retrieval
from graph.scope import Role, Scope, forbidden
from graph.service import Direction, Moment, Page, Service

ANSWER_OBJECTS_MAX = 20_000  # in lists within lists: about two seconds of work for graphql-core
IDS_MAX = 10_000  # the service takes no more ids in one call

Row = dict[str, Any]
"""A map as the service gives it."""
K = TypeVar("K", bound=Hashable)
G = TypeVar("G", bound=Hashable)
V = TypeVar("V")


class NodeAsked(NamedTuple):
    """A node, at a moment of its journal; None is now."""

    project: str
    at: Moment | None
    key: str
    generation: int


class EdgesAsked(NamedTuple):
    """The edges of a node, at a moment of its journal."""

    project: str
    at: Moment | None
    direction: Direction
    types: tuple[Relation, ...] | None
    ended: bool
    key: str
    generation: int


class HistoryAsked(NamedTuple):
    """A page of the events about a node, up to a moment of its journal."""

    project: str
    at: Moment | None
    key: str
    generation: int
    first: int
    after_seq: int


class Loaders:
    """The loaders of one request, or of one mutation in it: what they have read they give again."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.nodes = DataLoader[NodeAsked, Row | None](self._nodes, max_batch_size=IDS_MAX)
        self.evidence = DataLoader[NodeAsked, list[Row]](self._evidence, max_batch_size=IDS_MAX)
        self.edges = DataLoader[EdgesAsked, list[Row]](self._edges, max_batch_size=IDS_MAX)
        self.history = DataLoader[HistoryAsked, Page](self._history, max_batch_size=IDS_MAX)
        self.events = DataLoader[tuple[str, str], Row | None](self._events, max_batch_size=IDS_MAX)
        self.positions = DataLoader[tuple[str, datetime], Moment](self._positions, max_batch_size=IDS_MAX)

    async def _nodes(self, asked: list[NodeAsked]) -> list[Row | BaseException | None]:
        async def read(place: tuple[str, Moment | None], some: list[NodeAsked]) -> Mapping[NodeAsked, Row]:
            found = await self._service.nodes(place[0], [(one.key, one.generation) for one in some], place[1])
            return {NodeAsked(*place, *node): row for node, row in found.items()}

        return await _grouped(asked, lambda one: (one.project, one.at), read, lambda: None)

    async def _evidence(self, asked: list[NodeAsked]) -> list[list[Row] | BaseException]:
        async def read(place: tuple[str, Moment | None], some: list[NodeAsked]) -> Mapping[NodeAsked, list[Row]]:
            found = await self._service.evidence(place[0], [(one.key, one.generation) for one in some], place[1])
            return {NodeAsked(*place, *node): rows for node, rows in found.items()}

        return await _grouped(asked, lambda one: (one.project, one.at), read, list[Row])

    async def _edges(self, asked: list[EdgesAsked]) -> list[list[Row] | BaseException]:
        async def read(alike: EdgesAsked, some: list[EdgesAsked]) -> Mapping[EdgesAsked, list[Row]]:
            ids = [(one.key, one.generation) for one in some]
            found = await self._service.relations(
                alike.project,
                ids,
                alike.direction,
                alike.types,
                alike.at,
                include_ended=alike.ended,
                most=ANSWER_OBJECTS_MAX,
            )
            return {alike._replace(key=node[0], generation=node[1]): rows for node, rows in found.items()}

        return await _grouped(asked, lambda one: one._replace(key="", generation=0), read, list[Row])

    async def _history(self, asked: list[HistoryAsked]) -> list[Page | BaseException]:
        async def read(alike: HistoryAsked, some: list[HistoryAsked]) -> Mapping[HistoryAsked, Page]:
            ids = [(one.key, one.generation) for one in some]
            found = await self._service.events_about(alike.project, ids, alike.first, alike.after_seq, alike.at)
            return {alike._replace(key=node[0], generation=node[1]): page for node, page in found.items()}

        return await _grouped(asked, lambda one: one._replace(key="", generation=0), read, _no_page)

    async def _events(self, asked: list[tuple[str, str]]) -> list[Row | BaseException | None]:
        async def read(project: str, some: list[tuple[str, str]]) -> Mapping[tuple[str, str], Row]:
            found = await self._service.events_named(project, [event_id for _, event_id in some])
            return {(project, event_id): row for event_id, row in found.items()}

        return await _grouped(asked, lambda one: one[0], read, lambda: None)

    async def _positions(self, asked: list[tuple[str, datetime]]) -> list[Moment | BaseException]:
        return await asyncio.gather(
            *(self._service.position(project, as_of) for project, as_of in asked), return_exceptions=True
        )


def _no_page() -> Page:
    return Page([], has_next=False)


async def _grouped(
    asked: list[K],
    group: Callable[[K], G],
    read: Callable[[G, list[K]], Awaitable[Mapping[K, V]]],
    missing: Callable[[], V],
) -> list[V | BaseException]:
    """One ``read`` for each group; what it does not find is ``missing``; its errors go to its own keys."""
    groups: dict[G, list[K]] = {}
    for one in asked:
        groups.setdefault(group(one), []).append(one)
    answers = await asyncio.gather(*(read(g, some) for g, some in groups.items()), return_exceptions=True)
    by_group = dict(zip(groups, answers, strict=True))
    return [_picked(by_group[group(one)], one, missing) for one in asked]


def _picked(answer: Mapping[K, V] | BaseException, one: K, missing: Callable[[], V]) -> V | BaseException:
    if isinstance(answer, BaseException):
        return answer
    return answer[one] if one in answer else missing()


@dataclass(slots=True)
class Context:
    """What resolvers can reach: what the scope lets be seen of the service, what reads and what learns, loaders."""

    service: Service
    reads: CompiledReads
    retrieval: Retrieval
    stages: Stages
    scope: Scope
    loaders: Loaders
    objects: int = 0

    @classmethod
    def of(cls, service: Service, reads: CompiledReads, retrieval: Retrieval, stages: Stages, scope: Scope) -> Context:
        """A fresh context for one request."""
        seen = service.within(scope)
        return cls(seen, reads.within(scope), retrieval.within(scope), stages, scope, Loaders(seen))

    @property
    def actor(self) -> Actor:
        """Who acts unless somebody is named."""
        return self.scope.actor

    def require(self, role: Role, project: str) -> None:
        """Return where the caller may act so in a project.

        Raises:
            ForbiddenError: it may not, whether there is such a project or not.
        """
        self.scope.require(role, project, forbidden(role, project))

    def spend(self, count: int) -> None:
        """Count objects that an answer is about to hold in lists within lists.

        What a document may ask for is weighed before, but how many edges a node has is only seen here.

        Raises:
            LimitError: the answer grows beyond ``ANSWER_OBJECTS_MAX``.
        """
        self.objects += count
        if self.objects > ANSWER_OBJECTS_MAX:
            raise LimitError(
                "the answer grows too large",
                allowed=f"at most {ANSWER_OBJECTS_MAX} objects: fewer levels, fewer relations or smaller pages",
            )

    def renew(self) -> None:
        """Forget what was read: something is about to change."""
        self.loaders = Loaders(self.service)

    async def nodes(self, asked: Iterable[NodeAsked]) -> list[Row | None]:
        """The nodes in the order asked, None for those that are not there."""
        return await self.loaders.nodes.load_many(asked)


@dataclass(frozen=True, slots=True)
class Tense:
    """When an answer is about: now, an instant, or, where it is known already, a moment of the journal."""

    instant: datetime | None = None
    moment: Moment | None = None

    async def at(self, context: Context, project: str) -> Moment | None:
        """The moment in the project's journal; None for now. An instant is looked up once a request."""
        if self.moment is not None or self.instant is None:
            return self.moment
        return await context.loaders.positions.load((project, self.instant))


NOW = Tense()


def bare(row: Row, *, evidence: bool) -> Row:
    """The map without the empty list that stands for evidence that was not asked of the database."""
    if not evidence:
        row.pop("evidence", None)
    return row
