"""The order of what was found: matches, what they lead to, and doubt."""

from __future__ import annotations

from typing import Any

from graph.ranking import Folding, Tie, ranked, scaled


def node(key: str, **more: Any) -> dict[str, Any]:
    plain = {"key": key, "generation": 1, "state": "confirmed", "at_risk": False, "stale": False, "retired": False}
    return {**plain, "proposition": key, **more}


def keys(scores: dict[str, float], ties: list[Tie], *nodes: dict[str, Any]) -> list[str]:
    found = ranked({(key, 1): score for key, score in scores.items()}, ties, {(n["key"], 1): n for n in nodes})
    return [one.node["key"] for one in found]


def tie(of: str, via: str, far: str, *, outgoing: bool = True) -> Tie:
    return Tie((of, 1), via, outgoing, (far, 1))


def test_scores_are_brought_between_nothing_and_one() -> None:
    assert scaled({}) == {}
    assert scaled({("a", 1): 7.0}) == {("a", 1): 1.0}
    found = scaled({("a", 1): 2.0, ("b", 1): 6.0, ("c", 1): 4.0})
    assert found["b", 1] == 1.0
    assert 0 < found["a", 1] < 0.01 < found["c", 1] < 1


def test_equals_come_by_key() -> None:
    assert keys({"b": 1.0, "a": 1.0}, [], node("a"), node("b")) == ["a", "b"]


def test_what_a_good_match_leads_to_comes_before_a_poor_match() -> None:
    found = ranked(
        {("a", 1): 1.0, ("b", 1): 0.1},
        [tie("a", "depends_on", "c")],
        {("a", 1): node("a"), ("b", 1): node("b"), ("c", 1): node("c")},
    )
    assert [(one.node["key"], one.via and one.via.via) for one in found] == [
        ("a", None),
        ("c", "depends_on"),
        ("b", None),
    ]


def test_two_matches_that_are_linked_gain_by_each_other() -> None:
    links = [tie("b", "supports", "c"), tie("c", "supports", "b", outgoing=False)]
    assert keys({"a": 0.6, "b": 0.5, "c": 0.5}, links, node("a"), node("b"), node("c")) == ["b", "c", "a"]


def test_doubt_puts_behind_and_never_out() -> None:
    doubtful = [node("a", state="challenged"), node("b", at_risk=True), node("c", stale=True), node("d")]
    scores = dict.fromkeys("abcd", 1.0)
    assert keys(scores, [], *doubtful) == ["d", "b", "c", "a"]


def test_the_successor_of_a_retired_match_stands_in_its_place() -> None:
    found = ranked(
        {("old", 1): 1.0, ("other", 1): 0.5},
        [tie("old", "supersedes", "new", outgoing=False)],
        {("new", 1): node("new"), ("other", 1): node("other")},
    )
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
