"""Journals and graphs as files: what is read into a project and what is written out of it.

A file of events is tried before any of it is taken: every line is decided against the database and the lines before
it, on a scratch beside the database, so that one bad line means that nothing of the file is taken. Then it is taken in
transactions of two thousand events. What the trial read, and for a new project what it decided, waits on disk to be
taken, so that a file is read once and what is taken is what was tried. A line that was taken before is a repeat, so an
interrupted import goes on where it stopped when it is called again.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from graph import concept_file, fold, strict_json
from graph.commands import Command, read_command, read_event
from graph.errors import KnowledgeError, LimitError, NotFoundError, ValidationError
from graph.graphml import GraphHeader, document
from graph.journal import Event, Head, canonical
from graph.knowledge import Actor, NodeId, instant_text
from graph.policies import redacted_kinds
from graph.redaction import PERSONAL, Counts, Redactor
from graph.rows import Row, id_of
from graph.staging import Chain, Line, Outcome, Staged, Staging
from graph.store import BATCH_SECONDS, Decided, Store, Taken

BATCH_EVENTS = 2_000  # a transaction of an import: marks that change many times in it are written once
BATCH_BYTES = 16 * 1024 * 1024  # read for one transaction, a last line left out: so much is held in memory a few times
CONCEPT_WEIGHT = 8  # a concept's texts are held by its event, twice by its node, and by the index of words
LINE_BYTES_MAX = 4 * 1024 * 1024  # the longest event that the limits on its parts allow is shorter
REFUSALS_MAX = 1_000  # bad lines that a report names; it counts the others
PAGE = 500
Answer = Outcome | Taken | KnowledgeError
Told = Callable[[Line, Answer], None]
"""Told what became of a line."""
_Tried = tuple[Sequence[Line], Staged | None]
"""A batch of lines, and what it comes to where that was decided beside the database."""
_Kinds = Mapping[str, frozenset[str]]  # of personal data that are taken out, by project
_COMMAND, _EVENT = (attrgetter(*(part.name for part in fields(kind))) for kind in (Command, Event))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A bad line: its number, counted from 1, and what is wrong with it."""

    line: int
    error: KnowledgeError


@dataclass(slots=True)
class Report:
    """What became of a file.

    Attributes:
        lines: Lines read, blank ones left out.
        taken: Events that are new to the journal, those that the service added by rule left out.
        repeated: Lines that were there already, or that changed nothing.
        refused: Bad lines.
        refusals: The first of them.
        newly_at_risk: Nodes that the file put at risk.
        redacted: How many matches of which kind were taken out of its lines; of a restored journal, which keeps its
            hashes and so every word, how many there are in it.
    """

    lines: int = 0
    taken: int = 0
    repeated: int = 0
    refused: int = 0
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    newly_at_risk: int = 0
    redacted: Counts = field(default_factory=Counts)

    def refuse(self, line: int, error: KnowledgeError) -> None:
        """Count a bad line, and keep it if it is among the first."""
        self.refused += 1
        if len(self.refusals) < REFUSALS_MAX:
            self.refusals.append(Refusal(line, error))

    def count(self, line: Line, answer: Answer) -> None:
        """Count what became of a line."""
        if isinstance(answer, KnowledgeError):
            self.refuse(line.number, answer)
        else:
            self.taken += answer.applied
            self.repeated += not answer.applied
            self.newly_at_risk += answer.newly_at_risk if answer.applied else 0


@dataclass(frozen=True, slots=True)
class Terms:
    """How a file is read.

    Attributes:
        project: The project of lines that name none; with ``into``, of all lines.
        actor: Who acts in lines that name none.
        restore: Keep position, recorded time and hash, and refuse what does not follow.
        keep_going: Take the good lines although there are bad ones.
        into: Whether the project was asked for by name, and so wins over the one that a line names.
        counts: Whether what it says of how often concepts were said, and by whom, is taken: a graph has no sightings
            that could be counted again.
    """

    project: str
    actor: Actor
    restore: bool = False
    keep_going: bool = False
    into: bool = False
    counts: bool = False


Progress = Callable[[str, int], None]
"""Told the phase (``trying`` or ``taking``) and how many lines of it are done."""


