"""Rankers: what words and meaning come to, each by its own rule."""

from __future__ import annotations

import pytest

from graph.errors import ValidationError
from graph.rankers import RANKERS, Match, Part, Question, ranker, scaled
from graph.ranking import summed
from graph.words import stems

Scores = dict[str, float]


def scores(name: str, question: str, weight: float, **matches: tuple[str, float, float | None]) -> Scores:
    """Scores by key of matches that are said as text, words' score and cosine."""
    found = {(key, 1): Match(*match) for key, match in matches.items()}
    parts = ranker(name)(Question(stems(question), weight), found)
    assert sum(part.weight for part in parts) == pytest.approx(1)
    assert all(0 <= score <= 1 for part in parts for score in part.scores.values())
    return {key: summed(parts, (key, 1)) for key in matches}


def test_scores_are_brought_between_nothing_and_one() -> None:
    assert scaled({}) == {}
    assert scaled({("a", 1): 7.0}) == {("a", 1): 1.0}
    found = scaled({("a", 1): 2.0, ("b", 1): 6.0, ("c", 1): 4.0})
    assert found["b", 1] == 1.0
    assert 0 < found["a", 1] < 0.01 < found["c", 1] < 1


def test_fusion_weighs_words_and_meaning_as_the_model_wants_it() -> None:
    found = scores("fusion", "x", 0.3, a=("", 5.0, 0.7), b=("", 0.0, 0.9), c=("", 1.0, 0.8))
    assert found == {"a": pytest.approx(0.3, abs=0.01), "b": pytest.approx(0.7), "c": pytest.approx(0.35, abs=0.01)}


def test_fusion_lets_words_stand_for_a_meaning_that_is_not_known_yet() -> None:
    assert scores("fusion", "x", 0.3, new=("", 5.0, None), old=("", 1.0, 0.9), far=("", 0.0, 0.8))["new"] == 1.0


def test_fusion_goes_by_words_alone_where_meaning_took_no_part() -> None:
    found = scores("fusion", "x", 1.0, a=("", 5.0, None), b=("", 3.0, None))
    assert found["a"] == 1.0 > found["b"] > 0


def test_hybrid_is_seven_tenths_cosine_and_three_likeness_or_likeness_alone() -> None:
    found = scores(
        "hybrid", "depot closes", 0.3, a=("a depot", 1.0, 0.8), b=("bridge", 0.0, 0.8), c=("the depot", 1.0, None)
    )
    assert found == {"a": pytest.approx(0.7 * 0.8 + 0.3 * 0.5), "b": pytest.approx(0.56), "c": pytest.approx(0.5)}


def test_reciprocal_goes_by_places_and_not_by_scores() -> None:
    near = scores("reciprocal", "x", 0.3, a=("", 5.0, 0.9), b=("", 4.9, 0.1), c=("", 0.0, 0.2))
    far = scores("reciprocal", "x", 0.3, a=("", 500.0, 0.9), b=("", 0.1, 0.1), c=("", 0.0, 0.89))
    assert near == far
    assert near["a"] > near["b"] > near["c"] > 0


def test_no_match_gives_no_score() -> None:
    for name in RANKERS:
        parts: list[Part] = ranker(name)(Question(stems("depot"), 0.3), {})
        assert [dict(part.scores) for part in parts if part.scores] == []


def test_a_ranker_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValidationError) as refused:
        ranker("best")
    assert (refused.value.field, refused.value.allowed) == ("WHENCE_RANKER", "fusion, hybrid, reciprocal")
