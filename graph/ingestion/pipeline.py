"""One text through all the steps, and what came of it as events in one transaction.

A fact's key is made of its claim and an event's id of the call and the fact, so the same call again changes nothing,
and the same fact from another source becomes another sighting of the same node.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from graph.commands import Command, checked_event_id, lineage_of_resource, lineage_of_text, read_command
from graph.errors import EventConflictError, KnowledgeError, ValidationError
from graph.ingestion.recalled import without_blocks
from graph.ingestion.stages import Fact, Known, Normalizer, Passage, Quality, Stages
from graph.ingestion.wording import CLAIM_CHARS_MAX
from graph.knowledge import (
    KEY_CHARS_MAX,
    Actor,
    NodeId,
    Relation,
    checked_instant,
    checked_key,
    checked_text,
    claim_form,
)
from graph.redaction import Counts, Redactor
from graph.rows import Row
from graph.service import Service
from graph.store import Taken

TEXT_CHARS_MAX = 200_000  # of one call: some fifty pages, of which fifty facts are kept
FACTS_MAX = 50  # of one call (rules.md section 11)
FORMS_MAX = 100  # headings, tables and pieces of code that are named
RECALLED = "a context block of this service, which is not learned from it again"


@dataclass(frozen=True, slots=True)
class Given:
    """A text to learn from.

    Attributes:
        project: Where to.
        text: 1 to 200,000 characters.
        source: URI of where it came from.
        actor: Who acts.
        event: Fields of a journal line that all events of the call share: event_id, time, reason, caused_by, execution.
        keep_raw: Whether each fact's own words are stored with its evidence; else their fingerprint alone is.
    """

    project: str
    text: str
    source: str
    actor: Actor
    event: Mapping[str, Any] = field(default_factory=dict[str, Any])
    keep_raw: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """What was not taken: the proposition, why, and its quality where it came so far."""

    proposition: str
    reason: str
    quality: float | None = None


@dataclass(slots=True)
class Ingested:
    """What came of a text.

    Attributes:
        accepted: Facts that became nodes.
        merged: Facts that somebody had said before, and of which this is another sighting.
        rejected: All others, each with its reason.
        nodes: What the accepted and the merged ones are, in the order of the text, each once.
        redacted: How many matches of which kind were taken out of the text, its source and the event's reason.
        accepted_before: How many of the accepted the very same call had taken before.
        merged_before: How many of the merged it had.
    """

    accepted: int = 0
    merged: int = 0
    rejected: list[Rejected] = field(default_factory=list[Rejected])
    nodes: list[NodeId] = field(default_factory=list[NodeId])
    redacted: Counts = field(default_factory=Counts)
    accepted_before: int = field(default=0, compare=False)
    merged_before: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class _Judged:
    """A fact that passed, and which of the text's it is.

    ``opposed`` is whether something else says otherwise, ``denies`` the key of what it says is not so.
    """

    at: int
    fact: Fact
    quality: Quality
    opposed: bool = False
    denies: str | None = None


class Ingestion:
    """Learns from texts.

    Args:
        service: Whose knowledge.
        stages: The steps.
    """

    def __init__(self, service: Service, stages: Stages) -> None:
        self._service = service
        self._stages = stages

    async def ingest(self, given: Given) -> Ingested:
        """Learn from one text.

        Raises:
            ValidationError: a text or a source that is blank or too long, or a field of the event that is wrong.
            UnavailableError: the database or a model that the distiller needs cannot be had; nothing was taken.
        """
        kinds = (await self._service.policies.of(checked_key(given.project, "project"))).redacting
        redactor = Redactor(kinds)
        # Of a long text that takes a while, in which others are to have their turn.
        given, call = await asyncio.to_thread(_checked, given, redactor, self._stages.normalizer)
        text, blocks = without_blocks(given.text)
        done = Ingested(rejected=[Rejected("", RECALLED) for _ in range(blocks)], redacted=redactor.counts)
        passages = await self._stages.distiller.distil(text) if text.strip() else list[Passage]()
        passages = await asyncio.to_thread(self._redacted, passages, redactor)
        done.rejected += self._formless(passages)
        stating = [passage for passage in passages if not passage.form]
        judged = self._judged(given, await self._facts(given.project, stating), done)
        known = await self._stages.duplicates.find(given.project, [one.fact.proposition for one in judged])
        writing = _Writing(given, call, self._stages, kinds)
        judged = writing.opposed(judged, known)
        before = await self._before(writing, judged)
        nodes = await self._taken(writing, judged, known, before, done)
        done.nodes = list(dict.fromkeys(nodes[one.at] for one in judged if one.at in nodes))
        return done

    def _redacted(self, passages: Sequence[Passage], redactor: Redactor) -> list[Passage]:
        """Passages without what a distiller's wording, or the form in which claims are stored, lays bare."""

        def shown(text: str) -> str:
            return _shown(text, redactor, self._stages.normalizer)

        return [
            replace(each, raw=shown(each.raw), claim=shown(each.claim), summary=shown(each.summary))
            for each in passages
        ]

    def _formless(self, passages: Sequence[Passage]) -> Iterator[Rejected]:
        """What states nothing by its form, by its beginning; many are counted in the end."""
        left_out = [passage for passage in passages if passage.form]
        for passage in left_out[:FORMS_MAX]:
            yield Rejected(self._stages.summarizer.summarize(passage.claim), passage.form)
        for form, count in Counter(passage.form for passage in left_out[FORMS_MAX:]).items():
            yield Rejected("", f"{form}, {count:,} more of them")

    async def _facts(self, project: str, passages: Sequence[Passage]) -> list[Fact]:
        """What passages say, each claim once."""
        # Reading takes milliseconds a claim, in which others are to have their turn.
        read = await asyncio.to_thread(self._read, passages)
        names = sorted({mention.name for fact in read for mention in fact.mentions})
        keys = await self._stages.matcher.match(project, names)
        return [replace(fact, targets={m.name: keys[m.name] for m in fact.mentions if m.name in keys}) for fact in read]

    def _read(self, passages: Sequence[Passage]) -> list[Fact]:
        stages, seen, facts = self._stages, set[str](), list[Fact]()
        for passage in passages:
            claim = passage.claim[: CLAIM_CHARS_MAX + 1]  # of what is too long to be one, so much as shows that
            proposition = stages.normalizer.normalize(claim)
            if not proposition or claim_form(proposition) in seen:
                continue
            seen.add(claim_form(proposition))
            facts.append(
                Fact(
                    passage=passage,
                    proposition=proposition,
                    summary=passage.summary or stages.summarizer.summarize(proposition),
                    validity=stages.validator.validate(proposition),
                    mentions=tuple(stages.relation_extractor.relations(claim)),
                    targets={},
                )
            )
        return facts

    def _judged(self, given: Given, facts: Sequence[Fact], done: Ingested) -> list[_Judged]:
        """What passes the gate, at most fifty; the others are named with their quality."""
        now = self._service.now()
        age = max(timedelta(0), now - checked_instant(given.event.get("time") or now, "event.time"))
        passed: list[_Judged] = []
        for at, fact in enumerate(facts):
            quality, why = self._stages.gate.judge(fact, age)
            if why is None and len(passed) == FACTS_MAX:
                why = f"more than {FACTS_MAX} facts in one call"
            if why is None:
                passed.append(_Judged(at, fact, quality))
            else:
                done.rejected.append(Rejected(fact.proposition, why, round(quality.final, 4)))
        return passed

    async def _before(self, writing: _Writing, judged: Sequence[_Judged]) -> dict[int, Row]:
        """The events that an earlier call of the same id left, by the fact that each is about.

        Raises:
            EventConflictError: that call was about another text.
        """
        ids = {name: one for one in judged for name in (writing.event_id(one), writing.sighting_id(one))}
        found = await self._service.events_named(writing.given.project, sorted(ids)) if ids else {}
        for name, event in found.items():
            if writing.evidence_key(ids[name]) not in [record["key"] for record in event["payload"]["evidence"]]:
                raise EventConflictError(
                    f"event {name!r} was taken before with another text",
                    field="event.eventId",
                    allowed="the very same text and source, or a new event id",
                )
        return {ids[name].at: event for name, event in found.items()}

    async def _taken(
        self,
        writing: _Writing,
        judged: Sequence[_Judged],
        known: Known,
        before: Mapping[int, Row],
        done: Ingested,
    ) -> dict[int, NodeId]:
        """Have it taken, what is new in one transaction, and count what came of it; the node of each fact."""
        nodes: dict[int, NodeId] = {}
        fresh: list[int] = []
        seen: list[tuple[_Judged, str]] = []
        for at, one in enumerate(judged):
            event, earlier, node = before.get(one.at), known.earlier[at], known.nodes[at]
            if event is not None:
                nodes[one.at] = (event["key"], event["generation"])
                first = event["transition"] == "proposed"
                done.accepted, done.accepted_before = done.accepted + first, done.accepted_before + first
                done.merged, done.merged_before = done.merged + (not first), done.merged_before + (not first)
            elif node is not None:
                seen.append((one, node[0]))
            elif earlier is not None:
                seen.append((one, writing.key(judged[earlier])))
            else:
                fresh.append(at)
        seen += await self._proposed(writing, [judged[at] for at in fresh], nodes, done)
        await self._sighted(writing, seen, nodes, done)
        made = [
            (nodes[judged[at].at], judged[at].fact.proposition, known.vectors[at])
            for at in fresh
            if known.vectors and judged[at].at in nodes
        ]
        await self._stages.duplicates.learned(writing.given.project, made)
        return nodes

    async def _proposed(
        self, writing: _Writing, fresh: Sequence[_Judged], nodes: dict[int, NodeId], done: Ingested
    ) -> list[tuple[_Judged, str]]:
        """Propose what is new; what somebody else said a moment ago, with the key of its node."""
        answers = await self._answers([command for one in fresh for command in writing.proposed(one)])
        seen: list[tuple[_Judged, str]] = []
        for one in fresh:
            answer = answers[writing.event_id(one)]
            if isinstance(answer, KnowledgeError):
                done.rejected.append(_refused(one, answer))
            elif answer.event_id == writing.event_id(one):
                nodes[one.at] = (answer.key, answer.generation)
                done.accepted += 1
            else:
                seen.append((one, answer.key))
        return seen

    async def _sighted(
        self, writing: _Writing, seen: Sequence[tuple[_Judged, str]], nodes: dict[int, NodeId], done: Ingested
    ) -> None:
        answers = await self._answers([writing.sighted(one, key) for one, key in seen])
        for one, _ in seen:
            answer = answers[writing.sighting_id(one)]
            if isinstance(answer, KnowledgeError):
                done.rejected.append(_refused(one, answer))
            else:
                nodes[one.at] = (answer.key, answer.generation)
                done.merged += 1

    async def _answers(self, commands: Sequence[Command]) -> dict[str, Taken | KnowledgeError]:
        """What became of commands, by their event ids.

        Raises:
            KnowledgeError: the database did not take them, whatever they say.
        """
        answers = await self._service.run_many(commands) if commands else []
        for answer in answers:
            if isinstance(answer, KnowledgeError) and answer.code in _NOT_REFUSALS:
                raise answer
        return {command.event_id: answer for command, answer in zip(commands, answers, strict=True)}


