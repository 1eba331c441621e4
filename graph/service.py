"""The use cases: what the API and the command ask of the projects in a store.

Bounds and defaults of the contract are enforced here, so that every caller meets the same ones. Answers are maps as
one statement made them; instants in them are text in UTC. Reads of the past are told by a ``Moment``.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from graph import audit, exchange, rebuild, risk
from graph.aging_times import AgingTimes, is_stale
from graph.commands import Command
from graph.concept import concept_then
from graph.errors import KnowledgeError, LimitError, NotFoundError, ValidationError, missing_node
from graph.feed import Batch, Feed
from graph.filters import Filter
from graph.fold import ALWAYS
from graph.group_commit import GroupCommit
from graph.journal import Head
from graph.knowledge import Kind, NodeId, Relation, State, checked_key, instant_text, spellings
from graph.policies import Policies
from graph.readiness import Readiness
from graph.risk_graph import RiskGraph
from graph.rows import Row, event_of, id_of
from graph.scope import Scope
from graph.store import Store, Taken

FIRST_MAX = 1_000  # items a page: what a person pages through and a frontend holds
DEPTH_MAX = 100  # hops of a walk; the ceiling in cypher/provenance_*.cypher
NODES_MAX = 10_000  # nodes of one walk
IDS_MAX = 10_000  # nodes asked for in one statement
EDGES_MAX = 200_000  # edges of nodes in one answer, some 400 bytes each
RISK_GRAPH_MAX = 200_000  # nodes looked at to answer what was, or why something is, at risk
_ALL = tuple(relation.value.upper() for relation in Relation)

Direction = Literal["upstream", "downstream", "both"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in a project's journal: its newest position then, and the instant that was asked for."""

    seq: int
    instant: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """A page of maps in a total order, and whether there are more behind it."""

    items: list[Row]
    has_next: bool


