"""Texts as the words that lexical retrieval goes by, and the query that finds them in Neo4j's full-text index.

The index's analyzer reduces English words to their stems; the same is done here where two texts are compared. Words
that any question is made of find everything and tell nothing, so they are left out. A query is put together of letters
and digits alone: nothing that a caller writes can become an operator, a field or a wildcard.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import cast

from Stemmer import Stemmer  # pyright: ignore[reportUnknownVariableType]  it has no stubs

TERMS_MAX = 64  # words of a query; what else a long goal says adds nothing to what these find
LABEL_CHARS_MAX = 40  # more before a colon is a sentence that goes on
WORD_CHARS_MAX = 64  # longer ones are no words but data
# Vowels and tones of many scripts are marks on a letter, and joiners stand within words: they take none apart.
_MARKS = "".join(char for char in map(chr, range(0x300, 0x1F000)) if unicodedata.category(char)[0] == "M")
_ON = rf"{_MARKS}\u200c\u200d"
_WORD = re.compile(rf"[^\W_]+(?:[{_ON}]+[^\W_]*)*")  # by runs: a choice at each letter takes ten times as long
_SIGN = r"\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_SIGN}]|[^\W_{_SIGN}]+(?:[{_ON}]+[^\W_{_SIGN}]*)*")
_PLAIN = re.compile(r"[a-z0-9]+")  # what both come to in a text of ASCII, in a fourth of the time
_EMPTY_TEXT = """
a about above after again all also am an and any are as at be because been before being below between both but by
can could d did do does doing done down during each few for from further had has have having he her here hers him
his how i if in into is it its itself just like ll m me might more most much must my no nor not now of off on once
only or other our ours out over own please re s same shall she should so some such t tell than that the their
theirs them then there these they this those through to too under until up upon us ve very was we were what when
where which while who whom whose why will with would yes yet you your yours
"""
_EMPTY = frozenset(_EMPTY_TEXT.split())
_TURNING = frozenset(("cannot", "neither", "never", "no", "nobody", "none", "nor", "not", "nothing", "without"))
_ending_off = cast("Callable[[str], str]", Stemmer("english").stemWord)  # pyright: ignore[reportUnknownMemberType]


def words(text: str) -> list[str]:
    """The words of a text that say something: lower case, each once, in the order of their first place."""
    found = (word[:WORD_CHARS_MAX] for word in _split(_WORD, _folded(text)))
    return list(dict.fromkeys(word for word in found if word not in _EMPTY))


def stems(text: str) -> frozenset[str]:
    """The stems of what ``words`` finds: two texts with the same stems say nearly the same."""
    return frozenset(map(stem, words(text)))


def tokens(text: str) -> list[str]:
    """The stems of a text's words, as often as they stand there; signs of Chinese and Japanese one by one.

    It is what the index takes a text apart into, but for words of English that say nothing.
    """
    found = (word[:WORD_CHARS_MAX] for word in _split(_TOKEN, _folded(text)))
    return [stem(word) for word in found if word not in _EMPTY]


@lru_cache(20_000)
def stem(word: str) -> str:
    """A lower-case English word without its ending; another language's words stay much as they are."""
    return _ending_off(word)


def turning(text: str) -> frozenset[str]:
    """What makes two texts of the same words say different things: their numbers and their negations."""
    folded = _folded(text).replace("n\u2019t", " not").replace("n't", " not")
    return frozenset(word for word in _split(_WORD, folded) if word in _TURNING or any(map(str.isnumeric, word)))


def _split(pattern: re.Pattern[str], folded: str) -> list[str]:
    return (_PLAIN if folded.isascii() else pattern).findall(folded)


def _folded(text: str) -> str:
    """In lower case as the index writes it: without the point that Python leaves over of a capital that has one."""
    return unicodedata.normalize("NFC", text).lower().replace("i\u0307", "i")


def label(text: str) -> frozenset[str]:
    """The stems of who says a text, or of what it is about, as that stands before a first colon; none without one."""
    before, _, rest = text[: LABEL_CHARS_MAX + 2].partition(":")
    return stems(before) if rest[:1].isspace() and len(before) <= LABEL_CHARS_MAX else frozenset()


def likeness(left: frozenset[str], right: frozenset[str]) -> float:
    """How much two sets of stems have in common: the part of all that is in both (Jaccard), 0 where all are empty."""
    return len(left & right) / len(left | right) if left or right else 0.0


def query(terms: Sequence[str], project: str) -> str:
    """What the full-text index is asked for: nodes of one project with any of the terms, the project not weighed.

    Args:
        terms: As ``words`` gives them, one or more; those behind the first 64 are left out.
        project: Its name.
    """
    any_of = " ".join(terms[:TERMS_MAX])
    return f"+scope:{scope(project)}^0 +(proposition:({any_of}) description:({any_of}) key:({any_of}))"


def worded(terms: Sequence[str], project: str) -> str:
    """What the full-text index is asked for: nodes of one project whose propositions hold any of some words."""
    return f"+scope:{scope(project)}^0 +proposition:({' '.join(terms[:TERMS_MAX])})"


def needed(terms: Sequence[str], project: str) -> str:
    """What the full-text index is asked for: nodes of one project whose propositions hold all of some words."""
    return f"+scope:{scope(project)}^0 +proposition:({' '.join(f'+{term}' for term in terms[:TERMS_MAX])})"


@lru_cache(1_024)
def scope(project: str) -> str:
    """A project in the full-text index: digits, which no analyzer takes apart or shortens, whatever its name is.

    Two projects may share one by chance, in one of 2**64 cases; whoever reads the index compares the name as well.
    """
    return str(int.from_bytes(hashlib.sha256(project.encode()).digest()[:8]))
