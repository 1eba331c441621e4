"""The model run over the real data, against the oracles that came with it."""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import networkx as nx
import pytest
from datasets import SHARED, debian, debian_dangling, peps, rfc_dangling, rfcs
from model import Model

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not there")

NOW = datetime(2026, 11, 30, tzinfo=UTC)
P = "P"


def _told(lines: Iterable[dict[str, Any]]) -> Model:
    """Every line is taken, and none is a repeat."""
    model = Model(count_risk=False)
    for line in lines:
        now = datetime.fromisoformat(line["recorded_at"]) if "recorded_at" in line else NOW
        outcome = model.run(P, line, now)
        assert outcome.applied, (line, outcome)
    return model


def _oracle(name: str) -> dict[str, Any]:
    return json.loads((SHARED / name).read_text(encoding="utf-8"))


def _graph(model: Model, relation: str) -> Any:
    graph: Any = nx.DiGraph()
    graph.add_nodes_from(key for key, _ in model.nodes(P))
    graph.add_edges_from((start, end) for (start, _), named, (end, _) in model.edges(P) if named == relation)
    return graph


def _states(model: Model, as_of: datetime | None = None) -> dict[str, str]:
    return {key: node["state"] for (key, _), node in model.nodes(P, as_of).items()}


def _sha256(names: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names, key=str.encode)).encode()).hexdigest()


# --- PEPs ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pep_model() -> Model:
    return _told(peps())


def test_peps_come_in_order_of_time_recorded_as_they_happened() -> None:
    lines = list(peps())
    times = [line["time"] for line in lines]
    assert times == sorted(times) == [line["recorded_at"] for line in lines]
    assert len({line["event_id"] for line in lines}) == len(lines)


def test_every_pep_ends_in_the_state_of_its_header(pep_model: Model) -> None:
    # 374 Final, 38 Active, 11 Accepted; 131 Rejected, 71 Withdrawn, 4 Superseded by nobody; 49 Draft, 1 joke.
    counted = {"confirmed": 423, "invalidated": 206, "superseded": 21, "challenged": 36, "proposed": 50}
    assert Counter(_states(pep_model).values()) == counted
    nodes = pep_model.nodes(P).values()
    assert all((node["verified_at"] is not None) == (node["state"] == "confirmed") for node in nodes)


def test_no_pep_is_at_risk_today(pep_model: Model) -> None:
    assert pep_model.at_risk(P) == set(_oracle("peps_oracle.json")["at_risk_now"]) == set()


def test_the_heads_of_supersession_are_those_of_the_oracle(pep_model: Model) -> None:
    graph, oracle = _graph(pep_model, "supersedes"), _oracle("peps_oracle.json")
    assert graph.number_of_edges() == oracle["supersession_edges_union"] == 47
    heads = {
        pep: sorted(new for new in nx.ancestors(graph, pep) if graph.in_degree(new) == 0)
        for pep in graph
        if graph.in_degree(pep)
    }
    assert heads == oracle["heads"]


def test_the_dependents_of_every_pep_are_those_of_the_oracle(pep_model: Model) -> None:
    graph, oracle = _graph(pep_model, "depends_on"), _oracle("peps_oracle.json")
    assert graph.number_of_edges() == oracle["requires_edges"] == 39
    dependents = {pep: sorted(nx.ancestors(graph, pep)) for pep in graph if graph.in_degree(pep)}
    assert dependents == oracle["if_retired"]
    states = _states(pep_model)
    live = {pep for pep, state in states.items() if state not in ("superseded", "invalidated")}
    assert len(states) - len(live) == oracle["retired"]
    for pep in live & set(dependents):  # what the impact adds: retired ones carry nothing on
        alive = nx.ancestors(graph.subgraph(live), pep)
        assert {key for key, _ in pep_model.impact(P, pep)} == alive <= set(dependents[pep])


def test_in_2015_the_peps_stood_as_they_did_then(pep_model: Model) -> None:
    then = datetime(2015, 7, 1, tzinfo=UTC)
    states = _states(pep_model, then)
    assert "PEP-0572" not in states
    assert states["PEP-0484"] == "confirmed"
    assert (states["PEP-0345"], _states(pep_model)["PEP-0345"]) == ("proposed", "superseded")
    assert all(node["created_at"] <= then for node in pep_model.nodes(P, then).values())


# --- RFCs ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rfc_model() -> Model:
    return _told(rfcs())


