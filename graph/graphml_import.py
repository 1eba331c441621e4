"""A graph without its journal, taken into a project: events are found that make this graph, and go through the door.

What a graph says comes out equal: nodes with generations, propositions, kinds, states, validity, creation and
verification times, uses, lineage, forgetting and evidence in its order; live edges with the time since when; and what
is at risk. What a graph does not say is not made up: who acted and why, earlier edges, hints, positions, recorded times
and ids of events. The events are the importer's; their reason names the graph. They carry a time of the graph where the
graph has one, and the present where it has none.

Events come in the order in which the nodes were made, so that every edge can still reach the generation that it leads
to. A node is retired as late as that allows. What evidence confirmed and is at risk all the same was confirmed before
that, and what is not at risk is confirmed behind all retirements.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graph import strict_json
from graph.errors import KnowledgeError, LimitError, ValidationError
from graph.exchange import Progress, Report, Terms, import_journal
from graph.graphml_reader import Element, elements
from graph.knowledge import EVIDENCE_MAX, TERMINAL, NodeId
from graph.rows import Row
from graph.store import Store

USES_MAX = 10_000  # each use is an event; a number in a damaged file must not become work without an end
_TABLES = """
CREATE TABLE node (key TEXT, generation INT, seq INT, line INT, row TEXT, done INT DEFAULT 0, disputed INT DEFAULT 0,
  PRIMARY KEY (key, generation));
CREATE INDEX node_order ON node (seq);
CREATE TABLE edge (key TEXT, generation INT, relation TEXT, to_key TEXT, to_generation INT, line INT, since TEXT,
  PRIMARY KEY (key, generation, relation, to_key, to_generation));