class Service:
    """Projects of knowledge in one store.

    Args:
        store: Where they are.
        clock: The present, for recorded times and for what is stale.
        grown: Told the name of each project whose journal has grown by what was taken here.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        grown: Callable[[str], None] = lambda _project: None,
    ) -> None:
        self.store = store
        self.readiness = Readiness(store.driver, store.database, store.require_room)
        self.now = clock
        self.aging = AgingTimes(store, clock)
        self.policies = Policies(store)
        self._appends = GroupCommit(store, clock)
        self._grown = grown
        self.feed = Feed(store)

    def within(self, scope: Scope) -> Service:
        """This service as a caller may use it: other projects are not there, and a role is needed to write."""
        seen = copy(self)
        seen.store = self.store.within(scope)
        seen.aging, seen.policies = self.aging.within(scope), self.policies.within(scope)
        return seen

    async def run(self, command: Command) -> Taken:
        """Take one command; raises KnowledgeError: its refusal, or why it was not taken, or may not have been."""
        answer = (await self.run_many([command]))[0]
        if isinstance(answer, KnowledgeError):
            raise answer
        return answer

    async def run_many(self, commands: Sequence[Command]) -> list[Taken | KnowledgeError]:
        """Take commands in their order, in one transaction; each is answered or refused by itself.

        Raises:
            ForbiddenError: the scope does not cover one of them; then none is taken.
            NotFoundError: the same, where a stranger names a node.
            KnowledgeError: why they were not taken, or may not have been.
        """
        if self.store.scope is not None:
            for command in commands:
                self.store.scope.require_command(command)
        answers = await self._appends.append(commands)
        for project in {answer.project for answer in answers if isinstance(answer, Taken) and answer.applied}:
            self._grown(project)
            self.feed.wake(project)
        return answers

    async def projects(self) -> list[str]:
        """The names of all projects that are seen, sorted."""
        return [row["name"] for row in await self.store.read("project_list", projects=self.store.projects)]

    async def head(self, project: str) -> Head | None:
        """The newest event's position, hash and recorded time; None for a project without events."""
        rows = await self.store.read("project_head", project=project)
        if not rows:
            return None
        return Head(rows[0]["seq"], rows[0]["hash"], datetime.fromisoformat(rows[0]["recorded_at"]))

    async def position(self, project: str, as_of: datetime) -> Moment:
        """The moment of a project's journal at an instant; position 0 before its first event."""
        rows = await self.store.read("position_at", project=project, instant=instant_text(as_of))
        return Moment(rows[0]["seq"] or 0 if rows else 0, as_of)

    async def knowledge(
        self,
        project: str,
        key: str,
        generation: int | None = None,
        as_of: datetime | None = None,
        *,
        evidence: bool = False,
    ) -> Row | None:
        """The node of a key: its newest generation, or the one asked for; None when there is none.

        Keys are compared after NFC. With ``as_of``, as the journal had it at that instant, what was at risk included.
        """
        for spelling in spellings(checked_key(key, "key")):
            if node := await self._knowledge(project, spelling, generation, as_of, evidence=evidence):
                return node
        return None

    async def _knowledge(
        self, project: str, key: str, generation: int | None, as_of: datetime | None, *, evidence: bool
    ) -> Row | None:
        if as_of is not None:
            at = await self.position(project, as_of)
            if generation is None:
                rows = await self.store.read("generation_as_of", project=project, key=key, seq=at.seq)
                if not rows:
                    return None
                generation = int(rows[0]["generation"])
            return (await self.nodes(project, [(key, generation)], at)).get((key, generation))
        lowest, highest = (1, ALWAYS) if generation is None else (generation, generation)
        rows = await self.store.read(
            "knowledge_get", project=project, key=key, lowest=lowest, highest=highest, evidence=evidence
        )
        return (await self.aged(project, [rows[0]["node"]]))[0] if rows else None

    async def nodes(self, project: str, ids: Sequence[NodeId], at: Moment | None = None) -> dict[NodeId, Row]:
        """Nodes by key and generation, now or at a moment; what does not exist (yet) is left out.

        Raises:
            LimitError: more than 10,000 at once.
        """
        _refuse_many(ids)
        if at is None:
            rows = await self.store.read("knowledge_nodes", project=project, ids=_listed(ids))
            return {id_of(node): node for node in await self.aged(project, [row["node"] for row in rows])}
        rows = await self.store.read("knowledge_as_of", project=project, ids=_listed(ids), seq=at.seq)
        found = {id_of(row["node"]): row["node"] for row in rows}
        marked = await self._marked_then(project, [i for i, node in found.items() if not node["retired"]], at)
        limit = await self.aging.limit(project, at.instant)
        return {i: _then(node, at_risk=i in marked, stale=is_stale(node, limit)) for i, node in found.items()}

    async def page(
        self, project: str, wanted: Filter, first: int, after: NodeId | None = None, *, evidence: bool = False
    ) -> Page:
        """A page of the nodes that a filter lets through, by key and generation, behind the node ``after``."""
        _check_first(first)
        asked = wanted.page(project, first + 1, after, await self.aging.limit(project))
        rows = await self.store.read(wanted.statement, **asked, evidence=evidence)
        return _paged(await self.aged(project, [row["node"] for row in rows]), first)

    async def evidence(self, project: str, ids: Sequence[NodeId], at: Moment | None = None) -> dict[NodeId, list[Row]]:
        """What nodes stand on, in the order of the events that said so."""
        _refuse_many(ids)
        seq = ALWAYS if at is None else at.seq
        rows = await self.store.read("evidence_of", project=project, ids=_listed(ids), seq=seq)
        return {id_of(row): row["evidence"] for row in rows}

    async def evidence_by_key(self, project: str, keys: Sequence[str]) -> dict[str, Row]:
        """Evidence by key; what does not exist is left out."""
        rows = await self.store.read("evidence_named", project=project, keys=list(keys))
        return {row["evidence"]["key"]: row["evidence"] for row in rows}

    async def relations(
        self,
        project: str,
        ids: Sequence[NodeId],
        direction: Direction = "both",
        types: Sequence[Relation] | None = None,
        at: Moment | None = None,
        *,
        include_ended: bool = False,
        most: int = EDGES_MAX,
    ) -> dict[NodeId, list[Row]]:
        """The edges of nodes, now or at a moment; ended ones only where they are asked for.

        Upstream is where a node's outgoing edges lead, downstream where its incoming ones come from.

        Raises:
            LimitError: more than 10,000 nodes at once, or more than ``most`` edges in all.
        """
        _refuse_many(ids)
        rows = await self.store.read(
            "relations_of",
            project=project,
            ids=_listed(ids),
            upstream=direction != "downstream",
            downstream=direction != "upstream",
            types=_types(types),
            seq=None if at is None else at.seq,
            ended=include_ended,
            most=most + 1,
        )
        if len(rows) > most:
            raise LimitError("the nodes have too many edges", allowed=f"at most {most} edges: fewer nodes or relations")
        found: dict[NodeId, list[Row]] = {node_id: [] for node_id in ids}
        for row in rows:
            found[row["of"][0], row["of"][1]].append(_edge_then(row["edge"], at))
        return found

    async def events_about(
        self, project: str, ids: Sequence[NodeId], first: int, after_seq: int = 0, at: Moment | None = None
    ) -> dict[NodeId, Page]:
        """For each node a page of the events about it, oldest first, behind position ``after_seq``."""
        _check_first(first)
        _refuse_many(ids)
        rows = await self.store.read(
            "events_about",
            project=project,
            ids=_listed(ids),
            after=after_seq,
            until=ALWAYS if at is None else at.seq,
            first=first + 1,
        )
        found: dict[NodeId, list[Row]] = {node_id: [] for node_id in ids}
        for row in rows:
            found[row["of"][0], row["of"][1]].append(_event_map(row["event"]))
        return {node_id: _paged(events, first) for node_id, events in found.items()}

    async def journal(self, project: str, after_seq: int, first: int) -> Page:
        """A page of a project's journal, oldest first, behind position ``after_seq``."""
        _check_first(first)
        if after_seq < 0:
            raise ValidationError("a position is not negative", field="afterSeq", allowed="0 or more")
        rows = await self.store.read("journal_page", project=project, after=after_seq, until=ALWAYS, first=first + 1)
        return _paged([_event_map(row["event"]) for row in rows], first)

    async def follow(self, project: str, after_seq: int | None = None) -> AsyncGenerator[Batch | None, None]:
        """A project's events behind a position as they come, or from now on; see ``Feed.follow``."""
        if after_seq is not None and after_seq < 0:
            raise ValidationError("a position is not negative", field="afterSeq", allowed="0 or more")
        return await self.feed.follow(self.store.seen(project), after_seq)

    async def events_named(self, project: str, event_ids: Sequence[str]) -> dict[str, Row]:
        """Events by event id; what does not exist is left out."""
        rows = await self.store.read("events_named", project=project, event_ids=list(event_ids))
        return {row["event"]["event_id"]: _event_map(row["event"]) for row in rows}

    async def events_at(self, project: str, seqs: Sequence[int]) -> dict[int, Row]:
        """Events by position; what does not exist is left out."""
        rows = await self.store.read("events_at", project=project, seqs=list(seqs))
        return {row["event"]["seq"]: _event_map(row["event"]) for row in rows}

    async def provenance(
        self,
        project: str,
        key: str,
        *,
        direction: Direction = "upstream",
        relations: Sequence[Relation] | None = None,
        depth: int = 6,
        max_nodes: int = 1_000,
        as_of: datetime | None = None,
        evidence: bool = True,
    ) -> Row:
        """What a node came from or rests on, or what came from it: a subgraph, nearest first.

        Args:
            project: Where the node is.
            key: Its key; the newest generation is the root.
            direction: ``upstream`` follows outgoing edges, ``downstream`` incoming ones, ``both`` either.
            relations: The relations to follow; all of them unless given.
            depth: Hops, 0 to 100.
            max_nodes: Nodes beside the root, 1 to 10,000.
            as_of: The instant of the journal to answer for.
            evidence: Whether the nodes carry their evidence.

        Returns:
            root, nodes (each once, with its distance, without the root), edges (each once), evidence (each once),
            truncated (whether the walk was cut) and at_seq (the position that the answer reflects).

        Raises:
            NotFoundError: no such node (then).
            ValidationError, LimitError: a number out of its range.
        """
        _check_range(depth, "depth", 0, DEPTH_MAX)
        _check_range(max_nodes, "maxNodes", 1, NODES_MAX)
        root = await self.knowledge(project, key, as_of=as_of)
        if root is None:
            raise missing_node(key)
        at = None if as_of is None else await self.position(project, as_of)
        head = await self.head(project) if at is None else at
        walk = await self._walk(project, id_of(root), at, direction, relations, depth, max_nodes, evidence=evidence)
        maps = {id_of(node): node for node in await self.aged(project, walk["maps"])}
        if at is not None:
            maps = await self.nodes(project, list(maps), at)
        nodes = [maps[k, g] | {"distance": distance} for k, g, distance in walk["nodes"]]
        return {
            "root": maps[id_of(root)],
            "nodes": nodes,
            "edges": [_edge_then(edge, at) for edge in walk["edges"]],
            "evidence": _each_once([maps[id_of(root)], *nodes]) if evidence else [],
            "truncated": walk["cut"],
            "at_seq": 0 if head is None else head.seq,
        }

    async def _walk(
        self,
        project: str,
        root: NodeId,
        at: Moment | None,
        direction: Direction,
        relations: Sequence[Relation] | None,
        depth: int,
        max_nodes: int,
        *,
        evidence: bool,
    ) -> Row:
        rows = await self.store.read(
            f"provenance_{direction}",
            depth=max(depth, 1),
            project=project,
            key=root[0],
            generation=root[1],
            types=_types(relations),
            seq=None if at is None else at.seq,
            # Depth 0 keeps the root alone; whether that cuts something the walk tells all the same.
            max_nodes=max_nodes if depth else 0,
            evidence=evidence,
        )
        return rows[0]

    async def impact(self, project: str, key: str, first: int = 100, after: NodeId | None = None) -> Row:
        """What retiring a node puts, or would put, at risk: how many, and a page of them by key.

        Raises:
            NotFoundError: no such node.
        """
        _check_first(first)
        root = await self.knowledge(project, key)
        if root is None:
            raise missing_node(key)
        after_key, after_generation = after if after is not None else ("", 0)
        row = (
            await self.store.read(
                "impact_walk",
                project=project,
                key=root["key"],
                generation=root["generation"],
                seq=ALWAYS if root["retired_seq"] is None else root["retired_seq"],
                after_key=after_key,
                after_generation=after_generation,
                first=first + 1,
            )
        )[0]
        page = _paged(await self.aged(project, row["nodes"]), first)
        return {"count": row["count"], "items": page.items, "has_next": page.has_next}

    async def why_at_risk(self, project: str, key: str) -> list[Row]:
        """For each retirement that puts a node at risk: the retired node, its event, and a shortest chain to it.

        Returns:
            Maps of retired, event and path (from the node to the retired one, both included), oldest retirement
            first; none when the node is not at risk.

        Raises:
            NotFoundError: no such node.
            LimitError: it rests on more than 200,000 nodes at risk.
        """
        root = await self.knowledge(project, key)
        if root is None:
            raise missing_node(key)
        if not root["at_risk"]:
            return []
        graph = await self._risk_graph("risk_graph", project, [id_of(root)])
        chains = risk.chains(id_of(root), graph.verified, graph.retired, graph.dependencies)
        maps = await self.nodes(project, sorted({node_id for chain in chains for node_id in chain}))
        events = await self.events_at(project, [graph.retired[chain[-1]] for chain in chains])
        return [
            {
                "retired": maps[chain[-1]],
                "event": events[graph.retired[chain[-1]]],
                "path": [maps[node_id] for node_id in chain],
            }
            for chain in chains
        ]

    async def roots_of_risk(
        self, project: str, ids: Sequence[NodeId], at: Moment | None = None
    ) -> dict[NodeId, list[NodeId]]:
        """For nodes at risk, now or at a moment, the retired nodes that put them there, oldest retirement first."""
        if at is None:
            graph = await self._risk_graph("risk_graph", project, ids)
        else:
            graph = await self._risk_graph("risk_graph_as_of", project, ids, seq=at.seq)
        return {
            node_id: [chain[-1] for chain in risk.chains(node_id, graph.verified, graph.retired, graph.dependencies)]
            for node_id in ids
        }

    async def verify(self, project: str, saved_seq: int | None = None, saved_hash: str | None = None) -> Row:
        """Check a project's journal link by link and its projection against the fold of the journal.

        Returns:
            ok, events, first_broken, projection_matches and differences (at most 100 sentences).
        """
        if (saved_seq is None) != (saved_hash is None):
            field = "savedHash" if saved_hash is None else "savedSeq"
            raise ValidationError("a saved head is a position and a hash", field=field, allowed="both, or none")
        return await audit.verify(self.store, project, saved_seq, saved_hash)

    async def rebuild(self, project: str, progress: rebuild.Progress = rebuild.unwatched) -> int:
        """Put a project's projection right where it is not the fold of its journal; the number of events folded."""
        return await rebuild.rebuild(self.store, project, progress)

    async def stats(self, project: str) -> Row:
        """How much of what a project holds.

        Raises:
            NotFoundError: no such project.
        """
        head = await self.head(project)
        if head is None:
            raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
        states = await self.store.read("project_counts", project=project)
        relations = await self.store.read("relation_counts", project=project)
        return {
            "project": project,
            "events": head.seq,
            "head": head.hash,
            "nodes": sum(row["nodes"] for row in states),
            "edges": sum(row["edges"] for row in relations),
            "evidence": (await self.store.read("evidence_count", project=project))[0]["evidence"],
            "at_risk": sum(row["at_risk"] for row in states),
            "forgotten": sum(row["forgotten"] for row in states),
            "states": {s: sum(r["nodes"] for r in states if r["state"] == s) for s in State},
            "kinds": {k: sum(r["nodes"] for r in states if r["kind"] == k) for k in Kind},
            "relations": {row["relation"]: row["edges"] for row in relations},
        }

    def export_journal(self, project: str, until: int | None = None) -> AsyncIterator[bytes]:
        """A project's journal as a file (journal.md), in chunks; raises NotFoundError before the first."""
        return exchange.journal_file(self.store, project, until)

    def export_graphml(self, project: str, at: exchange.Marked | None = None) -> AsyncIterator[bytes]:
        """A project's graph as GraphML, now or as it was, in chunks; raises NotFoundError before the first."""

        async def then(ids: Sequence[NodeId], seq: int) -> dict[NodeId, Row]:
            return await self.nodes(project, ids, Moment(seq, self.now()))

        return exchange.graphml_file(self.store, project, then, at)

    async def ready(self) -> tuple[str, ...]:
        """Return when requests can be served; as ``Readiness.require``."""
        return await self.readiness.require()

    async def aged(self, project: str, nodes: Iterable[Row]) -> list[Row]:
        """Maps of a project's nodes with whether they are stale now."""
        limit = await self.aging.limit(project)
        return [node | {"stale": is_stale(node, limit)} for node in nodes]

    async def _marked_then(self, project: str, ids: Sequence[NodeId], at: Moment) -> frozenset[NodeId]:
        if not ids:
            return frozenset()
        graph = await self._risk_graph("risk_graph_as_of", project, ids, seq=at.seq)
        return frozenset(risk.marks(graph.verified, graph.dependents(), graph.threats()))

    async def _risk_graph(self, name: str, project: str, ids: Sequence[NodeId], **then: int) -> RiskGraph:
        # One node more than is allowed tells, and no more of a huge region is read.
        most = RISK_GRAPH_MAX
        rows = await self.store.read(name, project=project, ids=_listed(ids), most=most + 1, **then)
        if len(rows) > most:
            raise LimitError("the answer rests on too much of the graph", allowed=f"at most {most} nodes")
        return RiskGraph.of(rows)


