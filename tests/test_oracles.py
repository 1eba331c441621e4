"""The database against answers that were worked out elsewhere: the oracles beside the real data, and networkx.

What networkx says of at_risk is written from the rule root by root, and shares nothing with ``graph.risk``.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pytest
from conftest import wipe
from datasets import SHARED, debian, peps, rfcs
from strategies import IMPORTER, Record, said

from graph.exchange import Report, Terms, import_journal
from graph.knowledge import Relation
from graph.service import Direction, Filter, Moment, NodeId, Service
from graph.store import Store

nx: Any = import_module("networkx")

on_real_data = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not there")

TERMINAL = ("corrected", "superseded", "invalidated")
DEPENDENCE = ("depends_on", "derived_from")
PROOF = [{"type": "run", "source": "run:1"}]


# --- reading ------------------------------------------------------------------------------------------------


@dataclass
class Asked:
    """A service asked in plain calls."""

    service: Service
    loop: asyncio.Runner

    def take(self, project: str, lines: Iterable[Record], *, trying: bool) -> Report:
        raw = [json.dumps(line, ensure_ascii=False).encode() for line in lines]
        terms = Terms(project, IMPORTER, keep_going=not trying)
        report = self.loop.run(import_journal(self.service.store, lambda: raw, terms))
        assert (report.taken, report.refusals) == (len(raw), [])
        return report

    def say(self, transition: str, key: str, project: str, **parts: Any) -> int:
        taken = self.loop.run(self.service.run(said(transition, key, project, **parts)))
        assert taken.applied
        return taken.newly_at_risk

    def retire(self, key: str, project: str) -> int:
        return self.say("invalidated", key, project, reason="withdrawn")

    def page(self, project: str, wanted: Filter) -> list[Record]:
        """All nodes that a filter lets through, page by page."""

        async def paging() -> list[Record]:
            found: list[Record] = []
            more = True
            while more:
                after = (found[-1]["key"], found[-1]["generation"]) if found else None
                page = await self.service.page(project, wanted, 1_000, after)
                found, more = found + page.items, page.has_next
            return found

        return self.loop.run(paging())

    def at_risk(self, project: str) -> set[str]:
        return {node["key"] for node in self.page(project, Filter(at_risk=True))}

    def impact(self, project: str, key: str) -> set[str]:
        """Every key, over all pages, each once; the count is the same on every page."""

        async def paging() -> list[str]:
            keys: list[str] = []
            more, after = True, None
            while more:
                page = await self.service.impact(project, key, 1_000, after)
                keys += [node["key"] for node in page["items"]]
                more, after = page["has_next"], (keys[-1], 1) if keys else None
                counts.add(page["count"])
            return keys

        counts: set[int] = set()
        keys = self.loop.run(paging())
        assert len(set(keys)) == len(keys)
        assert counts == {len(keys)}
        return set(keys)

    def walk(self, project: str, key: str, direction: Direction, *relations: Relation) -> Record:
        """As far as it goes."""
        walking = self.service.provenance(
            project, key, direction=direction, relations=relations, depth=100, max_nodes=10_000, evidence=False
        )
        found = self.loop.run(walking)
        assert not found["truncated"]
        return found

    def chains(self, project: str, key: str) -> dict[str, list[str]]:
        """Retired node -> the chain to it."""
        found = self.loop.run(self.service.why_at_risk(project, key))
        return {why["retired"]["key"]: [node["key"] for node in why["path"]] for why in found}

    def is_sound(self, project: str) -> None:
        found = self.loop.run(self.service.verify(project))
        assert found["ok"], found


@pytest.fixture(scope="module")
def asked(open_store: Store, loop: asyncio.Runner) -> Asked:
    """A database that this module's tests share, since some of it takes long to load."""
    loop.run(wipe(open_store))
    return Asked(Service(open_store), loop)


def sha256(names: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names, key=str.encode)).encode()).hexdigest()


def oracle(name: str) -> Record:
    return json.loads((SHARED / name).read_text(encoding="utf-8"))


