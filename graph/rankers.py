"""Rankers by name: what the words and the meaning of a match come to.

A ranker gives parts of a score, each between 0 and 1 and with its weight. They stay apart until ``graph.ranking`` has
followed the links, since one turn of a talk may hold a question's words and the next what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from graph.errors import ValidationError
from graph.knowledge import NodeId
from graph.words import likeness, stems

DEFAULT = "fusion"
_COSINE, _LIKENESS = 0.7, 0.3  # rules.md section 11
_RANK_DAMPING = 60  # usual for reciprocal ranks


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        stems: Of its words.
        lexical_weight: From 0 to 1, as the model's profile says; 1 where words alone answer.
    """

    stems: frozenset[str]
    lexical_weight: float


@dataclass(frozen=True, slots=True)
class Match:
    """A node that a question found.

    Attributes:
        text: Its key and proposition.
        words: How well its words match, 0 where they do not.
        cosine: How near its meaning lies; None where it has no vector, or meaning took no part.
    """

    text: str
    words: float
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the scores of matches: its weight, and values between 0 and 1; what has none has 0."""

    weight: float
    scores: Mapping[NodeId, float]


Ranker = Callable[[Question, Mapping[NodeId, Match]], list[Part]]


def scaled(scores: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """Scores brought between 0 and 1, the best being 1 and the worst just above 0; the order is kept."""
    if not scores:
        return {}
    best, least = max(scores.values()), min(scores.values()) * 0.999
    width = best - least
    return {node: (score - least) / width if width > 0 else 1.0 for node, score in scores.items()}


def fusion(question: Question, matches: Mapping[NodeId, Match]) -> list[Part]:
    """Words and meaning, each on the scale of its best and worst match, weighed as the model wants it.

    The words of a match that has no vector yet stand for its meaning as well.
    """
    words = _words(matches)
    near = scaled({i: match.cosine for i, match in matches.items() if match.cosine is not None})
    meant = {i: near.get(i, words.get(i, 0.0)) for i in matches}
    return [Part(question.lexical_weight, words), Part(1 - question.lexical_weight, meant)]


def hybrid(question: Question, matches: Mapping[NodeId, Match]) -> list[Part]:
    """The hybrid score of rules.md section 11: 0.7 cosine and 0.3 likeness of words, or likeness alone."""
    scores: dict[NodeId, float] = {}
    for i, match in matches.items():
        alike = likeness(question.stems, stems(match.text))
        scores[i] = alike if match.cosine is None else _COSINE * max(match.cosine, 0.0) + _LIKENESS * alike
    return [Part(1.0, scores)]


def reciprocal(_question: Question, matches: Mapping[NodeId, Match]) -> list[Part]:
    """Reciprocal rank fusion: by the places that words and meaning give, whatever the scores are."""
    scores: dict[NodeId, float] = dict.fromkeys(matches, 0.0)
    near = {i: match.cosine for i, match in matches.items() if match.cosine is not None}
    for tier in (_words(matches), near):
        for place, i in enumerate(sorted(tier, key=lambda i: (-tier[i], i)), start=1):
            scores[i] += 1 / (_RANK_DAMPING + place)
    return [Part(1.0, scaled(scores))]


def _words(matches: Mapping[NodeId, Match]) -> dict[NodeId, float]:
    return scaled({i: match.words for i, match in matches.items() if match.words > 0})


RANKERS: Mapping[str, Ranker] = {"fusion": fusion, "hybrid": hybrid, "reciprocal": reciprocal}


def ranker(name: str) -> Ranker:
    """The ranker of a name.

    Raises:
        ValidationError: there is none.
    """
    if name not in RANKERS:
        raise ValidationError("WHENCE_RANKER names no ranker", field="WHENCE_RANKER", allowed=", ".join(RANKERS))
    return RANKERS[name]
