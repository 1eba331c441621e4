"""The transition table of rules.md section 3, every state by every command, and the rules around it."""

from __future__ import annotations

from typing import Any

import pytest
from ledger import AGENT, HUMAN, Ledger, claim, evidence

from graph.knowledge import State, Transition

# state        command               outcome
TABLE = """
none         propose_same          proposed
none         propose_other         proposed
none         confirm               ! NOT_FOUND
none         challenge             ! NOT_FOUND
none         correct               ! NOT_FOUND
none         supersede             ! NOT_FOUND
none         invalidate            ! NOT_FOUND
none         disprove              ! NOT_FOUND
none         use                   ! NOT_FOUND
none         forget                ! NOT_FOUND
none         recall                ! NOT_FOUND
none         hint                  ! NOT_FOUND
none         evidence              ! NOT_FOUND
none         link                  ! NOT_FOUND
none         unlink                ! NOT_FOUND
proposed     propose_same          nothing
proposed     propose_other         ! PROPOSITION_CONFLICT
proposed     confirm               confirmed
proposed     challenge             challenged
proposed     correct               corrected
proposed     supersede             superseded
proposed     invalidate            invalidated
proposed     disprove              invalidated
proposed     use                   kept
proposed     forget                kept
proposed     recall                kept
proposed     hint                  kept
proposed     evidence              kept
proposed     link                  kept
proposed     unlink                kept
confirmed    propose_same          nothing
confirmed    propose_other         ! PROPOSITION_CONFLICT
confirmed    confirm               confirmed
confirmed    challenge             challenged
confirmed    correct               corrected
confirmed    supersede             superseded
confirmed    invalidate            invalidated
confirmed    disprove              invalidated
confirmed    use                   kept
confirmed    forget                kept
confirmed    recall                kept
confirmed    hint                  kept
confirmed    evidence              kept
confirmed    link                  kept
confirmed    unlink                kept
challenged   propose_same          nothing
challenged   propose_other         ! PROPOSITION_CONFLICT
challenged   confirm               confirmed
challenged   challenge             challenged
challenged   correct               corrected
challenged   supersede             superseded
challenged   invalidate            invalidated
challenged   disprove              invalidated
challenged   use                   kept
challenged   forget                kept
challenged   recall                kept
challenged   hint                  kept
challenged   evidence              kept
challenged   link                  kept
challenged   unlink                kept
corrected    propose_same          next
corrected    propose_other         next
corrected    confirm               ! TERMINAL_STATE
corrected    challenge             ! TERMINAL_STATE
corrected    correct               ! TERMINAL_STATE
corrected    supersede             ! TERMINAL_STATE
corrected    invalidate            ! TERMINAL_STATE
corrected    disprove              ! TERMINAL_STATE
corrected    use                   kept
corrected    forget                kept
corrected    recall                kept
corrected    hint                  kept
corrected    evidence              kept
corrected    link                  kept
corrected    unlink                kept
superseded   propose_same          next
superseded   propose_other         next
superseded   confirm               ! TERMINAL_STATE
superseded   challenge             ! TERMINAL_STATE
superseded   correct               ! TERMINAL_STATE
superseded   supersede             ! TERMINAL_STATE
superseded   invalidate            ! TERMINAL_STATE
superseded   disprove              ! TERMINAL_STATE
superseded   use                   kept
superseded   forget                kept
superseded   recall                kept
superseded   hint                  kept
superseded   evidence              kept
superseded   link                  kept
superseded   unlink                kept
invalidated  propose_same          next
invalidated  propose_other         next
invalidated  confirm               ! TERMINAL_STATE
invalidated  challenge             ! TERMINAL_STATE
invalidated  correct               ! TERMINAL_STATE
invalidated  supersede             ! TERMINAL_STATE
invalidated  invalidate            ! TERMINAL_STATE
invalidated  disprove              ! TERMINAL_STATE
invalidated  use                   kept
invalidated  forget                kept
invalidated  recall                kept
invalidated  hint                  kept
invalidated  evidence              kept
invalidated  link                  kept
invalidated  unlink                kept
"""

