"""Reducing: the pieces of all providers in one order, each claim once, and as many as a block looks at.

What the project holds goes before what says the same elsewhere, since it alone has a state, evidence and a history.
Scores of different providers have no common scale, so each provider's best piece counts as much as the goal is its
matter, and the others by how they stand to it. A link to a better piece of another provider draws a piece up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graph.knowledge import State, instant_text, named
from graph.ranking import Folding
from graph.reading.linking import SAME_NAME, Link
from graph.reading.loading import Loaded
from graph.reading.provider import Piece
from graph.retrieval import EVIDENCE_MAX, OMISSIONS_MAX, WANTED_MAX, Found, Item
from graph.rows import Row, id_of

NAMED_MAX = 3  # others of one name that a caution names
_DRAWN = 0.5  # of the way to the best piece of another provider that a piece is linked to, as search has it


@dataclass(frozen=True, slots=True)
class Offered:
    """A piece, and the name of the provider that gave it."""

    source: str
    piece: Piece


@dataclass(frozen=True, slots=True)
class Reduced:
    """What goes into the block at most.

    Attributes:
        found: As search would give it, best first, with what each stands on.
        offered: For each item the piece that it is.
    """

    found: Found
    offered: list[Offered]


def reduced(results: Sequence[Loaded], links: Sequence[Link]) -> Reduced:
    """Fold, order and cut.

    Args:
        results: What was loaded, by provider.
        links: Between the pieces, which are counted through all providers.
    """
    pieces = [Offered(result.source.report.name, piece) for result in results for piece in result.pieces]
    scores, via = _drawn(pieces, links, _weighed(results))
    order = sorted(range(len(pieces)), key=lambda at: -scores[at])
    found = _found(results)
    folded = _folded(pieces, [*_held(pieces, order), *_elsewhere(pieces, order)], found)
    for at, kept in folded.items():
        scores[kept] = max(scores[kept], scores[at])
    left = sorted((at for at in order if folded[at] == at), key=lambda at: -scores[at])
    for at in left[WANTED_MAX:]:
        _omit(found, pieces[at], f"more than {WANTED_MAX} matched")
    left = left[:WANTED_MAX]
    disputes = _disputes(links, pieces, folded, left)
    found.items = [
        replace(
            _item(pieces[at], via.get(at)),
            score=scores[at],
            cautions=(*_cautions(pieces[at]), *disputes[at]),
            evidence=_evidence(pieces[at].piece)[-EVIDENCE_MAX:],
        )
        for at in left
    ]
    return Reduced(found, [pieces[at] for at in left])


def _found(results: Sequence[Loaded]) -> Found:
    """An answer without items: what the providers left out, and the store's basis."""
    found = Found()
    for result in results:
        report = result.source.report
        found.omitted += report.omitted
        omissions = [(key if result.basis else f"{report.name}:{key}", why) for key, why in report.omissions]
        found.omissions += omissions[: OMISSIONS_MAX - len(found.omissions)]
        if result.basis is not None:
            found.seq, found.embedder = result.basis.seq, result.basis.embedder
    return found


def _weighed(results: Sequence[Loaded]) -> list[float]:
    """The scores of all pieces, above 0 and at most their provider's weight."""
    scores: list[float] = []
    for result in results:
        best = max((piece.score for piece in result.pieces), default=1.0)
        scores += [result.source.weight * (piece.score / best) for piece in result.pieces]
    return scores


def _drawn(
    pieces: Sequence[Offered], links: Sequence[Link], scores: Sequence[float]
) -> tuple[list[float], dict[int, tuple[str, str]]]:
    """The scores with what links add, and by which link each piece rose, as (relation, key)."""
    raised, via = list(scores), dict[int, tuple[str, str]]()
    for link in links:
        for at, other in ((link.source, link.target), (link.target, link.source)):
            score = scores[at] + _DRAWN * (scores[other] - scores[at])
            if pieces[at].source != pieces[other].source and score > raised[at]:
                raised[at], via[at] = score, (link.relation, _key(pieces[other]))
    return raised, via


def _held(pieces: Sequence[Offered], order: Sequence[int]) -> list[int]:
    return [at for at in order if pieces[at].piece.stored is not None]


def _elsewhere(pieces: Sequence[Offered], order: Sequence[int]) -> list[int]:
    return [at for at in order if pieces[at].piece.stored is None]


def _folded(pieces: Sequence[Offered], order: Sequence[int], found: Found) -> dict[int, int]:
    """For each piece the one that stands for it: itself, or an earlier one that says nearly the same."""
    folding, numbers, folded = Folding(), dict[int, int](), dict[int, int]()
    for at in order:
        one = pieces[at]
        node = _row(one)
        rivals = () if one.piece.stored is None else one.piece.stored.item.rivals
        same = folding.duplicate_of(node, rivals)
        if same is None:
            numbers[id(node)] = folded[at] = at  # two pieces may have one key
        else:
            folded[at] = numbers[id(same)]
            _omit(found, one, f"says nearly what {named(id_of(same))} says")
    return folded


def _disputes(
    links: Sequence[Link], pieces: Sequence[Offered], folded: Mapping[int, int], left: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """For each piece that is left the caution for others of its name, which say something else."""
    others: dict[int, list[str]] = {at: [] for at in left}
    for link in links:
        ends = folded[link.source], folded[link.target]
        if link.relation == SAME_NAME and ends[0] != ends[1] and all(end in others for end in ends):
            others[ends[0]].append(_key(pieces[ends[1]]))
            others[ends[1]].append(_key(pieces[ends[0]]))
    return {at: _disputed(sorted(set(keys))) for at, keys in others.items()}


def _disputed(keys: Sequence[str]) -> tuple[str, ...]:
    """A caution that does not grow with those who say otherwise, who could crowd out what they are against."""
    if not keys:
        return ()
    more = f" and {len(keys) - NAMED_MAX} more" if len(keys) > NAMED_MAX else ""
    return (f"disputed: otherwise {', '.join(keys[:NAMED_MAX])}{more}",)


def _cautions(one: Offered) -> tuple[str, ...]:
    if one.piece.stored is not None:
        return one.piece.cautions
    return ("unconfirmed", f"not recorded in the project: read from {one.source}", *one.piece.cautions)


def _item(one: Offered, via: tuple[str, str] | None) -> Item:
    if one.piece.stored is not None:
        return one.piece.stored.item
    return Item(_row(one), 0.0, "LEXICAL", via, (), ())


def _row(one: Offered) -> Row:
    """A piece as a node of the project would be."""
    if one.piece.stored is not None:
        return one.piece.stored.item.node
    piece = one.piece
    return {
        "key": _key(one),
        "generation": 1,
        "proposition": piece.text,
        "kind": piece.kind.value,
        "state": State.PROPOSED.value,
        "at_risk": False,
        "stale": False,
        "retired": False,
        "valid_from": None if piece.valid_from is None else instant_text(piece.valid_from),
        "valid_to": None,
    }


def _key(one: Offered) -> str:
    if one.piece.stored is not None:
        return named(id_of(one.piece.stored.item.node))
    return f"{one.source}:{one.piece.key}"


def _evidence(piece: Piece) -> Sequence[Row]:
    return [{"type": piece.source_type, "source": piece.source}] if piece.stored is None else piece.stored.evidence


def _omit(found: Found, one: Offered, reason: str) -> None:
    found.omitted += 1
    if len(found.omissions) < OMISSIONS_MAX:
        found.omissions.append((_key(one), reason))