CREATE INDEX edge_target ON edge (to_key, to_generation);
CREATE TABLE event (number INTEGER PRIMARY KEY, line INT, name TEXT, event TEXT);
"""
_MADE, _RETIRED = 1, 2


async def import_graphml(
    store: Store, read: Callable[[], Iterable[bytes]], terms: Terms, progress: Progress = lambda _phase, _done: None
) -> Report:
    """Take a graph that ``graphml`` wrote into a project that is empty.

    Args:
        store: Where to.
        read: Gives the document in pieces.
        terms: The project, unless the document's own is meant, and who acts.
        progress: Told how far it is.

    Returns:
        What became of it, in events. After an interruption, the same call goes on where it stopped.

    Raises:
        ValidationError: the document is not ours or is damaged, or the project is not empty; nothing was taken.
        LimitError: a part of it is longer, or a node was used more often, than can be.
        UnavailableError, InDoubtError: the database was lost on the way.
    """
    course = _Course()
    try:
        facts = course.read(read())
        project = terms.project if terms.into else facts["project"]
        await _refuse_filled(store, project, course)
        found = Terms(project, terms.actor, into=True, counts=True)
        report = await import_journal(store, course.lines, found, progress)
        if report.refused:
            first = min(report.refusals, key=lambda each: each.line)
            raise course.refused(first.line, first.error.message)
        return report
    finally:
        course.close()


async def _refuse_filled(store: Store, project: str, course: _Course) -> None:
    if not await store.read("project_head", project=project):
        return
    rows = await store.read("events_at", project=project, seqs=[1])
    if not rows or rows[0]["event"]["event_id"] != course.event_id(1):
        raise ValidationError(
            f"the project {project!r} holds something else", field="project", allowed="a project without events"
        )


class _Course:
    """The events that make a graph, found on disk: memory does not grow with the graph."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)
        self._db.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN; {_TABLES}")
        self._digest = ""
        self._reason = ""
        self._last = 0

    def close(self) -> None:
        self._db.close()

    def event_id(self, number: int) -> str:
        """The id of an event: the same document always gives the same, so that a repeat is seen."""
        return f"graphml-{self._digest}-{number}"

    def lines(self) -> Iterator[bytes]:
        """The events as lines of a journal."""
        for row in self._db.execute("SELECT event FROM event ORDER BY number"):
            yield row[0].encode()

    def refused(self, number: int, message: str) -> ValidationError:
        """That the door refused an event, told of the element that the event came from."""
        line, name = self._db.execute("SELECT line, name FROM event WHERE number=?", (number,)).fetchone()
        return _wrong(message, name, line)

    def read(self, chunks: Iterable[bytes]) -> Row:
        """Read the document and find its events; the graph's facts."""
        digest, facts = hashlib.sha256(), Row()

        def seen() -> Iterator[bytes]:
            for chunk in chunks:
                digest.update(chunk)
                yield chunk

        for element in elements(seen()):
            if element.kind == "graph":
                facts = element.row
            elif element.kind == "node":
                self._keep_node(element)
            else:
                self._keep_edge(element)
        self._digest = digest.hexdigest()[:32]
        self._reason = f"imported from the graph of {facts['project']!r} at position {facts['at_seq']}"
        for key, generation in self._ids("SELECT key, generation FROM node ORDER BY seq, key, generation"):
            self._make(key, generation)
        for node_id in self._ids("SELECT key, generation FROM node ORDER BY seq, key, generation"):
            if self._done(node_id) == _MADE and self._node(node_id)["state"] in TERMINAL:
                self._retire(node_id)
        for node_id in self._ids("SELECT key, generation FROM node ORDER BY seq, key, generation"):
            self._settle(node_id)
        return facts

    def _ids(self, statement: str) -> Iterator[NodeId]:
        yield from self._db.cursor().execute(statement)

    def _keep_node(self, element: Element) -> None:
        row = element.row
        _refuse_odd(element)
        self._keep(
            "INSERT INTO node (key, generation, seq, line, row) VALUES (?,?,?,?,?)",
            (row["key"], row["generation"], row["created_seq"], element.line, json.dumps(row)),
            element,
        )

    def _keep_edge(self, element: Element) -> None:
        row = element.row
        source, target = (row["from_key"], row["from_generation"]), (row["to_key"], row["to_generation"])
        for end in (source, target):
            if not self._db.execute("SELECT 1 FROM node WHERE key=? AND generation=?", end).fetchone():
                raise _wrong(f"there is no node {end[0]!r} of generation {end[1]}", "edge", element.line)
        if row["until"] is not None or row["since"] is None:
            raise _wrong("the edge does not live", "edge", element.line)
        values = (*source, row["relation"], *target, element.line, row["since"])
        self._keep("INSERT INTO edge VALUES (?,?,?,?,?,?,?)", values, element)

    def _keep(self, statement: str, values: tuple[object, ...], element: Element) -> None:
        try:
            self._db.execute(statement, values)
        except sqlite3.IntegrityError:
            raise _wrong(f"there are two of this {element.kind}", element.kind, element.line) from None

    def _node(self, node_id: NodeId) -> Row:
        found = self._db.execute("SELECT row, line FROM node WHERE key=? AND generation=?", node_id).fetchone()
        return json.loads(found[0]) | {"line": found[1]}

    def _done(self, node_id: NodeId) -> int | None:
        found = self._db.execute("SELECT done FROM node WHERE key=? AND generation=?", node_id).fetchone()
        return None if found is None else found[0]

    def _set_done(self, node_id: NodeId, done: int) -> None:
        self._db.execute("UPDATE node SET done=? WHERE key=? AND generation=?", (done, *node_id))

    def _say(self, transition: str, node_id: NodeId, line: int, **told: Any) -> None:
        self._last += 1
        event = {"event_id": self.event_id(self._last), "transition": transition, "reason": self._reason}
        event |= {"key": node_id[0], "generation": node_id[1]} | {k: v for k, v in told.items() if v is not None}
        values = (self._last, line, _name(node_id), json.dumps(event))
        self._db.execute("INSERT INTO event VALUES (?,?,?,?)", values)

    def _make(self, key: str, generation: int) -> None:
        """Say that a node was made, what it stands on, and how it stands to those that were there before it."""
        node_id, before = (key, generation), (key, generation - 1)
        node, records = self._node(node_id), _evidence(self._node(node_id))
        if generation > 1:
            self._end_before(before, node)
        runs = _ascending(records)
        corrects = generation > 1 and self._node(before)["state"] == "corrected"
        if corrects:
            self._correct(before, node)
        else:
            lineage = None if node["lineage"] is None else json.loads(node["lineage"])
            valid_to = None if node["state"] in TERMINAL else node["valid_to"]
            payload = {"proposition": node["proposition"], "kind": node["kind"], "valid_from": node["valid_from"]}
            payload |= {"valid_to": valid_to, "lineage": lineage, "evidence": runs.pop(0) if runs else []}
            payload |= {} if node["concept"] is None else {"concept": json.loads(node["concept"])}
            self._say("proposed", node_id, node["line"], time=node["created_at"], payload=payload)
        for run in runs:
            self._say("evidenced", node_id, node["line"], payload={"evidence": run})
        if node["verified_at"] is not None and (node["at_risk"] or node["state"] in TERMINAL):
            self._verify(node_id, node, records)
        self._set_done(node_id, _MADE)
        self._link(node_id)

    def _end_before(self, before: NodeId, node: Row) -> None:
        """Retire the generation before a node, and what that one supersedes while it still is the newest."""
        if self._done(before) is None:
            raise _wrong(
                "the generation before it is not there", _name((node["key"], node["generation"])), node["line"]
            )
        superseded = "SELECT to_key, to_generation FROM edge WHERE relation='supersedes' AND key=? AND generation=?"
        for old in self._db.execute(superseded, before).fetchall():
            if self._done(old) == _MADE and self._node(old)["state"] == "superseded" and self._by(old)[:2] == before:
                self._retire(old)
        if self._done(before) == _MADE and self._node(before)["state"] != "corrected":
            if self._node(before)["state"] not in TERMINAL:
                raise _wrong(
                    "the generation before it still lives", _name((node["key"], node["generation"])), node["line"]
                )
            self._retire(before)

    def _correct(self, before: NodeId, node: Row) -> None:
        name = _name((node["key"], node["generation"]))
        alike = node["kind"] == self._node(before)["kind"] and node["lineage"] is None
        if not alike or node["valid_from"] != node["created_at"]:
            raise _wrong("a correction does not make such a node", name, node["line"])
        payload = {"proposition": node["proposition"]}
        payload |= {} if node["concept"] is None else {"concept": json.loads(node["concept"])}
        self._say("corrected", before, node["line"], time=node["created_at"], payload=payload)
        self._set_done(before, _RETIRED)

    def _link(self, node_id: NodeId) -> None:
        """Say all edges between a node and those that were made before it, or with it."""
        statement = """
        SELECT key, generation, relation, to_key, to_generation, line, since FROM edge
        WHERE key=? AND generation=? OR to_key=? AND to_generation=? ORDER BY line
        """
        for key, generation, relation, to_key, to_generation, line, since in self._db.execute(
            statement, (*node_id, *node_id)
        ).fetchall():
            source, target = (key, generation), (to_key, to_generation)
            if not self._done(source) or not self._done(target) or self._made_by_rule(source, relation, target):
                continue
            self._say("linked", source, line, time=since, payload={"relation": relation, "to": to_key})
            if relation == "contradicts":
                self._db.execute("UPDATE node SET disputed=1 WHERE key=? AND generation=?", target)

    def _made_by_rule(self, source: NodeId, relation: str, target: NodeId) -> bool:
        """Whether a correction or a supersession makes the edge."""
        if relation != "supersedes":
            return False
        if source[0] == target[0]:
            return True
        return self._node(target)["state"] == "superseded" and self._by(target)[:2] == source

    def _by(self, node_id: NodeId) -> tuple[str, int, str]:
        """What superseded a node, and when: the first whose validity begins where the node's ends."""
        node = self._node(node_id)
        statement = """
        SELECT key, generation, since FROM edge WHERE relation='supersedes' AND to_key=? AND to_generation=?
        ORDER BY line
        """
        for key, generation, since in self._db.execute(statement, node_id).fetchall():
            began = self._node((key, generation))["valid_from"]
            if key != node_id[0] and max(began, node["valid_from"], key=_sortable) == node["valid_to"]:
                return key, generation, since
        raise _wrong("no edge says by what it was superseded when its validity ended", _name(node_id), node["line"])

    def _retire(self, node_id: NodeId) -> None:
        node = self._node(node_id)
        if node["state"] == "corrected":
            raise _wrong("what corrected it is not there", _name(node_id), node["line"])
        if node["state"] == "superseded":
            key, _, since = self._by(node_id)
            self._say("superseded", node_id, node["line"], time=since, payload={"by": key})
        else:
            begun = node["valid_to"] == node["valid_from"]
            time = node["created_at"] if begun else node["valid_to"]
            self._say("invalidated", node_id, node["line"], time=time)
        self._set_done(node_id, _RETIRED)

    def _verify(self, node_id: NodeId, node: Row, records: list[Row]) -> None:
        if not records or node["state"] == "proposed":
            raise _wrong("it cannot have been verified", _name(node_id), node["line"])
        self._say("confirmed", node_id, node["line"], time=node["verified_at"], payload={"evidence": records[:1]})

    def _settle(self, node_id: NodeId) -> None:
        """Bring a node to its state, once everything that may change it was said."""
        node, (disputed,) = (
            self._node(node_id),
            self._db.execute("SELECT disputed FROM node WHERE key=? AND generation=?", node_id).fetchone(),
        )
        state, line = node["state"], node["line"]
        if state not in TERMINAL:
            late = node["verified_at"] is not None and not node["at_risk"]
            if late:
                self._verify(node_id, node, _evidence(node))
            elif state == "confirmed" and (disputed or node["verified_at"] is None):
                self._say("confirmed", node_id, line)
            elif state == "proposed" and disputed:
                raise _wrong("it is contradicted, and not challenged", _name(node_id), line)
            if state == "challenged":
                self._say("challenged", node_id, line)
        for _ in range(node["uses"]):
            self._say("used", node_id, line)
        if node["forgotten"]:
            self._say("forgotten", node_id, line)


