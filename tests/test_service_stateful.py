"""Two projects lived through twice, by the model and by what is tested, and compared after every step.

The same machine drives two things: the service on a real Neo4j, and the pure core (``lifecycle`` and ``risk``) on
slices in memory, which is fast enough for many more lives.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

import pytest
from conftest import wipe
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from model import CARRIES_DEPENDENCE, RELATIONS, TERMINAL, Model, NodeId, Outcome, confidence
from strategies import (
    ACTORS,
    AGENT,
    AT_BIRTH,
    EVIDENCE,
    HUMAN,
    IMPORTER,
    KEYS,
    LINEAGE,
    NOBODY,
    PROJECTS,
    QUIET,
    START,
    YEAR,
    Claim,
    How,
    Record,
    ends,
    evidence_lists,
    hows,
    keys,
    projects,
    proposals,
    relations,
    said,
    some_evidence,
)

from graph import lifecycle, projection, risk
from graph.commands import Command, read_command
from graph.concept import concept_of
from graph.errors import KnowledgeError, ValidationError
from graph.exchange import Terms, import_journal
from graph.journal import Event
from graph.knowledge import Edge, Kind, Node, Relation, State
from graph.service import Direction, Filter, Moment, Service
from graph.slices import Slice
from graph.store import Store, Taken

T = TypeVar("T")

# The first two are one claim; [[c]], [[d]] and [[e]] are not there at first in the project Q.
BODIES = (
    "The gate is shut, as [[b]] says and [[d]].",
    " the gate is SHUT, as [[b]] says and [[d]].",
    "The gate stands open: [[c|the others]], [[e]], `[[x]]`, [[nobody]].",
    "  ",
)

RETIRES = ("corrected", "superseded", "invalidated", "disproved")
MOVES = (*RETIRES, "confirmed", "challenged")

IN_CI = settings(QUIET, max_examples=25, stateful_step_count=30, derandomize=True)
LONG = settings(QUIET, max_examples=400, stateful_step_count=60)
CORE_IN_CI = settings(QUIET, max_examples=300, stateful_step_count=50, derandomize=True)
CORE_LONG = settings(QUIET, max_examples=10_000, stateful_step_count=80)


def differences(found: Any, expected: Any, path: str = "") -> list[str]:
    """Where two nests of maps and lists differ, each place in a line."""
    pairs: list[tuple[Any, Any, Any]]
    if isinstance(found, dict) and isinstance(expected, dict):
        one, other = cast("dict[Any, Any]", found), cast("dict[Any, Any]", expected)
        pairs = [(name, one.get(name, "nothing"), other.get(name, "nothing")) for name in {*one, *other}]
    elif (
        isinstance(found, list)
        and isinstance(expected, list)
        and len(cast("list[Any]", found)) == len(cast("list[Any]", expected))
    ):
        both = zip(cast("list[Any]", found), cast("list[Any]", expected), strict=True)
        pairs = [(at, one, other) for at, (one, other) in enumerate(both)]
    else:
        return [] if found == expected else [f"{path}: {found!r}, expected {expected!r}"]
    return [line for name, one, other in pairs if one != other for line in differences(one, other, f"{path}/{name}")]


def same(found: Any, expected: Any) -> None:
    assert found == expected, "\n".join(differences(found, expected))


@dataclasses.dataclass(frozen=True)
class Answer:
    """What became of a command, in the model's words; ``newly`` is None where it is not told."""

    code: str | None = None
    applied: bool = False
    newly: int | None = 0
    event_id: str | None = None
    node: NodeId = ("", 0)


@dataclasses.dataclass(frozen=True)
class Told:
    """A command that is said: ``changed`` is what a repeat of an event id says differently."""

    project: str
    line: Record
    changed: Record | None = None


@dataclasses.dataclass(frozen=True)
class Expected:
    """What the model makes of a command, the node that the answer is about, and what else may be wrong with it."""

    told: Told
    outcome: Outcome
    node: NodeId
    faults: set[str]


Written = tuple[str, str, str, int, str]
"""Of an event: id, transition, key, generation, state after."""


