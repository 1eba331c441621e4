"""The marks that are kept in memory agree with the rule after every event of any life."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ledger import Ledger, claim

from graph import risk
from graph.dependence import Dependence
from graph.errors import KnowledgeError
from graph.knowledge import NodeId

KEYS = "abcdef"
EVIDENCE = [{"type": "run", "source": "s"}]
STEPS = st.one_of(
    st.tuples(st.just("linked"), st.sampled_from(KEYS), st.sampled_from(KEYS)),
    st.tuples(st.just("unlinked"), st.sampled_from(KEYS), st.sampled_from(KEYS)),
    st.tuples(st.sampled_from(["invalidated", "corrected", "confirmed", "proposed"]), st.sampled_from(KEYS), st.none()),
    st.tuples(st.just("superseded"), st.sampled_from(KEYS), st.sampled_from(KEYS)),
)


def by_rule(ledger: Ledger) -> dict[NodeId, int]:
    nodes = ledger.here.nodes
    live = {node.id: node.verified_seq or 0 for node in nodes.values() if not node.retired}
    edges = [e for e in ledger.here.edges.values() if e.live and e.relation.carries_dependence and e.source in live]
    dependents: dict[NodeId, list[NodeId]] = {}
    for edge in edges:
        if edge.target in live:
            dependents.setdefault(edge.target, []).append(edge.source)
    retired = ((edge.source, nodes[edge.target].retired_seq) for edge in edges)
    return risk.marks(live, dependents, [(source, seq) for source, seq in retired if seq is not None])


def payload(step: str, relation: str, other: str | None, key: str) -> dict[str, Any]:
    match step:
        case "linked" | "unlinked":
            return {"relation": relation, "to": other}
        case "superseded":
            return {"by": other}
        case "confirmed":
            return {"evidence": EVIDENCE}
        case "corrected":
            return claim(f"{key} corrected")
        case "proposed":
            ends = [{"relation": "depends_on", "to": end} for end in KEYS if end > key]
            return claim(f"claim {key}", relations=ends)
        case _:
            return {}


@settings(deadline=None)
@given(st.lists(st.tuples(STEPS, st.sampled_from(["depends_on", "derived_from", "supports"])), max_size=40))
def test_after_every_event_the_marks_are_those_of_the_rule(
    steps: list[tuple[tuple[str, str, str | None], str]],
) -> None:
    ledger, dependence = Ledger(), Dependence()
    told: dict[NodeId, int] = {}
    before: dict[NodeId, int] = {}

    def follow(transition: str, key: str, content: dict[str, Any]) -> None:
        nonlocal before
        try:
            decision = ledger.take(transition, key, payload=content, reason="r")
        except KnowledgeError:
            return
        newly = sum(dependence.follow(ledger.here, event) for event in decision.events)
        after = by_rule(ledger)
        assert newly == len(after.keys() - before.keys())
        told.update(dependence.changed())
        live = {node_id: seq for node_id, seq in told.items() if seq and not ledger.here.nodes[node_id].retired}
        assert live == after
        before = after

    for key in reversed(KEYS):
        follow("proposed", key, payload("proposed", "", None, key))
    for (step, key, other), relation in steps:
        follow(step, key, payload(step, relation, other, key))
