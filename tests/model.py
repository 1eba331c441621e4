"""The rules of knowledge as a small in-memory model: the oracle that the service is compared with.

Written from the contract alone, in plain dicts and lists. It is naive on purpose: at_risk is worked out from
scratch by its definition each time it is asked for, and the past is found by replaying the journal into a
fresh model.

A command is first judged against the present, and nothing is touched while judging. Then it becomes one event
and, by rule, some more; each is put on the journal and projected by `_project`. Replaying uses the same
`_project`.
"""

# pyright: strict

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, cast

NodeId = tuple[str, int]
EdgeId = tuple[NodeId, str, NodeId]
Record = dict[str, Any]

RELATIONS = ("derived_from", "supports", "contradicts", "depends_on", "supersedes", "related_to")
CARRIES_DEPENDENCE = ("depends_on", "derived_from")
TERMINAL = ("corrected", "superseded", "invalidated")
LANDS_AS = {
    "confirmed": "confirmed",
    "challenged": "challenged",
    "corrected": "corrected",
    "superseded": "superseded",
    "invalidated": "invalidated",
    "disproved": "invalidated",
}
RETIRES = ("corrected", "superseded", "invalidated", "disproved")
NEEDS_REASON = ("challenged", "corrected", "invalidated", "disproved")
TAKES_EVIDENCE = (
    "proposed",
    "confirmed",
    "challenged",
    "invalidated",
    "disproved",
    "corrected",
    "evidenced",
    "sighted",
)
NEEDS_EVIDENCE = ("disproved", "evidenced")
KEEPS_STATE = ("used", "hinted", "forgotten", "recalled", "evidenced", "linked", "unlinked", "transferred")
TRANSITIONS = ("proposed", *LANDS_AS, *KEEPS_STATE)
ACTOR_TYPES = ("human", "agent", "system", "service")
EXECUTION_PARTS = ("run", "frame", "task", "parent_run", "parent_frame")
IMPORTER: Record = {"issuer": "model", "subject": "importer", "type": "system"}
AHEAD = timedelta(minutes=5)

