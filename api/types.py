"""The output types of the contract, as thin faces over the maps that the service gives.

Scalars stand ready on each object, so that a wide answer costs no call for them. What hangs on an object
(evidence, edges, events) is there already where the statement that found the object brought it along, and is
otherwise asked of the loaders, in the tense that the object itself was read in.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, cast

import strawberry
from strawberry import UNSET

from api.concepts import Concept
from api.fields import JSON, DateTime, Direction, Info, described, field
from api.ids import checked_first, cursor, fits, packed, place_after, unpacked
from api.inputs import chosen, given, tense_of
from api.loaders import NOW, EdgesAsked, HistoryAsked, NodeAsked, Row, Tense
from api.records import Actor, Execution, Lineage, LineageSource, PageInfo
from graph.commands import checked_event_id
from graph.errors import InternalError, ValidationError
from graph.knowledge import (
    Kind,
    NodeId,
    Relation,
    State,
    Transition,
    checked_key,
)
from graph.service import Moment


@strawberry.interface(description="Anything with a global id.")
class Node:
    """Anything with a global id."""

    @field
    def id(self) -> strawberry.ID:
        """The opaque global id."""
        raise NotImplementedError


@described
class Evidence(Node):
    """A pointer to what a node rests on."""

    row: strawberry.Private[Row]
    key: str
    type: str
    source: str = strawberry.field(description="URI of where it came from.")
    timestamp: DateTime = strawberry.field(description="When it was observed.")
    hash: str | None = strawberry.field(description="Content hash, `algorithm:hex`.")
    artifact_ref: str | None = strawberry.field(description="Immutable reference to a large artifact kept elsewhere.")

    @classmethod
    def of(cls, row: Row) -> Evidence:
        """The face of an evidence map."""
        return cls(
            row=row,
            key=row["key"],
            type=row["type"],
            source=row["source"],
            timestamp=row["timestamp"],
            hash=row["hash"],
            artifact_ref=row["artifact_ref"],
        )

    @field
    def id(self) -> strawberry.ID:
        """The opaque global id."""
        return strawberry.ID(packed("Evidence", self.row["project"], self.key))

    @field
    def metadata(self) -> JSON | None:
        """What else was said of it; null where nothing was."""
        text = self.row["metadata"]
        return None if text is None else json.loads(text)


@described
class KnowledgeEvent(Node):
    """One immutable entry of a project's journal."""

    row: strawberry.Private[Row]
    tense: strawberry.Private[Tense]
    event_id: str
    seq: int = strawberry.field(description="Position in the project's journal: 1, 2, 3, … without gaps.")
    transition: Transition
    time: DateTime = strawberry.field(description="When it happened.")
    recorded_at: DateTime = strawberry.field(description="When the journal took it.")
    reason: str | None
    state_after: State | None = strawberry.field(description="State of the node right after this event.")
    hash: str = strawberry.field(
        description="sha256 over this event's canonical JSON and the hash of the event before it in the project."
    )

    @classmethod
    def of(cls, row: Row, tense: Tense = NOW) -> KnowledgeEvent:
        """The face of an event map; ``tense`` is when the node it is about is to be read."""
        return cls(
            row=row,
            tense=tense,
            event_id=row["event_id"],
            seq=row["seq"],
            transition=row["transition"],
            time=row["time"],
            recorded_at=row["recorded_at"],
            reason=row["reason"],
            state_after=row["state_after"],
            hash=row["hash"],
        )

    @field
    def id(self) -> strawberry.ID:
        """The opaque global id."""
        return strawberry.ID(packed("KnowledgeEvent", self.row["project"], self.event_id))

    @field
    def actor(self) -> Actor:
        """Who did it."""
        actor: Mapping[str, Any] = self.row["actor"]
        return Actor(issuer=actor["issuer"], subject=actor["subject"], type=actor["type"])

    @field
    def execution(self) -> Execution | None:
        """The run, frame and task in which it happened."""
        execution: Mapping[str, str] | None = self.row["execution"]
        if execution is None:
            return None
        return Execution(
            run=execution.get("run"),
            frame=execution.get("frame"),
            task=execution.get("task"),
            parent_run=execution.get("parent_run"),
            parent_frame=execution.get("parent_frame"),
        )

    @field
    async def knowledge(self, info: Info) -> Knowledge | None:
        """The node that it is about, read at the moment of the answer."""
        project = self.row["project"]
        at = await self.tense.at(info.context, project)
        row = await info.context.loaders.nodes.load(NodeAsked(project, at, self.row["key"], self.row["generation"]))
        return None if row is None else Knowledge.of(row, self.tense)

    @field
    async def caused_by(self, info: Info) -> list[KnowledgeEvent]:
        """The earlier events that it names as its causes."""
        return await _events_named(info, self.row["project"], self.row["caused_by"], self.tense)