def _then(node: Row, *, at_risk: bool, stale: bool) -> Row:
    creation: Mapping[str, Any] = json.loads(node.pop("creation"))
    if not node["retired"]:
        node["valid_to"] = creation.get("valid_to")
    concept = concept_then(node["key"], creation, node.pop("sightings"))
    return node | {"at_risk": at_risk, "stale": stale, "concept": concept}


def _event_map(raw: Row) -> Row:
    event = event_of(raw)
    return event.line() | {"newly_at_risk": raw["newly_at_risk"] or 0}


def _edge_then(edge: Row, at: Moment | None) -> Row:
    """The edge with since and until as they were at the moment; ``turns`` and ``times`` tell."""
    turns, times = edge.pop("turns"), edge.pop("times")
    past = len(turns) if at is None else sum(1 for turn in turns if turn <= at.seq)
    live = past % 2 == 1
    edge["since"] = times[past - 1 if live else past - 2]
    edge["until"] = None if live else times[past - 1]
    return edge


def _each_once(nodes: Sequence[Row]) -> list[Row]:
    found = {record["key"]: record for node in nodes for record in node["evidence"]}
    return [found[key] for key in sorted(found)]


def _listed(ids: Sequence[NodeId]) -> list[list[object]]:
    return [[key, generation] for key, generation in ids]


def _types(relations: Sequence[Relation] | None) -> list[str]:
    return list(_ALL) if relations is None else [relation.value.upper() for relation in relations]


def _paged(rows: list[Row], first: int) -> Page:
    return Page(rows[:first], len(rows) > first)


def _check_first(first: int) -> None:
    _check_range(first, "first", 1, FIRST_MAX)


def _check_range(value: int, field: str, least: int, most: int) -> None:
    if value < least:
        raise ValidationError(f"{field} is {value}", field=field, allowed=f"{least} to {most}")
    if value > most:
        raise LimitError(f"{field} is {value}", field=field, allowed=f"{least} to {most}")


def _refuse_many(ids: Sequence[NodeId]) -> None:
    if len(ids) > IDS_MAX:
        raise LimitError(f"{len(ids)} nodes at once", allowed=f"at most {IDS_MAX} nodes")
