"""Search: what of a project answers a question, best first, with what to doubt about each and what was left out.

One question goes to the database a few times, whatever the project's size: for its head, while the model reads the
question; for what words and meaning find, in one statement; for what that is linked to; for the nodes that came in so;
and for the reasons to doubt. How a project uses its words is read off a sample of its journal.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cachetools import LRUCache

from graph.concept import described_by
from graph.embedding.embedder import Vector
from graph.embedding.semantic import Semantic
from graph.errors import KnowledgeError, LimitError, ValidationError
from graph.filters import Filter
from graph.fold import ALWAYS
from graph.knowledge import NodeId, State, checked_key, checked_text, named
from graph.lexical import Matching, Usage, usage
from graph.rankers import Match, Part, Question, Ranker, fusion
from graph.ranking import Folding, Ranked, Score, Tie, drawn, ranked, summed
from graph.rows import Row, id_of
from graph.scope import Scope
from graph.service import IDS_MAX, Moment, Service
from graph.words import query, stems, words

TEXT_CHARS_MAX = 10_000  # of a question; a longer one is a document
WANTED_MAX = 200  # items of one answer
NEAREST = 100  # by meaning: asked for ten, the index misses one or two of them
# Of the index of words; where too few may be shown, four times as many are asked for. Both tiers are read at once.
HITS_MIN, HITS_MAX = 100, IDS_MAX - max(NEAREST, 2 * WANTED_MAX)
CANDIDATES_SECONDS = 5.0  # for both tiers; who waits longer is answered by words alone
LINKED_MAX = 50  # matches, and as many retired ones, whose links are followed
EDGES_MAX, SHARED_MAX = 50, 20  # of each of them
LEADS_MAX = 100  # of what only links lead to, the best; more where more items are wanted
SUCCESSIONS_MAX = 10  # one after the other, from a retired match to what lives in its place
SAMPLE_EVENTS = 400  # of a journal, or up to twice as many
EVIDENCE_MAX = 3  # records of one item, the newest; a read of the node gives all
OMISSIONS_MAX = 100  # that are named; the others are counted
_SAMPLES_KEPT = 1_000
_FOUND_SCORE = 0.001  # of the words of what only the index finds: in some languages it knows more of them than we do
_TURN_NODES = 100  # compared with each other, some milliseconds, before others have their turn
_LOG = logging.getLogger("whence.retrieval")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question.

    Attributes:
        project: Where.
        text: What about; 1 to 10,000 characters.
        filter: What else must be true of a node; forgotten ones are never found.
        at: The moment of the journal to answer for; the present for None.
        include_retired: Whether retired nodes may be found; they may as well where the filter names their state.
    """

    project: str
    text: str
    filter: Filter = field(default_factory=Filter)
    at: Moment | None = None
    include_retired: bool = False


async def question(
    service: Service,
    project: str,
    text: str,
    wanted: Filter,
    as_of: datetime | None,
    *,
    include_retired: bool = False,
) -> Asked:
    """A question as it is put from outside, where the past is told by an instant; what lies ahead is now.

    Raises:
        ValidationError: no name of a project.
        UnavailableError: the position at the instant cannot be had.
    """
    checked_key(project, "project")
    at = None if as_of is None or as_of >= service.now() else await service.position(project, as_of)
    return Asked(project, text, wanted, at, include_retired)


@dataclass(frozen=True, slots=True)
class Item:
    """A found node.

    Attributes:
        node: Its map.
        score: Above 0, comparable within one answer.
        tier: ``LEXICAL`` where words match it, or what it is linked to; ``SEMANTIC`` where its meaning alone does.
        via: By which link it came in, as (relation or ``evidence``, key); None for a match by itself.
        cautions: What to bear in mind, as sentences that name keys.
        rivals: Nodes that contradict it, or that it contradicts.
        evidence: The newest records that it stands on, as maps of type and source, in the order of the events that
            said so; none where they were not asked for.
    """

    node: Row
    score: float
    tier: str
    via: tuple[str, str] | None
    cautions: tuple[str, ...]
    rivals: tuple[NodeId, ...]
    evidence: Sequence[Row] = ()


@dataclass(slots=True)
class Found:
    """An answer.

    Attributes:
        items: Best first.
        omitted: How many matches were left out.
        omissions: The first of them, as (key, reason).
        seq: The position of the journal that it reflects.
        embedder: The model that took part; None where words alone answered.
    """

    items: list[Item] = field(default_factory=list[Item])
    omitted: int = 0
    omissions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    seq: int = 0
    embedder: str | None = None

    def omit(self, node: Row, reason: str) -> None:
        """Count a match that is left out, and keep its reason if it is among the first."""
        self.omitted += 1
        if len(self.omissions) < OMISSIONS_MAX:
            self.omissions.append((named(id_of(node)), reason))