async def _events_named(info: Info, project: str, event_ids: Sequence[str], tense: Tense) -> list[KnowledgeEvent]:
    info.context.spend(len(event_ids))
    rows = await info.context.loaders.events.load_many((project, event_id) for event_id in event_ids)
    return [KnowledgeEvent.of(row, tense) for row in rows if row is not None]


@described
class KnowledgeEventEdge:
    """An event and its place in the list."""

    node: KnowledgeEvent
    cursor: str


@described
class KnowledgeEventConnection:
    """A page of events, oldest first."""

    edges: list[KnowledgeEventEdge]
    page_info: PageInfo

    @classmethod
    def of(
        cls, rows: Sequence[Row], within: Sequence[object], *, more: bool, before: bool, tense: Tense = NOW
    ) -> KnowledgeEventConnection:
        """A page; ``within`` names the list in its cursors, ``before`` says that something lies before it."""
        edges = [
            KnowledgeEventEdge(node=KnowledgeEvent.of(row, tense), cursor=cursor(*within, row["seq"])) for row in rows
        ]
        return cls(edges=edges, page_info=_page_info(edges, more=more, before=before))


@described
class KnowledgeEdge:
    """A node and its place in the list."""

    node: Knowledge
    cursor: str


@described
class KnowledgeConnection:
    """A page of nodes, by key and generation."""

    edges: list[KnowledgeEdge]
    page_info: PageInfo

    @classmethod
    def of(cls, rows: Sequence[Row], within: Sequence[object], *, more: bool, before: bool) -> KnowledgeConnection:
        """A page; ``within`` names the list in its cursors, ``before`` says that something lies before it."""
        edges = [
            KnowledgeEdge(node=Knowledge.of(row), cursor=cursor(*within, row["key"], row["generation"])) for row in rows
        ]
        return cls(edges=edges, page_info=_page_info(edges, more=more, before=before))


def _page_info(edges: Sequence[KnowledgeEdge] | Sequence[KnowledgeEventEdge], *, more: bool, before: bool) -> PageInfo:
    return PageInfo(
        has_next_page=more,
        has_previous_page=before,
        start_cursor=edges[0].cursor if edges else None,
        end_cursor=edges[-1].cursor if edges else None,
    )


