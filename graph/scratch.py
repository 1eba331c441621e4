"""A projection on disk, beside the database.

It serves to try a file of events before it is taken, and to check a projection against its journal. It holds as much
as there is disk for; memory does not grow with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import orjson

from graph.journal import Head
from graph.knowledge import DEPENDENCE, Edge, Evidence, Node, NodeId, Relation
from graph.rows import (
    Row,
    edge_of,
    edge_row,
    event_of,
    event_row,
    evidence_of,
    evidence_row,
    node_of,
    node_row,
)
from graph.slices import Needs, Slice, link_ids

T = TypeVar("T")

_TABLES = """
CREATE TABLE node (key TEXT, generation INT, node BLOB, PRIMARY KEY (key, generation)) WITHOUT ROWID;
CREATE TABLE edge (key TEXT, relation TEXT, to_key TEXT, generation INT, to_generation INT, live INT, edge BLOB,
  PRIMARY KEY (key, relation, to_key, generation, to_generation)) WITHOUT ROWID;
CREATE TABLE evidence (key TEXT PRIMARY KEY, evidence BLOB) WITHOUT ROWID;
CREATE TABLE stands (key TEXT, generation INT, evidence TEXT, seq INT, PRIMARY KEY (key, generation, evidence))
  WITHOUT ROWID;