FORBIDDEN_BY_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a command. `events` are those newly in the journal, each as (event_id, transition, key,
    generation, state_after); `event_id` is the event that answers, also where nothing new was written."""

    code: str | None
    field: str | None
    applied: bool
    events: list[tuple[str, str, str, int, str]]
    newly_at_risk: int
    event_id: str | None = None
    message: str = dataclasses.field(default="", compare=False)


class _Refused(Exception):
    def __init__(self, code: str, field: str, message: str = "") -> None:
        super().__init__(message)
        self.code, self.field, self.message = code, field, message


def _refuse(code: str, field: str, message: str = "") -> NoReturn:
    raise _Refused(code, field, message)


class _Book:
    """One project: its journal, and what the journal says."""

    def __init__(self) -> None:
        self.events: list[Record] = []
        self.by_id: dict[str, Record] = {}
        self.given: dict[str, Record] = {}  # event id -> what the caller wrote (events of a rule have none)
        self.counted: dict[str, int] = {}  # event id -> how many nodes the command newly put at risk
        self.nodes: dict[NodeId, Record] = {}
        self.newest: dict[str, int] = {}
        self.edges: dict[EdgeId, Record] = {}

    def find(self, key: str) -> Record | None:
        """The newest node of the key."""
        return self.nodes[(key, self.newest[key])] if key in self.newest else None

    def expect(self, key: str, field: str) -> Record:
        node = self.find(key)
        if node is None:
            _refuse("NOT_FOUND", field, f"there is no {key!r}")
        return node

    def last_recorded(self) -> datetime | None:
        return cast(datetime, self.events[-1]["recorded_at"]) if self.events else None


class Model:
    """All projects. With `count_risk` off `newly_at_risk` is -1, and thousands of nodes load quickly."""

    def __init__(self, *, count_risk: bool = True) -> None:
        self.count_risk = count_risk
        self._books: dict[str, _Book] = {}
        self._made = 0

    # --- commands ------------------------------------------------------------------------------------------

    def run(self, project: str, command: Record, now: datetime) -> Outcome:
        """Take one command, as a line of a journal file, at the instant the service would record it."""
        try:
            return self._take(project, command, now.astimezone(UTC))
        except _Refused as no:
            return Outcome(no.code, no.field, False, [], 0, None, no.message)

    def _take(self, project: str, command: Record, now: datetime) -> Outcome:
        book = self._books.get(project) or _Book()
        event_id = command.get("event_id")
        if isinstance(event_id, str) and event_id in book.by_id:
            return self._repeat(book, event_id, command)
        given = _read(command)
        _name(project, "project")
        if event_id is not None:
            _text(event_id, "eventId", 1, 200)
        time: datetime = given["time"] or now
        if time > now + AHEAD:
            _refuse("VALIDATION", "time", "more than five minutes ahead")
        event: Record = {**given, "event_id": event_id or self._make(book), "time": time}
        match given["transition"]:
            case "proposed":
                return self._propose(project, book, event, given, now)
            case "transferred":
                return self._transfer(project, book, event, given, now)
            case _:
                return self._act(project, book, event, given, now)

    def _repeat(self, book: _Book, event_id: str, command: Record) -> Outcome:
        """The same id again: the first answer when the content is the same, either as the caller gave it then
        or as the journal holds it now."""
        try:
            again = _read(command)
        except _Refused:
            _refuse("EVENT_CONFLICT", "eventId", f"{event_id} was taken with other content")
        first, held = book.given.get(event_id), book.by_id[event_id]
        for part, value in again.items():
            as_given = first is not None and _canonical(value) == _canonical(first[part])
            if not as_given and _canonical(value) != _canonical(held[part]):
                _refuse("EVENT_CONFLICT", "eventId", f"{event_id} was taken with another {part}")
        return Outcome(None, None, False, [], book.counted.get(event_id, 0), event_id)

    def _propose(self, project: str, book: _Book, event: Record, given: Record, now: datetime) -> Outcome:
        payload: Record = event["payload"]
        key: str = event["key"] or f"k-{self._count():026d}"
        self._check_validity(payload, event["time"])
        for i, relation in enumerate(payload["relations"]):
            if relation["to"] != key:
                book.expect(relation["to"], f"relations[{i}].to")
        self._check_causes(book, event)
        node = book.find(key)
        live = node is not None and node["state"] not in TERMINAL
        generation = book.newest.get(key, 0) + (0 if live else 1)
        if event["generation"] not in (None, generation):
            _refuse("NOT_FOUND", "generation")
        if node is not None and live and payload["concept"] is not None:
            return self._say_of_concept(
                project, book, {**event, "key": key, "generation": generation}, node, given, now
            )
        if node is not None and live:
            if not same_claim(node["proposition"], payload["proposition"]):
                _refuse("PROPOSITION_CONFLICT", "proposition", f"{key} already holds another proposition")
            return Outcome(None, None, False, [], 0, node["created_by"])
        for i, relation in enumerate(payload["relations"]):
            if relation["to"] == key:
                _refuse("RELATION_REFUSED", f"relations[{i}].to", "a node is never related to itself")
        event = {**event, "key": key, "generation": generation}
        contradicted = [r["to"] for r in payload["relations"] if r["relation"] == "contradicts"]
        drafts = [*_sourced(event), *self._contradictions(book, event, contradicted), *_awaited(book, event, event)]
        return self._commit([(project, book, draft) for draft in drafts], given, now)

    def _say_of_concept(
        self, project: str, book: _Book, event: Record, node: Record, given: Record, now: datetime
    ) -> Outcome:
        """The one door, where a live node has the name and nobody merges texts: the same claim, or one against it."""
        if node["concept"] is None:
            _refuse("PROPOSITION_CONFLICT", "key", f"{node['key']} is no concept")
        if event["time"] < node["created_at"]:
            _refuse("VALIDATION", "time", "before the node's creation")
        payload: Record = event["payload"]
        said: Record = payload["concept"]
        same = same_claim(node["proposition"], payload["proposition"])
        verdict = "same" if same else "contradicting"
        own: Record = {
            **event,
            "transition": "sighted",
            "payload": {"verdict": verdict, "said": said, "evidence": payload["evidence"]},
        }
        sources = set(node["concept"]["sources"])
        drafts = [own]
        if not same:
            drafts += self._stand_against(book, own, node, payload["proposition"])
        elif node["state"] == "proposed" and len(sources | set(said["sources"])) > max(1, len(sources)):
            drafts.append(_by_rule(own, "sighting", "confirmed", node, SECOND_SOURCE, own["time"]))
        return self._commit([(project, book, draft) for draft in drafts], given, now)

    def _stand_against(self, book: _Book, own: Record, node: Record, claim: str) -> list[Record]:
        """The claim becomes a node of its own that contradicts the concept, which is challenged for it."""
        base = f"{node['key']}~{hashlib.sha256(_plain(claim).encode()).hexdigest()[:16]}"
        live, free = list[str](), list[str]()
        for key in (base, f"{base}-2", f"{base}-3"):
            holder = book.find(key)
            if holder is None or holder["state"] in TERMINAL:
                free.append(key)
            elif same_claim(holder["proposition"], claim):
                live.append(key)
        if not live and not free:
            _refuse("PROPOSITION_CONFLICT", "key", "other claims hold the keys")
        key = [*live, *free][0]
        link: Record = {"relation": "contradicts", "to": node["key"]}
        against, drafts = book.find(key), list[Record]()
        if against is None or against["state"] in TERMINAL:
            made = _by_rule(own, "claim", "proposed", {"key": key, "generation": book.newest.get(key, 0) + 1}, None)
            made["payload"] = {
                "proposition": claim,
                "kind": "claim",
                "valid_from": own["time"],
                "valid_to": None,
                "lineage": None,
                "concept": None,
                "evidence": [],
                "relations": [link],
            }
            drafts = [made, *_awaited(book, made, own)]
        else:
            edge = book.edges.get(((key, against["generation"]), "contradicts", (node["key"], node["generation"])))
            if edge is None or edge["until"] is not None:
                time = max(own["time"], against["created_at"])
                drafts = [{**_by_rule(own, "claim", "linked", against, None, time), "payload": link}]
        if node["state"] != "challenged":
            cause = drafts[0] if drafts else own
            challenge = _by_rule(own, "contradiction", "challenged", node, f"contradicted by {key}")
            drafts.append({**challenge, "caused_by": [cause["event_id"]]})
        return drafts

    def _act(self, project: str, book: _Book, event: Record, given: Record, now: datetime) -> Outcome:
        """A command about a node that has to be there: always the newest generation of its key."""
        transition: str = event["transition"]
        payload: Record = event["payload"]
        node = book.expect(event["key"], "key")
        node_id: NodeId = (node["key"], node["generation"])
        if event["generation"] not in (None, node["generation"]):
            _refuse("NOT_FOUND", "generation", "commands act on the newest generation")
        event = {**event, "generation": node["generation"]}
        other: Record | None = None
        if transition == "superseded":
            other = book.expect(payload["by"], "by")
        elif transition == "linked":
            other = book.expect(payload["to"], "to")
        elif transition == "unlinked" and not _live_edge(book, node_id, payload["relation"], payload["to"]):
            _refuse("NOT_FOUND", "to", "there is no such live edge")
        self._check_causes(book, event)
        if transition in LANDS_AS and node["state"] in TERMINAL:
            _refuse("TERMINAL_STATE", "key", f"{node['key']} is {node['state']}")
        if transition in RETIRES and not self._may_retire(node, event["actor"]):
            _refuse("AUTHORITY", "key", "a human confirmed it last")
        if event["time"] < node["created_at"]:
            _refuse("VALIDATION", "time", "before the node's creation")
        if other is not None:
            other_id: NodeId = (other["key"], other["generation"])
            if other_id == node_id:
                _refuse("RELATION_REFUSED", "by" if transition == "superseded" else "to", "related to itself")
            if transition == "superseded" and _superseding_reaches(book, node_id, other_id):
                _refuse("RELATION_REFUSED", "by", "a ring of supersedes")
            ring = transition == "linked" and payload["relation"] == "supersedes"
            if ring and _superseding_reaches(book, other_id, node_id):
                _refuse("RELATION_REFUSED", "to", "a ring of supersedes")
        drafts = [event]
        if transition == "linked" and payload["relation"] == "contradicts":
            drafts += self._contradictions(book, event, [payload["to"]])
        if transition == "hinted":
            drafts += self._hint(node, event)
        return self._commit([(project, book, draft) for draft in drafts], given, now)

    def _transfer(self, project: str, book: _Book, event: Record, given: Record, now: datetime) -> Outcome:
        target: str = event["payload"]["to_project"]
        if target == project:
            _refuse("VALIDATION", "toProject", "a transfer leads to another project")
        node = book.expect(event["key"], "key")
        if event["generation"] not in (None, node["generation"]):
            _refuse("NOT_FOUND", "generation", "commands act on the newest generation")
        self._check_causes(book, event)
        if event["time"] < node["created_at"]:
            _refuse("VALIDATION", "time", "before the node's creation")
        event = {**event, "generation": node["generation"]}
        steps = [(project, book, event)]
        there = self._books.get(target) or _Book()
        held = there.find(node["key"])
        if held is not None and held["state"] not in TERMINAL:
            if not same_claim(held["proposition"], node["proposition"]):
                _refuse("PROPOSITION_CONFLICT", "toProject", f"{target} holds another proposition")
        else:
            arrival: Record = {
                **event,
                "event_id": f"{event['event_id']}#transfer",
                "transition": "proposed",
                "generation": there.newest.get(node["key"], 0) + 1,
                "caused_by": [],  # the cause lies in the other project's journal
                "payload": {
                    "proposition": node["proposition"],
                    "kind": node["kind"],
                    "valid_from": node["valid_from"],
                    "valid_to": node["valid_to"],
                    "lineage": None,
                    "concept": copy.deepcopy(node["concept"]),
                    "evidence": copy.deepcopy(node["evidence"]),
                    "relations": [],
                },
            }
            steps += [(target, there, draft) for draft in (*_sourced(arrival), *_awaited(there, arrival, arrival))]
        return self._commit(steps, given, now)

    # --- events by rule ------------------------------------------------------------------------------------

    def _contradictions(self, book: _Book, cause: Record, targets: list[str]) -> list[Record]:
        """The challenges that a new CONTRADICTS brings to what is not terminal, each target once."""
        drafts: list[Record] = []
        for to in dict.fromkeys(targets):
            target = book.expect(to, "to")
            if target["state"] in TERMINAL:
                continue
            rule = "contradiction" if not drafts else f"contradiction-{len(drafts) + 1}"
            time, reason = max(cause["time"], target["created_at"]), f"contradicted by {cause['key']}"
            drafts.append(_by_rule(cause, rule, "challenged", target, reason, time))
        return drafts

    def _hint(self, node: Record, cause: Record) -> list[Record]:
        """What a hint moves: helpful confirms what is proposed; harmful challenges, and from the second
        without support on it invalidates, unless authority forbids it. A terminal node only counts."""
        outcome: str = cause["payload"]["outcome"]
        if node["state"] in TERMINAL:
            return []
        if outcome == "helpful":
            if node["state"] != "proposed":
                return []
            transition = "confirmed"
        else:
            alone = not cause["payload"]["supported"]
            second = alone and node["hints_unsupported"] + 1 >= 2
            transition = "invalidated" if second and self._may_retire(node, cause["actor"]) else "challenged"
        reason = cause["reason"] if _has_text(cause["reason"]) else f"hint: {outcome}"
        return [_by_rule(cause, "hint", transition, node, reason, cause["time"])]

    # --- writing -------------------------------------------------------------------------------------------

    def _commit(self, steps: list[tuple[str, _Book, Record]], given: Record, now: datetime) -> Outcome:
        """Everything has been judged: put the events on their journals. The first one answers the command."""
        for _, book, draft in steps:
            if draft["event_id"] in book.by_id:
                _refuse("EVENT_CONFLICT", "eventId", f"{draft['event_id']} is taken")
        _, first_book, first = steps[0]
        before: set[NodeId] = set(_risks(first_book)) if self.count_risk else set()
        written: list[tuple[str, str, str, int, str]] = []
        for name, book, draft in steps:
            last = book.last_recorded()
            event = copy.deepcopy(draft)
            event["project"] = name
            event["seq"] = len(book.events) + 1
            event["recorded_at"] = now if last is None else max(now, last)
            _project(book, event)
            self._books[name] = book
            key, generation, state = event["key"], event["generation"], event["state_after"]
            written.append((event["event_id"], event["transition"], key, generation, state))
        newly = len(set(_risks(first_book)) - before) if self.count_risk else -1
        first_book.given[first["event_id"]] = copy.deepcopy(given)
        first_book.counted[first["event_id"]] = newly
        return Outcome(None, None, True, written, newly, first["event_id"])

    def _count(self) -> int:
        self._made += 1
        return self._made

    def _make(self, book: _Book) -> str:
        while (name := f"made-{self._count()}") in book.by_id:
            pass
        return name

    @staticmethod
    def _may_retire(node: Record, actor: Record) -> bool:
        return not (node["confirmed_by"] == "human" and actor["type"] == "agent")

    @staticmethod
    def _check_causes(book: _Book, event: Record) -> None:
        for cause in event["caused_by"]:
            if cause not in book.by_id:
                _refuse("NOT_FOUND", "causedBy", f"there is no earlier event {cause!r}")

    @staticmethod
    def _check_validity(payload: Record, time: datetime) -> None:
        if payload["valid_to"] is not None and payload["valid_to"] < (payload["valid_from"] or time):
            _refuse("VALIDATION", "validTo", "an interval that ends before it starts")

    # --- reading -------------------------------------------------------------------------------------------

    def rebuilt(self, project: str, as_of: datetime | None = None) -> Model:
        """A fresh model that has seen the project's journal up to the instant, and nothing else."""
        fresh, book = Model(count_risk=self.count_risk), _Book()
        for event in (self._books.get(project) or _Book()).events:
            if as_of is None or event["recorded_at"] <= as_of:
                _project(book, copy.deepcopy(event))
        if book.events:
            fresh._books[project] = book
        return fresh

    def _book(self, project: str, as_of: datetime | None) -> _Book:
        model = self if as_of is None else self.rebuilt(project, as_of)
        return model._books.get(project) or _Book()

    def projects(self) -> list[str]:
        return sorted(self._books)

    def nodes(self, project: str, as_of: datetime | None = None) -> dict[NodeId, Record]:
        """Every node with all that is known about it; `roots` as in `roots`."""
        book = self._book(project, as_of)
        risks = _risks(book)
        return {
            node_id: {**copy.deepcopy(node), "at_risk": node_id in risks, "roots": risks.get(node_id, {})}
            for node_id, node in book.nodes.items()
        }

    def at_risk(self, project: str, as_of: datetime | None = None) -> set[NodeId]:
        return set(_risks(self._book(project, as_of)))

    def roots(self, project: str, key: str, as_of: datetime | None = None) -> dict[NodeId, int]:
        """The retired nodes that put the key's newest node at risk -> edges of a shortest chain to each.
        KeyError for a key that is not there."""
        book = self._book(project, as_of)
        return _risks(book).get((key, book.newest[key]), {})

    def impact(self, project: str, key: str, as_of: datetime | None = None) -> set[NodeId]:
        """What retiring the newest node of the key would put at risk; of a retired one, what it did put at
        risk. KeyError for a key that is not there."""
        book = self._book(project, as_of)
        return set(_chains_to(book, (key, book.newest[key]), _dependents(book)))

    def edges(self, project: str, as_of: datetime | None = None) -> dict[EdgeId, Record]:
        """Every edge, ended ones too: since, until, and the ids of the events that state it."""
        return copy.deepcopy(self._book(project, as_of).edges)

    def journal(self, project: str, as_of: datetime | None = None) -> list[Record]:
        return copy.deepcopy(self._book(project, as_of).events)

    def valid_at(self, project: str, instant: datetime, as_of: datetime | None = None) -> set[NodeId]:
        """The nodes whose half-open interval of validity holds the instant."""
        return {
            node_id
            for node_id, node in self._book(project, as_of).nodes.items()
            if node["valid_from"] <= instant and (node["valid_to"] is None or instant < node["valid_to"])
        }

    def provenance(
        self,
        project: str,
        key: str,
        *,
        down: bool = False,
        relations: tuple[str, ...] = RELATIONS,
        depth: int = 6,
        as_of: datetime | None = None,
    ) -> tuple[dict[NodeId, int], set[EdgeId], bool]:
        """Nodes within so many live edges of the key's newest node (itself at 0), the live edges among them,
        and whether the depth cut anything off. Depth below 0: ValueError; key not there: KeyError."""
        if depth < 0:
            raise ValueError("depth")
        book = self._book(project, as_of)
        steps: dict[NodeId, set[NodeId]] = {}
        live = [e for e, edge in book.edges.items() if edge["until"] is None and e[1] in relations]
        for start, _, end in live:
            here, there = (end, start) if down else (start, end)
            steps.setdefault(here, set()).add(there)
        found = {(key, book.newest[key]): 0}
        for distance in range(1, depth + 1):
            for here in [n for n, at in found.items() if at == distance - 1]:
                for there in steps.get(here, set()):
                    found.setdefault(there, distance)
        cut = any(there not in found for here in found for there in steps.get(here, set()))
        return found, {e for e in live if e[0] in found and e[2] in found}, cut