class SideBySide(RuleBasedStateMachine):
    """Says every command to the model and to what is tested."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.clock = START
        self.recorded: dict[str, datetime] = dict.fromkeys(PROJECTS, START - timedelta(days=1))
        self.told: list[Told] = []
        self.taken: dict[tuple[str, str], Record] = {}
        self.generation: dict[tuple[str, str], int] = {}
        self.waiting: list[Told] = []
        self.together = 1
        self.said = 0
        self.agreed = True
        self.ending = ""
        self.ids: dict[str, list[str]] = {project: [] for project in PROJECTS}
        self.nodes: dict[str, dict[NodeId, Record]] = {project: {} for project in PROJECTS}

    # --- what a target gives ---------------------------------------------------------------------------------

    def take(self, commands: Sequence[Told]) -> list[Answer]:
        """Say the commands to what is tested, all in one transaction."""
        raise NotImplementedError

    def added(self, project: str) -> list[Written]:
        """What was added to the project's journal since the last look."""
        raise NotImplementedError

    def compare(self, project: str) -> None:
        """Compare all that can be read of the project with the model."""
        raise NotImplementedError

    # --- saying ----------------------------------------------------------------------------------------------

    def say(
        self,
        project: str,
        transition: str,
        key: str,
        how: How,
        payload: Record | None = None,
        reason: str | None = None,
    ) -> None:
        self.clock += timedelta(seconds=how.tick)
        self.said += 1
        line: Record = {
            "event_id": f"{project}{self.said}",
            "transition": transition,
            "key": key,
            "actor": how.actor,
            "payload": {name: value for name, value in (payload or {}).items() if value is not None},
        }
        born = max(((g, n["created_at"]) for (k, g), n in self.nodes[project].items() if k == key), default=None)
        if how.ago == AT_BIRTH and born is not None:
            line["time"] = born[1].isoformat()
        elif how.ago not in (None, AT_BIRTH):
            line["time"] = self.instant(how.ago)
        if reason is not None:
            line["reason"] = reason
        if how.cause is not None:
            ids = self.ids[project]
            line["caused_by"] = [ids[how.cause % len(ids)] if ids else "never"]
        if how.run is not None:
            line["execution"] = {"run": how.run, "frame": "0"}
        self.hear(Told(project, line))

    def hear(self, told: Told) -> None:
        """At once, or when as many have come together as are to be said together."""
        self.waiting.append(told)
        if len(self.waiting) >= self.together:
            self.say_what_waits()

    def say_what_waits(self) -> None:
        if not self.waiting:
            return
        waiting, self.waiting, self.together = self.waiting, [], 1
        self.agreed = False
        written: dict[str, list[Written]] = {project: [] for project in PROJECTS}
        expected = [self.of_model(told, written) for told in waiting]
        answers = self.take(waiting)
        for one, answer in zip(expected, answers, strict=True):
            self.agree(one, answer)
        for project in PROJECTS:
            assert self.added(project) == written[project]
        for project in {told.project for told in waiting} | {name for name in PROJECTS if written[name]}:
            self.compare(project)
        self.told += waiting
        self.agreed = True

    def of_model(self, told: Told, written: dict[str, list[Written]]) -> Expected:
        project, event = told.project, (told.project, told.line["event_id"])
        now = max(self.clock, self.recorded[project])
        if told.changed is not None and event in self.taken:
            heard = {**self.taken[event], **told.changed}
        else:
            heard = self.as_heard(project, told.line, now)
        faults = self.faults(project, heard, now)
        outcome = self.model.run(project, heard, now)
        if outcome.applied:
            self.taken[event] = heard
        for event_id, transition, key, generation, state in outcome.events:
            name = heard["payload"]["to_project"] if "#transfer" in event_id else project
            written[name].append((event_id, transition, key, generation, state))
            self.ids[name].append(event_id)
            self.generation[name, event_id] = generation
            self.recorded[name] = max(now, self.recorded[name])
            self.nodes[name] = self.model.nodes(name)
        repeated = outcome.event_id == event[1]
        newest = max((generation for key, generation in self.nodes[project] if key == heard["key"]), default=0)
        generation = self.generation.get((project, outcome.event_id or ""), 0) if repeated else newest
        return Expected(told, outcome, (heard["key"], generation), faults)

    def agree(self, expected: Expected, answer: Answer) -> None:
        line, outcome = json.dumps(expected.told.line, ensure_ascii=False), expected.outcome
        if outcome.code != answer.code:
            # Wrong in two ways at once: the rules leave open which one is told. Both have to be true.
            assert expected.faults >= {outcome.code, answer.code}, f"{line}: {answer}, {outcome}"
        assert answer.applied == outcome.applied, line
        if outcome.code is None:
            assert (answer.event_id, answer.node) == (outcome.event_id, expected.node), line
            if answer.newly is not None and (outcome.applied or outcome.event_id == expected.told.line["event_id"]):
                # For a proposal that changes nothing the rules do not say whose number it is.
                assert answer.newly == outcome.newly_at_risk, f"{line}: {answer.newly}, {outcome}"

    def faults(self, project: str, line: Record, now: datetime) -> set[str]:
        """Every reason to refuse a well-formed command about this project, each looked for by itself."""
        newest = dict(sorted(self.nodes[project]))
        node = self.nodes[project].get((line["key"], newest.get(line["key"], 0)))
        payload, time = line["payload"], _at(line.get("time")) or now
        ends = [r["to"] for r in payload.get("relations", ())]
        ends += [payload[name] for name in ("to", "by") if name in payload]
        valid_to = _at(payload.get("valid_to"))
        wrong = {
            "VALIDATION": time > now + timedelta(minutes=5)
            or (valid_to is not None and valid_to < (_at(payload.get("valid_from")) or time)),
            "NOT_FOUND": any(end not in newest for end in ends)
            or bool(set(line.get("caused_by", ())) - set(self.ids[project])),
            "RELATION_REFUSED": line["key"] in ends,
        }
        found = {code for code, is_wrong in wrong.items() if is_wrong}
        return found | self.faults_about(project, line, node, time)

    def faults_about(self, project: str, line: Record, node: Record | None, time: datetime) -> set[str]:
        """What may be wrong between a command and the newest node of its key."""
        transition, payload = line["transition"], line["payload"]
        if node is None:
            return set() if transition == "proposed" else {"NOT_FOUND"}
        retired = node["state"] in TERMINAL
        if transition == "proposed":
            wrong = {
                "PROPOSITION_CONFLICT": not retired,
                "VALIDATION": "concept" in payload and time < node["created_at"],
            }
            return {code for code, is_wrong in wrong.items() if is_wrong}
        edges, node_id = self.model.edges(project), (node["key"], node["generation"])
        live = {(near, relation, far[0]) for (near, relation, far), edge in edges.items() if edge["until"] is None}
        wrong = {
            "VALIDATION": time < node["created_at"],
            "NOT_FOUND": transition == "unlinked" and (node_id, payload["relation"], payload["to"]) not in live,
            "TERMINAL_STATE": transition in MOVES and retired,
            "AUTHORITY": transition in RETIRES and (node["confirmed_by"], line["actor"]["type"]) == ("human", "agent"),
            "RELATION_REFUSED": transition == "superseded"
            or payload.get("relation") == "supersedes",  # a ring, perhaps
        }
        return {code for code, is_wrong in wrong.items() if is_wrong}

    def as_heard(self, project: str, line: Record, now: datetime) -> Record:
        """A command that names no time happens when it is recorded, or with its node where that lies ahead."""
        generation = max((g for key, g in self.nodes[project] if key == line["key"]), default=0)
        node = self.nodes[project].get((line["key"], generation))
        if "time" in line or node is None or node["created_at"] <= now:
            return line
        if line["transition"] == "proposed" and ("concept" not in line["payload"] or node["state"] in TERMINAL):
            return line
        return {**line, "time": node["created_at"].isoformat()}

    def instant(self, ago: float) -> str:
        return (self.clock - timedelta(seconds=ago)).isoformat()

    # --- what is said ----------------------------------------------------------------------------------------

    @initialize(ending=st.sampled_from(("rebuilt", "restored", "copied")))
    def there_is_something_to_talk_about(self, ending: str) -> None:
        self.ending, self.together = ending, 100
        how = How(HUMAN, 1.0, YEAR, None, None)
        for project, names in (("P", "abcde"), ("Q", "ab")):
            for key in names:
                evidence = [EVIDENCE["known 1"], EVIDENCE["plain"]] if key in "ce" else []
                self.say(project, "proposed", key, how, {"proposition": "The gate is shut", "evidence": evidence})
        for project, (near, far) in (("P", "ba"), ("P", "cb"), ("P", "db"), ("P", "ed"), ("Q", "ba")):
            self.say(project, "linked", near, how, {"relation": "depends_on", "to": far})
        self.say_what_waits()
        assert {name: len(ids) for name, ids in self.ids.items()} == {"P": 9, "Q": 3}

    @rule(project=projects, key=keys, claim=proposals, how=hows)
    def propose(self, project: str, key: str, claim: Claim, how: How) -> None:
        start = 0.0 if how.ago in (None, AT_BIRTH) else how.ago
        how = dataclasses.replace(how, ago=None if how.ago == AT_BIRTH else how.ago)
        if claim.until is not None and claim.until > (start if claim.since is None else claim.since):
            return  # an interval that ends before it starts has its own test
        payload: Record = {
            "proposition": claim.proposition,
            "kind": claim.kind,
            "valid_from": None if claim.since is None else self.instant(claim.since),
            "valid_to": None if claim.until is None else self.instant(claim.until),
            "relations": [{"relation": relation, "to": to} for relation, to in claim.relations if to != key],
            "evidence": [EVIDENCE[name] for name in claim.evidence],
            "lineage": LINEAGE if claim.lineage else None,
        }
        self.say(project, "proposed", key, how, payload)

    @rule(
        project=projects,
        key=keys,
        body=st.sampled_from(BODIES),
        sessions=st.lists(st.sampled_from(("s1", "s1", "s2", "s3")), max_size=2),
        evidence=evidence_lists,
        how=hows,
    )
    def record_a_concept(
        self, project: str, key: str, body: str, sessions: list[str], evidence: list[str], how: How
    ) -> None:
        self.say_a_concept(project, key, body, sessions, evidence, how)

    def say_a_concept(
        self, project: str, key: str, body: str, sessions: list[str], evidence: list[str], how: How
    ) -> None:
        how = dataclasses.replace(how, ago=None if how.ago == AT_BIRTH else how.ago)
        concept: Record = {"description": "Of the gate", "type": "fact", "body": body, "sources": sessions}
        self.say(project, "proposed", key, how, {"concept": concept, "evidence": [EVIDENCE[name] for name in evidence]})

    @rule(
        project=projects,
        number=st.integers(0, 50),
        body=st.sampled_from(BODIES),
        session=st.sampled_from(("s1", "s2", "s3")),
        how=hows,
    )
    def say_of_a_concept_again(self, project: str, number: int, body: str, session: str, how: How) -> None:
        """The same, or what stands against it."""
        newest = self.newest(project)
        known = [key for key, node in newest.items() if node["concept"] is not None and node["state"] not in TERMINAL]
        key = known[number % len(known)] if known else KEYS[number % len(KEYS)]
        self.say_a_concept(project, key, body, [session], [], how)

    @rule(project=projects, key=keys, evidence=evidence_lists, how=hows)
    def confirm(self, project: str, key: str, evidence: list[str], how: How) -> None:
        self.say(project, "confirmed", key, how, {"evidence": [EVIDENCE[name] for name in evidence]})

    @rule(project=projects, key=keys, evidence=some_evidence, how=hows)
    def confirm_with_evidence(self, project: str, key: str, evidence: list[str], how: How) -> None:
        self.say(project, "confirmed", key, how, {"evidence": [EVIDENCE[name] for name in evidence]})

    @rule(project=projects, key=keys, how=hows)
    def challenge(self, project: str, key: str, how: How) -> None:
        self.say(project, "challenged", key, how, reason="is that so?")

    @rule(
        project=projects,
        key=keys,
        evidence=evidence_lists,
        proposition=st.sampled_from(("Ajar", "The gate is shut")),
        how=hows,
    )
    def correct(self, project: str, key: str, evidence: list[str], proposition: str, how: How) -> None:
        payload: Record = {"proposition": proposition, "evidence": [EVIDENCE[name] for name in evidence]}
        self.say(project, "corrected", key, how, payload, "said more exactly")

    @rule(project=projects, key=keys, by=keys, how=hows)
    def supersede(self, project: str, key: str, by: str, how: How) -> None:
        self.say(project, "superseded", key, how, {"by": by})

    @rule(project=projects, key=keys, how=hows)
    def invalidate(self, project: str, key: str, how: How) -> None:
        self.say(project, "invalidated", key, how, reason="it was never so")

    @rule(project=projects, key=keys, evidence=some_evidence, how=hows)
    def disprove(self, project: str, key: str, evidence: list[str], how: How) -> None:
        self.say(project, "disproved", key, how, {"evidence": [EVIDENCE[name] for name in evidence]}, "measured")

    @rule(project=projects, key=keys, what=st.sampled_from(("used", "forgotten", "recalled")), how=hows)
    def use_or_forget_or_recall(self, project: str, key: str, what: str, how: How) -> None:
        self.say(project, what, key, how)

    @rule(
        project=projects,
        key=keys,
        outcome=st.sampled_from(("helpful", "harmful", "harmful")),
        supported=st.sampled_from((None, False, True)),
        reason=st.sampled_from((None, "it led astray")),
        how=hows,
    )
    def hint(
        self,
        project: str,
        key: str,
        outcome: str,
        supported: bool | None,  # noqa: FBT001 (drawn)
        reason: str | None,
        how: How,
    ) -> None:
        self.say(project, "hinted", key, how, {"outcome": outcome, "supported": supported}, reason)

    @rule(project=projects, key=keys, evidence=some_evidence, how=hows)
    def give_evidence(self, project: str, key: str, evidence: list[str], how: How) -> None:
        self.say(project, "evidenced", key, how, {"evidence": [EVIDENCE[name] for name in evidence]})

    @rule(project=projects, key=keys, relation=relations, to=ends, how=hows)
    def link(self, project: str, key: str, relation: str, to: str, how: How) -> None:
        self.say(project, "linked", key, how, {"relation": relation, "to": to})

    @rule(
        project=projects, number=st.integers(0, 50), relation=st.sampled_from((None, None, None, *RELATIONS)), how=hows
    )
    def unlink(self, project: str, number: int, relation: str | None, how: How) -> None:
        """Mostly an edge that is there, as far as its near end is still the newest of its key."""
        live = [e for e, edge in sorted(self.model.edges(project).items()) if edge["until"] is None]
        near, stated, far = live[number % len(live)] if live else (("a", 1), "supports", ("b", 1))
        if near[0] != far[0]:
            self.say(project, "unlinked", near[0], how, {"relation": relation or stated, "to": far[0]})

    @rule(project=projects, key=keys, how=hows)
    def transfer(self, project: str, key: str, how: How) -> None:
        # The time is given, since two journals need not agree on the present.
        how = dataclasses.replace(how, ago=0.0 if how.ago is None else how.ago)
        self.say(project, "transferred", key, how, {"to_project": PROJECTS[project == "P"]})

    # What is said by chance seldom meets where the rules are hard. These aim.

    def newest(self, project: str) -> dict[str, Record]:
        return {key: node for (key, _), node in sorted(self.nodes[project].items())}

    def live_edges(self, project: str, *relations: str) -> list[tuple[NodeId, str, NodeId]]:
        edges = sorted(self.model.edges(project).items())
        return [edge_id for edge_id, edge in edges if edge["until"] is None and edge_id[1] in relations]

    @rule(project=projects, number=st.integers(0, 50), how=hows)
    def retire_what_others_rest_on(self, project: str, number: int, how: How) -> None:
        nodes, edges = self.newest(project), self.live_edges(project, *CARRIES_DEPENDENCE)
        far = [end[0] for _, _, end in edges if nodes[end[0]]["generation"] == end[1]]
        if far:
            self.say(project, "invalidated", far[number % len(far)], how, reason="it was never so")

    @rule(project=projects, number=st.integers(0, 50), what=st.sampled_from(("evidence", "unlink", "unlink")), how=hows)
    def settle_what_is_at_risk(self, project: str, number: int, what: str, how: How) -> None:
        nodes, edges = self.newest(project), self.live_edges(project, *CARRIES_DEPENDENCE)
        risky = [key for key, node in nodes.items() if node["at_risk"]]
        if not risky:
            return
        key = risky[number % len(risky)]
        near = [edge for edge in edges if edge[0] == (key, nodes[key]["generation"])]
        if what == "evidence" or not near:
            self.say(project, "confirmed", key, how, {"evidence": [EVIDENCE["plain"]]})
        else:
            _, relation, far = near[number % len(near)]
            self.say(project, "unlinked", key, how, {"relation": relation, "to": far[0]})

    @rule(project=projects, number=st.integers(0, 50), relation=st.sampled_from(CARRIES_DEPENDENCE), how=hows)
    def rest_on_what_is_in_doubt(self, project: str, number: int, relation: str, how: How) -> None:
        nodes = self.newest(project)
        doubtful = [key for key, node in nodes.items() if node["at_risk"] or node["state"] in TERMINAL]
        if doubtful:
            near, far = KEYS[number % len(KEYS)], doubtful[number % len(doubtful)]
            self.say(project, "linked", near, how, {"relation": relation, "to": far})

    @rule(project=projects, number=st.integers(0, 50), turned=st.booleans(), how=hows)
    def state_an_edge_once_more(self, project: str, number: int, turned: bool, how: How) -> None:  # noqa: FBT001
        """To what is now the newest of the key; or the other way round, which may close a ring."""
        edges = sorted(self.model.edges(project))
        if turned:
            edges = [edge_id for edge_id in edges if edge_id[1] == "supersedes"]
        near, relation, far = edges[number % len(edges)] if edges else (("a", 1), "supersedes", ("b", 1))
        if turned:
            near, far = far, near
        self.say(project, "linked", near[0], how, {"relation": relation, "to": far[0]})

    @rule(count=st.integers(2, 5))
    def say_the_next_together(self, count: int) -> None:
        """In one transaction, in which each is decided on what the ones before it left."""
        self.together = max(count, len(self.waiting))

    @precondition(lambda self: self.told)
    @rule(
        number=st.integers(0, 60),
        change=st.sampled_from(
            ("nothing", "nothing", "nothing", "nothing", "reason", "actor", "key", "time", "run", "transition")
        ),
        how=hows,
    )
    def say_again(self, number: int, change: str, how: How) -> None:
        """The same event id: with the same content a repeat, with other content a conflict."""
        self.clock += timedelta(seconds=how.tick)
        said = [*self.waiting, *reversed(self.told)]
        told = said[number % len(said)]
        other: Record = {}
        if change == "reason":
            other = {"reason": "another reason"}
        elif change == "actor":
            other = {"actor": ACTORS[(ACTORS.index(told.line["actor"]) + 1) % len(ACTORS)]}
        elif change == "key":
            other = {"key": KEYS[(KEYS.index(told.line["key"]) + 1) % len(KEYS)]}
        elif change == "time":
            other = {"time": (START - timedelta(days=9)).isoformat()}
        elif change == "run":
            other = {"execution": {"run": "run-9"}}
        elif change == "transition" and told.line["transition"] in ("used", "forgotten", "recalled"):
            other = {"transition": "forgotten" if told.line["transition"] == "used" else "used"}
        if any(relation["to"] == other.get("key") for relation in told.line["payload"].get("relations", ())):
            return  # related to itself, and perhaps the same claim again: the rules give both answers
        self.hear(Told(told.project, {**told.line, **other}, {**(told.changed or {}), **other}))

    @rule(
        project=projects,
        key=keys,
        fault=st.sampled_from(
            (
                ("challenged", {"reason": None}),
                ("corrected", {"reason": None, "payload": {"proposition": "x"}}),
                ("corrected", {"payload": {"proposition": " \n "}}),
                ("invalidated", {"reason": None}),
                ("disproved", {"reason": None}),
                ("disproved", {"payload": {}}),
                ("evidenced", {"payload": {"evidence": []}}),
                ("proposed", {"payload": {}}),
                ("proposed", {"payload": {"proposition": "x", "kind": "hunch"}}),
                ("proposed", {"payload": {"proposition": "nul \x00"}}),
                ("proposed", {"payload": {"concept": {"type": "fact", "body": " "}}}),
                ("proposed", {"payload": {"concept": {"type": "", "body": "x"}}}),
                ("proposed", {"payload": {"concept": {"type": "fact", "body": "x" * 2_001}}}),
                ("hinted", {"payload": {"outcome": "great"}}),
                ("linked", {"payload": {"relation": "icp-kriterien", "to": "a"}}),
                ("linked", {"payload": {"relation": "DEPENDS_ON", "to": "a"}}),
                ("superseded", {"payload": {}}),
                ("transferred", {"payload": {}}),
                ("transferred", {"payload": {"to_project": "line\nend"}}),
                ("used", {"time": "2026-01-01T00:00:00"}),
                ("used", {"time": "yesterday"}),
                ("used", {"actor": {"issuer": "x", "subject": "y", "type": "god"}}),
                ("used", {"actor": {"issuer": "x", "subject": "", "type": "human"}}),
                ("used", {"key": ""}),
                ("used", {"key": "k" * 201}),
                ("used", {"key": "bell\x07"}),
                ("confirmed", {"payload": {"evidence": [{"type": "run"}]}}),
                ("confirmed", {"reason": "r" * 2_001}),
                ("revived", {}),
            )
        ),
    )
    def say_what_no_door_lets_in(self, project: str, key: str, fault: tuple[str, Record]) -> None:
        self.say_what_waits()
        transition, wrong = fault
        self.said += 1
        line: Record = {
            "event_id": f"{project}{self.said}",
            "transition": transition,
            "key": key,
            "actor": HUMAN,
            "reason": "a reason",
            "payload": {"evidence": [{"type": "run", "source": "run:1"}]} if transition == "disproved" else {},
            **wrong,
        }
        assert self.model.run(project, line, self.clock).code == "VALIDATION"
        with pytest.raises(ValidationError) as caught:
            read_command(line, actor=IMPORTER, project=project)
        assert caught.value.field

    @rule(project=projects, key=keys, what=st.sampled_from(("too far ahead", "before", "no cause")), how=hows)
    def say_what_does_not_fit_in(self, project: str, key: str, what: str, how: How) -> None:
        if what == "too far ahead":
            behind = self.recorded[project] - self.clock - timedelta(seconds=how.tick)
            self.clock += max(behind, timedelta(0))
            self.say(project, "used", key, dataclasses.replace(how, ago=-301.0, cause=None))
        elif what == "before":
            self.say(project, "used", key, dataclasses.replace(how, ago=20.0 * YEAR))
        else:
            self.said += 1
            line: Record = {"event_id": f"{project}{self.said}", "transition": "used", "key": key}
            self.hear(Told(project, {**line, "actor": AGENT, "payload": {}, "caused_by": ["never"]}))


