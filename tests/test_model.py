"""The model against the rules, told as sentences, and against a second formulation of at_risk."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model import CARRIES_DEPENDENCE, RELATIONS, TERMINAL, Model, NodeId, Outcome
from strategies import NESTED_METADATA

START = datetime(2026, 1, 1, tzinfo=UTC)
HUMAN = {"issuer": "here", "subject": "hana", "type": "human"}
AGENT = {"issuer": "here", "subject": "bot-7", "type": "agent"}
PROOF = [{"type": "run", "source": "run:1"}]
ENVELOPE = ("event_id", "time", "reason", "caused_by", "execution", "generation", "actor")


class World:
    """A model with a clock that moves a second with every command, and a short way to say commands."""

    def __init__(self) -> None:
        self.model = Model()
        self.clock = START
        self.said = 0

    def __call__(self, transition: str, key: str | None, project: str = "P", **parts: Any) -> Outcome:
        self.clock += timedelta(seconds=1)
        self.said += 1
        command: dict[str, Any] = {
            "event_id": f"e{self.said}",
            "transition": transition,
            "key": key,
            "actor": HUMAN,
        }
        command |= {name: value for name, value in parts.items() if name in ENVELOPE}
        command["payload"] = {name: value for name, value in parts.items() if name not in ENVELOPE}
        return self.model.run(project, command, self.clock)

    def claims(self, *keys: str, project: str = "P") -> None:
        for key in keys:
            assert self("proposed", key, project, proposition=f"claim {key}").applied

    def depends(self, *pairs: str) -> None:
        """`"a b"` says that a depends on b."""
        for pair in pairs:
            start, end = pair.split()
            assert self("linked", start, relation="depends_on", to=end).applied

    def retire(self, key: str) -> Outcome:
        outcome = self("invalidated", key, reason="wrong")
        assert outcome.code is None
        return outcome

    def confirm(self, key: str, evidence: list[dict[str, Any]] | None = None) -> None:
        assert self("confirmed", key, evidence=evidence or []).applied

    @property
    def at_risk(self) -> set[str]:
        return {key for key, _ in self.model.at_risk("P")}

    def node(self, key: str, generation: int = 1, project: str = "P") -> dict[str, Any]:
        return self.model.nodes(project)[(key, generation)]

    def transitions(self, key: str) -> list[str]:
        return [event["transition"] for event in self.model.journal("P") if event["key"] == key]


@pytest.fixture
def world() -> World:
    return World()


# --- the transition table of section 3 ----------------------------------------------------------------------

# A state: where the node lands. "=": nothing changes and there is no event. "+": a next generation. A
# corrected node is never the newest of its key, so "corrected" is no column: it has its own test.
TABLE = """
command        | none      | proposed    | confirmed   | challenged  | superseded     | invalidated
propose same   | proposed  | =           | =           | =           | + proposed     | + proposed
propose other  | proposed  | CONFLICT    | CONFLICT    | CONFLICT    | + proposed     | + proposed
confirm        | NOT_FOUND | confirmed   | confirmed   | confirmed   | TERMINAL_STATE | TERMINAL_STATE
challenge      | NOT_FOUND | challenged  | challenged  | challenged  | TERMINAL_STATE | TERMINAL_STATE
correct        | NOT_FOUND | corrected   | corrected   | corrected   | TERMINAL_STATE | TERMINAL_STATE
supersede      | NOT_FOUND | superseded  | superseded  | superseded  | TERMINAL_STATE | TERMINAL_STATE
invalidate     | NOT_FOUND | invalidated | invalidated | invalidated | TERMINAL_STATE | TERMINAL_STATE
disprove       | NOT_FOUND | invalidated | invalidated | invalidated | TERMINAL_STATE | TERMINAL_STATE
use            | NOT_FOUND | proposed    | confirmed   | challenged  | superseded     | invalidated
forget         | NOT_FOUND | proposed    | confirmed   | challenged  | superseded     | invalidated
recall         | NOT_FOUND | proposed    | confirmed   | challenged  | superseded     | invalidated
hint helpful   | NOT_FOUND | confirmed   | confirmed   | challenged  | superseded     | invalidated
hint harmful   | NOT_FOUND | challenged  | challenged  | challenged  | superseded     | invalidated
evidence       | NOT_FOUND | proposed    | confirmed   | challenged  | superseded     | invalidated
link           | NOT_FOUND | proposed    | confirmed   | challenged  | superseded     | invalidated
unlink         | NOT_FOUND | proposed    | confirmed   | challenged  | superseded     | invalidated
transfer       | NOT_FOUND | proposed    | confirmed   | challenged  | superseded     | invalidated
"""
COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "propose same": ("proposed", {"proposition": " The  SAME claim "}),
    "propose other": ("proposed", {"proposition": "another claim"}),
    "confirm": ("confirmed", {}),
    "challenge": ("challenged", {"reason": "doubt"}),
    "correct": ("corrected", {"proposition": "better", "reason": "typo"}),
    "supersede": ("superseded", {"by": "other"}),
    "invalidate": ("invalidated", {"reason": "wrong"}),
    "disprove": ("disproved", {"reason": "measured", "evidence": PROOF}),
    "use": ("used", {}),
    "forget": ("forgotten", {}),
    "recall": ("recalled", {}),
    "hint helpful": ("hinted", {"outcome": "helpful"}),
    "hint harmful": ("hinted", {"outcome": "harmful"}),
    "evidence": ("evidenced", {"evidence": PROOF}),
    "link": ("linked", {"relation": "supports", "to": "other"}),
    "unlink": ("unlinked", {"relation": "related_to", "to": "other"}),
    "transfer": ("transferred", {"to_project": "Q"}),
}
HEADER, *ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize(
    ("command", "state", "expected"),
    [(row[0], state, cell) for row in ROWS for state, cell in zip(HEADER[1:], row[1:], strict=True)],
)
def test_every_command_in_every_state_lands_as_the_table_says(
    world: World, command: str, state: str, expected: str
) -> None:
    world.claims("other")
    if state != "none":
        assert world("proposed", "k", proposition="the same claim").applied
        assert world("linked", "k", relation="related_to", to="other").applied
    if state == "confirmed":
        world.confirm("k")
    elif state == "challenged":
        assert world("challenged", "k", reason="doubt").applied
    elif state == "superseded":
        assert world("superseded", "k", by="other").applied
    elif state == "invalidated":
        world.retire("k")
    before = world.model.nodes("P"), world.model.journal("P")

    transition, parts = COMMANDS[command]
    outcome = world(transition, "k", **parts)

    nodes = world.model.nodes("P")
    if expected in ("NOT_FOUND", "TERMINAL_STATE", "CONFLICT"):
        wanted = "PROPOSITION_CONFLICT" if expected == "CONFLICT" else expected
        assert outcome == Outcome(wanted, "proposition" if expected == "CONFLICT" else "key", False, [], 0)
        assert (nodes, world.model.journal("P")) == before
    elif expected == "=":
        assert (outcome.code, outcome.applied, outcome.events) == (None, False, [])
        assert outcome.event_id == "e2"
        assert (nodes, world.model.journal("P")) == before
    else:
        generation = 2 if expected.startswith("+") else 1
        landed = expected.removeprefix("+ ")
        assert (outcome.code, outcome.applied) == (None, True)
        assert outcome.events[0][1:4] == (transition, "k", generation)
        assert nodes[("k", generation)]["state"] == landed
        assert world.model.journal("P")[-1]["state_after"] == landed
        if generation == 2:
            assert nodes[("k", 1)] == before[0][("k", 1)]


def test_the_newest_generation_of_a_corrected_key_is_the_proposed_correction(world: World) -> None:
    world.claims("k")
    outcome = world("corrected", "k", proposition="better", reason="typo", evidence=PROOF)
    assert outcome.events == [("e2", "corrected", "k", 1, "corrected")]
    old, new = world.node("k", 1), world.node("k", 2)
    assert (old["state"], new["state"], new["proposition"]) == ("corrected", "proposed", "better")
    assert old["valid_to"] == new["valid_from"] == new["created_at"] == world.clock
    assert [len(node["evidence"]) for node in (old, new)] == [1, 1]
    edge = world.model.edges("P")[(("k", 2), "supersedes", ("k", 1))]
    assert edge == {"since": world.clock, "until": None, "events": ["e2"]}
    assert world("proposed", "k", proposition="BETTER").event_id == "e2"
    assert world("used", "k").events == [("e4", "used", "k", 2, "proposed")]


def test_a_correction_carries_no_edges_over_and_leaves_its_dependents_at_risk_of_the_old(
    world: World,
) -> None:
    world.claims("base", "leaf")
    world.depends("leaf base")
    assert world("corrected", "base", proposition="better", reason="typo").newly_at_risk == 1
    assert world.model.roots("P", "leaf") == {("base", 1): 1}
    world.depends("leaf base")
    assert world.at_risk == {"leaf"}  # the old edge is still there
    assert world("unlinked", "leaf", relation="depends_on", to="base").code is None  # ends the newer one first
    assert world.at_risk == {"leaf"}
    assert world("unlinked", "leaf", relation="depends_on", to="base").code is None
    assert world.at_risk == set()
    assert world("unlinked", "leaf", relation="depends_on", to="base").code == "NOT_FOUND"


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transition", "parts", "field"),
    [
        ("challenged", {"reason": "  "}, "reason"),
        ("corrected", {"proposition": "x"}, "reason"),
        ("corrected", {"proposition": " ", "reason": "r"}, "proposition"),
        ("invalidated", {}, "reason"),
        ("invalidated", {"reason": "r" * 2001}, "reason"),
        ("disproved", {"evidence": PROOF}, "reason"),
        ("disproved", {"reason": "r"}, "evidence"),
        ("evidenced", {}, "evidence"),
        ("evidenced", {"evidence": [{"type": "run"}]}, "evidence[0].source"),
        ("hinted", {"outcome": "so-so"}, "outcome"),
        ("linked", {"relation": "causes", "to": "k"}, "relation"),
        ("resurrected", {}, "transition"),
        ("used", {"time": START + timedelta(days=9)}, "time"),
        ("used", {"time": "2026-01-01T00:00:00"}, "time"),
        ("used", {"time": START - timedelta(days=1)}, "time"),
        ("used", {"actor": {"issuer": "i", "subject": "s", "type": "robot"}}, "actor.type"),
        ("proposed", {"proposition": "x" * 10_001}, "proposition"),
        ("proposed", {"proposition": "x", "kind": "rumour"}, "kind"),
        ("transferred", {"to_project": "P"}, "toProject"),
    ],
)
def test_bad_input_is_refused_by_its_field(world: World, transition: str, parts: dict[str, Any], field: str) -> None:
    world.claims("k")
    before = world.model.journal("P"), world.model.nodes("P")
    outcome = world(transition, "k", **parts)
    assert (outcome.code, outcome.field) == ("VALIDATION", field)
    assert (world.model.journal("P"), world.model.nodes("P")) == before


def test_keys_have_one_to_two_hundred_characters_without_control_characters(world: World) -> None:
    for bad in ("", "k" * 201, "a\tb", "a\x85b"):
        assert world("proposed", bad, proposition="x").field == "key"
    world.claims("k" * 200, " ", "ключ/é`'\"")
    made = world("proposed", None, proposition="x").events[0][2]
    assert made.startswith("k-") and len(made) == 28


def test_refused_commands_name_what_is_missing(world: World) -> None:
    world.claims("k")
    world.retire("k")
    assert world("superseded", "k", by="ghost").field == "by"  # missing comes before terminal
    assert world("linked", "k", relation="supports", to="ghost").field == "to"
    relations = [{"relation": "supports", "to": "k"}, {"relation": "supports", "to": "ghost"}]
    outcome = world("proposed", "n", proposition="x", relations=relations)
    assert (outcome.code, outcome.field) == ("NOT_FOUND", "relations[1].to")
    assert world("used", "k", caused_by=["no-such"]).code == "NOT_FOUND"
    assert set(world.model.nodes("P")) == {("k", 1)}


def test_the_same_event_again_is_a_repeat_and_other_content_a_conflict(world: World) -> None:
    world.claims("base", "leaf")
    world.depends("leaf base")
    first = world("invalidated", "base", event_id="x", reason="wrong")
    again = world("invalidated", "base", event_id="x", reason="wrong")
    assert (again.code, again.applied, again.events, again.event_id) == (None, False, [], "x")
    assert again.newly_at_risk == first.newly_at_risk == 1
    held = world.model.journal("P")[-1]
    assert world("invalidated", "base", event_id="x", reason="wrong", time=held["time"], generation=1).code is None
    others: list[dict[str, Any]] = [{"reason": "other"}, {"reason": ""}, {"reason": "wrong", "actor": AGENT}]
    for other in others:
        assert world("invalidated", "base", event_id="x", **other).code == "EVENT_CONFLICT"
    assert world("used", "base", event_id="x").code == "EVENT_CONFLICT"
    assert len(world.model.journal("P")) == 4


def test_an_event_id_taken_in_one_project_is_free_in_another(world: World) -> None:
    assert world("proposed", "k", "A", proposition="x", event_id="e").applied
    assert world("proposed", "k", "B", proposition="y", event_id="e").applied


def test_what_a_human_confirmed_last_an_agent_may_challenge_but_not_retire(world: World) -> None:
    world.claims("k", "other")
    world.confirm("k")
    retiring: list[tuple[str, dict[str, Any]]] = [
        ("corrected", {"proposition": "x", "reason": "r"}),
        ("superseded", {"by": "other"}),
        ("invalidated", {"reason": "r"}),
        ("disproved", {"reason": "r", "evidence": PROOF}),
    ]
    for transition, parts in retiring:
        assert world(transition, "k", actor=AGENT, **parts).code == "AUTHORITY"
    assert world("challenged", "k", actor=AGENT, reason="r").applied
    assert world("invalidated", "k", actor=AGENT, reason="r").code == "AUTHORITY"
    assert world("confirmed", "k", actor=AGENT).applied  # now an agent confirmed it last
    assert world("invalidated", "k", actor=AGENT, reason="r").applied
    assert world("invalidated", "other", actor=AGENT, reason="r").applied  # nobody confirmed it


def test_the_second_harmful_hint_without_support_invalidates(world: World) -> None:
    world.claims("k")
    supported = world("hinted", "k", outcome="harmful", supported=True, event_id="s", reason="stale")
    assert supported.events == [
        ("s", "hinted", "k", 1, "proposed"),
        ("s#hint", "challenged", "k", 1, "challenged"),
    ]
    assert world.model.journal("P")[-1]["reason"] == "stale"
    assert world("hinted", "k", outcome="harmful").events[1][1] == "challenged"
    assert world("hinted", "k", outcome="harmful", supported=True).events[1][1] == "challenged"
    world("hinted", "k", outcome="harmful", event_id="last")
    last = world.model.journal("P")[-1]
    assert (last["event_id"], last["transition"], last["caused_by"]) == ("last#hint", "invalidated", ["last"])
    assert last["reason"] == "hint: harmful"
    after = world("hinted", "k", outcome="harmful")
    assert [event[1] for event in after.events] == ["hinted"]
    assert world.node("k")["hints_harmful"] == 5


def test_an_agents_second_harmful_hint_only_challenges_what_a_human_confirmed(world: World) -> None:
    world.claims("k")
    world.confirm("k")
    for _ in range(3):
        assert world("hinted", "k", outcome="harmful", actor=AGENT).events[1][4] == "challenged"
    assert world("hinted", "k", outcome="harmful").events[1][4] == "invalidated"


def test_contradictions_challenge_each_live_target_once_and_name_their_cause(world: World) -> None:
    world.claims("a", "gone", "b")
    world.retire("gone")
    said = ("a", "gone", "b", "a")
    relations = [{"relation": "contradicts", "to": to} for to in said]
    early = START - timedelta(days=1)
    outcome = world("proposed", "n", proposition="no", event_id="c", relations=relations, time=early, actor=AGENT)
    assert outcome.events == [
        ("c", "proposed", "n", 1, "proposed"),
        ("c#contradiction", "challenged", "a", 1, "challenged"),
        ("c#contradiction-2", "challenged", "b", 1, "challenged"),
    ]
    challenge = world.model.journal("P")[-1]
    assert (challenge["reason"], challenge["caused_by"], challenge["actor"]) == (
        "contradicted by n",
        ["c"],
        AGENT,
    )
    assert challenge["time"] == world.node("b")["created_at"]
    assert world.node("gone")["state"] == "invalidated"
    assert len(world.model.edges("P")) == 3


def test_supersedes_may_fan_in_and_out_but_never_close_a_ring(world: World) -> None:
    world.claims("a", "b", "c")
    assert world("superseded", "a", by="b").applied
    assert world("linked", "c", relation="supersedes", to="a").applied  # a second successor
    assert world.node("a")["valid_to"] == world.node("b")["valid_from"]
    assert world("superseded", "b", by="a").code == "RELATION_REFUSED"
    assert world("superseded", "b", by="c").applied
    assert world("linked", "a", relation="supersedes", to="c").code == "RELATION_REFUSED"
    assert world("superseded", "c", by="c").code == "RELATION_REFUSED"
    assert world("unlinked", "c", relation="supersedes", to="a").applied
    assert world("unlinked", "c", relation="supersedes", to="b").applied
    assert world("linked", "a", relation="supersedes", to="c").applied  # the ring would not be live
    assert world.node("c")["state"] == "proposed"  # a link retires nothing


def test_retirement_ends_validity_at_the_successor_or_the_event_but_never_before_it_began(
    world: World,
) -> None:
    later, earlier = START + timedelta(days=30), START - timedelta(days=30)
    for key, start in (("future", later), ("past", earlier), ("gone", later)):
        assert world("proposed", key, proposition=key, valid_from=start).applied
    assert world("superseded", "future", by="past").applied
    assert world.node("future")["valid_to"] == later
    world.retire("gone")
    assert world.node("gone")["valid_to"] == later
    assert world("proposed", "given", proposition="x", valid_to=later).applied
    world.retire("given")
    assert world.node("given")["valid_to"] == world.clock


def test_forget_and_recall_and_use_leave_all_else_as_it_was(world: World) -> None:
    world.claims("k")
    world.retire("k")
    world("used", "k")
    world("forgotten", "k")
    node = world.node("k")
    assert (node["state"], node["uses"], node["forgotten"]) == ("invalidated", 1, True)
    assert node["updated_at"] == world.clock
    world("recalled", "k")
    assert world.node("k")["forgotten"] is False


def test_an_edge_is_one_however_often_it_is_stated_and_opens_again_after_an_unlink(world: World) -> None:
    world.claims("a", "b")
    world.depends("a b", "a b")
    edge_id = (("a", 1), "depends_on", ("b", 1))
    since = START + timedelta(seconds=3)
    assert world.model.edges("P") == {edge_id: {"since": since, "until": None, "events": ["e3", "e4"]}}
    world("unlinked", "a", relation="depends_on", to="b")
    ended = world.clock
    assert world.model.edges("P")[edge_id]["until"] == ended
    world.depends("a b")
    again = {"since": world.clock, "until": None, "events": ["e3", "e4", "e6"]}
    assert world.model.edges("P")[edge_id] == again
    assert world.model.edges("P", as_of=ended)[edge_id]["until"] == ended


def test_a_transfer_proposes_a_copy_elsewhere_and_changes_nothing_here(world: World) -> None:
    world.claims("k", "n")
    world("evidenced", "k", evidence=PROOF)
    world.confirm("k")
    outcome = world("transferred", "k", to_project="Q", event_id="t")
    assert outcome.events == [
        ("t", "transferred", "k", 1, "confirmed"),
        ("t#transfer", "proposed", "k", 1, "proposed"),
    ]
    here, there = world.node("k"), world.node("k", project="Q")
    assert (there["state"], there["proposition"]) == ("proposed", here["proposition"])
    assert (there["valid_from"], there["evidence"]) == (here["valid_from"], here["evidence"])
    assert world("transferred", "k", to_project="Q").events[0][1] == "transferred"
    assert len(world.model.journal("Q")) == 1
    world.claims("x", project="Q")
    assert world("proposed", "n", "Q", proposition="something else").applied
    refused = world("transferred", "n", to_project="Q")
    assert refused.code == "PROPOSITION_CONFLICT"
    assert world.transitions("n") == ["proposed"]


def test_recorded_at_never_goes_back(world: World) -> None:
    world.claims("a")
    late = world.clock
    world.clock = START - timedelta(days=1)
    assert world("proposed", "b", proposition="b", time=world.clock).applied
    recorded = [event["recorded_at"] for event in world.model.journal("P")]
    assert recorded == [late, late]
    assert [event["seq"] for event in world.model.journal("P")] == [1, 2]


def test_claims_are_the_same_after_normal_form_case_and_blanks(world: World) -> None:
    assert world("proposed", "k", proposition=" Caf\u00e9  STRASSE\n1 ").applied
    assert world.node("k")["proposition"] == "Caf\u00e9  STRASSE\n1"
    assert world("proposed", "k", proposition="cafe\u0301 stra\u00dfe 1").code is None
    assert world("proposed", "k", proposition="cafe strasse 1").code == "PROPOSITION_CONFLICT"


# --- at_risk ------------------------------------------------------------------------------------------------


def test_a_ring_of_dependence_is_at_risk_of_its_retired_member_and_the_member_is_not(world: World) -> None:
    world.claims("a", "b", "c", "out")
    world.depends("a b", "b c", "c a", "out c")
    assert world.model.impact("P", "a") == {("b", 1), ("c", 1), ("out", 1)}
    assert world.retire("a").newly_at_risk == 3
    assert world.at_risk == {"b", "c", "out"}
    assert world.model.roots("P", "b") == {("a", 1): 2}
    assert world.model.roots("P", "out") == {("a", 1): 2}


def test_only_dependence_and_derivation_carry_risk(world: World) -> None:
    world.claims("base", *RELATIONS)
    for relation in RELATIONS:
        assert world("linked", relation, relation=relation, to="base").applied
    world.retire("base")
    assert world.at_risk == {"depends_on", "derived_from"}


def test_a_retired_one_in_the_middle_cuts_the_chain_and_is_a_root_itself(world: World) -> None:
    world.claims("base", "middle", "top")
    world.depends("top middle", "middle base")
    world.retire("base")
    assert world.model.roots("P", "top") == {("base", 1): 2}
    assert world.retire("middle").newly_at_risk == 0
    assert world.model.roots("P", "top") == {("middle", 1): 1}
    assert world.at_risk == {"top"}


def test_unlinking_clears_the_mark_where_no_other_chain_is_left(world: World) -> None:
    world.claims("base", "l", "r", "top")
    world.depends("l base", "r base", "top l", "top r")
    world.retire("base")
    world("unlinked", "l", relation="depends_on", to="base")
    assert world.at_risk == {"r", "top"}
    world("unlinked", "top", relation="depends_on", to="r")
    assert world.at_risk == {"r"}


def test_confirming_with_evidence_clears_the_mark_there_and_above_but_without_it_does_not(
    world: World,
) -> None:
    world.claims("base", "middle", "top")
    world.depends("top middle", "middle base")
    world.confirm("middle", PROOF)  # before the retirement: no help
    world.retire("base")
    world.confirm("middle")
    world("evidenced", "middle", evidence=PROOF)
    assert world.at_risk == {"middle", "top"}
    world.confirm("middle", PROOF)
    assert world.at_risk == set()
    assert world.node("middle")["verified_at"] == world.clock


def test_confirming_helps_against_earlier_retirements_only_root_by_root(world: World) -> None:
    world.claims("first", "second", "top")
    world.depends("top first", "top second")
    world.retire("first")
    world.confirm("top", PROOF)
    assert world.at_risk == set()
    assert world.retire("second").newly_at_risk == 1
    assert world.model.roots("P", "top") == {("second", 1): 1}


def test_another_chain_around_the_confirmed_one_keeps_the_mark(world: World) -> None:
    world.claims("base", "l", "r", "s", "top")
    world.depends("l base", "r s", "s base", "top l", "top r")
    world.retire("base")
    assert world.model.roots("P", "top") == {("base", 1): 2}
    world.confirm("l", PROOF)
    assert world.at_risk == {"r", "s", "top"}
    assert world.model.roots("P", "top") == {("base", 1): 3}


def test_a_link_to_a_retired_node_puts_the_one_that_links_and_all_above_at_risk(world: World) -> None:
    world.claims("base", "middle", "top")
    world.depends("top middle")
    world.retire("base")
    outcome = world("linked", "middle", relation="derived_from", to="base")
    assert outcome.newly_at_risk == 2
    relations = [{"relation": "depends_on", "to": "base"}]
    assert world("proposed", "new", proposition="x", relations=relations).newly_at_risk == 1
    assert world.at_risk == {"middle", "top", "new"}


def test_a_key_proposed_again_is_not_what_the_old_generations_dependents_rest_on(world: World) -> None:
    world.claims("base", "leaf")
    world.depends("leaf base")
    world.retire("base")
    world.claims("base")
    assert world.model.roots("P", "leaf") == {("base", 1): 1}
    assert world.model.impact("P", "base") == set()


def test_the_past_is_answered_as_it_was_said_then(world: World) -> None:
    world.claims("base", "leaf")
    world.depends("leaf base")
    world.clock += timedelta(days=1)
    world.retire("base")
    retired = world.clock
    world.clock += timedelta(days=1)
    world.confirm("leaf", PROOF)
    before = retired - timedelta(seconds=1)
    assert world.model.at_risk("P", as_of=before) == set()
    assert world.model.at_risk("P", as_of=retired) == {("leaf", 1)}
    assert world.model.roots("P", "leaf", as_of=retired) == {("base", 1): 1}
    assert world.model.impact("P", "base", as_of=before) == {("leaf", 1)}
    assert world.model.nodes("P", as_of=before)[("base", 1)]["state"] == "proposed"
    assert world.model.at_risk("P") == set()
    assert world.model.nodes("P", as_of=START) == {}


# --- field reports ------------------------------------------------------------------------------------------


def test_fr_01_the_same_thing_said_twice_changes_nothing(world: World) -> None:
    assert world("proposed", "k1", proposition="The depot closes at 18:00").applied
    world.confirm("k1")
    assert world("proposed", "k1", proposition="The depot closes at 18:00").code is None
    assert world("proposed", "k1", proposition="The depot closes at 19:00").code == "PROPOSITION_CONFLICT"
    assert world("proposed", "k1", proposition="the depot closes at  18:00 ").code is None
    assert world.transitions("k1") == ["proposed", "confirmed"]
    node = world.node("k1")
    assert (node["state"], node["proposition"]) == ("confirmed", "The depot closes at 18:00")


def test_fr_02_a_contradiction_keeps_both_and_challenges_the_older(world: World) -> None:
    world.claims("tea-yes", "tea-no")
    world.confirm("tea-yes")
    world("linked", "tea-no", relation="contradicts", to="tea-yes", event_id="edge")
    assert world.transitions("tea-yes") == ["proposed", "confirmed", "challenged"]
    assert world.model.journal("P")[-1]["caused_by"] == ["edge"]
    assert {n["state"] for n in world.model.nodes("P").values()} == {"challenged", "proposed"}
    assert list(world.model.edges("P")) == [(("tea-no", 1), "contradicts", ("tea-yes", 1))]


def test_fr_03_an_edge_to_nothing_is_refused_by_name(world: World) -> None:
    world.claims("real")
    world.claims("real2", project="Q")  # exists elsewhere only
    ghost = world("linked", "real", relation="depends_on", to="ghost")
    assert (ghost.code, ghost.field) == ("NOT_FOUND", "to")
    ghost = world("linked", "ghost2", relation="supports", to="real")
    assert (ghost.code, ghost.field) == ("NOT_FOUND", "key")
    assert world("linked", "real", relation="depends_on", to="real2").code == "NOT_FOUND"
    assert (set(world.model.nodes("P")), world.model.edges("P")) == ({("real", 1)}, {})
    world.claims("real2")
    world.depends("real real2")
    assert len(world.model.edges("P")) == 1


def test_fr_04_nested_metadata_comes_back_type_by_type(world: World) -> None:
    metadata = NESTED_METADATA
    world.claims("k")
    assert world("evidenced", "k", evidence=[{"key": "e1", "type": "run", "source": "r", "metadata": metadata}]).applied
    (kept,) = world.node("k")["evidence"]
    assert json.dumps(kept["metadata"]) == json.dumps(metadata)
    other = {**metadata, "mixed": [1, "two", 3.5, 1]}
    assert world("evidenced", "k", event_id="e2", evidence=[{"type": "run", "source": "r", "metadata": other}]).code


def test_fr_05_a_diamond_is_marked_and_listed_once_each(world: World) -> None:
    world.claims("j1", "a", "b", "j2", "tail")
    world.depends("a j1", "b j1", "j2 a", "j2 b", "tail j2")
    assert world.retire("j1").newly_at_risk == 4
    assert world.at_risk == {"a", "b", "j2", "tail"}
    assert world.model.roots("P", "j2") == {("j1", 1): 2}
    assert world.model.roots("P", "tail") == {("j1", 1): 3}
    nodes, edges, cut = world.model.provenance("P", "tail")
    assert ({key for key, _ in nodes}, len(edges), cut) == ({"tail", "j2", "a", "b", "j1"}, 5, False)


def test_fr_06_depth_counts_edges_exactly(world: World) -> None:
    world.claims("n0", "n1", "n2", "n3", "n4", "n5")
    world.depends("n1 n0", "n2 n1", "n3 n2", "n4 n3", "n5 n4")
    for depth in (0, 1, 2, 5, 6):
        nodes, edges, cut = world.model.provenance("P", "n5", depth=depth)
        assert {key for key, _ in nodes} == {f"n{i}" for i in range(max(0, 5 - depth), 6)}
        assert (len(edges), cut) == (min(depth, 5), depth < 5)
    with pytest.raises(ValueError, match="depth"):
        world.model.provenance("P", "n5", depth=-1)


def test_fr_07_a_node_is_never_related_to_itself(world: World) -> None:
    world.claims("s")
    for relation in RELATIONS:
        assert world("linked", "s", relation=relation, to="s").code == "RELATION_REFUSED"
    assert world("superseded", "s", by="s").code == "RELATION_REFUSED"
    itself = [{"relation": "depends_on", "to": "new"}]
    assert world("proposed", "new", proposition="x", relations=itself).code == "RELATION_REFUSED"
    assert world.model.edges("P") == {}
    world.retire("s")
    assert world.at_risk == set()
    assert set(world.model.nodes("P")) == {("s", 1)}


def test_fr_08_what_xml_forbids_is_refused_and_the_rest_comes_back(world: World) -> None:
    for bad in ("\u001e", "\u0007", "\u0000", "\ufffe", "\ud83d"):
        outcome = world("proposed", "ctl", proposition=f"1628{bad}\u201330")
        assert (outcome.code, outcome.field) == ("VALIDATION", "proposition")
        assert outcome.message == f"U+{ord(bad):04X} at 4"
    assert world("proposed", "ctl", proposition="trailing\u001e").code == "VALIDATION"
    good = "1628\u201330 end \U0001f4e6 <b>&amp;\"'</b> ]]> a\rb\tc"
    assert world("proposed", "ctl", proposition=good).applied
    assert world.node("ctl")["proposition"] == good


def test_fr_09_odd_names_are_kept_and_odd_relations_refused(world: World) -> None:
    world.claims("a", "b")
    for relation in ("icp-kriterien_für", "由...组成", "DEPENDS_ON"):
        outcome = world("linked", "a", relation=relation, to="b")
        assert (outcome.code, outcome.field) == ("VALIDATION", "relation")
        assert all(allowed in outcome.message for allowed in RELATIONS)
    odd, text = "k`]->() DETACH DELETE n //", "quote ` and $param and {brace} and \\u0060"
    assert world("proposed", odd, proposition=text).applied
    assert world.node(odd)["proposition"] == text
    assert len(world.model.nodes("P")) == 3


def test_fr_11_a_neighbours_project_is_another_world(world: World) -> None:
    world("proposed", "rate", "A", proposition="The discount is 10 percent")
    world("proposed", "rate", "B", proposition="The discount is 25 percent")
    said = {p: [n["proposition"] for n in world.model.nodes(p).values()] for p in ("A", "B")}
    assert said == {"A": ["The discount is 10 percent"], "B": ["The discount is 25 percent"]}
    world("invalidated", "rate", "A", reason="over")
    assert world.node("rate", project="B")["state"] == "proposed"
    assert world.model.nodes("C") == {}


def test_fr_12_a_dependency_stated_by_two_runs_is_one_edge_with_two_events(world: World) -> None:
    world.claims("base", "leaf")
    for run, event_id in (("r1", "x1"), ("r2", "x2"), ("r2", "x2")):
        execution = {"run": run}
        world("linked", "leaf", relation="depends_on", to="base", event_id=event_id, execution=execution)
    (edge,) = world.model.edges("P").values()
    assert edge["events"] == ["x1", "x2"]
    assert world.model.impact("P", "base") == {("leaf", 1)}
    assert world.retire("base").newly_at_risk == 1


def test_fr_13_facts_that_arrive_in_the_wrong_order_keep_their_own_times(world: World) -> None:
    start, end = "2023-09-21T10:00:00Z", "2023-09-23T00:00:00Z"
    given_times = {"coffee": end, "tea": start}
    for key, time in given_times.items():
        assert world("proposed", key, proposition=key, valid_from=time, time=time).applied
    assert world("superseded", "tea", by="coffee", time=end).applied
    for instant, valid in (
        ("2023-09-22T00:00:00+00:00", {"tea"}),
        ("2023-09-23T00:00:00+00:00", {"coffee"}),
        ("2023-09-23T02:00:00+02:00", {"coffee"}),
        ("2023-09-23T01:59:59+02:00", {"tea"}),
        ("2023-09-21T09:59:59+00:00", set()),
        ("2026-01-01T00:00:00+00:00", {"coffee"}),
    ):
        assert {key for key, _ in world.model.valid_at("P", datetime.fromisoformat(instant))} == valid
    tea = world.node("tea")
    assert tea["valid_to"] == datetime.fromisoformat(end)
    assert tea["updated_at"] == world.clock  # the time of entry is kept apart


# --- properties ---------------------------------------------------------------------------------------------

KEYS = "abcdefg"
keys = st.sampled_from(KEYS)
relations = st.sampled_from(("depends_on", "depends_on", "derived_from", "supersedes", "contradicts"))
edges = st.fixed_dictionaries({"relation": relations, "to": keys})
proofs = st.sampled_from(([], PROOF, PROOF))
outcomes = st.sampled_from(("helpful", "harmful"))
again = st.fixed_dictionaries({"proposition": st.just("next"), "relations": st.lists(edges, max_size=2)})


def _command(transition: str, parts: Any) -> Any:
    return st.tuples(st.just(transition), keys, parts)


commands = st.one_of(
    _command("linked", edges),
    _command("linked", edges),
    _command("unlinked", edges),
    _command("confirmed", st.fixed_dictionaries({"evidence": proofs})),
    _command("confirmed", st.fixed_dictionaries({"evidence": proofs})),
    _command("invalidated", st.just({"reason": "r"})),
    _command("corrected", st.just({"reason": "r", "proposition": "next", "evidence": PROOF})),
    _command("superseded", st.fixed_dictionaries({"by": keys})),
    _command("challenged", st.just({"reason": "r"})),
    _command("hinted", st.fixed_dictionaries({"outcome": outcomes, "supported": st.booleans()})),
    _command("proposed", again),
    _command("forgotten", st.just({})),
    _command("transferred", st.just({"to_project": "Q"})),
)
# A dependence graph to begin with, then what befalls it.
histories = st.tuples(
    st.lists(st.tuples(keys, keys), min_size=6, max_size=18),
    st.lists(st.tuples(commands, st.sampled_from((HUMAN, HUMAN, AGENT))), min_size=6, max_size=25),
)


def _tell(history: Any) -> World:
    world = World()
    world.claims(*KEYS)
    for start, end in history[0]:
        world("linked", start, relation="depends_on", to=end)
    for (transition, key, parts), actor in history[1]:
        world(transition, key, actor=actor, **parts)
    return world


def _risk_told_otherwise(model: Model, project: str = "P") -> dict[NodeId, dict[NodeId, int]]:
    """at_risk from the readers alone: walk every simple path of live dependence and judge it whole."""
    retired_at: dict[NodeId, int] = {}
    verified_at: dict[NodeId, int] = {}
    for event in model.journal(project):
        node_id: NodeId = (event["key"], event["generation"])
        if event["state_after"] in TERMINAL:
            retired_at.setdefault(node_id, event["seq"])
        if event["transition"] == "confirmed" and event["payload"]["evidence"]:
            verified_at[node_id] = event["seq"]
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(model.nodes(project))
    for (start, relation, end), edge in model.edges(project).items():
        if relation in CARRIES_DEPENDENCE and edge["until"] is None:
            graph.add_edge(start, end)
    found: dict[NodeId, dict[NodeId, int]] = {}
    for root, when in retired_at.items():
        for start in set(graph) - set(retired_at):
            for path in nx.all_simple_paths(graph, start, root):
                chain = path[:-1]
                if any(node in retired_at or verified_at.get(node, 0) > when for node in chain):
                    continue
                roots = found.setdefault(start, {})
                roots[root] = min(roots.get(root, len(chain)), len(chain))
    return found


@settings(max_examples=200, deadline=None, database=None)
@given(histories)
def test_at_risk_equals_the_paths_of_a_graph_library(history: Any) -> None:
    world = _tell(history)
    told = _risk_told_otherwise(world.model)
    assert world.model.at_risk("P") == set(told)
    nodes = world.model.nodes("P")
    assert {node_id: node["roots"] for node_id, node in nodes.items() if node["at_risk"]} == told
    newest = {key: max(generation for k, generation in nodes if k == key) for key in KEYS}
    for key, generation in newest.items():
        assert world.model.roots("P", key) == told.get((key, generation), {})


@settings(max_examples=60, deadline=None, database=None)
@given(histories, keys)
def test_impact_says_beforehand_what_retiring_will_put_at_risk(history: Any, key: str) -> None:
    world = _tell(history)
    generation = max(generation for k, generation in world.model.nodes("P") if k == key)
    root, before = (key, generation), world.model.at_risk("P")
    expected = world.model.impact("P", key)
    outcome = world("invalidated", key, reason="r")
    nodes = world.model.nodes("P")
    assert {node_id for node_id, node in nodes.items() if root in node["roots"]} == expected
    assert world.model.impact("P", key) == expected
    if outcome.code is None:
        assert outcome.newly_at_risk == len(world.model.at_risk("P") - before) == len(expected - before)


@settings(max_examples=60, deadline=None, database=None)
@given(histories)
def test_every_past_is_what_was_said_then_and_refusals_leave_nothing(history: Any) -> None:
    world = World()
    world.claims(*KEYS)

    def said() -> tuple[Any, ...]:
        return (
            world.model.nodes("P"),
            world.model.edges("P"),
            world.model.journal("P"),
            world.model.nodes("Q"),
        )

    pasts = [(world.clock, said())]
    first = [("linked", start, {"relation": "depends_on", "to": end}) for start, end in history[0]]
    for (transition, key, parts), actor in [*((command, HUMAN) for command in first), *history[1]]:
        outcome = world(transition, key, actor=actor, **parts)
        pasts.append((world.clock, said()))
        if not outcome.applied:
            assert pasts[-1][1] == pasts[-2][1]
        assert outcome.code is None or not (outcome.applied or outcome.events)
        assert len(pasts[-1][1][2]) == len(pasts[-2][1][2]) + sum(
            not event[0].endswith("#transfer") for event in outcome.events
        )
    for instant, (nodes, edges, journal, there) in pasts[::7]:
        assert world.model.nodes("P", as_of=instant) == nodes
        assert world.model.edges("P", as_of=instant) == edges
        assert world.model.journal("P", as_of=instant) == journal
        assert world.model.nodes("Q", as_of=instant) == there


@settings(max_examples=40, deadline=None, database=None)
@given(histories)
def test_a_journal_read_into_an_empty_project_comes_out_equal(history: Any) -> None:
    world = _tell(history)
    copy = Model()
    for event in world.model.journal("P"):
        line = {part: value for part, value in event.items() if part not in ("seq", "state_after", "recorded_at")}
        assert copy.run("P", line, event["recorded_at"]).code is None
    assert copy.nodes("P") == world.model.nodes("P")
    assert copy.edges("P") == world.model.edges("P")
    assert copy.journal("P") == world.model.journal("P")


@settings(max_examples=25, deadline=None, database=None)
@given(st.integers(0, 2**32), st.integers(10, 60), st.floats(0.02, 0.15))
def test_at_risk_equals_ancestors_on_larger_random_graphs(seed: int, size: int, density: float) -> None:
    graph: Any = nx.gnp_random_graph(size, density, seed=seed, directed=True)
    world = World()
    world.claims(*(str(node) for node in graph))
    world.depends(*(f"{start} {end}" for start, end in graph.edges))
    retired = [node for node in graph if (node * 7 + seed) % 9 == 0]
    for node in retired:
        world.retire(str(node))
    expected: set[str] = set()
    for root in retired:
        alive = graph.subgraph(set(graph) - set(retired) | {root})
        expected |= {str(node) for node in nx.ancestors(alive, root)}
    assert world.at_risk == expected
