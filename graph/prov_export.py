"""A project in the terms of W3C PROV, by the package ``prov``.

Every generation of a node and every piece of evidence is an entity, every event and every execution an activity, every
actor an agent. What PROV has no word for stands in attributes of our own namespace. Names are percent-encoded: every
key gives a valid name, and no two keys the same.

The package builds a document in memory. That is why there is a bound on the events that one may be made of.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from prov.model import ProvDocument, QualifiedName

from graph.audit import follow
from graph.errors import LimitError, NotFoundError, ValidationError
from graph.fold import Fold, events
from graph.journal import Event
from graph.journal import evidence_of as evidence_in
from graph.knowledge import Actor, ActorType, Edge, Evidence, Node, NodeId, Relation, Transition, instant_text
from graph.rows import evidence_row
from graph.store import Store

EVENTS_MAX = 10_000  # some 20 KB of memory each while the document is made, and a third of a millisecond
CHUNK_BYTES = 64 * 1024
Form = Literal["provn", "json"]
_ONE_AT_A_TIME = asyncio.Lock()  # so that the bound is one of the process
TERMS = "https://whence.invalid/terms#"  # names of ours that mean something in any project
_PLAIN = re.compile(rb"[^A-Za-z0-9_]")
_RETIRING = frozenset({Transition.CORRECTED, Transition.SUPERSEDED, Transition.INVALIDATED, Transition.DISPROVED})
_AGENT_TYPES = {ActorType.HUMAN: "Person"}  # every other one is software
_SPACES = ("node", "key", "evidence", "event", "execution", "actor", "issuer")


@dataclass(frozen=True, slots=True)
class Content:
    """What a document is made of: a project at one position of its journal."""

    project: str
    nodes: list[Node]
    edges: list[Edge]
    evidence: list[Evidence]
    stands: list[tuple[NodeId, str]]
    events: list[Event]


def encoded(text: str) -> str:
    """The text as the local part of a PROV name: all but ASCII letters, digits and ``_`` percent-encoded in UTF-8.

    >>> encoded("a_b c:é")
    'a_b%20c%3A%C3%A9'
    """
    return _PLAIN.sub(lambda found: b"%%%02X" % found[0][0], text.encode()).decode()


async def prov_file(store: Store, project: str, form: Form) -> AsyncIterator[bytes]:
    """A project as PROV-N or PROV-JSON, in chunks.

    Raises:
        NotFoundError: there is no such project; before the first chunk, as all errors.
        LimitError: its journal is longer than a document may be.
        ValidationError: its journal is broken.
    """
    async with _ONE_AT_A_TIME:
        text = await asyncio.to_thread(_written, await _content(store, project), form)
    for start in range(0, len(text), CHUNK_BYTES):
        yield text[start : start + CHUNK_BYTES]


def _written(content: Content, form: Form) -> bytes:
    made = document(content)
    if form == "provn":
        return made.get_provn().encode()
    stream = io.StringIO()
    made.serialize(stream, format="json")
    return stream.getvalue().encode()


async def _content(store: Store, project: str) -> Content:
    heads = await store.read("project_head", project=project)
    if not heads:
        raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
    if heads[0]["seq"] > EVENTS_MAX:
        raise LimitError(
            f"the journal has {heads[0]['seq']} events, and a PROV document is made in memory",
            field="project",
            allowed=f"at most {EVENTS_MAX} events; the journal and GraphML are written whatever their length",
        )
    fold = Fold(project)
    try:
        await follow(store, fold)
        if fold.broken is not None:
            raise ValidationError(
                f"the journal is broken: {fold.why[0]}",
                field="project",
                position=fold.broken,
                allowed="a whole journal",
            )
        scratch, nodes = fold.scratch, list(fold.scratch.nodes())
        stands = [(node.id, key) for node in nodes for key, _ in scratch.standing_on(node.id)]
        found = {key: scratch.evidence(key) for _, key in stands}
        return Content(
            project=project,
            nodes=nodes,
            edges=[edge for node in nodes for edge in scratch.edges_from(node.id)],
            evidence=[found[key] for key in sorted(found) if found[key] is not None],  # pyright: ignore[reportArgumentType]
            stands=stands,
            events=[event async for event in events(store, project, scratch.head.seq)],
        )
    finally:
        fold.close()


def document(content: Content) -> ProvDocument:
    """The document of a project."""
    writer = _Writer(content.project)
    writer.nodes(content.nodes)
    writer.evidence(content.evidence, content.stands)
    for event in content.events:
        writer.event(event)
    for edge in content.edges:
        writer.edge(edge)
    return writer.made


class _Writer:
    def __init__(self, project: str) -> None:
        self.made = ProvDocument()
        self._terms = self.made.add_namespace("whence", TERMS)
        self._prov = self.made.valid_qualified_name
        base = f"urn:whence:{encoded(project)}:"
        self._spaces = {name: self.made.add_namespace(name, f"{base}{name}:") for name in _SPACES}
        self._told: set[QualifiedName] = set()

    def nodes(self, nodes: Iterable[Node]) -> None:
        """Generations of nodes; where a key has several, the key too, of which each is a specialization."""
        last: Node | None = None
        for node in nodes:
            own = self._node(node.id)
            self.made.entity(own, self._attributes(_node_facts(node), node.kind.value.capitalize()))
            if last is not None and last.key == node.key:
                key = self._name("key", node.key)
                if self._once(key):
                    self.made.entity(key, self._attributes({"key": node.key}, "Key"))
                    self.made.specializationOf(self._node(last.id), key)
                self.made.specializationOf(own, key)
                self.made.alternateOf(own, self._node(last.id))
            last = node

    def evidence(self, evidence: Iterable[Evidence], stands: Iterable[tuple[NodeId, str]]) -> None:
        """Pieces of evidence, and the nodes that stand on them."""
        for each in evidence:
            self.made.entity(self._name("evidence", each.key), self._attributes(evidence_row(each), "Evidence"))
        for node_id, key in stands:
            told = self._attributes({"relation": "evidenced_by"})
            self.made.wasInfluencedBy(self._node(node_id), self._name("evidence", key), other_attributes=told)

    def event(self, event: Event) -> None:
        """An event, who acted, in which execution, what it used, what it made and what it ended."""
        own, node = self._name("event", event.event_id), self._node((event.key, event.generation))
        self.made.activity(own, event.time, event.time, self._attributes(_event_facts(event), event.transition.value))
        actor = self._actor(event.actor)
        self.made.wasAssociatedWith(own, actor)
        made = None
        if event.transition is Transition.PROPOSED:
            made = node
        elif event.transition is Transition.CORRECTED:
            made = self._node((event.key, event.generation + 1))
        if made is not None:
            self.made.wasGeneratedBy(made, own, event.time)
            self.made.wasAttributedTo(made, actor)
        if event.transition is not Transition.PROPOSED:
            self.made.used(own, node, event.time)
        if event.transition in _RETIRING:
            self.made.wasInvalidatedBy(node, own, event.time)
        for each in evidence_in(event.payload):
            self.made.used(own, self._name("evidence", each.key), event.time)
        for cause in event.caused_by:
            self.made.wasInformedBy(own, self._name("event", cause))
        if event.execution:
            self.made.wasInformedBy(own, self._execution(event.execution))

    def edge(self, edge: Edge) -> None:
        """An edge, also one that was unlinked, which says until when."""
        ended = None if edge.live else instant_text(edge.times[-1])
        since = instant_text(edge.times[-1 if edge.live else -2])
        told = self._attributes({"relation": edge.relation.value, "since": since, "until": ended})
        source, target = self._node(edge.source), self._node(edge.target)
        if edge.relation is Relation.SUPERSEDES:
            self.made.wasRevisionOf(source, target, other_attributes=told)
        elif edge.relation is Relation.DERIVED_FROM:
            self.made.wasDerivedFrom(source, target, other_attributes=told)
        else:
            self.made.wasInfluencedBy(source, target, other_attributes=told)

    def _actor(self, actor: Actor) -> QualifiedName:
        own = self._name("actor", actor.issuer, actor.subject, actor.type.value)
        if self._once(own):
            facts = self._attributes({"subject": actor.subject, "type": actor.type.value})
            kind = self._prov(f"prov:{_AGENT_TYPES.get(actor.type, 'SoftwareAgent')}")
            issuer = self._name("issuer", actor.issuer)
            self.made.agent(own, [("prov:type", kind), *facts])
            if self._once(issuer):
                self.made.agent(issuer, [("prov:type", self._prov("prov:Organization")), ("prov:label", actor.issuer)])
            self.made.actedOnBehalfOf(own, issuer)
        return own

    def _execution(self, execution: dict[str, Any]) -> QualifiedName:
        own = self._name("execution", *(execution.get(name) or "" for name in ("run", "frame", "task")))
        if self._once(own):
            self.made.activity(own, other_attributes=self._attributes(execution, "Execution"))
            if execution.get("parent_run") or execution.get("parent_frame"):
                parent = {name: execution.get(f"parent_{name}") for name in ("run", "frame")}
                self.made.wasInformedBy(own, self._execution(parent))
        return own

    def _node(self, node_id: NodeId) -> QualifiedName:
        return self._name("node", node_id[0], str(node_id[1]))

    def _name(self, space: str, *parts: str) -> QualifiedName:
        return self._spaces[space]["/".join(map(encoded, parts))]

    def _once(self, name: QualifiedName) -> bool:
        known = name in self._told
        self._told.add(name)
        return not known

    def _attributes(self, facts: dict[str, Any], kind: str | None = None) -> list[tuple[Any, Any]]:
        found: list[tuple[Any, Any]] = [("prov:type", self._terms[kind])] if kind else []
        for name, value in facts.items():
            if value is not None:
                found.append(("prov:label" if name == "label" else self._terms[name], value))
        return found


def _node_facts(node: Node) -> dict[str, Any]:
    ends = None if node.valid_to is None else instant_text(node.valid_to)
    verified = None if node.verified_at is None else instant_text(node.verified_at)
    return {
        "label": node.proposition,
        "key": node.key,
        "generation": node.generation,
        "state": node.state.value,
        "valid_from": instant_text(node.valid_from),
        "valid_to": ends,
        "verified_at": verified,
        "forgotten": node.forgotten,
        "uses": node.uses,
        "lineage": node.lineage,
    }


def _event_facts(event: Event) -> dict[str, Any]:
    return {
        "event_id": event.event_id,
        "seq": event.seq,
        "recorded_at": instant_text(event.recorded_at),
        "reason": event.reason,
        "state_after": event.state_after.value,
        "hash": event.hash,
    }
