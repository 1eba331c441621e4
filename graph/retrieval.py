"""Search: what of a project answers a question, best first, with what to doubt about each and what was left out.

One question goes to the database a few times, whatever the project's size: for its head, for what words and meaning
find, both at once, for what that is linked to, for the nodes that came in so, and for the reasons to doubt. Words
that nearly every claim of the project holds do not count; how common they are is read off a sample of its journal.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cachetools import LRUCache

from graph.embedding.semantic import Semantic
from graph.errors import KnowledgeError, LimitError, ValidationError
from graph.filters import Filter
from graph.fold import ALWAYS
from graph.knowledge import NodeId, State, checked_text, named
from graph.ranking import Folding, Ranked, Tie, ranked, scaled
from graph.rows import Row, id_of
from graph.service import Moment, Service
from graph.words import discriminating, query, stems, words

TEXT_CHARS_MAX = 10_000  # of a question; a longer one is a document
WANTED_MAX = 200  # items of one answer
HITS_MIN, HITS_MAX = 100, 10_000  # of the index; where too few may be shown, four times as many are asked for
NEAREST = 100  # by meaning: asked for ten, the index misses one or two of them
LINKED_MAX = 50  # matches, and as many retired ones, whose links are followed
EDGES_MAX, SHARED_MAX = 50, 20  # of each of them
SUCCESSIONS_MAX = 10  # one after the other, from a retired match to what lives in its place
SAMPLE_EVENTS, SAMPLE_MIN = 400, 20  # of a journal; of claims among them, fewer tell nothing
FREQUENT = 0.5  # the part of the sampled claims from which on a word does not count
OMISSIONS_MAX = 100  # that are named; the others are counted
_SAMPLES_KEPT = 1_000
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


@dataclass(frozen=True, slots=True)
class Item:
    """A found node.

    Attributes:
        node: Its map.
        score: Above 0, comparable within one answer.
        tier: ``LEXICAL`` where words found it, or what it is linked to; ``SEMANTIC`` where its meaning alone did.
        via: By which link it came in, as (relation or ``evidence``, key); None for a match by itself.
        cautions: What to bear in mind, as sentences that name keys.
        rivals: Nodes that contradict it, or that it contradicts.
    """

    node: Row
    score: float
    tier: str
    via: tuple[str, str] | None
    cautions: tuple[str, ...]
    rivals: tuple[NodeId, ...]


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
    """What matches: maps of all, the words' score and the cosine of those that have one, and which are retired."""

    nodes: dict[NodeId, Row] = field(default_factory=dict[NodeId, Row])
    scores: dict[NodeId, float] = field(default_factory=dict[NodeId, float])
    cosines: dict[NodeId, float] = field(default_factory=dict[NodeId, float])
    retired: list[NodeId] = field(default_factory=list[NodeId])
    different: int = 0

    def take(self, node: Row, *, retired: bool) -> None:
        """Count a node among the matches."""
        self.nodes[id_of(node)] = node
        if retired:
            self.retired.append(id_of(node))


