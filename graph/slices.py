"""The part of a project's projection that a batch touches, and what must be in it before the batch can be decided.

The store, and the scratch beside it, load a slice, let commands be decided and folded on it one after the other, and
write what changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph.commands import Command
from graph.concept import concept_of, contradicting_keys
from graph.journal import Event, Head
from graph.knowledge import (
    Edge,
    EdgeId,
    Evidence,
    Node,
    NodeId,
    Relation,
    Transition,
    spellings,
)

AWAITING_MAX = 2_000  # links that follow from one event: a transaction's worth; what else waits goes on waiting


@dataclass(slots=True)
class Slice:
    """The part of one project's projection that a batch touches, and what the batch has changed in it.

    Attributes:
        nodes: By (key, generation). A key that was asked for and is not here does not exist.
        newest: The newest generation of each key that exists.
        edges: By (from, relation, to), ended ones included.
        evidence: By evidence key.
        events: The events among the ids that were asked for.
        evidenced: Which node stands on which evidence since which event, as far as asked for or added.
        changed_nodes, changed_edges: What events changed; of what they made (``new_nodes``, ``new_edges``) some may be
            among it.
        new_evidence: By its key, the event that brought it.
        hashed: Whether the events that are decided on it are chained; only a trial whose events are dropped is without.
    """

    project: str
    head: Head = field(default_factory=Head)
    nodes: dict[NodeId, Node] = field(default_factory=dict[NodeId, Node])
    newest: dict[str, int] = field(default_factory=dict[str, int])
    edges: dict[EdgeId, Edge] = field(default_factory=dict[EdgeId, Edge])
    evidence: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    events: dict[str, Event] = field(default_factory=dict[str, Event])
    evidenced: dict[tuple[NodeId, str], int] = field(default_factory=dict[tuple[NodeId, str], int])
    changed_nodes: set[NodeId] = field(default_factory=set[NodeId])
    changed_edges: set[EdgeId] = field(default_factory=set[EdgeId])
    new_nodes: set[NodeId] = field(default_factory=set[NodeId])
    new_edges: set[EdgeId] = field(default_factory=set[EdgeId])
    new_evidence: dict[str, int] = field(default_factory=dict[str, int])
    hashed: bool = True
    _leaving: dict[NodeId, dict[EdgeId, None]] = field(default_factory=dict[NodeId, dict[EdgeId, None]])
    _awaiting: dict[str, set[NodeId]] = field(default_factory=dict[str, set[NodeId]])

    def spelling(self, key: str) -> str:
        """How a key that is the same after NFC is stored, or will be: the very one that is given comes first."""
        if key.isascii() or key in self.newest:
            return key
        return next((each for each in spellings(key) if each in self.newest), key)

    def node(self, key: str, generation: int | None = None) -> Node | None:
        """The asked-for generation of the key, or the newest; None when there is none."""
        wanted = generation if generation is not None else self.newest.get(key, 0)
        return self.nodes.get((key, wanted))

    def put(self, node: Node) -> None:
        """Hold the node as it is now, and note that it changed."""
        (self.changed_nodes if node.id in self.nodes else self.new_nodes).add(node.id)
        self.hold(node, newest=node.generation)

    def hold(self, node: Node, *, newest: int) -> None:
        """Hold the node as it is; ``newest`` is its key's newest generation as far as that is known, or 0."""
        self.nodes[node.id] = node
        self.newest[node.key] = max(newest, self.newest.get(node.key, 0))
        for key in node.dangling:
            self._awaiting.setdefault(key, set()).add(node.id)

    def waiting(self) -> dict[str, int]:
        """How many links wait for each key, at least as many as ``awaiting`` gives."""
        return {key: len(nodes) for key, nodes in self._awaiting.items()}

    def awaiting(self, key: str) -> list[Node]:
        """The live nodes with a link to a key that had no node yet, the first by their keys; at most 2,000."""
        found = (self.nodes[node_id] for node_id in sorted(self._awaiting.get(key, ())))
        live = [node for node in found if key in node.dangling and not node.retired]
        return live[:AWAITING_MAX]

    def put_edge(self, edge: Edge) -> None:
        """Hold the edge as it is now."""
        self.edges[edge.id] = edge
        self._leaving.setdefault(edge.source, {})[edge.id] = None

    def turn(self, edge: Edge) -> None:
        """Hold the edge as an event left it, and note that it changed."""
        (self.changed_edges if edge.id in self.edges else self.new_edges).add(edge.id)
        self.put_edge(edge)

    def turned(self, source: NodeId, seq: int) -> list[Edge]:
        """The edges that leave a node and began or ended with the event at ``seq``."""
        found = [self.edges[edge_id] for edge_id in self._leaving.get(source, ())]
        return [edge for edge in found if edge.turns[-1] == seq]

    def live_edges(self, source: NodeId, relation: Relation) -> list[Edge]:
        """The live edges of a relation that leave a node."""
        found = [self.edges[edge_id] for edge_id in self._leaving.get(source, ()) if edge_id[1] == relation]
        return [edge for edge in found if edge.live]

    def live_edge(self, source: NodeId, relation: Relation, key: str) -> Edge | None:
        """The live edge to the highest generation of ``key`` that has one."""
        found = [edge for edge in self.live_edges(source, relation) if edge.target[0] == key]
        return max(found, key=lambda edge: edge.target[1], default=None)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a slice must hold before a command can be decided or an event folded."""

    keys: tuple[str, ...] = ()
    generations: tuple[NodeId, ...] = ()
    """Nodes of a named generation, besides the newest of each key."""
    event_ids: tuple[str, ...] = ()
    evidence_keys: tuple[str, ...] = ()
    edges: tuple[tuple[str, Relation, str], ...] = ()
    superseded: tuple[str, ...] = ()
    """Keys whose chains of SUPERSEDES must be known, so that a ring can be seen."""
    standing: tuple[str, ...] = ()
    """Keys whose evidence must be known, so that a transfer can carry it."""
    awaited: tuple[tuple[str, str], ...] = ()
    """Keys that may get a node, each with the id of the event; who waits for it must be known."""
    links: tuple[str, ...] = ()
    """Targets of the links that a concept brings."""

    def in_all_spellings(self) -> Needs:
        """The same, with every key as it may be stored as well."""
        if all(map(str.isascii, (*self.keys, *(key for key, _ in self.awaited)))):
            return self

        def each(keys: Iterable[str]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(spelling for key in keys for spelling in spellings(key)))

        return replace(
            self,
            keys=each(self.keys),
            generations=tuple((key, generation) for name, generation in self.generations for key in spellings(name)),
            edges=tuple((a, of, b) for one, of, other in self.edges for a in spellings(one) for b in spellings(other)),
            superseded=each(self.superseded),
            standing=each(self.standing),
            awaited=tuple((key, event_id) for name, event_id in self.awaited for key in spellings(name)),
        )


def needs(item: Command | Event) -> Needs:
    """What ``decide`` (for a command) or ``evolve`` (for an event) will look for."""
    payload, key = item.payload, item.keyed if isinstance(item, Command) else item.key
    links = [(Relation(r["relation"]), str(r["to"])) for r in payload.get("relations", ())]
    if item.transition in (Transition.LINKED, Transition.UNLINKED):
        links.append((Relation(payload["relation"]), payload["to"]))
    by = [payload["by"]] if "by" in payload else []
    mentioned: tuple[str, ...] = tuple(payload["concept"]["links"]) if "concept" in payload else ()
    against = _against(item, key)
    makes = (key,) if item.transition is Transition.PROPOSED else ()
    return Needs(
        keys=(key, *(to for _, to in links), *by, *mentioned, *against),
        generations=((key, item.generation),) if item.generation is not None else (),
        event_ids=(item.event_id, *item.caused_by, *_rule_ids(item, links)),
        evidence_keys=tuple(e["key"] for e in payload.get("evidence", ()) if "key" in e),
        edges=(
            *((key, relation, to) for relation, to in links),
            *((b, Relation.SUPERSEDES, key) for b in by),
            *((other, Relation.CONTRADICTS, key) for other in against),
        ),
        superseded=(
            *(to for relation, to in links if relation is Relation.SUPERSEDES),
            *([key] if by else []),
        ),
        standing=(key,) if item.transition is Transition.TRANSFERRED else (),
        awaited=tuple((made, item.event_id) for made in (*makes, *against)) if isinstance(item, Command) else (),
        links=mentioned,
    )


def _against(item: Command | Event, key: str) -> tuple[str, ...]:
    """The keys of the claim that stands against a concept, if what is said turns out to be one."""
    payload = item.payload
    if isinstance(item, Command) and item.is_concept:
        return contradicting_keys(key, payload["proposition"])
    if item.transition is Transition.SIGHTED:
        return contradicting_keys(key, concept_of(key, payload["said"]).claim)
    return ()


def link_ids(needed: Iterable[Needs], waiting: Mapping[str, int]) -> list[str]:
    """The ids of the links that may follow by rule, once it is known how many wait for each key in the database."""
    found = list(needed)
    brought = Counter(link for each in found for link in each.links)
    counts = ((key, event_id, waiting.get(key, 0) + brought[key]) for each in found for key, event_id in each.awaited)
    return [link_id(event_id, n) for _, event_id, count in counts for n in range(min(count, AWAITING_MAX))]


def link_id(event_id: str, count: int) -> str:
    """The event id of the first, second … link that was waiting for the node that an event makes."""
    return f"{event_id}#link" + (f"-{count + 1}" if count else "")


def transfer_needs(here: Slice, command: Command) -> Needs:
    """What the target project's slice must hold, once the source's is there."""
    key = here.spelling(command.keyed)
    node, copy = here.node(key, command.generation), f"{command.event_id}#transfer"
    links = () if node is None or node.concept is None else concept_of(key, node.concept).links
    return Needs(
        keys=(key, *links),
        event_ids=(copy, f"{copy}#sighting"),
        evidence_keys=() if node is None else tuple(key for _, key in standing_on(here, node)),
        awaited=((key, copy),),
        links=links,
    )


def projects(commands: Iterable[Command], *, rules: bool) -> set[str]:
    """The projects that the commands concern; with ``rules``, those that nodes are transferred to among them."""
    concerned: set[str] = set()
    for command in commands:
        concerned.add(command.project)
        if rules and command.transition is Transition.TRANSFERRED:
            concerned.add(command.payload["to_project"])
    return concerned


async def gather(
    commands: Sequence[Command], load: Callable[[str, Sequence[Needs]], Awaitable[Slice]], *, rules: bool
) -> dict[str, Slice]:
    """The slices that a batch of commands needs, by project.

    Args:
        commands: In the order in which they will be decided.
        load: Gives a project's slice; called again for a project that a transfer leads to, once it is known which
            evidence goes along.
        rules: As for ``decide``.
    """
    wanted: dict[str, list[Needs]] = {project: [] for project in projects(commands, rules=rules)}
    for command in commands:
        wanted[command.project].append(needs(command).in_all_spellings())
    slices = {project: await load(project, found) for project, found in wanted.items()}
    transfers = [c for c in commands if rules and c.transition is Transition.TRANSFERRED]
    for command in transfers:
        wanted[command.payload["to_project"]].append(
            transfer_needs(slices[command.project], command).in_all_spellings()
        )
    for project in {command.payload["to_project"] for command in transfers}:
        slices[project] = await load(project, wanted[project])
    return slices


def _rule_ids(item: Command | Event, links: Iterable[tuple[Relation, str]]) -> Iterator[str]:
    if item.transition is Transition.HINTED:
        yield f"{item.event_id}#hint"
    if item.transition is Transition.SIGHTED or (isinstance(item, Command) and item.is_concept):
        yield from (f"{item.event_id}#{rule}" for rule in ("sighting", "claim", "contradiction"))
    for count, _ in enumerate(to for relation, to in links if relation is Relation.CONTRADICTS):
        yield contradiction_id(item.event_id, count)


def contradiction_id(event_id: str, count: int) -> str:
    """The event id of the challenge that follows from the first, second … contradiction of one event."""
    return f"{event_id}#contradiction" + (f"-{count + 1}" if count else "")


def standing_on(here: Slice, node: Node) -> Iterator[tuple[int, str]]:
    """What a node stands on: the position of the event that said so first, and the evidence's key."""
    for (node_id, key), seq in here.evidenced.items():
        if node_id == node.id:
            yield seq, key
