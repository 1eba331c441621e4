"""Sentences compared by their frame: the same words but for a negation, a number or a name do not go together.

It is what can be told without a model. That one is true does not make the other false (a ferry may sail at 8 and at 9),
but for a negation: both cannot hold.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from graph.words import stem

WORDS_MIN = 2  # besides articles, that a sentence needs so that another one with them is about the same
_TOKEN = re.compile(r"[^\W\d_]*\d(?:[\w.,:/-]*\w)?|[^\W\d_]+")
_CONTRACTED = ((re.compile(r"\bcan(?:'t|not)\b"), "can not"), (re.compile(r"\bwon't\b"), "will not"))
_SKIPPED = frozenset(("a", "an", "the", "do", "does", "did"))
_DENYING = frozenset(("neither", "never", "no", "nobody", "none", "nor", "not", "nothing", "without"))
_SPELLED = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half dozen
"""
_NUMBERS = frozenset(_SPELLED.split())
_LINKING = frozenset(("is", "are", "was", "were", "be", "becomes", "lives", "works", "named", "called", "equals"))
_BEHIND = """
am has have had can could will would shall should must may might i you he she it we they at in on by from to for of
until after before within than about
"""
_AFTER_SUBJECT = _LINKING.union(_BEHIND.split())


@dataclass(frozen=True, slots=True)
class Frame:
    """A sentence taken apart.

    Attributes:
        words: The stems of its words in their order, without articles and negations; with a mark for each value.
        values: Its numbers behind the subject, and its names behind a verb that says what or where something is.
        denied: Whether it says that something is not so.
    """

    words: tuple[str, ...]
    values: tuple[str, ...]
    denied: bool

    @classmethod
    def of(cls, sentence: str) -> Frame:
        """The frame of a sentence."""
        text = unicodedata.normalize("NFC", sentence).replace("\u2019", "'")
        for form, spelled in _CONTRACTED:
            text = form.sub(spelled, text)
        return _taken_apart(_TOKEN.findall(text.replace("n't", " not")))

    def denies(self, other: Frame) -> bool:
        """Whether one says that what the other says is not so."""
        same = self.words == other.words and self.values == other.values
        return same and self.denied != other.denied and len(self.words) >= WORDS_MIN

    def differs(self, other: Frame) -> bool:
        """Whether they are the same but for a negation, a number or a name."""
        return self.words == other.words and (self.denied, self.values) != (other.denied, other.values)


def _taken_apart(tokens: list[str]) -> Frame:
    words, values, denials = list[str](), list[str](), 0
    behind = linked = naming = False
    for token in tokens:
        word = token.lower()
        number = word in _NUMBERS or any(map(str.isnumeric, word))
        name = linked and token[0].isupper() and not number
        if word in _DENYING:
            denials += 1
        elif name and naming:  # of several words
            values[-1] += f" {word}"
        elif word not in _SKIPPED:
            value = name or (number and behind)
            values += [word] if value else []
            words.append("\0" if value else stem(word))
        naming = name and word not in _DENYING and word not in _SKIPPED
        behind = behind or word in _AFTER_SUBJECT or (not number and word.endswith(("s", "ed")))
        linked = linked or word in _LINKING
    return Frame(tuple(words), tuple(values), denials % 2 == 1)
