"""The reference rule of rules.md section 5, on graphs small enough to see and on random ones."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from graph import risk
from graph.knowledge import NodeId


def n(name: str) -> NodeId:
    return (name, 1)


def test_everything_downstream_of_a_threat_is_marked_once_whatever_the_paths() -> None:
    live = {n(name): 0 for name in ("a", "b", "j2", "tail")}
    dependents = {n("a"): [n("j2")], n("b"): [n("j2")], n("j2"): [n("tail")]}
    assert risk.marks(live, dependents, [(n("a"), 7), (n("b"), 7)]) == dict.fromkeys(live, 7)


def test_what_evidence_confirmed_since_stops_the_walk_for_older_retirements_only() -> None:
    live = {n("near"): 5, n("far"): 0}
    dependents = {n("near"): [n("far")]}
    assert risk.marks(live, dependents, [(n("near"), 4)]) == {}
    assert risk.marks(live, dependents, [(n("near"), 4), (n("near"), 6)]) == {n("near"): 6, n("far"): 6}


def test_a_ring_that_rests_on_nothing_retired_is_not_at_risk_of_itself() -> None:
    live = {n("a"): 0, n("b"): 0}
    assert risk.marks(live, {n("a"): [n("b")], n("b"): [n("a")]}, []) == {}


def test_a_chain_is_given_for_each_root_oldest_first_and_ends_at_the_first_retired_node() -> None:
    live = {n("top"): 0, n("mid"): 0}
    retired = {n("old"): 2, n("new"): 9, n("hidden"): 1}
    dependencies = {n("top"): [n("mid"), n("new")], n("mid"): [n("old"), n("new")]}
    assert risk.chains(n("top"), live, retired, dependencies) == [
        [n("top"), n("mid"), n("old")],
        [n("top"), n("new")],
    ]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[NodeId, int], dict[NodeId, int], list[tuple[NodeId, NodeId]]]:
    names = [n(f"n{at}") for at in range(draw(st.integers(2, 9)))]
    positions = draw(st.permutations(range(1, len(names) + 1)))
    gone = set(draw(st.lists(st.sampled_from(names), max_size=3)))
    live = {name: draw(st.sampled_from([0, 0, *positions])) for name in names if name not in gone}
    retired = {name: positions[at] for at, name in enumerate(names) if name in gone}
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda pair: pair[0] != pair[1])
    return live, retired, draw(st.lists(pairs, max_size=25, unique=True))


@given(graphs())
def test_marks_and_chains_equal_the_definition_told_root_by_root(
    graph: tuple[dict[NodeId, int], dict[NodeId, int], list[tuple[NodeId, NodeId]]],
) -> None:
    live, retired, edges = graph
    roots: dict[NodeId, dict[NodeId, int]] = {}
    for root, seq in retired.items():
        allowed = {name for name, verified in live.items() if verified < seq} | {root}
        told = nx.DiGraph([(a, b) for a, b in edges if a in allowed and b in allowed and a != root])
        if root in told:
            lengths = dict(nx.single_target_shortest_path_length(told, root))
            for name, length in lengths.items():
                if name != root:
                    roots.setdefault(name, {})[root] = length
    dependents: dict[NodeId, list[NodeId]] = {}
    dependencies: dict[NodeId, list[NodeId]] = {}
    for near, far in edges:
        if near in live:
            dependencies.setdefault(near, []).append(far)
            if far in live:
                dependents.setdefault(far, []).append(near)
    threats = [(near, retired[far]) for near, far in edges if near in live and far in retired]
    assert risk.marks(live, dependents, threats) == {
        name: max(retired[root] for root in found) for name, found in roots.items()
    }
    for name in live:
        chains = risk.chains(name, live, retired, dependencies)
        assert {chain[-1]: len(chain) - 1 for chain in chains} == roots.get(name, {})
        assert all(pair in edges for chain in chains for pair in pairwise(chain))