COMMANDS: dict[str, tuple[str, dict[str, Any]]] = {
    "propose_same": ("proposed", {"payload": claim("  a CLAIM ")}),
    "propose_other": ("proposed", {"payload": claim("Another")}),
    "confirm": ("confirmed", {}),
    "challenge": ("challenged", {"reason": "doubt"}),
    "correct": ("corrected", {"payload": claim("Better"), "reason": "typo"}),
    "supersede": ("superseded", {"payload": {"by": "other"}}),
    "invalidate": ("invalidated", {"reason": "gone"}),
    "disprove": ("disproved", {"payload": evidence(), "reason": "seen"}),
    "use": ("used", {}),
    "forget": ("forgotten", {}),
    "recall": ("recalled", {}),
    "hint": ("hinted", {"payload": {"outcome": "helpful"}}),
    "evidence": ("evidenced", {"payload": evidence()}),
    "link": ("linked", {"payload": {"relation": "supports", "to": "other"}}),
    "unlink": ("unlinked", {"payload": {"relation": "related_to", "to": "other"}}),
}
RETIRED_BY = {"corrected": "correct", "superseded": "supersede", "invalidated": "invalidate"}


def standing(state: str) -> Ledger:
    """A ledger with the key `k` in a state, on a generation of its own, linked to `other`."""
    ledger = Ledger()
    ledger.take("proposed", "other", payload=claim("Other"))
    if state == "none":
        return ledger
    ledger.take("proposed", "k", payload=claim("A claim", relations=[{"relation": "related_to", "to": "other"}]))
    if state == "confirmed":
        ledger.take("confirmed", "k")
    if state == "challenged":
        ledger.take("challenged", "k", reason="why")
    if state in RETIRED_BY:
        transition, fields = COMMANDS[RETIRED_BY[state]]
        ledger.take(transition, "k", **fields)
        # A correction leaves a live next generation; the retired one is then asked for by its number.
    return ledger


ROWS = [line.split(None, 2) for line in TABLE.strip().splitlines()]


def test_the_table_has_every_state_and_every_command() -> None:
    states = ["none", *State]
    assert {(state, command) for state, command, _ in ROWS} == {(s, c) for s in states for c in COMMANDS}


@pytest.mark.parametrize(("state", "command", "outcome"), ROWS, ids=[f"{s}-{c}" for s, c, _ in ROWS])
def test_a_command_meets_a_state(state: str, command: str, outcome: str) -> None:
    ledger = standing(state)
    transition, fields = COMMANDS[command]
    generation = 1 if state == "corrected" and not command.startswith("propose") else None
    if state == "corrected" and command.startswith("propose"):
        ledger.take("invalidated", "k", reason="so that the newest is terminal")
    if outcome.startswith("!"):
        assert ledger.refusal(transition, "k", generation=generation, **fields).code == outcome[2:]
        return
    before = len(ledger.events)
    decision = ledger.take(transition, "k", generation=generation, **fields)
    if outcome == "nothing":
        assert len(ledger.events) == before
        assert decision.standing == ledger.node("k").created_seq
    elif outcome == "next":
        assert ledger.node("k").state is State.PROPOSED
        assert ledger.node("k").generation == (3 if state == "corrected" else 2)
    else:
        expected = state if outcome == "kept" else outcome
        assert decision.events[0].state_after == expected


def test_an_agent_may_challenge_but_not_retire_what_a_human_confirmed_last() -> None:
    ledger = Ledger()
    ledger.take("proposed", "k", payload=claim("x"))
    ledger.take("proposed", "other", payload=claim("y"))
    ledger.take("confirmed", "k", HUMAN)
    ledger.take("challenged", "k", AGENT, reason="doubt")
    for command in ("correct", "supersede", "invalidate", "disprove"):
        transition, fields = COMMANDS[command]
        assert ledger.refusal(transition, "k", AGENT, **fields).code == "AUTHORITY"
    ledger.take("confirmed", "k", AGENT)
    assert ledger.take("invalidated", "k", AGENT, reason="now it may").events