# --- at_risk ----------------------------------------------------------------------------------------------


def _dependents(book: _Book) -> dict[NodeId, list[NodeId]]:
    """Node -> the nodes with a live dependence edge to it."""
    into: dict[NodeId, list[NodeId]] = {}
    for (start, relation, end), edge in book.edges.items():
        if relation in CARRIES_DEPENDENCE and edge["until"] is None:
            into.setdefault(end, []).append(start)
    return into


def _chains_to(book: _Book, root: NodeId, into: dict[NodeId, list[NodeId]]) -> dict[NodeId, int]:
    """The live nodes with a chain of live dependence edges to the root in which no other node is retired and
    none has been confirmed with evidence after the root's retirement -> edges of a shortest such chain. A
    root that is still live is taken to retire now, after everything."""
    retired_seq: int = book.nodes[root]["retired_seq"] or len(book.events) + 1

    def may_stand_in_chain(node_id: NodeId) -> bool:
        node = book.nodes[node_id]
        return node["state"] not in TERMINAL and node["verified_seq"] < retired_seq

    lengths: dict[NodeId, int] = {}
    reached, length = {root}, 0
    while reached:
        length += 1
        starts = {start for end in reached for start in into.get(end, [])}
        reached = {s for s in starts if s != root and s not in lengths and may_stand_in_chain(s)}
        lengths.update(dict.fromkeys(reached, length))
    return lengths