@described
class Knowledge(Node):
    """A claim or an observation, with its state; what hangs on it answers as of the same moment."""

    row: strawberry.Private[Row]
    tense: strawberry.Private[Tense]
    project: str
    key: str
    generation: int = strawberry.field(
        description="1 for the first node of this key; a key proposed again after a terminal state gets the next."
    )
    proposition: str
    kind: Kind
    state: State
    at_risk: bool
    forgotten: bool = strawberry.field(description="Hidden from lists by `forget`; reads by key still give it.")
    valid_from: DateTime
    valid_to: DateTime | None
    updated_at: DateTime
    verified_at: DateTime | None = strawberry.field(description="When evidence last confirmed it; null if never.")
    stale: bool
    uses: int

    @classmethod
    def of(cls, row: Row, tense: Tense = NOW) -> Knowledge:
        """The face of a node map that was read in ``tense``."""
        return cls(
            row=row,
            tense=tense,
            project=row["project"],
            key=row["key"],
            generation=row["generation"],
            proposition=row["proposition"],
            kind=row["kind"],
            state=row["state"],
            at_risk=row["at_risk"],
            forgotten=row["forgotten"],
            valid_from=row["valid_from"],
            valid_to=row["valid_to"],
            updated_at=row["updated_at"],
            verified_at=row["verified_at"],
            stale=row["stale"],
            uses=row["uses"],
        )

    @property
    def node_id(self) -> NodeId:
        """(key, generation)."""
        return (self.key, self.generation)

    @field
    def id(self) -> strawberry.ID:
        """The opaque global id."""
        return strawberry.ID(packed("Knowledge", self.project, self.key, self.generation))

    @field
    def lineage(self) -> Lineage | None:
        """How it was made, where that was said."""
        text = self.row["lineage"]
        if text is None:
            return None
        read: Mapping[str, Any] = json.loads(text)
        return Lineage(
            sources=[LineageSource(type=source["type"], id=source["id"]) for source in read["sources"]],
            method=read.get("method"),
            confidence=read.get("confidence"),
            created_at=read["created_at"],
        )

    @field
    def concept(self) -> Concept | None:
        """Present when the node was recorded as a concept."""
        return Concept.of(self.row, self.tense)

    @field(graphql_type=list[Evidence])
    def evidence(self, info: Info) -> list[Evidence] | Awaitable[list[Evidence]]:
        """What it stands on, in the order of the events that said so."""
        if "evidence" in self.row:
            return [Evidence.of(row) for row in self.row["evidence"]]
        return self._evidence(info)

    async def _evidence(self, info: Info) -> list[Evidence]:
        at = await self.tense.at(info.context, self.project)
        rows = await info.context.loaders.evidence.load(NodeAsked(self.project, at, *self.node_id))
        info.context.spend(len(rows))
        return [Evidence.of(row) for row in rows]

    @field
    async def events(self, info: Info, first: int | None = 100, after: str | None = UNSET) -> KnowledgeEventConnection:
        """Oldest first."""
        within = ("events", self.project, *self.node_id)
        place = place_after(after, within, int)
        at = await self.tense.at(info.context, self.project)
        asked = HistoryAsked(self.project, at, *self.node_id, checked_first(first, 100), place[0] if place else 0)
        page = await info.context.loaders.history.load(asked)
        info.context.spend(len(page.items))
        return KnowledgeEventConnection.of(
            page.items, within, more=page.has_next, before=place is not None, tense=self.tense
        )

    @field
    async def relations(
        self,
        info: Info,
        direction: Direction | None = Direction.BOTH,
        types: list[Relation] | None = UNSET,
        as_of: DateTime | None = UNSET,
        include_ended: Annotated[  # noqa: FBT002  GraphQL arguments have names
            bool | None, strawberry.argument(description="Also the edges that have been unlinked.")
        ] = False,
    ) -> list[Edge]:
        """Edges that lead away from the node (UPSTREAM), to it (DOWNSTREAM), or both."""
        tense = tense_of(as_of) if given(as_of) is not None else self.tense
        asked = EdgesAsked(
            self.project,
            await tense.at(info.context, self.project),
            (direction or Direction.BOTH).value,
            chosen(types),
            bool(include_ended),
            *self.node_id,
        )
        found = {self.node_id: self.row} if tense == self.tense else {}
        rows = await info.context.loaders.edges.load(asked)
        info.context.spend(len(rows))
        return [Edge.of(row, found, tense) for row in rows]


@described
class Edge:
    """`from` RELATION `to`: one edge however many events state it; `until` is set once it has been unlinked."""

    row: strawberry.Private[Row]
    found: strawberry.Private[Mapping[NodeId, Row]]
    tense: strawberry.Private[Tense]
    relation: Relation
    since: DateTime
    until: DateTime | None

    @classmethod
    def of(cls, row: Row, found: Mapping[NodeId, Row], tense: Tense = NOW) -> Edge:
        """The face of an edge map; ``found`` are node maps of the same answer, by id."""
        return cls(
            row=row,
            found=found,
            tense=tense,
            relation=row["relation"],
            since=row["since"],
            until=row["until"],
        )

    @field(name="from", graphql_type=Knowledge)
    def source(self, info: Info) -> Knowledge | Awaitable[Knowledge]:
        """The node that the edge leads away from."""
        return self._end(info, self.row["from"])

    @field(name="to", graphql_type=Knowledge)
    def target(self, info: Info) -> Knowledge | Awaitable[Knowledge]:
        """The node that the edge leads to."""
        return self._end(info, self.row["to"])

    @field
    async def events(self, info: Info) -> list[KnowledgeEvent]:
        """The events that stated it."""
        at = await self.tense.at(info.context, self.row["project"])
        events = await _events_named(info, self.row["project"], self.row["event_ids"], self.tense)
        return [event for event in events if at is None or event.seq <= at.seq]

    def _end(self, info: Info, node: Sequence[Any]) -> Knowledge | Awaitable[Knowledge]:
        row = self.found.get((node[0], node[1]))
        return Knowledge.of(row, self.tense) if row is not None else self._read_end(info, node[0], node[1])

    async def _read_end(self, info: Info, key: str, generation: int) -> Knowledge:
        project = self.row["project"]
        at = await self.tense.at(info.context, project)
        row = await info.context.loaders.nodes.load(NodeAsked(project, at, key, generation))
        if row is None:
            raise InternalError("an edge ends nowhere")
        return Knowledge.of(row, self.tense)


