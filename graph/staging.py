"""Commands decided beside the database: what comes of them is kept on scratches until it is written, or dropped.

A file is tried so before any of it is taken. Where the project is new, what the trial came to is what is written:
nothing needs to be asked of the database, and nothing to be decided again. Whether somebody else has written to the
project since is seen when a batch is written. Only when it is written is it known when that is, so until then events
have no recorded time and no hash; ``Chain`` gives them both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from graph import lifecycle, projection
from graph.batch import Batch, Statement, appended
from graph.commands import Command
from graph.concept import Verdict, verdict_of
from graph.dependence import Dependence
from graph.errors import KnowledgeError
from graph.journal import Event, Head
from graph.knowledge import instant_text
from graph.rows import Row, chained_row
from graph.scratch import Scratch
from graph.slices import Needs, Slice, gather, projects
from graph.store import Decided, Store

EDGES_MAX = 400_000  # dependence edges held in memory: about 60 MB with the nodes at their ends
_TURN_LINES = 8  # lines decided, about a millisecond, before others have their turn


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a journal file.

    Attributes:
        number: Counted from 1.
        size: How much of the room in a batch it takes; bytes that it is long, unless the database holds more of it.
        command: What it asks for.
        written: The event that it says it is, if it is restored.
    """

    number: int
    size: int
    command: Command
    written: Event | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command comes to: whether it is new to the journal, how many nodes it marks, and a concept's verdict."""

    applied: bool
    newly_at_risk: int = 0
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """What a batch of lines comes to: an outcome or a refusal for each, and what is to be written.

    ``decided`` is without recorded times and hashes, but for events that are restored.
    """

    outcomes: Sequence[Outcome | KnowledgeError]
    decided: Sequence[Decided] = ()


@dataclass(slots=True)
class _Stage:
    scratch: Scratch
    new: bool
    dependence: Dependence


