"""The order of what was found: matches, what they lead to, and doubt."""

from __future__ import annotations

from typing import Any

from graph.rankers import Part
from graph.ranking import Folding, Ranked, Tie, drawn, ranked
from graph.words import stems


def node(key: str, **more: Any) -> dict[str, Any]:
    plain = {"key": key, "generation": 1, "state": "confirmed", "at_risk": False, "stale": False, "retired": False}
    return {**plain, "proposition": key, **more}


def order(scores: dict[str, float], ties: list[Tie], *nodes: dict[str, Any], asked: str = "") -> list[Ranked]:
    return fused([Part(1.0, {(key, 1): score for key, score in scores.items()})], ties, *nodes, asked=asked)


def fused(parts: list[Part], ties: list[Tie], *nodes: dict[str, Any], asked: str = "") -> list[Ranked]:
    matches = {node for part in parts for node in part.scores}
    return ranked(drawn(parts, matches, ties), {(n["key"], 1): n for n in nodes}, stems(asked))


def keys(scores: dict[str, float], ties: list[Tie], *nodes: dict[str, Any], asked: str = "") -> list[str]:
    return [one.node["key"] for one in order(scores, ties, *nodes, asked=asked)]


def tie(of: str, via: str, far: str, *, outgoing: bool = True, among: int = 1) -> Tie:
    return Tie((of, 1), via, outgoing, (far, 1), among)


def test_equals_come_by_key() -> None:
    assert keys({"b": 1.0, "a": 1.0}, [], node("a"), node("b")) == ["a", "b"]


def test_what_a_good_match_leads_to_comes_before_a_poor_match() -> None:
    found = order({"a": 1.0, "b": 0.1}, [tie("a", "depends_on", "c")], node("a"), node("b"), node("c"))
    assert [(one.node["key"], one.via and one.via.via) for one in found] == [
        ("a", None),
        ("c", "depends_on"),
        ("b", None),
    ]


def test_a_match_is_drawn_halfway_to_the_best_that_it_is_linked_to() -> None:
    links = [tie("a", "supports", "c"), tie("b", "depends_on", "c", outgoing=False)]
    found = order({"a": 0.8, "b": 0.7, "c": 0.2}, links, node("a"), node("c"))
    assert [(one.node["key"], one.score) for one in found] == [("a", 0.8), ("c", 0.5)]


def test_two_good_matches_that_are_linked_do_not_lift_each_other() -> None:
    links = [tie("b", "supports", "c"), tie("c", "supports", "b", outgoing=False)]
    assert keys({"a": 0.6, "b": 0.5, "c": 0.5}, links, node("a"), node("b"), node("c")) == ["a", "b", "c"]


def test_words_of_one_node_and_the_meaning_of_the_next_come_together() -> None:
    parts = [Part(0.5, {("asks", 1): 1.0}), Part(0.5, {("answers", 1): 1.0, ("other", 1): 1.0})]
    links = [tie("asks", "related_to", "answers"), tie("answers", "related_to", "asks", outgoing=False)]
    found = fused(parts, links, node("asks"), node("answers"), node("other"))
    assert [(one.node["key"], one.score) for one in found] == [("answers", 0.75), ("asks", 0.75), ("other", 0.5)]


def test_matches_that_lead_to_the_same_node_draw_each_other_half_as_far() -> None:
    links = [tie("a", "related_to", "between"), tie("c", "related_to", "between", outgoing=False)]
    found = order({"a": 1.0, "b": 0.35, "c": 0.2}, links, node("a"), node("b"), node("c"))
    assert [(one.node["key"], one.score) for one in found] == [("a", 1.0), ("c", 0.4), ("b", 0.35)]


def test_evidence_draws_the_less_the_more_stand_on_it() -> None:
    links = [tie("a", "evidence", "b", among=1), tie("a", "evidence", "c", among=25)]
    found = order({"a": 1.0}, links, node("a"), node("b"), node("c"))
    assert [(one.node["key"], one.score) for one in found] == [("a", 1.0), ("b", 0.5), ("c", 0.02)]


def test_doubt_puts_behind_and_never_out() -> None:
    doubtful = [node("a", state="challenged"), node("b", at_risk=True), node("c", stale=True), node("d")]
    scores = dict.fromkeys("abcd", 1.0)
    assert keys(scores, [], *doubtful) == ["d", "b", "c", "a"]


def test_what_others_say_than_who_is_named_falls_behind_and_what_nobody_says_does_not() -> None:
    said = [node("a", proposition="Anna: I paint"), node("b", proposition="Ben: Anna paints"), node("c")]
    scores = {"a": 0.9, "b": 1.0, "c": 0.95}
    assert keys(scores, [], *said, asked="What does Anna paint?") == ["c", "a", "b"]
    assert keys(scores, [], *said, asked="What do Anna and Ben paint?") == ["b", "c", "a"]
    assert keys(scores, [], *said, asked="Who paints?") == ["b", "c", "a"]


def test_the_successor_of_a_retired_match_stands_in_its_place() -> None:
    superseded = [tie("old", "supersedes", "new", outgoing=False)]
    found = order({"old": 1.0, "other": 0.5}, superseded, node("new"), node("other"))
    assert [one.node["key"] for one in found] == ["new", "other"]
    assert found[0].via == tie("old", "supersedes", "new", outgoing=False)


def test_near_duplicates_are_folded_and_rivals_are_not() -> None:
    folding = Folding()
    assert folding.duplicate_of(node("a", proposition="The northern depot closes early on Fridays")) is None
    same = folding.duplicate_of(node("b", proposition="On Fridays the northern depots close early"))
    assert same is not None
    assert same["key"] == "a"
    assert folding.duplicate_of(node("c", proposition="The northern depot never closes early on Fridays")) is None
    assert folding.duplicate_of(node("d", proposition="The northern depot closes early on Friday 13")) is None
    rival = node("e", proposition="The northern depot closes early on Fridays!")
    assert folding.duplicate_of(rival, [("a", 1)]) is None
    assert len(folding) == 4
