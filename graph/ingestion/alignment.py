"""Two sentences laid side by side: what is nearly the same but for a word that carries meaning says something else.

Models put "Refunds are allowed" and "Refunds are forbidden" next to each other. What is lost when one is taken for the
other weighs more than a claim that stands there twice, so only words that say nothing may differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from difflib import SequenceMatcher

from graph.words import stem

NEAR = 0.5  # of two sentences, the part that they share in one order, from which each word between them counts
_TOKEN = re.compile(
    r"(?<![\w.])[-+\u2212]?\d(?:[\w.,:/-]*\w)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
    r"|[$\u20ac\u00a3\u00a5%\u00b0<>=]"
)
_SLIGHT_WORDS = "a an the is are be do does that also then really very just so"  # without them it says the same
_SLIGHT = frozenset(map(stem, _SLIGHT_WORDS.split()))


def tokens(sentence: str) -> tuple[str, ...]:
    """The stems of a sentence's words in their order, numbers with their signs; Chinese and its like by characters."""
    found = _TOKEN.findall(unicodedata.normalize("NFC", sentence).replace("\u2019", "'"))
    # A capital in the middle is a name: service A is not a service.
    return tuple(
        word if at and len(word) == 1 and word.isupper() else stem(word.lower()) for at, word in enumerate(found)
    )


def says_otherwise(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether two sentences are nearly the same and differ in a word that is not slight, or in who stands where."""
    plain, other = _weighty(left), _weighty(right)
    if plain == other:
        return False
    if Counter(plain) == Counter(other):
        return not _turned(plain, other)
    matcher = SequenceMatcher(None, plain, other, autojunk=False)
    return matcher.ratio() >= NEAR


def _weighty(found: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(token for token in found if token not in _SLIGHT)


def _turned(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether the one begins with the end of the other, or a single word stands elsewhere.

    "On Mondays it is closed" says what "It is closed on Mondays" says, and "daily" may stand anywhere; two names that
    change places are neither.
    """
    if any(left[at:] + left[:at] == right for at in range(len(left))):
        return True
    return any(left[:at] + left[at + 1 :] == _without(right, token) for at, token in enumerate(left))


def _without(found: tuple[str, ...], token: str) -> tuple[str, ...]:
    at = found.index(token)
    return found[:at] + found[at + 1 :]