def _refuse_odd(element: Element) -> None:
    """Refuse a node that lacks what every node has; what its values may be, the door says."""
    row, name = element.row, _name((element.row["key"], element.row["generation"]))
    for column in (
        "valid_from",
        "created_at",
        "created_seq",
        "uses",
        *(["valid_to"] if row["state"] in TERMINAL else []),
    ):
        if row[column] is None:
            raise _wrong(f"it has no {column}", name, element.line)
    if row["created_seq"] < 1:
        raise _wrong("a position is 1 or more", name, element.line)
    if not 0 <= row["uses"] <= USES_MAX:
        raise LimitError(f"{row['uses']} uses", field=name, position=element.line, allowed=f"0 to {USES_MAX}")
    try:
        for record in json.loads(row["evidence"] or "[]"):
            strict_json.loads(record.get("metadata") or "null")
    except KnowledgeError as error:
        raise _wrong(f"in its evidence, {error.field}: {error.message}", name, element.line) from None
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _wrong("its evidence is no list of records", name, element.line) from None


def _evidence(node: Row) -> list[Row]:
    """The evidence of a node as a payload holds it."""
    records: list[Row] = []
    for held in json.loads(node["evidence"] or "[]"):
        record = {name: value for name, value in held.items() if name != "project" and value is not None}
        if "metadata" in record:
            record["metadata"] = json.loads(record["metadata"])
        records.append(record)
    return records


def _ascending(records: list[Row]) -> list[list[Row]]:
    """The records in lists within which keys rise: of one event, evidence comes in the order of its keys."""
    runs: list[list[Row]] = []
    for record in records:
        if runs and len(runs[-1]) < EVIDENCE_MAX and str(runs[-1][-1].get("key")) < str(record.get("key")):
            runs[-1].append(record)
        else:
            runs.append([record])
    return runs


def _sortable(instant: str) -> str:
    return instant.removesuffix("Z")


def _name(node_id: NodeId) -> str:
    key, generation = node_id
    return f"node {key!r}" + (f" (generation {generation})" if generation > 1 else "")


def _wrong(what: str, name: str, line: int) -> ValidationError:
    return ValidationError(what, field=name, position=line, allowed="a graph as `whence export graphml` writes it")