async def import_journal(
    store: Store, read: Callable[[], Iterable[bytes]], terms: Terms, progress: Progress = lambda _phase, _done: None
) -> Report:
    """Take a file of events.

    Args:
        store: Where to.
        read: Gives the file's lines from its start; called once.
        terms: How the file is read.
        progress: Told how far it is.

    What of personal data the projects keep is asked for once, at the beginning.

    Returns:
        What became of it. With a bad line and without ``keep_going``, nothing was taken.

    Raises:
        UnavailableError, InDoubtError: the database was lost on the way; the same call goes on where it stopped.
    """
    kinds = await redacted_kinds(store)
    if terms.keep_going:
        report = Report()
        lines = _read_lines(read(), terms, kinds, report)
        return await _take(store, _staged(store, _batches(lines)), report, progress)
    spool, tried = _Spool(), Report()
    try:
        await _try(store, _read_lines(read(), terms, kinds, tried), tried, spool, progress)
        if tried.refused:
            return tried
        return await _take(store, spool.batches(), Report(lines=tried.lines, redacted=tried.redacted), progress)
    finally:
        spool.close()


class _Spool:
    """Batches that were tried, in a temporary file that vanishes with the process; one is in memory."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 (closed by ``close``)
        self._count = 0

    def add(self, lines: Sequence[Line], staged: Staged | None) -> None:
        """Keep a batch behind those that are there."""
        # Values alone are written, several times as fast as the objects that they make.
        values = [
            (line.number, line.size, _COMMAND(line.command), None if line.written is None else _EVENT(line.written))
            for line in lines
        ]
        pickle.dump((values, staged), self._file, pickle.HIGHEST_PROTOCOL)
        self._count += 1

    async def batches(self) -> AsyncIterator[_Tried]:
        """The batches, in the order in which they were added."""
        self._file.seek(0)
        for _ in range(self._count):
            values, staged = self._loaded()
            lines = [
                Line(number, size, Command(*command), None if written is None else Event(*written))
                for number, size, command, written in values
            ]
            yield lines, staged

    def _loaded(self) -> Any:
        gc.disable()  # what is loaded holds no rings, and the collector would go through it dozens of times meanwhile
        try:
            return pickle.load(self._file)  # noqa: S301 (our own file, never anyone else's)
        finally:
            gc.enable()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()


async def _try(store: Store, lines: Iterable[Line], report: Report, spool: _Spool, progress: Progress) -> None:
    staging = Staging(store)
    try:
        for batch in _batches(lines):
            staged = await staging.staged(batch)
            outcomes = await staging.tried(batch) if staged is None else staged.outcomes
            for line, outcome in zip(batch, outcomes, strict=True):
                if isinstance(outcome, KnowledgeError):
                    report.refuse(line.number, outcome)
            if not report.refused:
                spool.add(batch, staged)
            progress("trying", report.lines)
    finally:
        staging.close()


async def take_lines(store: Store, lines: Iterable[Line], told: Told) -> None:
    """Take lines in their order, in transactions, each by itself; bad ones leave nothing.

    Args:
        store: Where to.
        lines: Asked for as they are taken; one batch of them is in memory, and the one before it.
        told: Told what became of each, once it is committed.

    Raises:
        UnavailableError, InDoubtError: the database was lost on the way.
    """
    await _take_batches(store, _staged(store, _batches(lines)), told)


async def _staged(store: Store, batches: Iterable[Sequence[Line]]) -> AsyncIterator[_Tried]:
    """Batches with what they come to, each decided when it is asked for."""
    staging = Staging(store)
    try:
        for lines in batches:
            yield lines, await staging.staged(lines)
    finally:
        staging.close()


async def _take(store: Store, batches: AsyncIterator[_Tried], report: Report, progress: Progress) -> Report:
    done = 0
    progress("taking", done)  # from here on an interruption may leave something behind

    def told(line: Line, answer: Answer) -> None:
        nonlocal done
        report.count(line, answer)
        done += 1
        progress("taking", done)

    await _take_batches(store, batches, told)
    return report


async def _take_batches(store: Store, batches: AsyncIterator[_Tried], told: Told) -> None:
    taking = _Taking(store, told)
    try:
        async for lines, staged in batches:
            await taking.take(lines, staged)
        await taking.finish()
    finally:
        await taking.close()


@dataclass(slots=True)
class _Writing:
    lines: Sequence[Line]
    outcomes: Sequence[Outcome | KnowledgeError]
    task: asyncio.Task[bool]


class _Taking:
    """Takes batches one after the other: while one is written, the next one is made ready.

    What was decided beside the database holds as long as nobody else writes there. From where somebody did, or where
    a project is not new, the store decides, which locks first.
    """

    def __init__(self, store: Store, told: Told) -> None:
        self._store = store
        self._told = told
        self._chain: Chain | None = Chain()
        self._writing: _Writing | None = None

    async def take(self, lines: Sequence[Line], staged: Staged | None) -> None:
        """Take a batch; those before it are committed when this returns, it is not."""
        chained = None
        if staged is not None and self._chain is not None:
            chained = await self._chain.decided(staged, datetime.now(UTC))
        await self.finish()
        if staged is None or chained is None or self._chain is None:
            self._chain = None
            await self._appended(lines)
        else:
            self._writing = _Writing(lines, staged.outcomes, asyncio.create_task(self._written(chained)))

    async def finish(self) -> None:
        """Wait for what is being written; what another writer came before is decided again by the store."""
        if self._writing is None:
            return
        writing, self._writing = self._writing, None
        if await writing.task:
            self._tell(writing.lines, writing.outcomes)
        else:
            self._chain = None
            await self._appended(writing.lines)

    async def close(self) -> None:
        """Give up what is still under way."""
        if self._writing is not None:
            self._writing.task.cancel()
            await asyncio.gather(self._writing.task, return_exceptions=True)

    async def _written(self, decided: Sequence[Decided]) -> bool:
        return not decided or await self._store.append_decided(decided)

    async def _appended(self, lines: Sequence[Line]) -> None:
        restored = {line.command.event_id: line.written for line in lines if line.written is not None}
        commands = [line.command for line in lines]
        answers = await self._store.append(
            commands, datetime.now(UTC), restored=restored or None, seconds=BATCH_SECONDS
        )
        self._tell(lines, answers)

    def _tell(self, lines: Sequence[Line], answers: Sequence[Answer]) -> None:
        for line, answer in zip(lines, answers, strict=True):
            self._told(line, answer)


def _batches(lines: Iterable[Line]) -> Iterator[list[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += line.size
        if len(batch) == BATCH_EVENTS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file from where it stands. Of one that is too long to be an event, its start alone."""
    while line := file.readline(LINE_BYTES_MAX + 1):
        yield line
        while len(line) > LINE_BYTES_MAX and not line.endswith(b"\n"):
            line = file.readline(LINE_BYTES_MAX + 1)