def test_two_unsupported_harmful_hints_invalidate_and_supported_ones_only_challenge() -> None:
    ledger = Ledger()
    ledger.take("proposed", "k", payload=claim("x"))
    for supported, expected in ((True, "challenged"), (True, "challenged"), (False, "challenged")):
        hint = {"outcome": "harmful", "supported": supported}
        events = ledger.take("hinted", "k", payload=hint, reason="misled").events
        assert [event.transition for event in events] == ["hinted", expected]
    events = ledger.take("hinted", "k", payload={"outcome": "harmful"}).events
    assert [(e.transition, e.state_after) for e in events] == [
        (Transition.HINTED, State.CHALLENGED),
        (Transition.INVALIDATED, State.INVALIDATED),
    ]


def test_a_helpful_hint_confirms_a_proposal_and_otherwise_only_counts() -> None:
    ledger = Ledger()
    ledger.take("proposed", "k", payload=claim("x"))
    assert len(ledger.take("hinted", "k", payload={"outcome": "helpful"}).events) == 2
    assert ledger.node("k").state is State.CONFIRMED
    assert len(ledger.take("hinted", "k", payload={"outcome": "helpful"}).events) == 1
    assert ledger.node("k").helpful == 2


def test_a_contradiction_challenges_its_live_target_and_is_the_cause() -> None:
    ledger = Ledger()
    ledger.take("proposed", "tea", payload=claim("prefers tea"))
    ledger.take("confirmed", "tea")
    ledger.take("proposed", "no", payload=claim("no tea"))
    events = ledger.take("linked", "no", payload={"relation": "contradicts", "to": "tea"}, event_id="c").events
    assert [e.event_id for e in events] == ["c", "c#contradiction"]
    assert events[1].caused_by == ("c",)
    assert ledger.node("tea").state is State.CHALLENGED
    ledger.take("invalidated", "tea", reason="over")
    assert len(ledger.take("linked", "no", payload={"relation": "contradicts", "to": "tea"}).events) == 1


def test_a_ring_of_supersedes_is_refused_over_any_number_of_steps() -> None:
    ledger = Ledger()
    for key in "abc":
        ledger.take("proposed", key, payload=claim(key))
    ledger.take("linked", "b", payload={"relation": "supersedes", "to": "a"})
    ledger.take("superseded", "b", payload={"by": "c"})
    assert ledger.refusal("linked", "a", payload={"relation": "supersedes", "to": "c"}).code == "RELATION_REFUSED"
    assert ledger.refusal("superseded", "c", payload={"by": "a"}).code == "RELATION_REFUSED"
    ledger.take("unlinked", "b", payload={"relation": "supersedes", "to": "a"})
    ledger.take("linked", "a", payload={"relation": "supersedes", "to": "c"})


def test_a_node_is_never_related_to_itself() -> None:
    ledger = Ledger()
    ledger.take("proposed", "s", payload=claim("Self"))
    for relation in ("depends_on", "supersedes", "contradicts"):
        assert ledger.refusal("linked", "s", payload={"relation": relation, "to": "s"}).code == "RELATION_REFUSED"
    assert ledger.refusal("superseded", "s", payload={"by": "s"}).code == "RELATION_REFUSED"
    own = claim("x", relations=[{"relation": "supports", "to": "t"}])
    assert ledger.refusal("proposed", "t", payload=own).code == "RELATION_REFUSED"


