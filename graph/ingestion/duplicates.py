"""The default for telling what is known already: by meaning where there is a model, and always by words."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul

from cachetools import LRUCache

from graph.embedding.embedder import Embedder, Vector
from graph.embedding.representations import Representations, Wanted
from graph.errors import KnowledgeError
from graph.ingestion.alignment import says_otherwise, tokens
from graph.ingestion.frames import Frame
from graph.ingestion.stages import Known
from graph.knowledge import NodeId
from graph.rows import id_of
from graph.service import Service
from graph.store import BATCH_SECONDS
from graph.words import needed, stems, turning, worded, words

EMBED_SECONDS = 60.0  # for fifty propositions on a busy machine
ASKED = 20  # nearest vectors of the index, of all projects: asked for ten, it misses one in a hundred of such near ones
HITS = 20  # of the words of a proposition
KEPT_CHARACTERS = 1_000_000  # of texts that are kept taken apart, some ten megabytes: the same nodes come up again
_NAME = re.compile(r"[^\W\d_]+")
_ALONE = re.compile(r"(?<!\S)[0-9]+(?=[.,;:!?]?(?:\s|\Z))")
_LOG = logging.getLogger("whence.ingestion")


class KnownNodes:
    """Finds live nodes that say what a proposition says; ``Duplicates`` by its form.

    Texts that differ in a number, a negation, a name, or but for little in any word that carries meaning never say the
    same, however near a model puts them. Where the model cannot be had, the same words in another form are all that is
    known again.

    Args:
        service: Whose nodes.
        embedder: The model; None for words alone.
    """

    def __init__(self, service: Service, embedder: Embedder | None = None) -> None:
        self._service = service
        self._embedder = embedder
        self._representations = None if embedder is None else Representations(service.store, embedder.profile)
        self._installed = False
        self._said: LRUCache[str, _Said] = LRUCache(KEPT_CHARACTERS, getsizeof=_size)

    async def find(self, project: str, propositions: Sequence[str]) -> Known:
        """What of some propositions is known already; of several nodes the one of the same words, then the nearest."""
        said = [_Said(text) for text in propositions]
        hits = await self._by_words(project, propositions)
        known = {i: self._known(text) for found in hits for i, text in found.items()}
        nodes = [
            next((i for i in sorted(found) if known[i].stems == this.stems and not known[i].differs(this)), None)
            for this, found in zip(said, hits, strict=True)
        ]
        otherwise = [
            sorted(i for i in found if this.frame.differs(known[i].frame))
            for this, found in zip(said, hits, strict=True)
        ]
        open_ = [at for at, node in enumerate(nodes) if node is None]
        vectors, near = await self._by_meaning(project, propositions, said, open_)
        for at, found in near.items():
            nodes[at] = next((i for i, other in found.items() if not other.differs(said[at])), None)
        return Known(
            nodes=nodes,
            earlier=self._earlier(said, vectors),
            vectors=vectors,
            opposed=[
                bool(found) or any(this.frame.differs(other.frame) for other in said)
                for this, found in zip(said, otherwise, strict=True)
            ],
            denied=[
                next((i for i in found if this.frame.denies(known[i].frame)), None)
                or next((before for before in range(at) if this.frame.denies(said[before].frame)), None)
                for at, (this, found) in enumerate(zip(said, otherwise, strict=True))
            ],
        )

    async def learned(self, project: str, nodes: Sequence[tuple[NodeId, str, Vector]]) -> None:
        """Store the vectors, so that the next text finds these nodes, and nobody makes them again."""
        if self._representations is None or not nodes:
            return
        made = [(Wanted(*node_id, proposition), vector) for node_id, proposition, vector in nodes]
        try:
            await self._representations.add(project, made, seconds=BATCH_SECONDS)
        except KnowledgeError as error:
            _LOG.info("vectors are made again in the background: %s", error)

    def _known(self, text: str) -> _Said:
        """What a node says, taken apart once for all that is compared with it."""
        if text not in self._said:
            self._said[text] = _Said(text)
        return self._said[text]

    async def _by_meaning(
        self, project: str, propositions: Sequence[str], said: Sequence[_Said], wanted: Sequence[int]
    ) -> tuple[list[Vector], dict[int, dict[NodeId, _Said]]]:
        """For those that nothing is known of by words: their vectors, and what lives near them, the nearest first.

        The others have no vector; nobody has one where the model cannot be had. The index of vectors is asked only for
        what some node may say: one that holds all its numbers.
        """
        if self._embedder is None or self._representations is None or not wanted:
            return [], {}
        try:
            if not self._installed:
                await self._representations.install()
                self._installed = True
            made = await self._embedder.passages([propositions[at] for at in wanted], EMBED_SECONDS)
            vectors: list[Vector] = [[] for _ in propositions]
            for at, vector in zip(wanted, made, strict=True):
                vectors[at] = vector
            asked = await self._may_be_known(project, said, wanted)
            least = self._embedder.profile.duplicate
            vectors_asked = [vectors[at] for at in asked]
            found = await self._representations.alike(project, vectors_asked, least, ASKED) if asked else []
        except KnowledgeError as error:
            _LOG.info("words alone tell what is known already: %s", error)
            return [], {}
        near = {at: [(each.key, each.generation) for each in ids] for at, ids in zip(asked, found, strict=True)}
        ids = sorted({node_id for each in near.values() for node_id in each})
        nodes = await self._service.nodes(project, ids) if ids else {}
        live = {i: self._known(node["proposition"]) for i, node in nodes.items() if not node["retired"]}
        return vectors, {at: {i: live[i] for i in each if i in live} for at, each in near.items()}

    async def _may_be_known(self, project: str, said: Sequence[_Said], wanted: Sequence[int]) -> list[int]:
        """Those whose numbers all stand in one node, and those that have none."""
        needing = [at for at in wanted if said[at].needed]
        if not needing:
            return list(wanted)
        texts = [needed(said[at].needed, project) for at in needing]
        rows = await self._service.store.read("propositions_holding", project=project, texts=texts)
        held: set[int] = {needing[row["at"]] for row in rows}
        return [at for at in wanted if not said[at].needed or at in held]

    async def _by_words(self, project: str, propositions: Sequence[str]) -> list[dict[NodeId, str]]:
        """For each the live nodes that share words with it, and what they say."""
        terms = [words(proposition) for proposition in propositions]
        asked = [at for at, found in enumerate(terms) if found]
        hits: list[dict[NodeId, str]] = [{} for _ in propositions]
        if asked:
            texts = [worded(terms[at], project) for at in asked]
            for row in await self._service.store.read("propositions_worded", project=project, texts=texts, first=HITS):
                for place in row["places"]:
                    hits[asked[place]][id_of(row)] = row["proposition"]
        return hits

    def _earlier(self, said: Sequence[_Said], vectors: Sequence[Vector]) -> list[int | None]:
        least = 1.0 if self._embedder is None else self._embedder.profile.duplicate

        def same(left: int, right: int) -> bool:
            return not said[left].differs(said[right]) and (said[left].stems == said[right].stems or near(left, right))

        def near(left: int, right: int) -> bool:
            if not vectors or not vectors[left] or not vectors[right]:
                return False
            return sum(map(mul, vectors[left], vectors[right])) >= least

        return [next((at for at in range(this) if same(at, this)), None) for this in range(len(said))]


def _size(said: _Said) -> int:
    return len(said.text)


@dataclass(frozen=True)
class _Said:
    """What of a text must be in another one that says the same; worked out when it is asked for.

    Of most texts that share words with another one, little is: so what costs least is compared first.
    """

    text: str

    @cached_property
    def stems(self) -> frozenset[str]:
        """Of its words."""
        return stems(self.text)

    @cached_property
    def turning(self) -> frozenset[str]:
        """Its numbers and negations."""
        return turning(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of what it writes with a capital."""
        capitals = (word for word in _NAME.findall(self.text) if word[0].isupper())
        return frozenset(s for name in capitals for s in stems(name))

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """Its numbers that stand alone, as an index of words has them."""
        # A number with a point or a comma in it is one word of the index, and several here.
        alone = frozenset(_ALONE.findall(self.text))
        return tuple(sorted(word for word in self.turning if word in alone))

    @cached_property
    def frame(self) -> Frame:
        """Its frame."""
        return Frame.of(self.text)

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Its words in their order."""
        return tokens(self.text)

    def differs(self, other: _Said) -> bool:
        """Whether they differ in a number, a negation, a name, or but for little in a word that carries meaning."""
        if self.turning != other.turning or not (self.names <= other.stems and other.names <= self.stems):
            return True
        return self.frame.differs(other.frame) or says_otherwise(self.tokens, other.tokens)
