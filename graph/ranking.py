"""In which order found nodes are offered: how well they match, what they are linked to, and what there is to doubt.

Scores of the two tiers are brought onto one scale among the candidates of a question, since neither means anything by
itself. What is linked to a good match gains by it, which is what a graph knows beyond words; what is to be doubted
falls behind what is not, and never out. The numbers were set before anything was measured on a public set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graph.knowledge import NodeId, State
from graph.rows import Row, id_of
from graph.words import likeness, stems, turning

DUPLICATE_LIKENESS = 0.8  # the part of all stems that two texts must share to say the same
_GAIN_EDGE, _GAIN_EVIDENCE, _GAIN_SUCCESSOR = 0.3, 0.15, 0.9  # of the score of what a node is linked to
_CHALLENGED, _AT_RISK, _STALE, _RETIRED = 0.8, 0.85, 0.85, 0.5  # what is left of a score
_DIGITS = 9  # scores that differ by less are the same, whatever order sums were made in


@dataclass(frozen=True, slots=True)
class Tie:
    """That a match is linked to another node.

    Attributes:
        of: The match.
        via: A relation in lower case, or ``evidence`` where both stand on the same.
        outgoing: Whether the edge leads from the match; False for evidence.
        far: The other node.
    """

    of: NodeId
    via: str
    outgoing: bool
    far: NodeId


@dataclass(frozen=True, slots=True)
class Ranked:
    """A node with its score, 0 to about 1.3, and what it was found by: ``via`` is None for a match by itself."""

    node: Row
    score: float
    via: Tie | None = None

    @property
    def id(self) -> NodeId:
        """(key, generation)."""
        return id_of(self.node)


def scaled(scores: Mapping[NodeId, float]) -> dict[NodeId, float]:
    """Scores brought between 0 and 1, the best being 1 and the worst just above 0; the order is kept."""
    if not scores:
        return {}
    best, least = max(scores.values()), min(scores.values()) * 0.999
    width = best - least
    return {node: (score - least) / width if width > 0 else 1.0 for node, score in scores.items()}


def ranked(scores: Mapping[NodeId, float], ties: Iterable[Tie], nodes: Mapping[NodeId, Row]) -> list[Ranked]:
    """Matches and what is linked to them, best first, equals by key and generation.

    Args:
        scores: Of matches, between 0 and 1.
        ties: Of matches to others, or to each other.
        nodes: Maps of all that may be offered; what is not among them is left out.
    """
    gains: dict[NodeId, tuple[float, Tie]] = {}
    for tie in ties:
        gain = _gain(tie) * scores.get(tie.of, 0.0)
        if gain > gains.get(tie.far, (0.0, tie))[0]:
            gains[tie.far] = (gain, tie)
    found: list[Ranked] = []
    for node_id, node in nodes.items():
        gain, tie = gains.get(node_id, (0.0, None))
        score = (scores.get(node_id, 0.0) + gain) * _doubt(node)
        if score > 0:
            found.append(Ranked(node, round(score, _DIGITS), None if node_id in scores else tie))
    return sorted(found, key=lambda one: (-one.score, one.id))


def _gain(tie: Tie) -> float:
    if tie.via == "supersedes" and not tie.outgoing:
        return _GAIN_SUCCESSOR
    return _GAIN_EVIDENCE if tie.via == "evidence" else _GAIN_EDGE


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


class Folding:
    """Tells near duplicates of what was kept before.

    Two nodes that contradict each other are never the same, however alike their words are, and neither are texts that
    differ in a number or a negation.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Row, frozenset[str], frozenset[str]]] = []

    def duplicate_of(self, node: Row, rivals: Sequence[NodeId] = ()) -> Row | None:
        """The kept node that says nearly the same; None for one that says something new, which is then kept."""
        said, turns = stems(node["proposition"]), turning(node["proposition"])
        for kept, theirs, their_turns in self._kept:
            alike = turns == their_turns and likeness(said, theirs) >= DUPLICATE_LIKENESS
            if alike and id_of(kept) not in rivals:
                return kept
        self._kept.append((node, said, turns))
        return None

    def __len__(self) -> int:
        """How many say something new."""
        return len(self._kept)