def _risks(book: _Book) -> dict[NodeId, dict[NodeId, int]]:
    """Node at risk -> its roots -> edges of a shortest chain, from scratch."""
    retired = [node_id for node_id, node in book.nodes.items() if node["state"] in TERMINAL]
    if not retired:
        return {}
    into = _dependents(book)
    risks: dict[NodeId, dict[NodeId, int]] = {}
    for root in retired:
        for node_id, length in _chains_to(book, root, into).items():
            risks.setdefault(node_id, {})[root] = length
    return risks


# --- projection -------------------------------------------------------------------------------------------


def _project(book: _Book, event: Record) -> None:
    """Put the event on the journal and let nodes and edges say what it says; fills in `state_after`."""
    transition: str = event["transition"]
    payload: Record = event["payload"]
    node_id: NodeId = (event["key"], event["generation"])
    time: datetime = event["time"]
    if transition == "proposed":
        _create(book, event, node_id, payload["proposition"], payload["kind"])
        _carry(book, event, node_id, payload["concept"])
        for relation in payload["relations"]:
            to: str = relation["to"]
            _state_edge(book, event, node_id, relation["relation"], (to, book.newest[to]))
    node = book.nodes[node_id]
    if transition in TAKES_EVIDENCE:
        _add_evidence(node, event)
    if transition in LANDS_AS:
        node["state"] = LANDS_AS[transition]
    if transition in RETIRES:
        end = time
        if transition == "superseded":
            successor_id = (payload["by"], book.newest[payload["by"]])
            _state_edge(book, event, successor_id, "supersedes", node_id)
            end = book.nodes[successor_id]["valid_from"]
        node["valid_to"] = max(node["valid_from"], end)
        node["retired_seq"], node["retired_by"] = event["seq"], event["event_id"]
    match transition:
        case "confirmed":
            node["confirmed_by"] = event["actor"]["type"]
            if payload["evidence"]:
                node["verified_at"], node["verified_seq"] = time, event["seq"]
        case "corrected":
            successor_id = (event["key"], event["generation"] + 1)
            _create(book, event, successor_id, payload["proposition"], node["kind"])
            _add_evidence(book.nodes[successor_id], event)
            if node["concept"] is not None:
                said = {"body": payload["proposition"], "links": _links(payload["proposition"])}
                _carry(book, event, successor_id, {**copy.deepcopy(node["concept"]), **said})
            _state_edge(book, event, successor_id, "supersedes", node_id)
        case "sighted":
            concept, said = node["concept"], payload["said"]
            concept["sources"] = list(dict.fromkeys([*concept["sources"], *said["sources"]]))
            concept["occurrences"] += said["occurrences"] if payload["verdict"] == "same" else 0
        case "used":
            node["uses"] += 1
        case "forgotten" | "recalled":
            node["forgotten"] = transition == "forgotten"
        case "hinted":
            node[f"hints_{payload['outcome']}"] += 1
            node["hints_unsupported"] += payload["outcome"] == "harmful" and not payload["supported"]
        case "linked":
            to = payload["to"]
            _state_edge(book, event, node_id, payload["relation"], (to, book.newest[to]))
            if payload["relation"] == "related_to" and to in node["dangling"]:
                node["dangling"].remove(to)
        case "unlinked":
            edge_id = _live_edge(book, node_id, payload["relation"], payload["to"])
            assert edge_id is not None
            book.edges[edge_id]["until"] = time
        case _:
            pass
    node["updated_at"] = event["recorded_at"]
    event["state_after"] = node["state"]
    book.events.append(event)
    book.by_id[event["event_id"]] = event


