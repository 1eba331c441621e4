"""Stored sessions replayed: a model's concepts through their door where there is a model, else sentences by ingestion.

A session that was replayed to its end is known by its name and text, whatever a model noted of it; the same folder
again changes nothing, and asks no model again. That is kept beside the journal: it says nothing of what is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from graph import recording
from graph.errors import KnowledgeError
from graph.ingestion.chat import Cost
from graph.ingestion.extractor import Extracted, Extractor
from graph.ingestion.parts import parts
from graph.ingestion.pipeline import Given, Ingestion, digest
from graph.ingestion.recalled import without_blocks
from graph.ingestion.sessions import Session
from graph.ingestion.stages import Stages
from graph.knowledge import Actor
from graph.redaction import redact
from graph.service import Service

CONVERSATION_CHARS_MAX = 100_000  # that a model is given at a time
_OUTAGES = frozenset(("UNAVAILABLE", "IN_DOUBT", "INTERNAL"))


@dataclass(slots=True)
class Replayed:
    """What came of sessions.

    Attributes:
        sessions: How many there were.
        known: How many of them had been replayed before.
        verdicts: Concepts by what the door made of them; sentences as ``accepted`` and ``merged``.
        dropped: What a model answered and was not taken, by the reason.
        refused: What the door refused, or ingestion rejected, by the reason.
        cost: Tokens that the model took.
        redacted: How many matches of which kind were taken out of what they say.
    """

    sessions: int = 0
    known: int = 0
    verdicts: Counter[str] = field(default_factory=Counter[str])
    dropped: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    cost: Cost = field(default_factory=Cost)
    redacted: Counter[str] = field(default_factory=Counter[str])


class Backfill:
    """Replays sessions into a project.

    Args:
        service: Whose knowledge.
        stages: The steps for sentences, where there is no model, and what tells whether two texts go together.
        project: Where to.
        actor: Who acts.
        extractor: Asks a model for concepts; None where there is none.

    Attributes:
        replayed: What came of it so far.
    """

    def __init__(
        self,
        service: Service,
        stages: Stages,
        project: str,
        actor: Actor,
        extractor: Extractor | None = None,
    ) -> None:
        self._service = service
        self._stages = stages
        self._ingestion = Ingestion(service, stages)
        self._project = project
        self._actor = actor
        self._extractor = extractor
        self.replayed = Replayed()

    async def session(self, session: Session) -> None:
        """Replay one.

        Raises:
            UnavailableError: the database or the model cannot be had, or it answers what cannot be read; the session
                is replayed from its beginning the next time.
        """
        policy = await self._service.policies.of(self._project)
        said, redacted = redact(session.text, policy.redacting)
        text, _ = without_blocks(said)
        if self._extractor is None:
            await self._sentences(session.name, text)
        else:
            await self._concepts(session.name, text, self._extractor)
        self.replayed.sessions += 1
        self.replayed.redacted += redacted

    async def _sentences(self, name: str, text: str) -> None:
        replayed, fresh, before = self.replayed, 0, 0
        for part in parts(text.splitlines(keepends=True)):
            done = await self._ingestion.ingest(Given(self._project, part, f"session:{name}", self._actor))
            accepted, merged = done.accepted - done.accepted_before, done.merged - done.merged_before
            replayed.verdicts.update({"accepted": accepted, "merged": merged})
            fresh, before = fresh + accepted + merged, before + done.accepted_before + done.merged_before
            for rejected in done.rejected:
                replayed.refused[rejected.reason] += 1
        replayed.known += bool(before and not fresh)
        if before:
            replayed.verdicts["said before"] += before

    async def _concepts(self, name: str, text: str, extractor: Extractor) -> None:
        session, store = digest(name, text), self._service.store
        if await store.read("replay_known", project=self._project, session=session):
            self.replayed.known += 1
            return
        found: list[Extracted] = []
        for piece in _pieces(text):
            extraction = await extractor.extract(piece)
            found += extraction.concepts
            self.replayed.dropped += extraction.dropped
            self.replayed.cost += extraction.cost
        for concept in found:
            await self._record(name, concept, f"backfill-{session}:{digest(concept.name, concept.body)[:16]}")
        await store.project_write("replay_put", project=self._project, session=session)

    async def _record(self, session: str, concept: Extracted, event_id: str) -> None:
        saying = recording.Saying(self._project, concept.name, concept.description, concept.type, concept.body, session)
        try:
            command = await recording.said(self._service, saying, self._actor, {"event_id": event_id})
            taken = await recording.record(self._service, command, self._stages.consolidator)
        except KnowledgeError as error:
            if error.code in _OUTAGES:
                raise
            self.replayed.refused[f"{error.code}: {error.message}"] += 1
        else:
            self.replayed.redacted += Counter(taken.redacted)
            self.replayed.verdicts["said before" if taken.verdict is None else taken.verdict.value] += 1


def _pieces(text: str) -> Iterator[str]:
    held, chars = list[str](), 0
    for line in text.splitlines(keepends=True):
        for at in range(0, len(line), CONVERSATION_CHARS_MAX):
            piece = line[at : at + CONVERSATION_CHARS_MAX]
            if held and chars + len(piece) > CONVERSATION_CHARS_MAX:
                yield "".join(held)
                held, chars = [], 0
            held.append(piece)
            chars += len(piece)
    if "".join(held).strip():
        yield "".join(held)