_NOT_REFUSALS = frozenset(("UNAVAILABLE", "IN_DOUBT", "LIMIT", "INTERNAL"))
_SHARED = frozenset(("time", "reason", "caused_by", "execution", "actor"))
_SUFFIX_CHARS = 20  # of an event's id behind that of its call


@dataclass(frozen=True, slots=True)
class _Writing:
    """How the facts of one call are written as journal lines.

    ``call`` is what their event ids begin with; ``kinds`` of personal data are taken out of them.
    """

    given: Given
    call: str
    stages: Stages
    kinds: frozenset[str]

    def key(self, one: _Judged) -> str:
        """Of the node: the same for the same claim."""
        return f"fact-{digest(claim_form(one.fact.proposition))}"

    def opposed(self, judged: Sequence[_Judged], known: Known) -> list[_Judged]:
        """Facts with what is known to stand against each; what would not have been confirmed denies nothing."""

        def key(standing: NodeId | int) -> str:
            if not isinstance(standing, int):
                return standing[0]
            node, earlier = known.nodes[standing], known.earlier[standing]
            elsewhere = earlier if node is None else node
            return self.key(judged[standing]) if elsewhere is None else key(elsewhere)

        told: list[_Judged] = []
        for at, one in enumerate(judged):
            denied = known.denied[at] if known.denied else None
            certain = self.stages.promotion.promotes(one.fact, one.quality)
            denies = None if denied is None or not certain else key(denied)
            told.append(replace(one, opposed=bool(known.opposed) and known.opposed[at], denies=denies))
        return told

    def event_id(self, one: _Judged) -> str:
        """Of the proposal."""
        return f"{self.call}:{one.at}"

    def sighting_id(self, one: _Judged) -> str:
        """Of another sighting."""
        return f"{self.call}:{one.at}:seen"

    def evidence_key(self, one: _Judged) -> str:
        """Of what the fact stands on: the same for the same words of the same source."""
        return f"text-{digest(self.given.source, one.fact.passage.raw, one.fact.summary, str(self.given.keep_raw))}"

    def proposed(self, one: _Judged) -> list[Command]:
        """The proposal and, where the fact is promoted, its confirmation."""
        lines = [self._line(self.event_id(one), "proposed", self.key(one), self._proposal(one))]
        if not one.opposed and self.stages.promotion.promotes(one.fact, one.quality):
            # Caused by the proposal and of the first generation: refused where that was not taken, or where the claim
            # had been retired before, which nobody should confirm without having looked.
            confirmed = self._line(f"{self.event_id(one)}:confirm", "confirmed", self.key(one), {})
            because = {"reason": one.quality.text(), "caused_by": [self.event_id(one)]}
            lines.append({**confirmed, "generation": 1, **because})
        return [self._command(line) for line in lines]

    def sighted(self, one: _Judged, key: str) -> Command:
        """That a node's claim was found again."""
        payload = {"evidence": [self._evidence(one)]}
        return self._command(self._line(self.sighting_id(one), "evidenced", key, payload))

    def _command(self, line: Mapping[str, Any]) -> Command:
        return read_command(line, actor=self.given.actor, project=self.given.project, redacting=self.kinds)

    def _line(self, event_id: str, transition: str, key: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        shared = {name: value for name, value in self.given.event.items() if name in _SHARED}
        return {**shared, "event_id": event_id, "transition": transition, "key": key, "payload": payload}

    def _proposal(self, one: _Judged) -> dict[str, Any]:
        fact, own = one.fact, self.key(one)
        relations = {
            (mention.relation.value, fact.targets[mention.name]): None
            for mention in fact.mentions
            if mention.name in fact.targets and fact.targets[mention.name] != own
        }
        if one.denies is not None:
            relations[Relation.CONTRADICTS.value, one.denies] = None
        return {
            "proposition": fact.proposition,
            "lineage": self._lineage(),
            "evidence": [self._evidence(one)],
            "relations": [{"relation": relation, "to": key} for relation, key in relations],
        }

    def _lineage(self) -> dict[str, Any]:
        method = f"ingest:{self.stages.distiller.name}"
        if self.given.keep_raw:
            return lineage_of_resource(self.given.source, method=method)
        return lineage_of_text(self.given.text, method=method)

    def _evidence(self, one: _Judged) -> dict[str, Any]:
        """The raw layer by its fingerprint, or as it is where that was asked for; and the summary."""
        passage = one.fact.passage
        raw = {"raw": passage.raw} if self.given.keep_raw else {}
        return {
            "key": self.evidence_key(one),
            "type": "text",
            "source": self.given.source,
            "hash": f"sha256:{hashlib.sha256(passage.raw.encode()).hexdigest()}",
            "metadata": {"summary": one.fact.summary, **raw},
        }


def _shown(text: str, redactor: Redactor, normalizer: Normalizer, apart: str | None = None) -> str:
    """A redacted text as it is, unless its normal form shows more that is to be taken out: then that form without it.

    Args:
        text: The text.
        redactor: Counts what is found.
        normalizer: Gives the form.
        apart: What stands between its parts, each of which has a normal form.
    """
    parts = [text] if apart is None else text.split(apart)
    plain = (apart or "").join(map(normalizer.normalize, parts))
    redacted = redactor.text(plain)
    return text if redacted == plain else redacted


def _checked(given: Given, redactor: Redactor, normalizer: Normalizer) -> tuple[Given, str]:
    """What is asked, redacted before anything is made of it, and what the event ids of the call begin with.

    That is the caller's event id, or one that the same text of the same source has again.
    """
    checked_text(given.text, "text", chars_max=TEXT_CHARS_MAX)
    checked_text(given.source, "source")
    event = dict(given.event)
    if isinstance(event.get("reason"), str):
        event["reason"] = redactor.text(event["reason"])
    text = redactor.text(given.text)
    for apart in ("\n", "\n\n"):  # a claim may go over lines
        text = _shown(text, redactor, normalizer, apart)
    given = replace(given, text=text, source=redactor.text(given.source), event=event)
    if given.event.get("event_id") is None:
        return given, f"ingest-{digest(given.source, given.text)}"
    event_id = checked_event_id(given.event["event_id"], "event.eventId")
    if len(event_id) + _SUFFIX_CHARS > KEY_CHARS_MAX:
        raise ValidationError(
            "the facts of a text are numbered behind the event id",
            field="event.eventId",
            position=KEY_CHARS_MAX - _SUFFIX_CHARS,
            allowed=f"1 to {KEY_CHARS_MAX - _SUFFIX_CHARS} characters",
        )
    return given, event_id


def digest(*texts: str) -> str:
    """What the same texts always have, and no others: 32 hex digits for keys and event ids."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


def _refused(one: _Judged, error: KnowledgeError) -> Rejected:
    return Rejected(one.fact.proposition, f"{error.code}: {error.message}", round(one.quality.final, 4))