def _read_lines(lines: Iterable[bytes], terms: Terms, kinds: _Kinds, report: Report) -> Iterator[Line]:
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        report.lines += 1
        try:
            line = _read_line(number, raw, terms, kinds)
        except KnowledgeError as error:
            report.refuse(number, error)
        else:
            report.redacted += line.command.redacted if line.written is None else _found(line.command)
            yield line


def _found(command: Command) -> Counts:
    redactor = Redactor()
    concept_file.redacted(command.payload, redactor)
    redactor.text(command.reason or "")
    return redactor.counts


def _read_line(number: int, raw: bytes, terms: Terms, kinds: _Kinds) -> Line:
    line = _parsed(raw)
    unnamed = line.get("event_id") is None
    if unnamed:
        line["event_id"] = _line_id(number, raw.strip())
    if terms.into and line.get("project") not in (None, terms.project):
        if terms.restore:
            raise ValidationError(
                "the hashes of a written journal hold its project",
                field="project",
                allowed=f"{terms.project!r}, or an import without --restore",
            )
        line["project"] = terms.project
    project = terms.project if line.get("project") is None else line["project"]
    taken_out = kinds.get(project, PERSONAL) if isinstance(project, str) else PERSONAL
    command = read_command(
        line, actor=terms.actor, project=terms.project, redacting=None if terms.restore else taken_out
    )
    if unnamed and command.redacted:  # a hash of what was taken out would let it be guessed
        said = canonical([command.transition, command.key, command.reason, command.payload])
        command = replace(command, event_id=_line_id(number, said.encode()))
    if terms.restore:
        return Line(number, held(len(raw), command), command, read_event(line, command))
    told = terms.counts or (command.is_concept and concept_file.tells(command.keyed, command.payload["concept"]))
    if not told:
        command = replace(command, counted_here=True)
    return Line(number, held(len(raw), command), command, None)


def held(size: int, command: Command) -> int:
    """How much of the room in a batch a line of ``size`` bytes takes."""
    return size * CONCEPT_WEIGHT if command.payload.keys() & {"concept", "said"} else size


def _line_id(number: int, said: bytes) -> str:
    """The event id of a line without one: the same line of the same file always gets it, so that a repeat is seen."""
    digest = hashlib.sha256(b"%d\n%s" % (number, said)).hexdigest()
    return f"import-{digest[:32]}"