class Staging:
    """Decides commands as the store would, each in the state that those before it left."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._stages: dict[str, _Stage] = {}
        self._writing = True

    def close(self) -> None:
        """Drop what was decided."""
        for stage in self._stages.values():
            stage.scratch.close()
        self._stages.clear()

    async def tried(self, lines: Sequence[Line]) -> Sequence[Outcome | KnowledgeError]:
        """What the next lines come to; marks are left out."""
        batches, outcomes = await self._decided(lines, marking=False)
        self._save(batches)
        return outcomes

    async def staged(self, lines: Sequence[Line]) -> Staged | None:
        """What the next lines come to, and how it is written; None from where a project is not new, or too large."""
        stages = [await self._stage(project) for project in projects(_commands(lines), rules=_rules(lines))]
        self._writing &= all(stage.new and stage.dependence.edges <= EDGES_MAX for stage in stages)
        if not self._writing:
            return None
        before = {project: stage.scratch.head for project, stage in self._stages.items()}
        batches, outcomes = await self._decided(lines, marking=True)
        for project, batch in batches.items():
            batch.marked = self._stages[project].dependence.changed()
        decided = [await _decided(batch, before[name]) for name, batch in sorted(batches.items()) if batch.events]
        self._save(batches)
        return Staged(outcomes, decided)

    async def _decided(
        self, lines: Sequence[Line], *, marking: bool
    ) -> tuple[Mapping[str, Batch], list[Outcome | KnowledgeError]]:
        rules = _rules(lines)
        slices = await gather(_commands(lines), self._load, rules=rules)
        for here in slices.values():
            here.hashed = not rules  # a written event must come out with the hash that it has already
        batches = {project: Batch(here) for project, here in slices.items()}
        outcomes: list[Outcome | KnowledgeError] = []
        for at, line in enumerate(lines):
            if at % _TURN_LINES == 0:
                await asyncio.sleep(0)
            try:
                events = _events(slices, line)
            except KnowledgeError as refusal:
                outcomes.append(refusal)
            else:
                outcomes.append(self._fold(batches, events, marking=marking))
        return batches, outcomes

    def _fold(self, batches: Mapping[str, Batch], events: Sequence[Event], *, marking: bool) -> Outcome:
        newly = 0
        for event in events:
            batch = batches[event.project]
            projection.evolve(batch.here, event)
            batch.events.append(event)
            if marking:
                batch.newly[event.seq] = self._stages[event.project].dependence.follow(batch.here, event)
                newly += batch.newly[event.seq]
        if events and marking:
            batches[events[0].project].newly[events[0].seq] = newly
        verdict = verdict_of(events[0].transition, events[0].payload) if events else None
        return Outcome(bool(events), newly, verdict)

    def _save(self, batches: Mapping[str, Batch]) -> None:
        for project, batch in batches.items():
            self._stages[project].scratch.save(batch.here, [event.event_id for event in batch.events])

    async def _load(self, project: str, needs: Sequence[Needs]) -> Slice:
        stage = await self._stage(project)
        here = Slice(project) if stage.new else await self._store.peek(project, needs)
        return stage.scratch.laid_over(here, needs)

    async def _stage(self, project: str) -> _Stage:
        if project not in self._stages:
            known = await self._store.read("project_head", project=project)
            self._stages[project] = _Stage(Scratch(project), not known, Dependence())
        return self._stages[project]


def _commands(lines: Sequence[Line]) -> list[Command]:
    return [line.command for line in lines]


def _rules(lines: Sequence[Line]) -> bool:
    return all(line.written is None for line in lines)


def _events(slices: Mapping[str, Slice], line: Line) -> tuple[Event, ...]:
    written = line.written
    head = slices[line.command.project].head
    now = written.recorded_at if written is not None else lifecycle.not_before(datetime.now(UTC), head)
    decision = lifecycle.decide(slices, line.command, now, rules=written is None)
    if written is not None and decision.events:
        lifecycle.refuse_other(decision.events[0], written)
    return decision.events


class Chain:
    """Dates and chains the events of staged batches as they are written, one batch after the other."""

    def __init__(self) -> None:
        self._heads: dict[str, Head] = {}

    async def decided(self, staged: Staged, now: datetime) -> list[Decided]:
        """What the next batch writes, recorded at ``now`` or, if a clock went back, when the one before it was."""
        return [await self._chained(part, now) for part in staged.decided]

    async def _chained(self, part: Decided, now: datetime) -> Decided:
        if part.after:
            return part
        before = self._heads.get(part.project, Head())
        head = Head(before.seq, before.hash, lifecycle.not_before(now, before))
        for name, params in part.statements:
            if name == "events_create":
                head = await _chained_rows(params["rows"], head)
            else:
                _date(name, params, head)
        self._heads[part.project] = head
        return Decided(part.project, before.hash, head.hash, part.statements)


async def _chained_rows(rows: Sequence[Row], head: Head) -> Head:
    """Put each event of the rows into the chain that ends with the head, whose recorded time it gets; the new head."""
    assert head.recorded_at is not None, "events are recorded when they are written"
    at, seq, last = instant_text(head.recorded_at), head.seq, head.hash
    for row in rows:
        event = row["event"] = chained_row(row["event"], at, last)
        seq, last = event["seq"], event["hash"]
        if seq % _TURN_LINES == 0:
            await asyncio.sleep(0)
    return Head(seq, last, head.recorded_at)


def _date(name: str, params: dict[str, Any], head: Head) -> None:
    """Put the time at which the events behind them were recorded into rows of nodes, and into the project's head."""
    assert head.recorded_at is not None, "events are recorded when they are written"
    at = instant_text(head.recorded_at)
    if name == "nodes_create":
        for row in params["rows"]:
            row["node"]["updated_at"] = at
    elif name == "nodes_put":
        for row in params["rows"]:
            row["updated_at"] = at
    elif name == "project_advance":
        params |= {"hash": head.hash, "recorded_at": at}


async def _decided(batch: Batch, before: Head) -> Decided:
    statements: list[Statement] = []
    for statement in appended(batch):
        statements.append(statement)
        await asyncio.sleep(0)
    return Decided(batch.here.project, before.hash, batch.here.head.hash, statements)
