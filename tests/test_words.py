"""Words of texts, and the query made of them: letters and digits alone, whatever a caller writes."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.words import TERMS_MAX, WORD_CHARS_MAX, label, likeness, query, scope, stems, tokens, turning, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is the status of PEP 703's GIL removal?", ["status", "pep", "703", "gil", "removal"]),
        ("what is it?", []),
        ("The depot, the DEPOT", ["depot"]),
        ("Straße café naïve", ["straße", "café", "naïve"]),
        ("東京の天気", ["東京の天気"]),
        ("a_b-c.d", ["b", "c"]),
        ("", []),
        ("e\u0301tude étude", ["étude"]),
        ("İstanbul'da", ["istanbul", "da"]),
        ("गोदाम छह बजे बंद हो जाता है।", ["गोदाम", "छह", "बजे", "बंद", "हो", "जाता", "है"]),
        ("คลังสินค้า ปิดตอนหกโมงเย็น", ["คลังสินค้า", "ปิดตอนหกโมงเย็น"]),
        ("मुंबई\u200cके", ["मुंबई\u200cके"]),
        ("a\u0301\u0323 b\u20dd", ["ạ\u0301", "b\u20dd"]),
    ],
)
def test_words_that_say_something_come_once_and_in_order(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text(max_size=300), st.text(min_size=1, max_size=50))
def test_no_text_becomes_an_operator_or_another_field(text: str, project: str) -> None:
    terms = words(text)
    asked = query(terms or ["x"], project)
    frame = r"\+scope:\d+\^0 \+\(proposition:\(([^()]*)\) description:\(([^()]*)\) key:\(([^()]*)\)\)"
    found = re.fullmatch(frame, asked)
    assert found is not None
    assert all(_harmless(word) and word == word.lower() for word in found[1].split(" "))
    assert found[1] == found[2] == found[3]


def _harmless(word: str) -> bool:
    """Letters and digits, with the marks and joiners on them."""
    return word[0].isalnum() and all(
        char.isalnum() or unicodedata.category(char)[0] == "M" or char in "\u200c\u200d" for char in word
    )


def test_long_texts_give_few_terms_and_long_words_are_cut() -> None:
    asked = query(words(" ".join(f"word{at}" for at in range(1_000))), "p")
    assert asked.count("word") == 3 * TERMS_MAX
    assert words("x" * 10_000) == ["x" * WORD_CHARS_MAX]


def test_a_project_is_digits_and_its_own() -> None:
    names = ["p", "P", "p ", "the", "p:q", "*", "ü", "x" * 200]
    scopes = {scope(name) for name in names}
    assert len(scopes) == len(names)
    assert all(found.isdigit() and found.isascii() for found in scopes)


def test_stems_are_those_of_the_index() -> None:
    assert stems("Depots closing") == stems("a depot closed")
    assert likeness(stems("The depot closes early"), stems("Depots close early")) == 1.0
    assert likeness(stems("depot"), stems("harbour")) == 0.0
    assert likeness(frozenset(), frozenset()) == 0.0


def test_a_number_or_a_negation_turns_what_is_said() -> None:
    assert turning("closes at 18:00") != turning("closes at 19:00")
    assert turning("prefers tea") != turning("doesn't prefer tea")
    assert turning("does not") == turning("doesn\u2019t not")
    assert turning("गोदाम छह बजे बंद हो जाता है") == frozenset()
    assert turning("गोदाम १८ बजे बंद") == {"१८"}


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Anna: I paint", "anna"),
        ("PEP 703: the lock is optional", "pep 703"),
        ("It opens at 18:00: early", ""),
        ("see https://example.org", ""),
        ("The depot closes at six, so this is what we do then: nothing", ""),
        ("A claim without one", ""),
        (":", ""),
    ],
)
def test_who_says_a_text_stands_before_its_first_colon(text: str, who: str) -> None:
    assert label(text) == stems(who)


def test_a_text_is_taken_apart_as_the_index_does_it() -> None:
    assert tokens("The depots close: depots!") == ["depot", "close", "depot"]
    assert tokens("東京の天気 is ok") == ["東", "京", "の", "天", "気", "ok"]
    assert tokens("बजे बजे, หกโมง東") == ["बजे", "बजे", "หกโมง", "東"]