def _create(book: _Book, event: Record, node_id: NodeId, proposition: str, kind: str) -> None:
    payload: Record = event["payload"]
    book.newest[node_id[0]] = node_id[1]
    book.nodes[node_id] = {
        "key": node_id[0],
        "generation": node_id[1],
        "proposition": proposition,
        "kind": kind,
        "state": "proposed",
        "created_at": event["time"],
        "created_by": event["event_id"],
        "updated_at": event["recorded_at"],
        "valid_from": payload.get("valid_from") or event["time"],
        "valid_to": payload.get("valid_to"),
        "verified_at": None,
        "verified_seq": 0,
        "confirmed_by": None,
        "retired_seq": None,
        "retired_by": None,
        "uses": 0,
        "hints_helpful": 0,
        "hints_harmful": 0,
        "hints_unsupported": 0,
        "forgotten": False,
        "lineage": payload.get("lineage"),
        "concept": None,
        "dangling": [],
        "evidence": [],
    }


def _carry(book: _Book, event: Record, node_id: NodeId, concept: Record | None) -> None:
    """Make a node a concept: what it links to and is there is related to it, what is not is waited for."""
    if concept is None:
        return
    node = book.nodes[node_id]
    node["concept"] = copy.deepcopy(concept)
    for to in concept["links"]:
        if to in book.newest and to != node_id[0]:
            _state_edge(book, event, node_id, "related_to", (to, book.newest[to]))
        elif to != node_id[0]:
            node["dangling"].append(to)