@dataclass(slots=True)
class _Hits:
    """What matches and may be shown, or is retired: maps by id, how well, and which are retired.

    ``different`` counts those that do not say nearly the same, up to as many as are wanted.
    """

    nodes: dict[NodeId, Row] = field(default_factory=dict[NodeId, Row])
    matches: dict[NodeId, Match] = field(default_factory=dict[NodeId, Match])
    retired: list[NodeId] = field(default_factory=list[NodeId])
    different: int = 0

    def take(self, node: Row, match: Match, *, retired: bool) -> None:
        """Count a node among the matches."""
        self.nodes[id_of(node)] = node
        self.matches[id_of(node)] = match
        if retired:
            self.retired.append(id_of(node))


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is told of a node beside itself: what contradicts it or superseded it, and what it stands on."""

    ties: Sequence[Tie] = ()
    evidence: Sequence[Row] = ()


@dataclass(slots=True)
class _Search:
    """A question under way.

    Attributes:
        asked: It.
        first: How many items are wanted.
        seq: The position of the journal that is answered for.
        vector: Where it lies; None where words alone answer.
        terms: Its words that count.
        used: How the project uses words.
        evidence: Whether items are to come with what they stand on.
        followed: Live matches whose links are known.
        met: Maps of what links lead to, as far as they came with the links.
    """

    asked: Asked
    first: int
    seq: int
    vector: Vector | None
    terms: Sequence[str]
    used: Usage
    evidence: bool
    followed: frozenset[NodeId] = frozenset()
    met: dict[NodeId, Row] = field(default_factory=dict[NodeId, Row])

    @property
    def leads_max(self) -> int:
        """How many nodes may be offered that only links lead to."""
        return max(LEADS_MAX, 2 * self.first)


class Retrieval:
    """Answers questions about the projects of a service.

    Args:
        service: Theirs.
        semantic: Finds by meaning; without it words alone do.
        ranker: What words and meaning come to.
    """

    def __init__(self, service: Service, semantic: Semantic | None = None, ranker: Ranker = fusion) -> None:
        self.service = service
        self._semantic = semantic
        self._ranker = ranker
        self._samples: LRUCache[tuple[str, int], Usage] = LRUCache(_SAMPLES_KEPT)

    def within(self, scope: Scope) -> Retrieval:
        """This retrieval as a caller may use it: other projects are not there."""
        seen = copy(self)
        seen.service = self.service.within(scope)
        return seen

    async def search(self, asked: Asked, first: int, *, evidence: bool = False) -> Found:
        """What answers the question.

        Args:
            asked: The question.
            first: How many items at most, 1 to 200.
            evidence: Whether they are to come with what they stand on.

        Raises:
            ValidationError: a text that is blank or too long, a number below 1.
            LimitError: more items than one answer holds.
        """
        text = checked_text(asked.text, "text", chars_max=TEXT_CHARS_MAX)
        if first < 1:
            raise ValidationError(f"first is {first}", field="first", allowed=f"1 to {WANTED_MAX}")
        if first > WANTED_MAX:
            raise LimitError(f"first is {first}", field="first", allowed=f"1 to {WANTED_MAX}")
        seq, vector = await asyncio.gather(self._position(asked), self._vector(text))
        found = Found(seq=seq)
        if not seq:
            return found
        used = await self._usage(asked.project, seq)
        search = _Search(asked, first, seq, vector, used.counting(words(text)), used, evidence)
        hits = await self._hits(search)
        said = stems(text)
        parts = self._ranker(Question(said, self._lexical_weight(search)), hits.matches)
        for node_id in sorted(hits.retired, key=lambda i: (-summed(parts, i), i)):
            found.omit(hits.nodes[node_id], "retired")
        links = await self._links(search, hits, parts)
        scores = drawn(parts, hits.nodes, links)
        order = ranked(scores, await self._offered(search, hits, scores), said)
        kept = self._kept(order, links, first, found)
        found.items = await self._items(search, kept, links, hits)
        if search.vector is not None and self._semantic is not None:
            found.embedder = self._semantic.profile.name
        return found

    async def _vector(self, text: str) -> Vector | None:
        """Where the text lies; None where the model cannot be had in time, or takes no such text."""
        if self._semantic is None:
            return None
        try:
            return await self._semantic.vector(text)
        except KnowledgeError as error:
            _LOG.info("words alone answer: %s", error)
            return None

    def _lexical_weight(self, search: _Search) -> float:
        return 1.0 if search.vector is None or self._semantic is None else self._semantic.profile.lexical_weight

    async def _position(self, asked: Asked) -> int:
        if asked.at is not None:
            return asked.at.seq
        head = await self.service.head(asked.project)
        return 0 if head is None else head.seq

    async def _usage(self, project: str, seq: int) -> Usage:
        """How the claims of a project use their words, keys among them.

        The sample is spread evenly over the journal as it was at some position not far below; that part of it never
        changes, so what was found there holds for as long as the journal has not grown by a quarter.
        """
        length = 1
        while length * 5 // 4 + 1 <= seq:
            length = length * 5 // 4 + 1
        key = (project, length)
        if key not in self._samples:
            step = max(1, length // SAMPLE_EVENTS)
            seqs = list(range(1, length + 1, step))
            rows = await self.service.store.read("propositions_at", project=project, seqs=seqs)
            told = [(row["key"], json.loads(row["payload"])) for row in rows]
            self._samples[key] = usage(
                [_text(name, said["proposition"], said.get("concept", {}).get("description")) for name, said in told]
            )
        return self._samples[key]

    async def _hits(self, search: _Search) -> _Hits:
        """Matches that may be shown, and retired ones, until there are enough that differ from each other.

        The index puts equals in no order of its own, so more is asked for from the start and not page by page; of
        equals at the end of what it gives none counts as found by it, unless all are equals.
        """
        size = max(HITS_MIN, 2 * search.first)
        while True:
            rows = await self._candidates(search, size)
            by_words = [row["score"] for row in rows if row["score"] is not None]
            all_there = len(by_words) < size
            hits = await self._sorted_out(search, rows, 0.0 if all_there else _least_taken(by_words))
            if all_there or hits.different >= search.first or size >= HITS_MAX:
                return hits
            size = min(4 * size, HITS_MAX)

    async def _candidates(self, search: _Search, size: int) -> list[Row]:
        """Rows of both tiers; of words alone, from then on, where those of meaning cannot be had in time."""
        asked, terms = search.asked, search.terms
        given: dict[str, Any] = {
            "project": asked.project,
            "words": query(terms, asked.project) if terms else "",
            "seq": ALWAYS if asked.at is None else asked.at.seq,
            "first": size,
        }
        if search.vector is not None and self._semantic is not None:
            sought = self._semantic.sought(search.vector, max(NEAREST, 2 * search.first))
            try:
                return await self.service.store.read("search_candidates", seconds=CANDIDATES_SECONDS, **given, **sought)
            except KnowledgeError as error:
                _LOG.info("words alone answer: %s", error)
                search.vector = None
        rows = await self.service.store.read("search_words", **given) if terms else []
        return [row | {"cosine": None} for row in rows]

    async def _sorted_out(self, search: _Search, rows: Sequence[Row], least: float) -> _Hits:
        """The rows that match: by their words, by the index with such a score at least, or by their meaning."""
        hits, folding = _Hits(), Folding()
        matching = Matching(search.terms, search.used)
        told = {id_of(row["node"]): row for row in rows if row["node"] is not None}
        nodes = await self._as_asked(search.asked, [row["node"] for row in told.values()])
        for at, (node_id, node) in enumerate(nodes.items()):
            if at % _TURN_NODES == 0:
                await asyncio.sleep(0)
            why = _refused(search.asked, node)
            if why not in (None, "retired"):
                continue
            row, text = told[node_id], _text(node["key"], node["proposition"], described_by(node["concept"]))
            words_score = matching.score(text)
            if row["score"] is not None and row["score"] >= least:
                words_score = max(words_score, _FOUND_SCORE)
            if words_score > 0 or self._admits(row["cosine"]):
                hits.take(node, Match(text, words_score, row["cosine"]), retired=why is not None)
                if why is None and len(folding) < search.first:
                    folding.duplicate_of(node)
        hits.different = len(folding)
        return hits

    def _admits(self, cosine: float | None) -> bool:
        return self._semantic is not None and cosine is not None and cosine >= self._semantic.profile.admission

    async def _as_asked(self, asked: Asked, nodes: Sequence[Row]) -> dict[NodeId, Row]:
        """Nodes of the present as they were at the moment that is asked for; those that were not there are left out."""
        if asked.at is not None:
            return await self.service.nodes(asked.project, [id_of(node) for node in nodes], asked.at)
        return {id_of(node): node for node in await self.service.aged(asked.project, nodes)}

    async def _around(self, search: _Search, ids: Sequence[NodeId]) -> list[Tie]:
        """All that nodes are linked to; what they lead to is met, where it is not too much."""
        bounds = {"shared_max": SHARED_MAX, "nodes_max": search.leads_max}
        rows = await self._of("search_around", search, ids, **bounds)
        if not rows:
            return []
        met = await self.service.aged(search.asked.project, rows[0]["nodes"])
        search.met = {id_of(node): node for node in met}
        return [
            Tie((key, generation), via, outgoing, (far_key, far_generation), among)
            for key, generation, via, outgoing, far_key, far_generation, among in rows[0]["ties"]
        ]

    async def _beside(self, search: _Search, ids: Sequence[NodeId], evidence_max: int) -> dict[NodeId, _Beside]:
        """What contradicts nodes or superseded them, and the newest that they stand on."""
        rows = await self._of("search_beside", search, ids, evidence_max=evidence_max)
        found: dict[NodeId, _Beside] = {}
        for row in rows:
            of: NodeId = (row["of"][0], row["of"][1])
            ties = [Tie(of, via, outgoing, (key, generation)) for via, outgoing, key, generation in row["ties"]]
            found[of] = _Beside(ties, row["evidence"])
        return found

    async def _of(self, statement: str, search: _Search, ids: Sequence[NodeId], **bounds: int) -> list[Row]:
        if not ids:
            return []
        return await self.service.store.read(
            statement,
            project=search.asked.project,
            ids=[list(node_id) for node_id in ids],
            seq=search.seq,
            now=search.asked.at is None,
            edges_max=EDGES_MAX,
            **bounds,
        )

    async def _links(self, search: _Search, hits: _Hits, parts: Sequence[Part]) -> list[Tie]:
        """What the best matches are linked to; of retired ones only what lives in their place."""
        scores = {i: summed(parts, i) for i in hits.nodes}
        live, retired = _best(scores, hits.nodes.keys() - set(hits.retired)), _best(scores, hits.retired)
        ties = await self._around(search, [*live, *retired])
        search.followed = frozenset(live)
        succeeding = [tie for tie in ties if tie.of not in search.followed and _succeeds(tie)]
        return [
            *(tie for tie in ties if tie.of in search.followed),
            *await self._successors(search, succeeding, frozenset(retired)),
        ]

    async def _successors(self, search: _Search, ties: Sequence[Tie], seen: frozenset[NodeId]) -> list[Tie]:
        """For retired nodes the live ones that superseded them, or what superseded those.

        Args:
            search: The question.
            ties: What superseded them.
            seen: They themselves.
        """
        found: list[Tie] = []
        stands_for = {tie.of: tie.of for tie in ties}  # which of them a retired successor stands for
        for _ in range(SUCCESSIONS_MAX):
            if not ties:
                break
            nodes = await self._nodes(search, sorted({tie.far for tie in ties}))
            waiting: list[NodeId] = []
            for tie in ties:
                if tie.far not in nodes:
                    continue
                if not nodes[tie.far]["retired"]:
                    found.append(Tie(stands_for[tie.of], tie.via, tie.outgoing, tie.far))
                elif tie.far not in seen:
                    seen = seen | {tie.far}
                    stands_for[tie.far] = stands_for[tie.of]
                    waiting.append(tie.far)
            beside = await self._beside(search, waiting, 0)
            ties = [tie for of in waiting if of in beside for tie in beside[of].ties if _succeeds(tie)]
        return found

    async def _offered(self, search: _Search, hits: _Hits, scores: Mapping[NodeId, Score]) -> dict[NodeId, Row]:
        """Live matches, and the best of what is linked to matches and may be shown."""
        leads = sorted(scores.keys() - hits.nodes.keys(), key=lambda i: (-scores[i].value, i))
        far = await self._nodes(search, leads[: search.leads_max])
        return {i: node for i, node in (hits.nodes | far).items() if _refused(search.asked, node) is None}

    async def _nodes(self, search: _Search, ids: Sequence[NodeId]) -> dict[NodeId, Row]:
        """Nodes by id; those that were met are not asked for again."""
        unmet = [i for i in ids if i not in search.met]
        found = await self.service.nodes(search.asked.project, unmet, search.asked.at) if unmet else {}
        return {i: search.met[i] for i in ids if i in search.met} | found

    def _kept(self, order: Sequence[Ranked], links: Sequence[Tie], first: int, found: Found) -> list[Ranked]:
        folding, kept, linked = Folding(), list[Ranked](), _by_match(links)
        for one in order:
            if len(kept) == first:
                found.omit(one.node, f"more than {first} matched")
                continue
            rivals = [tie.far for tie in linked.get(one.id, ()) if tie.via == "contradicts"]
            same = folding.duplicate_of(one.node, rivals)
            if same is None:
                kept.append(one)
            else:
                found.omit(one.node, f"says nearly what {named(id_of(same))} says")
        return kept

    async def _items(self, search: _Search, kept: Sequence[Ranked], links: Sequence[Tie], hits: _Hits) -> list[Item]:
        unknown = [one.id for one in kept if search.evidence or one.id not in search.followed]
        beside, roots = await asyncio.gather(
            self._beside(search, unknown, EVIDENCE_MAX if search.evidence else 0),
            self._roots(search, [one.id for one in kept if one.node["at_risk"]]),
        )
        linked = _by_match(links)
        items: list[Item] = []
        for one in kept:
            match = hits.matches.get(one.id if one.via is None else one.via.of)
            told = beside.get(one.id) or _Beside(linked.get(one.id, ()))
            items.append(
                Item(
                    one.node,
                    one.score,
                    "LEXICAL" if match is not None and match.words > 0 else "SEMANTIC",
                    None if one.via is None else (one.via.via, named(one.via.of)),
                    cautions(one.node, told.ties, roots.get(one.id, ())),
                    tuple(tie.far for tie in told.ties if tie.via == "contradicts"),
                    told.evidence,
                )
            )
        return items

    async def _roots(self, search: _Search, ids: Sequence[NodeId]) -> dict[NodeId, list[NodeId]]:
        return await self.service.roots_of_risk(search.asked.project, ids, search.asked.at) if ids else {}


def cautions(node: Row, ties: Iterable[Tie], roots: Iterable[NodeId]) -> tuple[str, ...]:
    """What to bear in mind before a node is used, each a sentence that names the keys that it is because of."""
    against = sorted({named(tie.far) for tie in ties if tie.via == "contradicts"})
    newer = sorted({named(tie.far) for tie in ties if tie.via == "supersedes" and not tie.outgoing})
    found: list[str] = []
    if node["retired"]:
        found.append(f"retired: {node['state']}" + (f" by {', '.join(newer)}" if newer else ""))
    if node["state"] == State.PROPOSED:
        found.append("unconfirmed")
    if node["state"] == State.CHALLENGED or against:
        found.append("disputed" + (f": contradiction with {', '.join(against)}" if against else ""))
    if node["at_risk"]:
        fallen = sorted({named(root) for root in roots})
        found.append("at risk" + (f" of {', '.join(fallen)}" if fallen else ""))
    if node["stale"]:
        found.append(f"stale: not verified since {node['verified_at'] or node['created_at']}")
    return tuple(found)


def _refused(asked: Asked, node: Row) -> str | None:
    """Why a node may not be shown; None when it may."""
    wanted = asked.filter
    if node["forgotten"]:
        return "forgotten"
    if node["retired"] and not asked.include_retired and node["state"] not in (wanted.states or ()):
        return "retired"
    return None if wanted.lets_through(node) else "filtered"


def _text(key: str, proposition: str, description: str | None) -> str:
    """What the words of a node are: those of its key, of its proposition and, of a concept, of its description."""
    return f"{key} {proposition} {description}" if description else f"{key} {proposition}"


def _least_taken(scores: Sequence[float]) -> float:
    """The least score above the last one; the last one where there is no other."""
    last = min(scores)
    return min((score for score in scores if score > last), default=last)


def _succeeds(tie: Tie) -> bool:
    """Whether a link leads from a node to what superseded it."""
    return tie.via == "supersedes" and not tie.outgoing


def _by_match(links: Iterable[Tie]) -> dict[NodeId, list[Tie]]:
    found: dict[NodeId, list[Tie]] = {}
    for tie in links:
        found.setdefault(tie.of, []).append(tie)
    return found


def _best(scores: Mapping[NodeId, float], among: Iterable[NodeId]) -> list[NodeId]:
    return sorted(among, key=lambda node_id: (-scores[node_id], node_id))[:LINKED_MAX]