def test_retirement_ends_validity_at_the_successors_start_but_never_before_its_own() -> None:
    ledger = Ledger()
    ledger.take("proposed", "late", payload=claim("late", valid_from="2023-09-23T00:00:00Z"))
    ledger.take("proposed", "tea", payload=claim("tea", valid_from="2023-09-21T10:00:00Z"))
    ledger.take("proposed", "new", payload=claim("new", valid_from="2024-01-01T02:00:00+02:00"))
    ledger.take("superseded", "tea", payload={"by": "late"})
    ledger.take("superseded", "new", payload={"by": "late"})
    assert ledger.node("tea").valid_to == ledger.node("late").valid_from
    assert ledger.node("new").valid_to == ledger.node("new").valid_from


def test_a_correction_makes_the_next_generation_which_supersedes_the_old_one() -> None:
    ledger = Ledger()
    ledger.take("proposed", "k", payload=claim("helo"))
    ledger.take("corrected", "k", payload=claim("hello", **evidence()), reason="spelling")
    new, old = ledger.node("k"), ledger.here.nodes["k", 1]
    assert (new.generation, new.proposition, new.state) == (2, "hello", State.PROPOSED)
    assert (old.state, old.valid_to) == (State.CORRECTED, new.valid_from)
    assert [(e.source, e.relation, e.target) for e in ledger.here.edges.values()] == [
        (("k", 2), "supersedes", ("k", 1))
    ]
    assert {node for node, _ in ledger.here.evidenced} == {("k", 1), ("k", 2)}


@pytest.mark.parametrize(
    ("time", "code"),
    [("2020-01-01T00:00:00Z", "VALIDATION"), ("2026-01-01T01:00:00Z", "VALIDATION")],
    ids=["before the creation", "an hour ahead"],
)
def test_an_event_is_neither_before_the_creation_nor_far_ahead(time: str, code: str) -> None:
    ledger = Ledger()
    ledger.take("proposed", "k", payload=claim("x"))
    error = ledger.refusal("confirmed", "k", time=time)
    assert (error.code, error.field) == (code, "time")


def test_an_edge_is_one_however_many_events_state_it() -> None:
    ledger = Ledger()
    for key in ("base", "leaf"):
        ledger.take("proposed", key, payload=claim(key))
    link = {"relation": "depends_on", "to": "base"}
    for event_id in ("r1", "r2", "r2"):
        ledger.take("linked", "leaf", payload=link, event_id=event_id)
    (edge,) = ledger.here.edges.values()
    assert edge.event_ids == ("r1", "r2")
    ledger.take("unlinked", "leaf", payload=link)
    assert not ledger.here.edges[edge.id].live
    assert ledger.refusal("unlinked", "leaf", payload=link).code == "NOT_FOUND"
    ledger.take("linked", "leaf", payload=link, event_id="r3")
    assert ledger.here.edges[edge.id].event_ids == ("r1", "r2", "r3")
    assert len(ledger.here.edges[edge.id].turns) == 3


def test_unlink_ends_the_edge_to_the_newest_generation_that_has_one() -> None:
    ledger = Ledger()
    for key in ("base", "leaf"):
        ledger.take("proposed", key, payload=claim(key))
    link = {"relation": "depends_on", "to": "base"}
    ledger.take("linked", "leaf", payload=link)
    ledger.take("corrected", "base", payload=claim("better"), reason="typo")
    ledger.take("unlinked", "leaf", payload=link)
    assert not ledger.here.edges[("leaf", 1), "depends_on", ("base", 1)].live  # pyright: ignore[reportArgumentType]


def test_the_same_evidence_key_with_other_content_is_refused() -> None:
    ledger = Ledger()
    ledger.take("proposed", "k", payload=claim("x", **evidence()))
    ledger.take("evidenced", "k", payload={"evidence": [{**evidence()["evidence"][0], "timestamp": None}]})
    other = {"evidence": [{"key": "e1", "type": "run", "source": "elsewhere"}]}
    error = ledger.refusal("evidenced", "k", payload=other)
    assert (error.code, error.field) == ("VALIDATION", "payload.evidence[0].key")