# --- Debian -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def packages() -> Any:
    """Who depends on whom, straight from the file."""
    graph = nx.DiGraph()
    text = (SHARED / "debian_depends_3k.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.split("\n") if line]
    graph.add_nodes_from(record["package"] for record in records)
    graph.add_edges_from(
        (record["package"], other) for record in records for other in record["depends"] if other in graph
    )
    return graph


@pytest.fixture(scope="module")
def debianed(asked: Asked) -> Asked:
    """The packages in a project of their own; the tests that follow retire some, in their order."""
    asked.take("r01", debian(), trying=False)
    return asked


@on_real_data
def test_debian_is_whole(debianed: Asked) -> None:
    told = debianed.loop.run(debianed.service.stats("r01"))
    assert (told["nodes"], told["evidence"], told["at_risk"]) == (3_002, 3_002, 0)
    assert told["relations"] == {"depends_on": 11_522, "contradicts": 22, "related_to": 454, "supersedes": 2}


@on_real_data
def test_the_impact_of_thirty_packages_is_that_of_the_oracle_name_by_name(debianed: Asked, packages: Any) -> None:
    told = oracle("debian_impact_oracle_3k.json")["packages"]
    assert len(told) == 30
    for package in told:
        names = debianed.impact("r01", package["package"])
        assert len(names) == package["transitive_dependents"]
        assert names == nx.ancestors(packages, package["package"])
        if "names" in package:
            assert sorted(names) == package["names"]
        if "sha256_sorted_names" in package:
            assert sha256(names) == package["sha256_sorted_names"]


@on_real_data
def test_the_dependents_of_thirty_packages_stand_at_the_oracles_distances(debianed: Asked) -> None:
    for package in oracle("debian_impact_oracle_3k.json")["packages"]:
        found = debianed.walk("r01", package["package"], "downstream", Relation.DEPENDS_ON)
        hops = Counter(node["distance"] for node in found["nodes"])
        assert [hops[hop] for hop in range(1, package["max_hops"] + 1)] == package["by_hop"]
        assert sum(hops.values()) == package["transitive_dependents"]
        assert hops[1] == package["direct_dependents"]


@on_real_data
def test_sets_that_are_retired_together_mark_what_the_oracle_says(debianed: Asked, packages: Any) -> None:
    """Three sets, then members of two rings, one after the other: each adds its own to what is at risk."""
    expected: set[str] = set()
    retired: set[str] = set()

    def retire(package: str) -> None:
        nonlocal expected
        before = set(expected)
        retired.add(package)
        expected = (expected | nx.ancestors(packages, package)) - retired
        assert debianed.retire(package, "r01") == len(expected - before)

    for told in reversed(oracle("debian_impact_oracle_3k.json")["retired_sets"]):
        alone: set[str] = set[str]().union(*(nx.ancestors(packages, root) for root in told["retired"])) - {
            *told["retired"]
        }
        assert (len(alone), sha256(alone)) == (told["at_risk"], told["sha256_sorted_names"])
        for package in told["retired"]:
            retire(package)
        assert debianed.at_risk("r01") == expected
        assert alone - retired <= expected
    for package in ("rake", "libgcc-s1"):
        retire(package)
        assert debianed.at_risk("r01") == expected


@on_real_data
def test_why_something_is_at_risk_names_every_retired_one_that_a_chain_reaches(debianed: Asked, packages: Any) -> None:
    retired = {node["key"] for node in debianed.page("r01", Filter()) if node["retired"]} & set(packages)
    assert len(retired) == 8
    live = packages.subgraph(set(packages) - retired)
    for name in random.Random(9).sample(sorted(debianed.at_risk("r01")), 20):
        lengths = nx.single_source_shortest_path_length(live, name)
        expected: dict[str, int] = {}
        for near, length in lengths.items():
            for far in set(packages.successors(near)) & retired:
                expected[far] = min(expected.get(far, length + 1), length + 1)
        chains = debianed.chains("r01", name)
        assert {root: len(chain) - 1 for root, chain in chains.items()} == expected
        assert all(nx.is_path(packages, chain) for chain in chains.values())


@on_real_data
def test_what_evidence_confirms_is_cleared_with_all_that_rests_on_nothing_else(debianed: Asked, packages: Any) -> None:
    retired = {node["key"] for node in debianed.page("r01", Filter()) if node["retired"]} & set(packages)
    live = packages.copy()
    for name in ("libc6", "libx11-data"):
        debianed.say("confirmed", name, "r01", evidence=PROOF)
        live.remove_nodes_from([name])
        alive = live.subgraph(set(live) - retired)
        direct = {near for root in retired for near in live.predecessors(root)} & set(alive)
        assert debianed.at_risk("r01") == direct.union(*(nx.ancestors(alive, near) for near in direct))
    debianed.is_sound("r01")


@pytest.mark.slow
@on_real_data
def test_retiring_libc6_in_a_copy_marks_all_of_the_oracle_there_and_nothing_elsewhere(
    debianed: Asked, packages: Any
) -> None:
    debianed.take("r02", debian(), trying=True)
    debianed.take("r03", debian(), trying=False)
    told = next(p for p in oracle("debian_impact_oracle_3k.json")["packages"] if p["package"] == "libc6")
    before = [debianed.loop.run(debianed.service.head(project)) for project in ("r01", "r03")]
    assert debianed.retire("libc6", "r02") == told["transitive_dependents"]
    names = debianed.at_risk("r02")
    assert (len(names), sha256(names)) == (told["transitive_dependents"], told["sha256_sorted_names"])
    assert debianed.at_risk("r03") == set()
    assert [debianed.loop.run(debianed.service.head(project)) for project in ("r01", "r03")] == before
    distances = nx.single_source_shortest_path_length(packages.reverse(copy=False), "libc6")
    for name in random.Random(6).sample(sorted(names), 50):
        chains = debianed.chains("r02", name)
        assert set(chains) == {"libc6"}
        assert nx.is_path(packages, chains["libc6"])
        assert len(chains["libc6"]) - 1 == distances[name]
    for project in ("r02", "r03"):
        debianed.is_sound(project)


# --- PEPs and RFCs ------------------------------------------------------------------------------------------


@on_real_data
def test_peps_are_at_risk_lead_and_depend_as_the_oracle_says(asked: Asked) -> None:
    lines, told = list(peps()), oracle("peps_oracle.json")
    asked.take("peps", lines, trying=True)
    nodes = {node["key"]: node for node in asked.page("peps", Filter())}
    assert len(nodes) == told["nodes"]
    assert sum(node["retired"] for node in nodes.values()) == told["retired"]
    assert asked.at_risk("peps") == set(told["at_risk_now"]) == set()

    graph = nx.DiGraph()
    links = [line["payload"] | {"from": line["key"]} for line in lines if line["transition"] == "linked"]
    graph.add_edges_from((link["from"], link["to"]) for link in links if link["relation"] == "depends_on")
    live = {key for key, node in nodes.items() if not node["retired"]}
    for pep, dependents in told["if_retired"].items():
        assert set(dependents) == nx.ancestors(graph, pep)
        if pep in live:  # the oracle counts retired ones too, which carry nothing on
            assert asked.impact("peps", pep) == nx.ancestors(graph.subgraph(live), pep) <= set(dependents)
    for pep, heads in told["heads"].items():
        found = asked.walk("peps", pep, "downstream", Relation.SUPERSEDES)
        superseded = {edge["to"][0] for edge in found["edges"]}
        assert sorted(node["key"] for node in found["nodes"] if node["key"] not in superseded) == heads
    asked.is_sound("peps")


@on_real_data
def test_a_copy_under_the_same_ids_is_another_project(asked: Asked) -> None:
    lines = list(peps())
    for project in ("first copy", "second copy"):
        asked.take(project, lines, trying=False)
    retired = "PEP-0649"
    assert asked.retire(retired, "second copy") == 1
    assert asked.at_risk("second copy") == {"PEP-0749"}
    assert asked.at_risk("first copy") == set()
    node = asked.loop.run(asked.service.knowledge("first copy", retired))
    assert node is not None
    assert not node["retired"]
    stats = [asked.loop.run(asked.service.stats(project)) for project in ("first copy", "second copy")]
    assert [told["events"] for told in stats] == [len(lines), len(lines) + 1]
    assert stats[0]["nodes"] == stats[1]["nodes"]


@on_real_data
def test_rfcs_are_at_risk_and_chained_in_the_known_numbers(asked: Asked) -> None:
    # A plain confirmation changes no mark, and there are seven thousand of them.
    lines = [line for line in rfcs() if line["transition"] != "confirmed"]
    asked.take("rfcs", lines, trying=False)
    nodes = {node["key"]: node for node in asked.page("rfcs", Filter())}
    assert len(nodes) == 9_417
    assert Counter(node["state"] for node in nodes.values())["superseded"] == 1_343
    risky = {key for key, node in nodes.items() if node["at_risk"]}
    graph, retired = nx.DiGraph(), {key for key, node in nodes.items() if node["retired"]}
    links = [(line["key"], line["payload"]) for line in lines if line["transition"] == "linked"]
    graph.add_edges_from((near, link["to"]) for near, link in links if link["relation"] == "depends_on")
    live = graph.subgraph(set(graph) - retired)
    direct = {near for near, far in graph.edges if near in live and far in retired}
    assert (len(risky), len(direct)) == (212, 151)
    assert risky == direct.union(*(nx.ancestors(live, near) for near in direct))

    found = asked.walk("rfcs", "RFC1083", "downstream", Relation.SUPERSEDES)
    newer = nx.DiGraph((edge["to"][0], edge["from"][0]) for edge in found["edges"])
    chain = nx.dag_longest_path(newer)
    assert (chain[0], chain[-1], len(chain) - 1) == ("RFC1083", "RFC7100", 32)
    assert {node["key"] for node in found["nodes"]} == set(newer) - {"RFC1083"}
    updated = asked.walk("rfcs", "RFC1035", "downstream", Relation.DEPENDS_ON)
    hops = Counter(node["distance"] for node in updated["nodes"])
    assert (hops[1], sum(hops.values())) == (29, 65)
    empty = nodes["RFC5143"]
    assert empty["valid_from"] == empty["valid_to"] == "2008-02-01T00:00:00Z"


# --- graphs that nobody has seen ----------------------------------------------------------------------------


@dataclass
class Tale:
    """A made-up project: its lines, and what networkx needs to know of them."""

    drawn: random.Random
    lines: list[Record] = field(default_factory=list[Record])
    graph: Any = field(default_factory=nx.MultiDiGraph)
    retired: dict[str, int] = field(default_factory=dict[str, int])
    verified: dict[str, int] = field(default_factory=dict[str, int])

    def say(self, transition: str, key: str, **parts: Any) -> None:
        seq = len(self.lines) + 1
        line: Record = {"event_id": f"e{seq}", "transition": transition, "key": key}
        if "reason" in parts:
            line["reason"] = parts.pop("reason")
        self.lines.append({**line, "payload": parts})
        if transition == "proposed":
            self.graph.add_node(key)
        elif transition == "linked":
            self.graph.add_edge(key, parts["to"], parts["relation"])
        elif transition == "unlinked":
            self.graph.remove_edge(key, parts["to"], parts["relation"])
        elif transition in ("invalidated", "disproved"):
            self.retired[key] = seq
        elif transition == "confirmed" and parts.get("evidence"):
            self.verified[key] = seq

    def begin(self, nodes: int) -> None:
        """Nodes, and edges among them: mostly dependence, mostly towards older ones, so some rings."""
        keys = [f"n{at:03d}" for at in range(nodes)]
        for key in keys:
            self.say("proposed", key, proposition=f"claim {key}")
        for _ in range(nodes * 7 // 4):
            self.link()

    def link(self) -> None:
        one, other = sorted(self.drawn.sample(sorted(self.graph), 2))
        near, far = (one, other) if self.drawn.random() < 0.1 else (other, one)
        relation = self.drawn.choice([*DEPENDENCE, "depends_on", "supports", "related_to"])
        self.say("linked", near, relation=relation, to=far)

    def go_on(self) -> None:
        """Anything that may change what is at risk, and some that may not."""
        live, edges = sorted(set(self.graph) - set(self.retired)), sorted(self.graph.edges(keys=True))
        what = self.drawn.random()
        if not live or not edges:
            self.link()
        elif what < 0.3:
            key = self.drawn.choice(live)
            if self.drawn.random() < 0.5:
                self.say("invalidated", key, reason="wrong")
            else:
                self.say("disproved", key, reason="measured", evidence=PROOF)
        elif what < 0.55:
            evidence = PROOF if self.drawn.random() < 0.8 else []
            risky = sorted(self.at_risk()) or live
            self.say("confirmed", self.drawn.choice(risky), evidence=evidence)
        elif what < 0.75:
            near, far, relation = self.drawn.choice(edges)
            self.say("unlinked", near, relation=relation, to=far)
        else:
            self.link()

    # By the rule, root by root: of all nodes that are neither retired nor confirmed with evidence after the root's
    # retirement, those from which a way leads to the root.

    def alive(self, root: str) -> Any:
        """The part of the graph in which a chain to the root may run, each edge turned round."""
        may = {
            key
            for key in self.graph
            if key == root or (key not in self.retired and self.verified.get(key, 0) < self.retired[root])
        }
        dependence = [(far, near) for near, far, r in self.graph.edges(keys=True) if r in DEPENDENCE]
        return nx.DiGraph([(far, near) for far, near in dependence if far in may and near in may])

    def roots(self) -> dict[str, dict[str, int]]:
        """Node at risk -> its roots -> length of a shortest chain."""
        found: dict[str, dict[str, int]] = {}
        for root in self.retired:
            alive = self.alive(root)
            if root in alive:
                for key, length in nx.single_source_shortest_path_length(alive, root).items():
                    if key != root:
                        found.setdefault(key, {})[root] = length
        return found

    def at_risk(self) -> set[str]:
        return set(self.roots())


def _same_marks(asked: Asked, project: str, tale: Tale, sample: int) -> None:
    roots = tale.roots()
    assert asked.at_risk(project) == set(roots)
    for key in tale.drawn.sample(sorted(roots), min(sample, len(roots))):
        chains = asked.chains(project, key)
        assert {root: len(chain) - 1 for root, chain in chains.items()} == roots[key]
        for root, chain in chains.items():
            assert nx.is_path(tale.alive(root).reverse(), chain)
    live = sorted(set(tale.graph) - set(tale.retired))
    for key in tale.drawn.sample(live, min(sample, len(live))):
        imagined = Tale(tale.drawn, tale.lines, tale.graph, tale.retired | {key: 2**53}, tale.verified)
        alive = imagined.alive(key)
        assert asked.impact(project, key) == (nx.descendants(alive, key) if key in alive else set())


def _told(asked: Asked, seed: int, nodes: int, changes: int) -> None:
    """Half of the story comes as a file, in one transaction; the rest event by event."""
    project, tale = f"tale {seed}", Tale(random.Random(seed))
    tale.begin(nodes)
    for _ in range(changes):
        tale.go_on()
    asked.take(project, tale.lines, trying=seed % 2 == 0)
    _same_marks(asked, project, tale, 5)
    then, at = tale.at_risk(), asked.loop.run(asked.service.head(project))
    assert at is not None
    assert at.recorded_at is not None

    said_so_far = len(tale.lines)
    for _ in range(changes):
        tale.go_on()
    for line in tale.lines[said_so_far:]:
        reason = {"reason": line["reason"]} if "reason" in line else {}
        before = asked.at_risk(project)
        newly = asked.say(
            line["transition"], line["key"], project, event_id=line["event_id"], **reason, **line["payload"]
        )
        assert newly == len(asked.at_risk(project) - before)
    _same_marks(asked, project, tale, 5)
    asked.is_sound(project)

    ids: Sequence[NodeId] = [(key, 1) for key in sorted(tale.graph)]
    past = asked.loop.run(asked.service.nodes(project, ids, Moment(at.seq, at.recorded_at)))
    assert {key for (key, _), node in past.items() if node["at_risk"]} == then
    asked.loop.run(asked.service.rebuild(project))
    _same_marks(asked, project, tale, 2)


@pytest.mark.parametrize("seed", range(2))
def test_a_random_graph_is_at_risk_where_networkx_says_so(asked: Asked, seed: int) -> None:
    _told(asked, seed, nodes=300, changes=40)


@pytest.mark.slow
@pytest.mark.timeout(4 * 3_600)
@pytest.mark.parametrize("nodes", [12, 60, 300, 1_000])
def test_a_thousand_random_graphs_are_at_risk_where_networkx_says_so(asked: Asked, nodes: int) -> None:
    for seed in range(1_000, 1_250):
        _told(asked, seed * 10_000 + nodes, nodes=nodes, changes=60)
        asked.loop.run(wipe(asked.service.store))