# --- the service on Neo4j -----------------------------------------------------------------------------------


def _at(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


TIMES = ("valid_from", "valid_to", "created_at", "updated_at", "verified_at")
PLAIN = ("proposition", "kind", "state", "at_risk", "uses", "forgotten")


def _of_model(node: Mapping[str, Any]) -> Record:
    return {name: node[name] for name in (*PLAIN, *TIMES, "concept")}


def _of_service(row: Mapping[str, Any]) -> Record:
    times = {name: _at(row[name]) for name in TIMES}
    return {name: row[name] for name in PLAIN} | times | {"concept": _concept(row["concept"])}


def _concept(text: str | None) -> Record | None:
    return None if text is None else json.loads(text)


def _evidence(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each record as text; a made key is left out, since each side makes its own."""

    def told(record: Mapping[str, Any]) -> str:
        named = record["key"] if str(record["key"]).startswith("ev-") else "made"
        parts = {name: record.get(name) for name in ("type", "source", "hash", "artifact_ref")}
        time, metadata = record["timestamp"], record.get("metadata")
        time = datetime.fromisoformat(time) if isinstance(time, str) else time
        metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
        whole = {"key": named, **parts, "timestamp": time.astimezone(UTC).isoformat(), "metadata": metadata}
        return json.dumps(whole, sort_keys=True)

    return sorted(map(told, records))


def _edges_of(rows: Iterable[Record]) -> dict[tuple[NodeId, str, NodeId], Record]:
    return {
        ((row["from"][0], row["from"][1]), row["relation"], (row["to"][0], row["to"][1])): {
            "since": _at(row["since"]),
            "until": _at(row["until"]),
            "events": row["event_ids"],
        }
        for row in rows
    }


EVENT = ("event_id", "seq", "transition", "key", "generation", "state_after", "reason", "actor", "caused_by")


def _events_of(events: Iterable[Mapping[str, Any]]) -> list[Record]:
    return [
        {name: event[name] for name in EVENT}
        # What arrives from another project was no part of a run here.
        | {"execution": None if "#transfer" in event["event_id"] else event["execution"]}
        | {name: _at(t) if isinstance(t := event[name], str) else t for name in ("time", "recorded_at")}
        for event in events
    ]


def _answered(taken: Taken | KnowledgeError) -> Answer:
    if isinstance(taken, KnowledgeError):
        return Answer(taken.code)
    return Answer(None, taken.applied, taken.newly_at_risk, taken.event_id, (taken.key, taken.generation))


class OnNeo4j(SideBySide):
    """The service on a real database; ``runner`` and ``store`` are given by the test."""

    runner: asyncio.Runner
    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.service = Service(self.store, lambda: self.clock)
        self.read_to: dict[str, int] = dict.fromkeys(PROJECTS, 0)
        self.wait(wipe(self.store))

    def wait(self, awaitable: Awaitable[T]) -> T:
        async def waiting() -> T:
            return await awaitable

        return self.runner.run(waiting())

    def take(self, commands: Sequence[Told]) -> list[Answer]:
        read = [read_command(told.line, actor=IMPORTER, project=told.project) for told in commands]
        if len(read) == 1:
            return [self.wait(self.alone(read[0]))]
        return [_answered(taken) for taken in self.wait(self.service.run_many(read))]

    async def alone(self, command: Command) -> Answer:
        try:
            return _answered(await self.service.run(command))
        except KnowledgeError as refusal:
            return _answered(refusal)

    def added(self, project: str) -> list[Written]:
        found: list[Written] = []
        for event in self.wait(self.service.journal(project, self.read_to[project], 100)).items:
            self.read_to[project] += 1
            assert event["seq"] == self.read_to[project]
            found.append(
                (event["event_id"], event["transition"], event["key"], event["generation"], event["state_after"])
            )
        return found

    def compare(self, project: str) -> None:
        self.wait(self.comparing(project))

    async def comparing(self, project: str) -> None:
        expected, ids = self.nodes[project], sorted(self.nodes[project])
        risky = [node_id for node_id in ids if expected[node_id]["at_risk"]]
        newest = dict(ids)
        asked = [node_id for node_id in risky if newest[node_id[0]] == node_id[1]]
        rows, evidence, relations, why = await asyncio.gather(
            self.service.nodes(project, ids),
            self.service.evidence(project, ids),
            self.service.relations(project, ids, "upstream", include_ended=True),
            asyncio.gather(*(self.service.why_at_risk(project, key) for key, _ in asked)),
        )
        same({i: _of_service(row) for i, row in rows.items()}, {i: _of_model(n) for i, n in expected.items()})
        same(
            {i: _evidence(rows) for i, rows in evidence.items()},
            {i: _evidence(node["evidence"]) for i, node in expected.items()},
        )
        edges = self.model.edges(project)
        same(_edges_of(row for rows in relations.values() for row in rows), edges)
        for node_id, found in zip(asked, why, strict=True):
            self.compare_chains(project, node_id, found, edges)

    def compare_chains(
        self, project: str, node_id: NodeId, found: Sequence[Record], edges: Mapping[Any, Record]
    ) -> None:
        nodes = self.nodes[project]
        lengths: dict[NodeId, int] = {}
        retired_at: list[int] = []
        for reason in found:
            chain = [(row["key"], row["generation"]) for row in reason["path"]]
            root = (reason["retired"]["key"], reason["retired"]["generation"])
            seq = nodes[root]["retired_seq"]
            assert (chain[0], chain[-1]) == (node_id, root)
            assert reason["event"]["event_id"] == nodes[root]["retired_by"]
            for near, far in itertools.pairwise(chain):
                live = [
                    r for r in CARRIES_DEPENDENCE if (near, r, far) in edges and edges[near, r, far]["until"] is None
                ]
                assert live, f"{near} does not rest on {far}"
                assert nodes[near]["state"] not in TERMINAL
                assert nodes[near]["verified_seq"] < seq
            lengths[root] = len(chain) - 1
            retired_at.append(seq)
        assert lengths == nodes[node_id]["roots"]
        assert retired_at == sorted(retired_at)

    # --- asking ----------------------------------------------------------------------------------------------

    @rule(project=projects, key=st.sampled_from((*KEYS, NOBODY)))
    def ask_for_the_impact(self, project: str, key: str) -> None:
        self.wait(self.compare_impact(project, key))

    async def compare_impact(self, project: str, key: str) -> None:
        try:
            found = await self.service.impact(project, key, 1_000)
        except KnowledgeError as refusal:
            assert refusal.code == "NOT_FOUND"
            assert key not in {k for k, _ in self.nodes[project]}
            return
        ids = {(node["key"], node["generation"]) for node in found["items"]}
        assert ids == self.model.impact(project, key)
        assert found["count"] == len(ids)

    @precondition(lambda self: self.told)
    @rule(project=projects, back=st.integers(0, 60), nudge=st.sampled_from((0, 0, -1, 1)))
    def ask_the_past(self, project: str, back: int, nudge: int) -> None:
        self.say_what_waits()
        recorded = [event["recorded_at"] for event in self.model.journal(project)] or [self.clock]
        instant = recorded[-1 - back % len(recorded)] + timedelta(microseconds=nudge)
        self.wait(self.compare_past(project, instant))

    async def compare_past(self, project: str, instant: datetime, keys: Sequence[str] = KEYS) -> None:
        expected = self.model.nodes(project, instant)
        edges = {e: edge for e, edge in self.model.edges(project, instant).items() if edge["until"] is None}
        at = await self.service.position(project, instant)
        assert at == Moment(len(self.model.journal(project, instant)), instant)
        ids = sorted(self.nodes[project])
        rows = await self.service.nodes(project, ids, at)
        same({i: _of_service(row) for i, row in rows.items()}, {i: _of_model(n) for i, n in expected.items()})
        evidence = await self.service.evidence(project, ids, at)
        same(
            {i: _evidence(rows) for i, rows in evidence.items() if rows},
            {i: _evidence(node["evidence"]) for i, node in expected.items() if node["evidence"]},
        )
        relations = await self.service.relations(project, ids, "downstream", at=at)
        then = _edges_of(row for rows in relations.values() for row in rows)
        same(
            {e: (edge["since"], edge["until"]) for e, edge in then.items()},
            {e: (edge["since"], edge["until"]) for e, edge in edges.items()},
        )
        for key in keys:
            row = await self.service.knowledge(project, key, as_of=instant)
            generation = max((g for k, g in expected if k == key), default=None)
            assert (None if row is None else row["generation"]) == generation

    @rule(
        project=projects,
        key=keys,
        direction=st.sampled_from(("upstream", "downstream")),
        wanted=st.sampled_from((RELATIONS, CARRIES_DEPENDENCE, ("supersedes",))),
        depth=st.sampled_from((0, 1, 2, 5, 100)),
        back=st.sampled_from((None, None, 0, 3, 9)),
    )
    def walk(
        self, project: str, key: str, direction: Direction, wanted: tuple[str, ...], depth: int, back: int | None
    ) -> None:
        recorded = [event["recorded_at"] for event in self.model.journal(project)]
        as_of = recorded[-1 - back % len(recorded)] if recorded and back is not None else None
        self.wait(self.compare_walk(project, key, direction, wanted, depth, as_of))

    async def compare_walk(
        self,
        project: str,
        key: str,
        direction: Direction,
        wanted: tuple[str, ...] = RELATIONS,
        depth: int = 100,
        as_of: datetime | None = None,
    ) -> None:
        relations = [Relation(name) for name in wanted]
        try:
            found = await self.service.provenance(
                project, key, direction=direction, relations=relations, depth=depth, as_of=as_of
            )
        except KnowledgeError as refusal:
            assert refusal.code == "NOT_FOUND"
            with pytest.raises(KeyError):
                self.model.provenance(project, key, as_of=as_of)
            return
        distances, edges, cut = self.model.provenance(
            project, key, down=direction == "downstream", relations=wanted, depth=depth, as_of=as_of
        )
        root = (found["root"]["key"], found["root"]["generation"])
        near = {(node["key"], node["generation"]): node["distance"] for node in found["nodes"]}
        assert len(near) == len(found["nodes"])
        assert {root: 0, **near} == distances
        assert _edges_of(found["edges"]).keys() == edges
        assert len(found["edges"]) == len(edges)
        assert found["truncated"] == cut

    @rule(
        project=projects,
        states=st.sampled_from((None, ("proposed",), ("confirmed", "challenged"), TERMINAL)),
        at_risk=st.sampled_from((None, True, False)),
        bound=st.one_of(st.none(), st.integers(0, 30)),
        nudge=st.sampled_from((0, 0, -1, 1)),
        prefix=st.sampled_from((None, None, "b", "")),
        first=st.sampled_from((1, 2, 1_000)),
    )
    def page_through(
        self,
        project: str,
        states: tuple[str, ...] | None,
        at_risk: bool | None,  # noqa: FBT001 (drawn)
        bound: int | None,
        nudge: int,
        prefix: str | None,
        first: int,
    ) -> None:
        bounds, instant = self.bounds(project), None
        if bound is not None and bounds:
            instant = bounds[bound % len(bounds)] + timedelta(microseconds=nudge)
        self.wait(self.compare_pages(project, first, instant, states, at_risk, prefix))

    def bounds(self, project: str) -> list[datetime]:
        """Where validity begins or ends."""
        nodes = self.nodes[project].values()
        return sorted({node[name] for node in nodes for name in ("valid_from", "valid_to")} - {None})

    async def compare_pages(
        self,
        project: str,
        first: int,
        instant: datetime | None,
        states: tuple[str, ...] | None = None,
        at_risk: bool | None = None,  # noqa: FBT001 (as in Filter)
        prefix: str | None = None,
    ) -> None:
        wanted = Filter(
            states=None if states is None else tuple(State(state) for state in states),
            at_risk=at_risk,
            valid_at=instant,
            key_prefix=prefix,
        )
        valid = set(self.nodes[project]) if instant is None else self.model.valid_at(project, instant)
        expected = [
            node_id
            for node_id, node in sorted(self.nodes[project].items())
            if not node["forgotten"]
            and node_id in valid
            and (states is None or node["state"] in states)
            and (at_risk is None or node["at_risk"] == at_risk)
            and node_id[0].startswith(prefix or "")
        ]
        found: list[NodeId] = []
        more = True
        while more:
            page = await self.service.page(project, wanted, first, found[-1] if found else None)
            found += [(row["key"], row["generation"]) for row in page.items]
            more = page.has_next
            assert len(page.items) == first or not more
        assert found == expected

    @precondition(lambda self: self.told)
    @rule(project=projects)
    def rebuild(self, project: str) -> None:
        self.say_what_waits()
        self.wait(self.rebuilding(project))

    async def rebuilding(self, project: str) -> None:
        if self.ids[project]:
            assert await self.service.rebuild(project) == len(self.ids[project])
            await self.comparing(project)
            await self.verified(project)

    async def verified(self, project: str) -> None:
        count = len(self.ids[project])
        found = await self.service.verify(project)
        assert found == {
            "ok": True,
            "events": count,
            "first_broken": None,
            "projection_matches": True,
            "differences": [],
        }

    def teardown(self) -> None:
        if self.agreed:
            self.say_what_waits()
            self.wait(self.at_the_end())

    async def at_the_end(self) -> None:
        spoken = [project for project in PROJECTS if self.ids[project]]
        assert await self.service.projects() == spoken == self.model.projects()
        for project in spoken:
            journal = [event async for event in self.all_events(project)]
            same(_events_of(journal), _events_of(self.model.journal(project)))
            await self.verified(project)
            await self.comparing(project)
            for key in KEYS:
                await self.compare_impact(project, key)
                await self.compare_walk(project, key, "upstream")
                await self.compare_walk(project, key, "downstream")
            recorded = sorted({event["recorded_at"] for event in self.model.journal(project)})
            for instant in recorded[:: max(1, len(recorded) // 5)]:
                await self.compare_past(project, instant, KEYS[:1])
            for instant in self.bounds(project)[-6:]:
                await self.compare_pages(project, 1_000, instant)
            stats = await self.service.stats(project)
            nodes = self.nodes[project].values()
            assert stats["nodes"] == len(nodes)
            assert stats["at_risk"] == sum(node["at_risk"] for node in nodes)
            assert stats["edges"] == sum(e["until"] is None for e in self.model.edges(project).values())
        match self.ending:
            case "rebuilt":
                for project in spoken:
                    await self.rebuilding(project)
            case "restored":
                await self.restored({project: await self.exported(project) for project in spoken})
            case _:
                for project in spoken:
                    await self.read_elsewhere(project, await self.exported(project))

    async def restored(self, files: Mapping[str, bytes]) -> None:
        """Read back into an empty store as they were written, they are written as they were."""
        await wipe(self.store)
        for project, file in files.items():
            lines = file.splitlines()
            report = await import_journal(self.store, lambda read=lines: read, Terms(project, IMPORTER, restore=True))
            assert (report.taken, report.refused, report.refusals) == (len(lines), 0, [])
            assert await self.exported(project) == file
            await self.comparing(project)
            await self.verified(project)

    async def all_events(self, project: str) -> AsyncIterator[Record]:
        after, more = 0, True
        while more:
            page = await self.service.journal(project, after, 1_000)
            for event in page.items:
                yield event
            after, more = after + len(page.items), page.has_next

    async def exported(self, project: str) -> bytes:
        return b"".join([chunk async for chunk in self.service.export_journal(project)])

    async def read_elsewhere(self, project: str, file: bytes) -> None:
        """Taken anew under another name, and every transfer led to a place of its own: equal but for its recording."""
        name = f"{project} copied"
        moved: list[Record] = []
        for number, raw in enumerate(file.splitlines()):
            line: Record = {**json.loads(raw), "project": name}
            if line["transition"] == "transferred":
                line["payload"] = {"to_project": f"from {project} {number}"}
            moved.append(line)
        lines = [json.dumps(line).encode() for line in moved]
        report = await import_journal(self.store, lambda: lines, Terms(name, IMPORTER))
        assert (report.lines, report.refused, report.refusals) == (len(lines), 0, [])
        again = [json.loads(raw) for raw in (await self.exported(name)).splitlines()]
        own = {"recorded_at", "hash", "prev_hash"}
        same(
            [{k: v for k, v in line.items() if k not in own} for line in again],
            [{k: v for k, v in line.items() if k not in own} for line in moved],
        )
        rows = await self.service.nodes(name, sorted(self.nodes[project]))
        same(
            {i: _of_service(row) | {"updated_at": None} for i, row in rows.items()},
            {i: _of_model(node) | {"updated_at": None} for i, node in self.nodes[project].items()},
        )
        await self.verified_count(name, len(lines))

    async def verified_count(self, project: str, count: int) -> None:
        found = await self.service.verify(project)
        assert (found["ok"], found["events"]) == (True, count), found


def _lives_on(runner: asyncio.Runner, store: Store) -> type[OnNeo4j]:
    return type("Lives", (OnNeo4j,), {"runner": runner, "store": store})


def test_the_service_lives_as_the_rules_say(loop: asyncio.Runner, store: Store) -> None:
    run_state_machine_as_test(_lives_on(loop, store), settings=IN_CI)


@pytest.mark.slow
def test_the_service_lives_many_and_long_lives_as_the_rules_say(loop: asyncio.Runner, store: Store) -> None:
    run_state_machine_as_test(_lives_on(loop, store), settings=LONG)


async def _said(service: Service, *commands: tuple[str, str, Record]) -> list[Taken]:
    return [await service.run(said(transition, key, **parts)) for transition, key, parts in commands]


def test_a_repeat_gets_the_first_answer_also_where_a_rule_retired_the_node(
    loop: asyncio.Runner, service: Service
) -> None:
    harmful: Record = {"outcome": "harmful", "event_id": "second"}
    *_, first, again = loop.run(
        _said(
            service,
            ("proposed", "a", {"proposition": "a"}),
            ("proposed", "b", {"proposition": "b", "relations": [{"relation": "depends_on", "to": "a"}]}),
            ("hinted", "a", {"outcome": "harmful"}),
            ("hinted", "a", harmful),
            ("hinted", "a", harmful),
        )
    )
    assert (first.applied, first.newly_at_risk) == (True, 1)
    assert again == dataclasses.replace(first, applied=False)


def test_a_proposal_that_changes_nothing_answers_with_the_live_node(loop: asyncio.Runner, service: Service) -> None:
    *_, again = loop.run(
        _said(
            service,
            ("proposed", "a", {"proposition": "The gate is shut"}),
            ("corrected", "a", {"proposition": "The gate is ajar", "reason": "said more exactly"}),
            ("proposed", "a", {"proposition": "The gate is ajar"}),
        )
    )
    assert not again.applied
    assert (again.key, again.generation) == ("a", 2)


# --- the pure core ------------------------------------------------------------------------------------------


def _marks(here: Slice) -> dict[NodeId, int]:
    """All marks of a slice that holds the whole project, from scratch."""
    verified = {i: node.verified_seq or 0 for i, node in here.nodes.items() if not node.retired}
    dependents: dict[NodeId, list[NodeId]] = {}
    threats: list[tuple[NodeId, int]] = []
    for edge in _dependence(here):
        if edge.source not in verified:
            continue
        retired = here.nodes[edge.target].retired_seq
        if retired is None:
            dependents.setdefault(edge.target, []).append(edge.source)
        else:
            threats.append((edge.source, retired))
    return risk.marks(verified, dependents, threats)


def _dependence(here: Slice) -> list[Edge]:
    return [edge for edge in here.edges.values() if edge.live and edge.relation.carries_dependence]


def _roots(here: Slice, start: NodeId) -> dict[NodeId, int]:
    verified = {i: node.verified_seq or 0 for i, node in here.nodes.items() if not node.retired}
    retired = {i: node.retired_seq for i, node in here.nodes.items() if node.retired_seq is not None}
    dependencies: dict[NodeId, list[NodeId]] = {}
    for edge in _dependence(here):
        dependencies.setdefault(edge.source, []).append(edge.target)
    return {chain[-1]: len(chain) - 1 for chain in risk.chains(start, verified, retired, dependencies)}


def _of_core(node: Node) -> Record:
    return {
        "proposition": node.proposition,
        "kind": node.kind.value,
        "state": node.state.value,
        "valid_from": node.valid_from,
        "valid_to": node.valid_to,
        "created_at": node.created_at,
        "updated_at": node.updated_at,
        "verified_at": node.verified_at,
        "verified_seq": node.verified_seq or 0,
        "retired_seq": node.retired_seq,
        "confirmed_by": None if node.confirmed_by is None else node.confirmed_by.value,
        "uses": node.uses,
        "hints_helpful": node.helpful,
        "hints_harmful": node.harmful,
        "hints_unsupported": node.unsupported,
        "forgotten": node.forgotten,
        "concept": _concept(node.concept),
        "dangling": list(node.dangling),
    }


CORE = tuple(_of_core(Node("", "", 1, "", Kind.CLAIM, State.PROPOSED, START, None, START, 1, START, 1)))


class InMemory(SideBySide):
    """``decide`` and ``evolve`` over slices that hold all there is, and the marks from scratch."""

    def __init__(self) -> None:
        super().__init__()
        self.slices = {project: Slice(project) for project in PROJECTS}
        self.folded: dict[str, list[Event]] = {project: [] for project in PROJECTS}

    def take(self, commands: Sequence[Told]) -> list[Answer]:
        return [self.decided(told) for told in commands]

    def decided(self, told: Told) -> Answer:
        here = self.slices[told.project]
        now = lifecycle.not_before(self.clock, here.head)
        try:
            command = read_command(told.line, actor=IMPORTER, project=told.project)
            decision = lifecycle.decide(self.slices, command, now)
        except KnowledgeError as refusal:
            return Answer(refusal.code)
        before = set(_marks(here))
        for event in decision.events:
            self.fold(event)
        newly = len(set(_marks(here)) - before) if decision.events else None
        own = next(e for e in here.events.values() if e.seq == (decision.standing or decision.events[0].seq))
        node = decision.node or (own.key, own.generation)
        return Answer(None, bool(decision.events), newly, own.event_id, node)

    def added(self, project: str) -> list[Written]:
        found, self.folded[project] = self.folded[project], []
        return [(e.event_id, e.transition.value, e.key, e.generation, e.state_after.value) for e in found]

    def fold(self, event: Event) -> None:
        """Fold it; an event of which ``risk.change`` says that it changes no mark must change none."""
        here = self.slices[event.project]
        before = _marks(here)
        self.folded[event.project].append(event)
        projection.evolve(here, event)
        if risk.change(event) == risk.Change():
            assert _marks(here) == before, event

    def compare(self, project: str) -> None:
        here, expected = self.slices[project], self.nodes[project]
        marks = _marks(here)
        assert set(marks) == {i for i, node in expected.items() if node["at_risk"]}
        for node_id, mark in marks.items():
            roots = expected[node_id]["roots"]
            assert mark == max(expected[root]["retired_seq"] for root in roots)
            assert _roots(here, node_id) == roots
        for node in here.nodes.values():
            if node.concept is not None:
                sure = concept_of(node.key, node.concept).confidence(node.state)
                assert sure == pytest.approx(confidence(expected[node.id]))
        own = {i: _of_core(node) for i, node in here.nodes.items()}
        same(own, {i: {name: node[name] for name in CORE} for i, node in expected.items()})
        edges = {(edge.source, edge.relation.value, edge.target): edge for edge in here.edges.values()}
        wanted = self.model.edges(project)
        assert edges.keys() == wanted.keys()
        for edge_id, edge in edges.items():
            assert edge.live == (wanted[edge_id]["until"] is None)
            assert edge.times[-1 if edge.live else -2] == wanted[edge_id]["since"]
            assert edge.live or edge.times[-1] == wanted[edge_id]["until"]
            assert list(edge.event_ids) == wanted[edge_id]["events"]

    def teardown(self) -> None:
        if self.agreed:
            self.say_what_waits()
        for project, here in self.slices.items() if self.agreed else ():
            events = sorted(here.events.values(), key=lambda event: event.seq)
            same(_events_of(event.line() for event in events), _events_of(self.model.journal(project)))


def test_the_core_lives_as_the_rules_say() -> None:
    run_state_machine_as_test(InMemory, settings=CORE_IN_CI)


@pytest.mark.slow
def test_the_core_lives_many_and_long_lives_as_the_rules_say() -> None:
    run_state_machine_as_test(InMemory, settings=CORE_LONG)