@described
class Provenance:
    """A subgraph, each node and each edge once."""

    row: strawberry.Private[Row]
    tense: strawberry.Private[Tense]
    found: strawberry.Private[Mapping[NodeId, Row]]
    truncated: bool = strawberry.field(
        description="True where `depth` or `maxNodes` cut the walk; the nodes nearest to the root are kept."
    )
    at_seq: int = strawberry.field(description="The journal position that the answer reflects.")

    @classmethod
    def of(cls, row: Row, instant: datetime | None) -> Provenance:
        """The face of a walk's map; ``instant`` is when it was asked as of, if it was."""
        found = {(node["key"], node["generation"]): node for node in (row["root"], *row["nodes"])}
        tense = NOW if instant is None else Tense(instant, Moment(row["at_seq"], instant))
        return cls(row=row, tense=tense, found=found, truncated=row["truncated"], at_seq=row["at_seq"])

    @field
    def root(self) -> Knowledge:
        """The node that was asked about."""
        return Knowledge.of(self.row["root"], self.tense)

    @field
    def nodes(self) -> list[Knowledge]:
        """All but the root, the nearest first."""
        return [Knowledge.of(row, self.tense) for row in self.row["nodes"]]

    @field
    def edges(self) -> list[Edge]:
        """The edges between the nodes of the answer."""
        return [Edge.of(row, self.found, self.tense) for row in self.row["edges"]]

    @field
    def evidence(self) -> list[Evidence]:
        """What the nodes of the answer stand on, each record once."""
        return [Evidence.of(row) for row in self.row["evidence"]]


@described
class Impact:
    """What retiring a node puts, or would put, at risk."""

    project: strawberry.Private[str]
    key: strawberry.Private[str]
    read: strawberry.Private[ImpactPage]
    count: int

    @field
    async def nodes(self, info: Info, first: int | None = 100, after: str | None = UNSET) -> KnowledgeConnection:
        """The nodes, by key and generation."""
        page = await read_impact(info, self.project, self.key, first, after, self.read)
        return KnowledgeConnection.of(
            page.row["items"],
            _impact_list(self.project, self.key),
            more=page.row["has_next"],
            before=page.after is not None,
        )


@dataclass(frozen=True, slots=True)
class ImpactPage:
    """A page of an impact, and what was asked to get it."""

    first: int
    after: NodeId | None
    row: Row


async def read_impact(
    info: Info, project: str, key: str, first: int | None, after: str | None, read: ImpactPage | None = None
) -> ImpactPage:
    """A page of what would be put at risk; the one already read where it is the very same.

    Raises:
        KnowledgeError: no such node, a broken cursor, a page of a size that is not allowed.
    """
    count = checked_first(first, 100)
    place = cast("NodeId | None", place_after(after, _impact_list(project, key), str, int))
    if read is not None and (read.first, read.after) == (count, place):
        return read
    return ImpactPage(count, place, await info.context.service.impact(project, key, count, place))


def _impact_list(project: str, key: str) -> Sequence[object]:
    return ("impact", project, key)


@described
class Risk:
    """One retirement that puts a node at risk, and a shortest chain of dependencies from the node to it."""

    retired: Knowledge
    event: KnowledgeEvent
    path: list[Knowledge]


async def _knowledge_of_id(info: Info, project: str, key: str, generation: int) -> Node | None:
    row = await info.context.loaders.nodes.load(NodeAsked(project, None, checked_key(key, "id"), generation))
    return None if row is None else Knowledge.of(row)


async def _event_of_id(info: Info, project: str, event_id: str) -> Node | None:
    row = await info.context.loaders.events.load((project, checked_event_id(event_id, "id")))
    return None if row is None else KnowledgeEvent.of(row)


async def _evidence_of_id(info: Info, project: str, key: str) -> Node | None:
    row = (await info.context.service.evidence_by_key(project, [checked_key(key, "id")])).get(key)
    return None if row is None else Evidence.of(row)


_IDS: Mapping[str, tuple[tuple[type, ...], Callable[..., Awaitable[Node | None]]]] = {
    "Knowledge": ((str, str, int), _knowledge_of_id),
    "KnowledgeEvent": ((str, str), _event_of_id),
    "Evidence": ((str, str), _evidence_of_id),
}


async def node_of_id(info: Info, text: str) -> Node | None:
    """What a global id names; None when there is no such thing.

    Raises:
        ValidationError: the text is no id that the service gives out.
    """
    try:
        kind, parts = unpacked(text)
        form, read = _IDS[kind]
        known = fits(parts, form)
    except (ValueError, KeyError, RecursionError):
        known, parts, read = False, [], _knowledge_of_id
    if not known:
        raise ValidationError("the id is not one that was given out", field="id", allowed="the id of an answer")
    return await read(info, checked_key(parts[0], "id"), *parts[1:])