def _parsed(raw: bytes) -> dict[str, Any]:
    if len(raw) > LINE_BYTES_MAX:
        raise LimitError(f"the line is {len(raw)} bytes long", allowed=f"at most {LINE_BYTES_MAX} bytes")
    try:
        line = strict_json.loads(raw.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise ValidationError("the line is not UTF-8", position=error.start, allowed="UTF-8") from None
    except (ValueError, RecursionError) as error:
        position = error.pos if isinstance(error, json.JSONDecodeError) else None
        raise ValidationError("the line is not JSON", position=position, allowed="one JSON object") from None
    if not isinstance(line, dict):
        raise ValidationError("the line is not a JSON object", allowed="one JSON object")
    return cast(dict[str, Any], line)


async def journal_file(store: Store, project: str, until: int | None = None) -> AsyncIterator[bytes]:
    """A project's journal up to a position, or to its present head, as a file, one chunk a page.

    Raises:
        NotFoundError: there is no such project; before the first chunk.
    """
    heads = await store.read("project_head", project=project)
    if not heads:
        raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
    async for batch in fold.batches(fold.events(store, project, until or heads[0]["seq"]), PAGE):
        yield b"".join(canonical(event.line()).encode() + b"\n" for event in batch)


Marked = tuple[Head, frozenset[NodeId]]
"""A position of the journal, and which nodes were at risk there."""
Then = Callable[[Sequence[NodeId], int], Awaitable[dict[NodeId, Row]]]
"""Gives nodes as they were at a position of the journal."""


async def graphml_file(store: Store, project: str, then: Then, at: Marked | None = None) -> AsyncIterator[bytes]:
    """A project's nodes and live edges at one position of its journal, as GraphML.

    What is at risk is read at once, while writers wait for a moment; everything else is read page by page as it was
    at that position, so writers go on meanwhile and the file is of one piece.

    Args:
        store: Where it is.
        project: Its name.
        then: Gives what has changed since as it was.
        at: What ``store.marked`` has told of that position; now unless given.

    Raises:
        NotFoundError: there is no such project; before the first chunk.
    """
    head, marked = at or await store.marked(project)
    counts = (await store.read("export_counts", seconds=BATCH_SECONDS, project=project, seq=head.seq))[0]
    header = GraphHeader(
        project=project,
        at_seq=head.seq,
        head_hash=head.hash,
        node_count=counts["nodes"],
        edge_count=counts["edges"],
        recorded_at=None if head.recorded_at is None else instant_text(head.recorded_at),
    )
    nodes = _marked_nodes(nodes_at(store, project, head.seq, then), marked)
    async for chunk in document(header, nodes, _edges_at(store, project, head.seq)):
        yield chunk


async def nodes_at(store: Store, project: str, seq: int, then: Then) -> AsyncIterator[Row]:
    """All nodes that a project had at a position of its journal, as they were then, by key; marks are left out."""

    def page(last: Row | None) -> dict[str, object]:
        node = {"key": "", "generation": 0} if last is None else last["node"]
        return {"project": project, "seq": seq, "after_key": node["key"], "after_generation": node["generation"]}

    async for row in store.stream("export_nodes", page, PAGE):
        node = row["node"]
        yield node if node["updated_seq"] <= seq else (await then([id_of(node)], seq))[id_of(node)]


async def _marked_nodes(nodes: AsyncIterator[Row], marked: frozenset[NodeId]) -> AsyncIterator[Row]:
    async for node in nodes:
        yield node | {"at_risk": id_of(node) in marked}


async def _edges_at(store: Store, project: str, seq: int) -> AsyncIterator[Row]:
    def page(last: Row | None) -> dict[str, object]:
        key, generation = ("", 0) if last is None else (last["key"], last["generation"])
        return {"project": project, "seq": seq, "ended": False, "after_key": key, "after_generation": generation}

    async for row in store.stream("export_edges", page, PAGE):
        for edge in row["edges"]:
            turns = sum(1 for turn in edge["turns"] if turn <= seq)
            yield {
                "from_key": edge["from"][0],
                "from_generation": edge["from"][1],
                "relation": edge["relation"],
                "to_key": edge["to"][0],
                "to_generation": edge["to"][1],
                "since": edge["times"][turns - 1],
                "until": None,
                "event_ids": edge["event_ids"],
            }
