"""The default for telling what is known already: by meaning where there is a model, and always by words."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

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
from graph.words import needed, query, stems, turning, words

EMBED_SECONDS = 60.0  # for fifty propositions on a busy machine
ASKED = 30  # nearest vectors of the index, of all projects
HITS = 20  # of the words of a proposition
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

    async def find(self, project: str, propositions: Sequence[str]) -> Known:
        """What of some propositions is known already; of several nodes the one of the same words, then the nearest."""
        said = [_Said.of(text) for text in propositions]
        worded = await self._by_words(project, propositions)
        known = {i: _Said.of(text) for hits in worded for i, text in hits.items()}
        same = [
            sorted(i for i in hits if known[i].stems == this.stems) for this, hits in zip(said, worded, strict=True)
        ]
        otherwise = [
            sorted(i for i in hits if this.frame.differs(known[i].frame))
            for this, hits in zip(said, worded, strict=True)
        ]
        nodes = [
            next((i for i in found if not known[i].differs(this)), None) for this, found in zip(said, same, strict=True)
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
        live = {i: _Said.of(node["proposition"]) for i, node in nodes.items() if not node["retired"]}
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
            texts = [query(terms[at], project) for at in asked]
            for row in await self._service.store.read("propositions_worded", project=project, texts=texts, first=HITS):
                hits[asked[row["at"]]][id_of(row)] = row["proposition"]
        return hits

    def _earlier(self, said: Sequence[_Said], vectors: Sequence[Vector]) -> list[int | None]:
        least = 1.0 if self._embedder is None else self._embedder.profile.duplicate

        def same(left: int, right: int) -> bool:
            if said[left].differs(said[right]):
                return False
            if said[left].stems == said[right].stems:
                return True
            if not vectors or not vectors[left] or not vectors[right]:
                return False
            return sum(a * b for a, b in zip(vectors[left], vectors[right], strict=True)) >= least

        return [next((at for at in range(this) if same(at, this)), None) for this in range(len(said))]


@dataclass(frozen=True, slots=True)
class _Said:
    """What of a text must be in another one that says the same.

    Attributes:
        stems: Of its words.
        turning: Its numbers and negations.
        names: Stems of what it writes with a capital.
        needed: Its numbers that stand alone, as an index of words has them.
        frame: Its frame.
        tokens: Its words in their order.
    """

    stems: frozenset[str]
    turning: frozenset[str]
    names: frozenset[str]
    needed: tuple[str, ...]
    frame: Frame
    tokens: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Said:
        capitals = (word for word in _NAME.findall(text) if word[0].isupper())
        names = frozenset(s for name in capitals for s in stems(name))
        turns = turning(text)
        # A number with a point or a comma in it is one word of the index, and several here.
        alone = frozenset(_ALONE.findall(text))
        found = tuple(sorted(word for word in turns if word in alone))
        return cls(stems(text), turns, names, found, Frame.of(text), tokens(text))

    def differs(self, other: _Said) -> bool:
        """Whether they differ in a number, a negation, a name, or but for little in a word that carries meaning."""
        if says_otherwise(self.tokens, other.tokens):
            return True
        if self.turning != other.turning or self.frame.differs(other.frame):
            return True
        return not (self.names <= other.stems and other.names <= self.stems)
