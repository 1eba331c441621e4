"""How well words match: rarer ones more, more of them more, and by nothing but the project's own claims."""

from __future__ import annotations

import pytest

from graph.lexical import SAMPLE_MIN, Matching, Usage, usage

CLAIMS = [*(f"the package {at} is kept" for at in range(30)), "the lock of a package", "a bridge"]


def score(text: str, *terms: str, used: Usage | None = None) -> float:
    return Matching(terms, used or usage(CLAIMS)).score(text)


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    assert score("a lock", "package", "lock") > score("a package", "package", "lock") > 0


def test_a_word_that_no_claim_of_the_sample_holds_weighs_most() -> None:
    used = usage(CLAIMS)
    assert used.rarity("zeppelin") > used.rarity("lock") > used.rarity("packag") > 0


def test_a_word_that_stands_twice_weighs_more_and_less_than_double() -> None:
    once, twice = score("lock a b c", "lock"), score("lock lock b c", "lock")
    assert once < twice < 2 * once


def test_a_long_text_weighs_less_than_a_short_one_that_holds_the_same() -> None:
    assert score("lock", "lock") > score("lock " + "and other things of this depot " * 5, "lock") > 0


def test_a_text_without_the_words_does_not_match() -> None:
    assert score("a bridge", "lock") == 0
    assert score("", "lock") == 0


def test_a_word_is_matched_by_its_stem_and_a_chinese_text_by_its_signs() -> None:
    assert score("locks", "locking") > 0
    assert score("\u6771\u4eac\u306e\u96e8", "\u6771\u4eac\u306e\u5929\u6c17") > 0


def test_frequent_words_do_not_count_unless_there_are_no_others() -> None:
    used = usage(CLAIMS)
    assert used.counting(["packages", "lock"]) == ["lock"]
    assert used.counting(["packages"]) == ["packages"]


def test_a_few_claims_do_not_make_a_word_frequent() -> None:
    assert usage(["package"] * SAMPLE_MIN).frequent("packag")
    assert not usage(["package"] * (SAMPLE_MIN - 1)).frequent("packag")


def test_a_project_without_claims_is_matched_as_well() -> None:
    assert score("lock", "lock", used=usage([])) == pytest.approx(score("Lock!", "lock", used=usage([])))
    assert score("lock", "lock", used=usage([])) > 0
