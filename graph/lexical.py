"""How well the words of a text answer a question: BM25, with how a project itself uses its words.

The index of the database weighs a word by all projects that it holds, and gives a weight to what it found alone. Here a
text's score depends on the text, the question and the project, so that another project's texts move nothing, and every
candidate has one, whatever it was found by.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph.words import stem, tokens

SAMPLE_MIN = 20  # claims; what fewer hold often need not be frequent
FREQUENT = 0.5  # the part of the claims from which on a word does not count
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b, as they are usual


@dataclass(frozen=True, slots=True)
class Usage:
    """How a project uses its words, by a sample of its claims.

    Attributes:
        claims: How many.
        holding: For each stem, how many of them hold it.
        length: Tokens of one of them, in the mean.
    """

    claims: int
    holding: Mapping[str, int]
    length: float

    def rarity(self, stem: str) -> float:
        """The weight of a stem, above 0, the higher the fewer claims hold it (IDF)."""
        held = self.holding.get(stem, 0)
        return math.log1p((self.claims - held + 0.5) / (held + 0.5))

    def frequent(self, stem: str) -> bool:
        """Whether more than half of the claims hold a stem, so that it tells nothing; never by a few claims."""
        return self.claims >= SAMPLE_MIN and self.holding.get(stem, 0) > FREQUENT * self.claims

    def counting(self, terms: Sequence[str]) -> list[str]:
        """The words among these that are not frequent; all of them where that would leave none."""
        return [term for term in terms if not self.frequent(stem(term))] or list(terms)


def usage(claims: Sequence[str]) -> Usage:
    """How these claims use their words."""
    taken_apart = [tokens(claim) for claim in claims]
    holding = Counter(stem for claim in taken_apart for stem in set(claim))
    return Usage(len(claims), holding, sum(map(len, taken_apart)) / max(len(claims), 1))


class Matching:
    """Scores texts against the terms of a question.

    Args:
        terms: Words that count.
        used: How the project uses them.
    """

    def __init__(self, terms: Iterable[str], used: Usage) -> None:
        self._weights = {stem: used.rarity(stem) for term in terms for stem in tokens(term)}
        self._length = max(used.length, 1.0)

    def score(self, text: str) -> float:
        """How well a text matches; 0 where it holds none of the terms."""
        found = tokens(text)
        counts = Counter(stem for stem in found if stem in self._weights)
        damping = _SATURATION * (1 - _LENGTH + _LENGTH * len(found) / self._length)
        return sum(self._weights[stem] * count / (count + damping) for stem, count in sorted(counts.items()))