def confidence(node: Record) -> float:
    """How sure a concept is: more with each source, 0.40 while it is challenged."""
    return 0.4 if node["state"] == "challenged" else min(0.95, round(0.5 + 0.1 * len(node["concept"]["sources"]), 2))


def _add_evidence(node: Record, event: Record) -> None:
    """Each record once by its key; a missing key is made, a missing timestamp is the event's time."""
    for i, record in enumerate(event["payload"]["evidence"], start=1):
        made: Record = {"key": f"{event['event_id']}/{i}", "timestamp": event["time"]}
        whole: Record = {**made, **copy.deepcopy(record)}
        if all(held["key"] != whole["key"] for held in node["evidence"]):
            node["evidence"].append(whole)


def _state_edge(book: _Book, event: Record, start: NodeId, relation: str, end: NodeId) -> None:
    fresh: Record = {"since": event["time"], "until": None, "events": []}
    edge = book.edges.setdefault((start, relation, end), fresh)
    if edge["until"] is not None:
        edge["since"], edge["until"] = event["time"], None
    if event["event_id"] not in edge["events"]:
        edge["events"].append(event["event_id"])


def _live_edge(book: _Book, start: NodeId, relation: str, to: str) -> EdgeId | None:
    """The live edge to the highest generation of `to` that has one."""
    for generation in range(book.newest.get(to, 0), 0, -1):
        edge = book.edges.get((start, relation, (to, generation)))
        if edge is not None and edge["until"] is None:
            return (start, relation, (to, generation))
    return None


def _superseding_reaches(book: _Book, start: NodeId, goal: NodeId) -> bool:
    """Whether live SUPERSEDES edges lead from `start` to `goal`."""
    out: dict[NodeId, list[NodeId]] = {}
    for (here, relation, there), edge in book.edges.items():
        if relation == "supersedes" and edge["until"] is None:
            out.setdefault(here, []).append(there)
    seen, todo = {start}, [start]
    while todo:
        for there in out.get(todo.pop(), []):
            if there not in seen:
                seen.add(there)
                todo.append(there)
    return goal in seen


SECOND_SOURCE = "a second source says the same"