class Retrieval:
    """Answers questions about the projects of a service.

    Args:
        service: Theirs.
        semantic: Finds by meaning; without it words alone do.
    """

    def __init__(self, service: Service, semantic: Semantic | None = None) -> None:
        self.service = service
        self._semantic = semantic
        self._samples: LRUCache[tuple[str, int], frozenset[str]] = LRUCache(_SAMPLES_KEPT)

    async def search(self, asked: Asked, first: int) -> Found:
        """What answers the question.

        Args:
            asked: The question.
            first: How many items at most, 1 to 200.

        Raises:
            ValidationError: a text that is blank or too long, a number below 1.
            LimitError: more items than one answer holds.
        """
        text = checked_text(asked.text, "text", chars_max=TEXT_CHARS_MAX)
        if first < 1:
            raise ValidationError(f"first is {first}", field="first", allowed=f"1 to {WANTED_MAX}")
        if first > WANTED_MAX:
            raise LimitError(f"first is {first}", field="first", allowed=f"1 to {WANTED_MAX}")
        seq = await self._position(asked)
        found = Found(seq=seq)
        if not seq:
            return found
        hits, cosines = await asyncio.gather(self._lexical(asked, text, first, seq), self._nearest(asked, text, first))
        if cosines is not None and self._semantic is not None:
            found.embedder = self._semantic.profile.name
            await self._admit(asked, hits, cosines, self._semantic.profile.admission)
        for node_id in hits.retired:
            found.omit(hits.nodes[node_id], "retired")
        scores = self._fused(hits)
        links = await self._links(asked, hits, scores, seq)
        order = ranked(scores, links, await self._offered(asked, hits, links))
        kept = self._kept(order, links, first, found)
        found.items = await self._items(asked, kept, links, hits, seq)
        return found

    async def _lexical(self, asked: Asked, text: str, first: int, seq: int) -> _Hits:
        terms = words(text)
        if not terms:
            return _Hits()
        terms = discriminating(terms, await self._frequent(asked.project, seq))
        return await self._hits(asked, query(terms, asked.project), first)

    async def _nearest(self, asked: Asked, text: str, first: int) -> dict[NodeId, float] | None:
        """The nearest nodes; None where the model or its vectors cannot be had in time."""
        if self._semantic is None:
            return None
        try:
            return await self._semantic.nearest(asked.project, text, max(NEAREST, 2 * first))
        except KnowledgeError as error:
            _LOG.info("words alone answer: %s", error)
            return None

    async def _admit(self, asked: Asked, hits: _Hits, cosines: Mapping[NodeId, float], least: float) -> None:
        """Take in what lies near enough, and how near all lie."""
        hits.cosines = dict(cosines)
        new = [i for i, cosine in cosines.items() if i not in hits.nodes and cosine >= least]
        for node in (await self.service.nodes(asked.project, new, asked.at)).values():
            why = _refused(asked, node)
            if why in (None, "retired"):
                hits.take(node, retired=why is not None)

    def _fused(self, hits: _Hits) -> dict[NodeId, float]:
        """Both tiers on one scale; what one of them does not know has nothing of it."""
        lexical = scaled(hits.scores)
        if self._semantic is None or not hits.cosines:
            return lexical
        weight = self._semantic.profile.lexical_weight
        near = scaled({i: hits.cosines[i] for i in hits.nodes if i in hits.cosines})
        return {i: weight * lexical.get(i, 0.0) + (1 - weight) * near.get(i, 0.0) for i in hits.nodes}

    async def _position(self, asked: Asked) -> int:
        if asked.at is not None:
            return asked.at.seq
        head = await self.service.head(asked.project)
        return 0 if head is None else head.seq

    async def _frequent(self, project: str, seq: int) -> frozenset[str]:
        """The stems that at least half of a sample of the project's claims hold.

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
            self._samples[key] = _frequent(
                [f"{row['key']} {json.loads(row['payload'])['proposition']}" for row in rows]
            )
        return self._samples[key]

    async def _hits(self, asked: Asked, text: str, first: int) -> _Hits:
        """Matches that may be shown, and retired ones, until there are enough that differ from each other.

        The index puts equals in no order of its own, so more is asked for from the start and not page by page; of
        equals at the end of what it gives none is taken, unless all are equals.
        """
        size = max(HITS_MIN, 2 * first)
        while True:
            rows = await self.service.store.read(
                "search_words",
                project=asked.project,
                words=text,
                seq=ALWAYS if asked.at is None else asked.at.seq,
                first=size,
            )
            hits = await self._sorted_out(asked, rows if len(rows) < size else _above_the_last(rows))
            if len(rows) < size or hits.different >= first or size >= HITS_MAX:
                return hits
            size = min(4 * size, HITS_MAX)

    async def _sorted_out(self, asked: Asked, rows: Sequence[Row]) -> _Hits:
        hits, folding = _Hits(), Folding()
        scores = {id_of(row["node"]): row["score"] for row in rows if row["node"] is not None}
        for at, (node_id, node) in enumerate((await self._read(asked, rows)).items()):
            if at % _TURN_NODES == 0:
                await asyncio.sleep(0)
            why = _refused(asked, node)
            if why in (None, "retired"):
                hits.scores[node_id] = scores[node_id]
                hits.take(node, retired=why is not None)
            if why is None:
                folding.duplicate_of(node)
        hits.different = len(folding)
        return hits

    async def _read(self, asked: Asked, rows: Sequence[Row]) -> dict[NodeId, Row]:
        """The nodes of hits, as they were at the moment that is asked for."""
        there = [row["node"] for row in rows if row["node"] is not None]
        if asked.at is not None:
            then = await self.service.nodes(asked.project, [id_of(node) for node in there], asked.at)
            return {id_of(node): then[id_of(node)] for node in there if id_of(node) in then}
        return {id_of(node): node for node in await self.service.aged(asked.project, there)}

    async def _ties(self, asked: Asked, ids: Sequence[NodeId], seq: int) -> list[Tie]:
        if not ids:
            return []
        rows = await self.service.store.read(
            "search_around",
            project=asked.project,
            ids=[list(node_id) for node_id in ids],
            seq=seq,
            now=asked.at is None,
            edges_max=EDGES_MAX,
            shared_max=SHARED_MAX,
        )
        return [Tie(_pair(row["of"]), row["via"], row["outgoing"], _pair(row["far"])) for row in rows]

    async def _links(self, asked: Asked, hits: _Hits, scores: Mapping[NodeId, float], seq: int) -> list[Tie]:
        """What the best matches are linked to; of retired ones only what lives in their place."""
        live = await self._ties(asked, _best(scores, hits.nodes.keys() - set(hits.retired)), seq)
        return [*live, *await self._successors(asked, _best(scores, hits.retired), seq)]

    async def _successors(self, asked: Asked, retired: Sequence[NodeId], seq: int) -> list[Tie]:
        """For retired nodes the live ones that superseded them, or what superseded those."""
        found: list[Tie] = []
        first = {node_id: node_id for node_id in retired}  # which of them a retired successor stands for
        waiting, seen = list(retired), set(retired)
        for _ in range(SUCCESSIONS_MAX):
            ties = [
                tie for tie in await self._ties(asked, waiting, seq) if tie.via == "supersedes" and not tie.outgoing
            ]
            nodes = await self.service.nodes(asked.project, sorted({tie.far for tie in ties}), asked.at) if ties else {}
            waiting = list[NodeId]()
            for tie in ties:
                if tie.far not in nodes:
                    continue
                if not nodes[tie.far]["retired"]:
                    found.append(Tie(first[tie.of], tie.via, tie.outgoing, tie.far))
                elif tie.far not in seen:
                    seen.add(tie.far)
                    first[tie.far] = first[tie.of]
                    waiting.append(tie.far)
            if not waiting:
                break
        return found

    async def _offered(self, asked: Asked, hits: _Hits, links: Sequence[Tie]) -> dict[NodeId, Row]:
        """Live matches, and what is linked to matches and may be shown."""
        lead = sorted({tie.far for tie in links} - hits.nodes.keys())
        far = await self.service.nodes(asked.project, lead, asked.at) if lead else {}
        matches = {i: node for i, node in hits.nodes.items() if _refused(asked, node) is None}
        return matches | {i: node for i, node in far.items() if _refused(asked, node) is None}

    def _kept(self, order: Sequence[Ranked], links: Sequence[Tie], first: int, found: Found) -> list[Ranked]:
        folding, kept = Folding(), list[Ranked]()
        for one in order:
            if len(kept) == first:
                found.omit(one.node, f"more than {first} matched")
                continue
            rivals = [tie.far for tie in links if tie.of == one.id and tie.via == "contradicts"]
            same = folding.duplicate_of(one.node, rivals)
            if same is None:
                kept.append(one)
            else:
                found.omit(one.node, f"says nearly what {named(id_of(same))} says")
        return kept

    async def _items(
        self, asked: Asked, kept: Sequence[Ranked], links: Sequence[Tie], hits: _Hits, seq: int
    ) -> list[Item]:
        known = {tie.of for tie in links}
        links = [*links, *await self._ties(asked, [one.id for one in kept if one.id not in known], seq)]
        by_node: dict[NodeId, list[Tie]] = {}
        for tie in links:
            by_node.setdefault(tie.of, []).append(tie)
        at_risk = [one.id for one in kept if one.node["at_risk"]]
        roots = await self.service.roots_of_risk(asked.project, at_risk, asked.at) if at_risk else {}
        return [
            Item(
                one.node,
                one.score,
                "LEXICAL" if (one.id if one.via is None else one.via.of) in hits.scores else "SEMANTIC",
                None if one.via is None else (one.via.via, named(one.via.of)),
                cautions(one.node, by_node.get(one.id, ()), roots.get(one.id, ())),
                tuple(tie.far for tie in by_node.get(one.id, ()) if tie.via == "contradicts"),
            )
            for one in kept
        ]


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
    return None if _lets_through(wanted, node) else "filtered"


def _lets_through(wanted: Filter, node: Row) -> bool:
    return all(
        (
            wanted.states is None or node["state"] in wanted.states,
            wanted.kinds is None or node["kind"] in wanted.kinds,
            wanted.at_risk is None or node["at_risk"] == wanted.at_risk,
            wanted.stale is None or node["stale"] == wanted.stale,
            wanted.updated_after is None or datetime.fromisoformat(node["updated_at"]) > wanted.updated_after,
            wanted.valid_at is None or _valid(node, wanted.valid_at),
            wanted.key_prefix is None or node["key"].startswith(wanted.key_prefix),
        )
    )


def _valid(node: Row, at: datetime) -> bool:
    """Whether a claim was true of the world at an instant; intervals are half open (rules.md section 3)."""
    ends = node["valid_to"]
    return datetime.fromisoformat(node["valid_from"]) <= at and (ends is None or at < datetime.fromisoformat(ends))


def _frequent(claims: Sequence[str]) -> frozenset[str]:
    if len(claims) < SAMPLE_MIN:
        return frozenset()
    counts: dict[str, int] = {}
    for claim in claims:
        for stem in stems(claim):
            counts[stem] = counts.get(stem, 0) + 1
    return frozenset(stem for stem, count in counts.items() if count > FREQUENT * len(claims))


def _above_the_last(rows: Sequence[Row]) -> Sequence[Row]:
    last = rows[-1]["score"]
    return [row for row in rows if row["score"] > last] or rows


def _best(scores: Mapping[NodeId, float], among: Iterable[NodeId]) -> list[NodeId]:
    return sorted(among, key=lambda node_id: (-scores[node_id], node_id))[:LINKED_MAX]


def _pair(of: Sequence[object]) -> NodeId:
    key, generation = of
    assert isinstance(key, str)
    assert isinstance(generation, int)
    return (key, generation)