def test_the_rfcs_are_superseded_and_at_risk_in_the_known_numbers(rfc_model: Model) -> None:
    nodes = rfc_model.nodes(P)
    assert len(nodes) == 9417
    assert Counter(node["state"] for node in nodes.values())["superseded"] == 1343
    at_risk = {node_id: node["roots"] for node_id, node in nodes.items() if node["at_risk"]}
    assert len(at_risk) == 212
    assert sum(1 in roots.values() for roots in at_risk.values()) == 151
    assert rfc_model.at_risk(P) == set(at_risk)
    counted = Counter(relation for _, relation, _ in rfc_model.edges(P))
    assert counted == {"supersedes": 1494, "depends_on": 1941, "related_to": 48}
    assert len(rfc_dangling()) == 433


def test_the_rfcs_fan_out_and_chain_as_known(rfc_model: Model) -> None:
    supersedes = _graph(rfc_model, "supersedes")
    assert sum(supersedes.in_degree(rfc) > 1 for rfc in supersedes) == 103
    assert max(supersedes.in_degree(rfc) for rfc in supersedes) == 6
    newer = supersedes.reverse().subgraph({"RFC1083", *nx.ancestors(supersedes, "RFC1083")})
    chain = nx.dag_longest_path(newer)
    assert (chain[0], len(chain) - 1) == ("RFC1083", 32)
    assert [end for end in newer if not newer.out_degree(end)] == ["RFC7100"]
    updates = _graph(rfc_model, "depends_on")
    assert updates.in_degree("RFC1035") == 29
    assert len(nx.ancestors(updates, "RFC1035")) == 65
    assert updates.out_degree("RFC8996") == 84


def test_an_rfc_that_was_obsoleted_before_it_appeared_has_an_empty_interval(rfc_model: Model) -> None:
    node = rfc_model.nodes(P)[("RFC5143", 1)]
    assert node["state"] == "superseded"
    assert node["valid_from"] == node["valid_to"] == datetime(2008, 2, 1, tzinfo=UTC)


# --- Debian -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def debian_model() -> Model:
    return _told(debian())


def test_the_debian_graph_is_whole_and_has_no_ghosts(debian_model: Model) -> None:
    counted = Counter(relation for _, relation, _ in debian_model.edges(P))
    assert counted == {"depends_on": 11_522, "contradicts": 22, "related_to": 454, "supersedes": 2}
    nodes = debian_model.nodes(P)
    assert len(nodes) == 3000 + 2
    assert Counter(word for _, word, _ in debian_dangling()) == {"suggests": 1138, "depends": 2}
    assert all(len(node["evidence"]) == 1 for node in nodes.values())
    assert Counter(node["state"] for node in nodes.values())["superseded"] == 2
    challenges = [event for event in debian_model.journal(P) if event["transition"] == "challenged"]
    assert len(challenges) == 22
    assert debian_model.at_risk(P) == set()


def test_the_impact_of_thirty_packages_is_exactly_that_of_the_oracle(debian_model: Model) -> None:
    oracle = _oracle("debian_impact_oracle_3k.json")
    assert len(oracle["packages"]) == 30
    for told in oracle["packages"]:
        names = {key for key, _ in debian_model.impact(P, told["package"])}
        assert len(names) == told["transitive_dependents"]
        if "names" in told:
            assert sorted(names) == told["names"]
        if "sha256_sorted_names" in told:
            assert _sha256(names) == told["sha256_sorted_names"]


def test_retiring_a_package_puts_at_risk_what_the_impact_said_hop_by_hop(debian_model: Model) -> None:
    for told in _oracle("debian_impact_oracle_3k.json")["packages"][::6]:
        model = copy.deepcopy(debian_model)
        model.count_risk = True
        outcome = model.run(P, _retirement(told["package"]), NOW)
        assert outcome.newly_at_risk == told["transitive_dependents"]
        root = (told["package"], 1)
        hops = Counter(node["roots"][root] for node in model.nodes(P).values() if node["at_risk"])
        assert [hops[hop] for hop in range(1, told["max_hops"] + 1)] == told["by_hop"]
        assert hops[1] == told["direct_dependents"]


def test_sets_of_packages_retired_together_put_at_risk_what_the_oracle_says(debian_model: Model) -> None:
    for told in _oracle("debian_impact_oracle_3k.json")["retired_sets"]:
        model = copy.deepcopy(debian_model)
        for package in told["retired"]:
            assert model.run(P, _retirement(package), NOW).applied
        names = {key for key, _ in model.at_risk(P)}
        assert len(names) == told["at_risk"]
        assert _sha256(names) == told["sha256_sorted_names"]


def _retirement(package: str) -> dict[str, Any]:
    return {"transition": "invalidated", "key": package, "reason": "dropped", "payload": {}}