def _sourced(proposal: Record) -> list[Record]:
    """The proposal and, where it is of a concept that two sources say, its confirmation."""
    concept: Record | None = proposal["payload"]["concept"]
    if concept is None or len(concept["sources"]) < 2:
        return [proposal]
    return [proposal, _by_rule(proposal, "sighting", "confirmed", proposal, SECOND_SOURCE)]


def _awaited(book: _Book, made: Record, own: Record) -> list[Record]:
    """The links of the live concepts that wait for the key that ``made`` gives a node, in the order of their keys."""
    waiting = [
        node
        for _, node in sorted(book.nodes.items())
        if made["key"] in node["dangling"] and node["state"] not in TERMINAL
    ]
    drafts: list[Record] = []
    for node in waiting:
        rule = "link" if not drafts else f"link-{len(drafts) + 1}"
        draft = _by_rule(own, rule, "linked", node, None, max(own["time"], node["created_at"]))
        payload: Record = {"relation": "related_to", "to": made["key"]}
        drafts.append({**draft, "payload": payload, "caused_by": [made["event_id"]]})
    return drafts


def _by_rule(
    cause: Record, rule: str, transition: str, node: Record, reason: str | None, time: datetime | None = None
) -> Record:
    return {
        "event_id": f"{cause['event_id']}#{rule}",
        "transition": transition,
        "key": node["key"],
        "generation": node["generation"],
        "actor": cause["actor"],
        "time": cause["time"] if time is None else time,
        "reason": reason,
        "caused_by": [cause["event_id"]],
        "execution": cause["execution"],
        "payload": {"evidence": []},
    }


# --- input checks -----------------------------------------------------------------------------------------


