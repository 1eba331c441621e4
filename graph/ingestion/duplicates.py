"""The default for telling what is known already: by meaning where there is a model, and always by words."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from graph.embedding.embedder import Embedder, Vector
from graph.embedding.representations import Representations, Wanted
from graph.errors import KnowledgeError
from graph.ingestion.alignment import says_otherwise, tokens
from graph.ingestion.frames import Frame
from graph.ingestion.stages import Known
from graph.knowledge import NodeId
from graph.rows import Row, id_of
from graph.service import Service
from graph.store import BATCH_SECONDS
from graph.words import query, stems, turning, words

EMBED_SECONDS = 60.0  # for fifty propositions on a busy machine
ASKED = 30  # nearest vectors of the index, of all projects
HITS = 20  # of the words of a proposition
_NAME = re.compile(r"[^\W\d_]+")
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
        """What of some propositions is known already; of several nodes the nearest by meaning, then by words."""
        vectors, near = await self._by_meaning(project, propositions)
        said = [_Said.of(text) for text in propositions]
        worded = await self._by_words(project, propositions, said)
        alike, otherwise = [same for same, _ in worded], [other for _, other in worded]
        wanted = sorted({node_id for found in (*near, *alike, *otherwise) for node_id in found})
        nodes = await self._service.nodes(project, wanted) if wanted else {}
        known = {i: _Said.of(node["proposition"]) for i, node in nodes.items() if not node["retired"]}
        return Known(
            nodes=[
                next((i for i in (*found, *same) if i in known and not known[i].differs(this)), None)
                for this, found, same in zip(said, near, alike, strict=True)
            ],
            earlier=self._earlier(said, vectors),
            vectors=vectors,
            opposed=[
                any(i in known for i in found) or any(this.frame.differs(other.frame) for other in said)
                for this, found in zip(said, otherwise, strict=True)
            ],
            denied=[
                next((i for i in found if i in known and this.frame.denies(known[i].frame)), None)
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

    async def _by_meaning(self, project: str, propositions: Sequence[str]) -> tuple[list[Vector], list[list[NodeId]]]:
        """The vectors, none where the model cannot be had; and what lies near them, the nearest first."""
        nothing: list[list[NodeId]] = [[] for _ in propositions]
        if self._embedder is None or self._representations is None or not propositions:
            return [], nothing
        try:
            if not self._installed:
                await self._representations.install()
                self._installed = True
            vectors = await self._embedder.passages(propositions, EMBED_SECONDS)
            found = await self._representations.alike(project, vectors, self._embedder.profile.duplicate, ASKED)
        except KnowledgeError as error:
            _LOG.info("words alone tell what is known already: %s", error)
            return [], nothing
        return vectors, [[(near.key, near.generation) for near in each] for each in found]

    async def _by_words(
        self, project: str, propositions: Sequence[str], said: Sequence[_Said]
    ) -> list[tuple[list[NodeId], list[NodeId]]]:
        """For each the nodes of the very same stems, and those that say otherwise in the same words."""
        terms = [words(proposition) for proposition in propositions]
        asked = [at for at, found in enumerate(terms) if found]
        hits = defaultdict[int, list[Row]](list)
        if asked:
            texts = [query(terms[at], project) for at in asked]
            for row in await self._service.store.read("propositions_worded", project=project, texts=texts, first=HITS):
                hits[asked[row["at"]]].append(row)
        return [_alike(this, hits[at]) for at, this in enumerate(said)]

    def _earlier(self, said: Sequence[_Said], vectors: Sequence[Vector]) -> list[int | None]:
        least = 1.0 if self._embedder is None else self._embedder.profile.duplicate

        def same(left: int, right: int) -> bool:
            if said[left].differs(said[right]):
                return False
            if said[left].stems == said[right].stems:
                return True
            return bool(vectors) and sum(a * b for a, b in zip(vectors[left], vectors[right], strict=True)) >= least

        return [next((at for at in range(this) if same(at, this)), None) for this in range(len(said))]


def _alike(this: _Said, rows: Sequence[Row]) -> tuple[list[NodeId], list[NodeId]]:
    same = sorted(id_of(row) for row in rows if stems(row["proposition"]) == this.stems)
    return same, sorted(id_of(row) for row in rows if this.frame.differs(Frame.of(row["proposition"])))


@dataclass(frozen=True, slots=True)
class _Said:
    """What of a text must be in another one that says the same."""

    stems: frozenset[str]
    turning: frozenset[str]
    names: frozenset[str]
    frame: Frame
    tokens: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Said:
        capitals = (word for word in _NAME.findall(text) if word[0].isupper())
        names = frozenset(s for name in capitals for s in stems(name))
        return cls(stems(text), turning(text), names, Frame.of(text), tokens(text))

    def differs(self, other: _Said) -> bool:
        """Whether they differ in a number, a negation, a name, or but for little in a word that carries meaning."""
        if says_otherwise(self.tokens, other.tokens):
            return True
        if self.turning != other.turning or self.frame.differs(other.frame):
            return True
        return not (self.names <= other.stems and other.names <= self.stems)
