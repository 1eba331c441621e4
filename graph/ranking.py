"""In which order found nodes are offered: how well they match, what they are linked to, and what there is to doubt.

A match draws what it is linked to up towards itself, which is what a graph knows beyond words, and never past itself:
two good matches that are linked do not lift each other above a third. What is to be doubted falls behind what is not,
and never out; and so does, where a question names who says something, what others say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from graph.knowledge import NodeId, State
from graph.rankers import Part
from graph.rows import Row, id_of
from graph.words import label, likeness, stems, turning

DUPLICATE_LIKENESS = 0.8  # the part of all stems that two texts must share to say the same
_DRAWN, _DRAWN_SUCCESSOR = 0.5, 0.9  # of the way to the score of what a node is linked to
_OTHERS = 0.8  # of a score is left to what others say than those who are asked about
_CHALLENGED, _AT_RISK, _STALE, _RETIRED = 0.8, 0.85, 0.85, 0.5  # what is left of a score
_SAID_KEPT = 1_024  # texts taken apart: those of some questions under way
_DIGITS = 9  # scores that differ by less are the same, whatever order sums were made in


@dataclass(frozen=True, slots=True)
class Tie:
    """That a match is linked to another node.

    Attributes:
        of: The match.
        via: A relation in lower case, or ``evidence`` where both stand on the same.
        outgoing: Whether the edge leads from the match; False for evidence.
        far: The other node.
        among: How many others share the evidence with the match; 1 for an edge.
    """

    of: NodeId
    via: str
    outgoing: bool
    far: NodeId
    among: int = 1


@dataclass(frozen=True, slots=True)
class Score:
    """A score between 0 and 1, and the link by which the node came in: None for a match by itself."""

    value: float
    via: Tie | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A node with its score, doubt counted in, and what it was found by."""

    node: Row
    score: float
    via: Tie | None

    @property
    def id(self) -> NodeId:
        """(key, generation)."""
        return id_of(self.node)


def summed(parts: Sequence[Part], node: NodeId) -> float:
    """What the parts of a match's score come to, links aside."""
    return sum(part.weight * part.scores.get(node, 0.0) for part in parts)


def drawn(parts: Sequence[Part], matches: Iterable[NodeId], ties: Sequence[Tie]) -> dict[NodeId, Score]:
    """The scores of matches and of all that they are linked to.

    Each part of a node's score rises towards that of the best match that it is linked to: by an edge halfway; by
    evidence a part of that, one by the number of those who share it, since what everything stands on tells nothing of
    each; and what superseded a match most of the way. Two matches that lead to the same node are linked as well, by
    half of half.
    """
    links: dict[NodeId, list[_Pull]] = {node: [] for node in matches}
    found = set(links)
    for pull in [*(_Pull(tie.far, tie.of, _share(tie), tie) for tie in ties), *_through(parts, ties)]:
        links.setdefault(pull.node, []).append(pull)
    scores: dict[NodeId, Score] = {}
    for node, pulls in links.items():
        value = sum(part.weight * _raised(part.scores, node, pulls) for part in parts)
        best = max(pulls, key=lambda pull: pull.share * summed(parts, pull.towards), default=None)
        scores[node] = Score(value, None if node in found or best is None else best.tie)
    return scores


def ranked(scores: Mapping[NodeId, Score], nodes: Mapping[NodeId, Row], asked: frozenset[str]) -> list[Ranked]:
    """Nodes by their scores, by whom they are of and by what there is to doubt, best first, equals by key.

    Args:
        scores: Of the nodes and others.
        nodes: Maps of all that may be offered.
        asked: The stems of the question. Where it names the label of some of them ("Anna: ..."), those that bear
            another one fall behind.
    """
    labels = {i: label(node["proposition"]) for i, node in nodes.items()}
    named = {each for each in labels.values() if each and each <= asked}
    others = {each for each in labels.values() if each and each not in named} if named else frozenset[frozenset[str]]()
    left = {i: _doubt(node) * (_OTHERS if labels[i] in others else 1.0) for i, node in nodes.items()}
    order = [
        Ranked(node, round(scores[i].value * left[i], _DIGITS), scores[i].via)
        for i, node in nodes.items()
        if scores[i].value > 0
    ]
    return sorted(order, key=lambda one: (-one.score, one.id))


@dataclass(frozen=True, slots=True)
class _Pull:
    """That a node is drawn towards a match: how much of the way, and by which link of the match."""

    node: NodeId
    towards: NodeId
    share: float
    tie: Tie


def _through(parts: Sequence[Part], ties: Iterable[Tie]) -> Iterable[_Pull]:
    """Of the matches that lead to one node, each towards the best of the others."""
    leading: dict[NodeId, list[Tie]] = {}
    for tie in ties:
        leading.setdefault(tie.far, []).append(tie)
    for meeting in leading.values():
        order = sorted(meeting, key=lambda tie: -_share(tie) * summed(parts, tie.of))
        for tie in order:
            best = next((other for other in order if other.of != tie.of), None)
            if best is not None:
                yield _Pull(tie.of, best.of, _share(tie) * _share(best), best)


def _raised(scores: Mapping[NodeId, float], node: NodeId, pulls: Iterable[_Pull]) -> float:
    own = scores.get(node, 0.0)
    return max([own, *(own + pull.share * (scores.get(pull.towards, 0.0) - own) for pull in pulls)])


def _share(tie: Tie) -> float:
    """How much of the way a node is drawn along a link."""
    return _DRAWN_SUCCESSOR if tie.via == "supersedes" and not tie.outgoing else _DRAWN / tie.among


def _doubt(node: Row) -> float:
    left = 1.0
    for doubtful, part in (
        (node["state"] == State.CHALLENGED, _CHALLENGED),
        (node["at_risk"], _AT_RISK),
        (node["stale"], _STALE),
        (node["retired"], _RETIRED),
    ):
        left *= part if doubtful else 1.0
    return left


@lru_cache(_SAID_KEPT)
def _said(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of a text, and what turns it; the same one is looked at for its difference and then for its rank."""
    return stems(text), turning(text)


class Folding:
    """Tells near duplicates of what was kept before.

    Two nodes that contradict each other are never the same, however alike their words are, and neither are texts that
    differ in a number or a negation.
    """

    def __init__(self) -> None:
        self._kept: dict[frozenset[str], list[tuple[Row, frozenset[str]]]] = {}  # by what turns a text
        self._count = 0

    def duplicate_of(self, node: Row, rivals: Sequence[NodeId] = ()) -> Row | None:
        """The kept node that says nearly the same; None for one that says something new, which is then kept."""
        said, turns = _said(node["proposition"])
        same_turns = self._kept.setdefault(turns, [])
        for kept, theirs in same_turns:
            if likeness(said, theirs) >= DUPLICATE_LIKENESS and id_of(kept) not in rivals:
                return kept
        same_turns.append((node, said))
        self._count += 1
        return None

    def __len__(self) -> int:
        """How many say something new."""
        return self._count