CREATE TABLE waits (target TEXT, key TEXT, generation INT, PRIMARY KEY (target, key, generation)) WITHOUT ROWID;
CREATE TABLE event (event_id TEXT PRIMARY KEY, event BLOB) WITHOUT ROWID;
CREATE TABLE mark (key TEXT, generation INT, seq INT, PRIMARY KEY (key, generation)) WITHOUT ROWID;
CREATE TABLE seen_node (key TEXT, generation INT, PRIMARY KEY (key, generation)) WITHOUT ROWID;
CREATE TABLE seen_evidence (key TEXT PRIMARY KEY) WITHOUT ROWID;
"""

# Only marks ask for it, once all else is there: then it is made faster than it is kept meanwhile.
_TARGETS = "CREATE INDEX IF NOT EXISTS edge_target ON edge (to_key, to_generation, relation)"


_WAITING = "SELECT node FROM waits JOIN node USING (key, generation) WHERE target=?"


class Scratch:
    """One project's projection in a temporary file that vanishes with the process.

    Slices are loaded from it and saved to it as the store does with Neo4j, so the same fold runs on both.
    """

    def __init__(self, project: str) -> None:
        self.project = project
        self.head = Head()
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN; {_TABLES}")

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def laid_over(self, here: Slice, needs: Iterable[Needs]) -> Slice:
        """The slice with what this scratch knows better put over it."""
        found = list(needs)
        if self.head.seq:
            here.head = self.head
        for key in {key for n in found for key in n.keys}:
            for node in self._nodes("SELECT node FROM node WHERE key=? ORDER BY generation DESC LIMIT 1", key):
                here.hold(node, newest=node.generation)
        for node_id in {node_id for n in found for node_id in n.generations}:
            for node in self._nodes("SELECT node FROM node WHERE key=? AND generation=?", *node_id):
                here.nodes[node.id] = node
        self._put_waiting(here, found)
        for key, relation, to in {pair for n in found for pair in n.edges}:
            self._put_edges(here, "SELECT edge FROM edge WHERE key=? AND relation=? AND to_key=?", key, relation, to)
        for key in {key for n in found for key in n.superseded}:
            self._put_chain(here, key)
        self._put_evidence(here, found)
        for event_id in {*(event_id for n in found for event_id in n.event_ids), *link_ids(found, here.waiting())}:
            for event in self._read(event_of, "SELECT event FROM event WHERE event_id=?", event_id):
                here.events[event_id] = event
        return here

    def save(self, here: Slice, event_ids: Iterable[str]) -> None:
        """Keep what a batch changed in the slice, and the events that it added; in order of their keys, for speed."""
        run = self._db.executemany
        self.head = here.head
        nodes = (here.nodes[node_id] for node_id in sorted(here.new_nodes | here.changed_nodes))
        run("REPLACE INTO node VALUES (?,?,?)", ((*node.id, orjson.dumps(_stored(node))) for node in nodes))
        changed = [node for node_id in here.new_nodes | here.changed_nodes if (node := here.nodes[node_id]).concept]
        run("DELETE FROM waits WHERE key=? AND generation=?", (node.id for node in changed))
        run("INSERT INTO waits VALUES (?,?,?)", ((to, *node.id) for node in changed for to in node.dangling))
        edges = (here.edges[edge_id] for edge_id in sorted(here.new_edges | here.changed_edges))
        run("REPLACE INTO edge VALUES (?,?,?,?,?,?,?)", map(_edge_values, edges))
        evidence = ((key, orjson.dumps(evidence_row(here.evidence[key]))) for key in sorted(here.new_evidence))
        run("REPLACE INTO evidence VALUES (?,?)", evidence)
        stands = ((*node_id, key, seq) for (node_id, key), seq in sorted(here.evidenced.items()))
        run("INSERT OR IGNORE INTO stands VALUES (?,?,?,?)", stands)
        events = ((event_id, orjson.dumps(event_row(here.events[event_id], 0))) for event_id in event_ids)
        run("REPLACE INTO event VALUES (?,?)", events)

    def node(self, node_id: NodeId) -> Node | None:
        """The node, if there is one."""
        return next(self._nodes("SELECT node FROM node WHERE key=? AND generation=?", *node_id), None)

    def nodes(self) -> Iterator[Node]:
        """All nodes, by key and generation."""
        return self._nodes("SELECT node FROM node ORDER BY key, generation")

    def evidence(self, key: str) -> Evidence | None:
        """The evidence, if there is any of that key."""
        return next(self._read(evidence_of, "SELECT evidence FROM evidence WHERE key=?", key), None)

    def edges_from(self, node_id: NodeId) -> Iterator[Edge]:
        """The edges that lead from a node, ended ones included."""
        return self._read(edge_of, "SELECT edge FROM edge WHERE key=? AND generation=?", *node_id)

    def standing_on(self, node_id: NodeId) -> list[tuple[str, int]]:
        """Keys of the evidence that a node stands on, each with the position of the event that said so first."""
        statement = "SELECT evidence, seq FROM stands WHERE key=? AND generation=? ORDER BY seq, evidence"
        return self._db.execute(statement, node_id).fetchall()

    def set_marks(self, marks: Mapping[NodeId, int]) -> None:
        """Keep which nodes are at risk, each with the position of its mark."""
        self._db.execute("DELETE FROM mark")
        self._db.executemany("INSERT INTO mark VALUES (?,?,?)", ((*node, seq) for node, seq in marks.items()))

    def marked(self, node_id: NodeId) -> int | None:
        """The position of a node's mark, if it is at risk."""
        row = self._db.execute("SELECT seq FROM mark WHERE key=? AND generation=?", node_id).fetchone()
        return None if row is None else row[0]

    def forget_seen(self) -> None:
        """Begin to note anew what was seen."""
        self._db.execute("DELETE FROM seen_node")
        self._db.execute("DELETE FROM seen_evidence")

    def see_nodes(self, ids: Iterable[NodeId]) -> None:
        """Note that these nodes were seen."""
        self._db.executemany("INSERT OR IGNORE INTO seen_node VALUES (?,?)", ids)

    def see_evidence(self, keys: Iterable[str]) -> None:
        """Note that this evidence was seen."""
        self._db.executemany("INSERT OR IGNORE INTO seen_evidence VALUES (?)", ((key,) for key in keys))

    def unseen_nodes(self, first: int) -> Iterator[list[NodeId]]:
        """The nodes that were not seen, in lists of at most ``first``, by key and generation."""
        statement = (
            "SELECT key, generation FROM node AS n WHERE (key, generation) > (?, ?) AND NOT EXISTS"
            " (SELECT 1 FROM seen_node AS s WHERE s.key=n.key AND s.generation=n.generation)"
            " ORDER BY key, generation LIMIT ?"
        )
        last: NodeId = ("", 0)
        while ids := self._db.execute(statement, (*last, first)).fetchall():
            yield ids
            last = ids[-1]

    def unseen_evidence(self, first: int) -> Iterator[list[str]]:
        """Keys of the evidence that was not seen, in lists of at most ``first``, in their order."""
        statement = (
            "SELECT key FROM evidence WHERE key > ? AND key NOT IN (SELECT key FROM seen_evidence) ORDER BY key LIMIT ?"
        )
        last = ""
        while keys := [row[0] for row in self._db.execute(statement, (last, first))]:
            yield keys
            last = keys[-1]

    def node_count(self) -> int:
        """How many nodes there are."""
        return self._db.execute("SELECT count(*) FROM node").fetchone()[0]

    def threats(self) -> Iterator[tuple[NodeId, int]]:
        """Live nodes that rest directly on a retired one, with the position of its retirement."""
        self._db.execute(_TARGETS)
        for node in self.nodes():
            if node.retired_seq is not None:
                for dependent in self.dependents(node.id):
                    yield dependent, node.retired_seq

    def dependents(self, node_id: NodeId) -> list[NodeId]:
        """Live nodes that rest directly on a node, over live edges."""
        rows = self._db.execute(
            "SELECT DISTINCT key, generation, relation FROM edge WHERE to_key=? AND to_generation=? AND live=1",
            node_id,
        ).fetchall()
        found = {(row[0], row[1]) for row in rows if Relation(row[2]) in DEPENDENCE}
        return sorted(n for n in found if (node := self.node(n)) is not None and not node.retired)

    def verified(self) -> Mapping[NodeId, int]:
        """For each live node the position at which evidence last confirmed it, looked up as it is asked for."""
        return _Verified(self)

    def resting(self) -> Mapping[NodeId, Sequence[NodeId]]:
        """For each node its dependents, looked up as they are asked for."""
        self._db.execute(_TARGETS)
        return _Dependents(self)

    def _nodes(self, statement: str, *values: Any) -> Iterator[Node]:
        return self._read(self._node_of, statement, *values)

    def _node_of(self, row: Row) -> Node:
        return node_of(self.project, row)

    def _read(self, noun: Callable[[Row], T], statement: str, *values: Any) -> Iterator[T]:
        for found in self._db.execute(statement, values):
            yield noun(orjson.loads(found[0]))

    def _put_edges(self, here: Slice, statement: str, *values: Any) -> list[Edge]:
        found: list[Edge] = list(self._read(edge_of, statement, *values))
        for edge in found:
            here.put_edge(edge)
        return found

    def _put_waiting(self, here: Slice, needs: list[Needs]) -> None:
        for key in {key for n in needs for key, _ in n.awaited}:
            for node in self._nodes(_WAITING, key):
                here.hold(node, newest=node.generation)
            for node in [known for each in here.awaiting(key) if (known := self.node(each.id)) is not None]:
                here.hold(node, newest=node.generation)  # which may have got its link here

    def _put_chain(self, here: Slice, key: str) -> None:
        seen, waiting = {key}, [key]
        while waiting:
            statement = "SELECT edge FROM edge WHERE key=? AND relation=?"
            for edge in self._put_edges(here, statement, waiting.pop(), Relation.SUPERSEDES.value):
                if edge.target[0] not in seen:
                    seen.add(edge.target[0])
                    waiting.append(edge.target[0])

    def _put_evidence(self, here: Slice, needs: list[Needs]) -> None:
        wanted = {key for n in needs for key in n.evidence_keys}
        for key in {key for n in needs for key in n.standing}:
            for row in self._db.execute("SELECT generation, evidence, seq FROM stands WHERE key=?", (key,)):
                here.evidenced[(key, row[0]), row[1]] = row[2]
                wanted.add(row[1])
        for key in wanted:
            if (evidence := self.evidence(key)) is not None:
                here.evidence[key] = evidence


def _stored(node: Node) -> Row:
    return {**node_row(node), "risk_seq": node.risk_seq}


def _edge_values(edge: Edge) -> tuple[object, ...]:
    (key, generation), (to_key, to_generation) = edge.source, edge.target
    return key, edge.relation.value, to_key, generation, to_generation, edge.live, orjson.dumps(edge_row(edge))


class _Lazy(Mapping[NodeId, T]):
    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch

    def __iter__(self) -> Iterator[NodeId]:
        return (node.id for node in self._scratch.nodes())

    def __len__(self) -> int:
        return self._scratch.node_count()


class _Verified(_Lazy[int]):
    def __getitem__(self, node_id: NodeId) -> int:
        node = self._scratch.node(node_id)
        if node is None or node.retired:
            raise KeyError(node_id)
        return node.verified_seq or 0


class _Dependents(_Lazy[Sequence[NodeId]]):
    def __getitem__(self, node_id: NodeId) -> Sequence[NodeId]:
        return self._scratch.dependents(node_id)