def same_claim(one: str, other: str) -> bool:
    """Equal after NFC, trim, case fold and collapsing white space."""
    return _plain(one) == _plain(other)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFC", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def _links(body: str) -> list[str]:
    """The distinct targets of ``[[target|alias]]``; of code the model knows spans alone."""
    return list(dict.fromkeys(re.findall(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]", re.sub(r"`[^`]*`", "", body))))


def _canonical(value: Any) -> str:
    def instant(found: Any) -> str:
        assert isinstance(found, datetime)
        return found.isoformat()

    return json.dumps(value, sort_keys=True, default=instant)


def _has_text(value: str | None) -> bool:
    return value is not None and bool(value.strip())


def _read(command: Record) -> Record:
    """The command's content, checked for all that can be said without looking at any node. Instants come out
    in UTC, missing parts as None or empty; what a caller leaves out stays out, for telling a repeat."""
    transition: Any = command.get("transition")
    if transition not in TRANSITIONS:
        _refuse("VALIDATION", "transition", f"one of {', '.join(TRANSITIONS)}")
    key: Any = command.get("key")
    if key is not None or transition != "proposed":
        _name(key, "key")
    generation: Any = command.get("generation")
    if generation is not None and (type(generation) is not int or generation < 1):
        _refuse("VALIDATION", "generation")
    reason: Any = command.get("reason")
    if reason is not None:
        _text(reason, "reason", 0, 2000)
    if transition in NEEDS_REASON and not _has_text(reason):
        _refuse("VALIDATION", "reason", "required")
    caused_by: list[Any] = command.get("caused_by") or []
    for i, cause in enumerate(caused_by):
        _text(cause, f"causedBy[{i}]", 1, 200)
    return {
        "transition": transition,
        "key": key,
        "generation": generation,
        "actor": _actor(command.get("actor")),
        "time": _instant(command.get("time"), "time"),
        "reason": reason,
        "caused_by": list(caused_by),
        "execution": _execution(command.get("execution")),
        "payload": _payload(transition, command.get("payload") or {}),
    }


def _payload(transition: str, payload: Record) -> Record:
    read: Record = {}
    if transition == "proposed":
        read["concept"] = _concept(payload.get("concept"))
        if read["concept"] is not None and payload.get("relations"):
            _refuse("VALIDATION", "relations", "the links of a concept are its relations")
    if transition in ("proposed", "corrected"):
        proposition: Any = payload.get("proposition")
        concept = cast("Record | None", read.get("concept"))
        if concept is not None:
            proposition = str(concept["body"]).strip() or str(concept["description"]).strip()
        if not isinstance(proposition, str):
            _refuse("VALIDATION", "proposition", "required")
        _allowed(proposition, "proposition")
        read["proposition"] = _text(proposition.strip(), "proposition", 1, 10_000)
    if transition == "proposed":
        read["kind"] = payload.get("kind") or "claim"
        if read["kind"] not in ("claim", "observation"):
            _refuse("VALIDATION", "kind")
        read["valid_from"] = _instant(payload.get("valid_from"), "validFrom")
        read["valid_to"] = _instant(payload.get("valid_to"), "validTo")
        read["lineage"] = _lineage(payload.get("lineage"))
        read["relations"] = [
            {
                "relation": _relation(relation.get("relation"), f"relations[{i}].relation"),
                "to": _name(relation.get("to"), f"relations[{i}].to"),
            }
            for i, relation in enumerate(cast("list[Record]", payload.get("relations") or []))
        ]
    if transition in TAKES_EVIDENCE:
        records = cast("list[Record]", payload.get("evidence") or [])
        read["evidence"] = [_evidence(record, f"evidence[{i}]") for i, record in enumerate(records)]
        if transition in NEEDS_EVIDENCE and not read["evidence"]:
            _refuse("VALIDATION", "evidence", "at least one")
    if transition == "superseded":
        read["by"] = _name(payload.get("by"), "by")
    if transition in ("linked", "unlinked"):
        read["relation"] = _relation(payload.get("relation"), "relation")
        read["to"] = _name(payload.get("to"), "to")
    if transition == "hinted":
        read["outcome"] = payload.get("outcome")
        if read["outcome"] not in ("helpful", "harmful"):
            _refuse("VALIDATION", "outcome", "helpful or harmful")
        read["supported"] = payload.get("supported") or False
        if not isinstance(read["supported"], bool):
            _refuse("VALIDATION", "supported")
    if transition == "transferred":
        read["to_project"] = _name(payload.get("to_project"), "toProject")
    return read


def _concept(value: Any) -> Record | None:
    if value is None:
        return None
    given = cast(Record, value)
    body = _text(given.get("body") or "", "body", 0, 2_000)
    description = _text(given.get("description") or "", "description", 0, 300)
    if not _has_text(body) and not _has_text(description):
        _refuse("VALIDATION", "body", "a body, or a description")
    sources = [_text(source, "sources", 1, 200) for source in cast("list[Any]", given.get("sources") or [])]
    return {
        "description": description,
        "type": _text(given.get("type"), "type", 1, 80),
        "body": body,
        "links": _links(body),
        "occurrences": given.get("occurrences") or 1,
        "sources": list(dict.fromkeys(sources)),
    }


def _text(value: Any, field: str, least: int, most: int) -> str:
    if not isinstance(value, str) or not least <= len(value) <= most:
        _refuse("VALIDATION", field, f"text of {least} to {most} characters")
    _allowed(value, field)
    return value


def _allowed(value: str, field: str) -> None:
    bad = FORBIDDEN_BY_XML.search(value)
    if bad:
        _refuse("VALIDATION", field, f"U+{ord(bad[0]):04X} at {bad.start()}")


def _name(value: Any, field: str) -> str:
    for i, character in enumerate(_text(value, field, 1, 200)):
        if unicodedata.category(character) == "Cc":
            _refuse("VALIDATION", field, f"U+{ord(character):04X} at {i}")
    return value


def _relation(value: Any, field: str) -> str:
    if value not in RELATIONS:
        _refuse("VALIDATION", field, f"one of {', '.join(RELATIONS)}")
    return value


def _instant(value: Any, field: str) -> datetime | None:
    if value is None:
        return None
    try:
        if isinstance(value, str) and "T24:00:00" in value:  # ISO 8601: the end of a day
            return _instant(datetime.fromisoformat(value.replace("T24", "T00")) + timedelta(days=1), field)
        instant = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except (TypeError, ValueError):
        _refuse("VALIDATION", field, "an instant, ISO 8601")
    if instant.tzinfo is None:
        _refuse("VALIDATION", field, "an instant has an offset")
    return instant.astimezone(UTC)


def _actor(value: Any) -> Record:
    actor: Record = IMPORTER if value is None else value
    for part in ("issuer", "subject"):
        _text(actor.get(part), f"actor.{part}", 1, 10_000)
    if actor.get("type") not in ACTOR_TYPES:
        _refuse("VALIDATION", "actor.type", f"one of {', '.join(ACTOR_TYPES)}")
    return {part: actor[part] for part in ("issuer", "subject", "type")}


def _execution(value: Any) -> Record | None:
    if value is None:
        return None
    given = cast(Record, value)
    return {
        part: _text(given[part], f"execution.{part}", 0, 10_000)
        for part in EXECUTION_PARTS
        if given.get(part) is not None
    }


def _evidence(record: Record, field: str) -> Record:
    """Only what was given is kept; metadata may be any JSON, null kept apart from missing."""
    read: Record = {}
    for part in ("type", "source"):
        read[part] = _text(record.get(part), f"{field}.{part}", 1, 10_000)
    for part in ("key", "hash", "artifact_ref"):
        if record.get(part) is not None:
            read[part] = _text(record[part], f"{field}.{part}", 1, 10_000)
    if record.get("timestamp") is not None:
        read["timestamp"] = _instant(record["timestamp"], f"{field}.timestamp")
    if "metadata" in record:
        read["metadata"] = copy.deepcopy(record["metadata"])
    return read


def _lineage(value: Any) -> Record | None:
    """Sources as rules.md section 7 reads them."""
    if value is None:
        return None
    given = cast(Record, value)
    sources: list[Record] = []
    for source in cast("list[Any]", given.get("sources") or []):
        if not isinstance(source, dict):
            sources.append({"type": "unknown", "id": source})
            continue
        named = cast(Record, source)
        if named.get("id") is not None:
            sources.append({"type": named.get("type") or "unknown", "id": named["id"]})
    return {**given, "sources": sources}
