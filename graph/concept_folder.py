"""Folders of concept files: what is in them becomes journal lines, file by file, and concepts become files again.

Every file is read, taken or refused with its kind and line; none is passed over in silence. One file and one batch of
lines is in memory at a time.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from graph.commands import Command, read_command
from graph.concept import concept_of
from graph.concept_file import FILE_BYTES_MAX, ConceptFile, concept_in, read, written
from graph.errors import ConceptFileError, Fault, KnowledgeError, ValidationError
from graph.exchange import Answer, Progress, held, nodes_at, take_lines
from graph.fold import batches
from graph.journal import Json, canonical
from graph.knowledge import Actor, NodeId, State
from graph.policies import DEFAULT, Policy
from graph.recording import contradictions
from graph.rows import Row, id_of
from graph.service import Moment, Service
from graph.staging import Line
from graph.store import Store

SUFFIXES = (".md", ".markdown")
FAULTS_MAX = 100_000  # kept for the report, some 300 bytes each; others are counted
REPEATED = "repeated"  # beside the verdicts: the very same file was taken before


@dataclass(frozen=True, slots=True)
class FileFault:
    """Why a file was refused: where it lies in its folder, and what is wrong with it."""

    path: str
    fault: Fault


@dataclass(slots=True)
class FolderReport:
    """What became of a folder.

    Attributes:
        files: Files read.
        verdicts: How many of them were new, the same, related, contradicting or repeated.
        against: Claims that files hold against their own concepts.
        refused: Files refused.
        faults: Why, the first of them; a file may have several.
        warnings: What was taken, but was hardly meant.
        redacted: How many matches of which kind were taken out.
    """

    files: int = 0
    verdicts: Counter[str] = field(default_factory=Counter[str])
    against: int = 0
    refused: int = 0
    faults: list[FileFault] = field(default_factory=list[FileFault])
    warnings: list[FileFault] = field(default_factory=list[FileFault])
    redacted: Counter[str] = field(default_factory=Counter[str])

    def refuse(self, path: str, faults: Sequence[Fault]) -> None:
        """Count a bad file, and keep what is wrong with it while there is room."""
        self.refused += 1
        self.faults += [FileFault(path, fault) for fault in faults[: FAULTS_MAX - len(self.faults)]]


@dataclass(frozen=True, slots=True)
class FolderTerms:
    """How a folder is read.

    Attributes:
        project: Where to.
        actor: Who says what the files say.
        session: The source of files that name none.
        policy: The project's.
    """

    project: str
    actor: Actor
    session: str = "concept-files"
    policy: Policy = DEFAULT


FILES = 200  # concepts of a page when they are written
DANGLING_MAX = 1_000  # concepts with links that lead to nothing, of one answer
_NAME_BYTES_MAX = 255  # of a file, on most systems


def files_in(folder: Path, stopped: threading.Event | None = None) -> Iterator[Path]:
    """The markdown files of a folder and of all below it, in the order of their paths; links to folders among them.

    Args:
        folder: Where to look.
        stopped: Ends it when it is set, also while nothing is found.
    """
    for base, folders, names in os.walk(folder):
        if stopped is not None and stopped.is_set():
            return
        folders.sort()
        linked = [name for name in folders if (Path(base) / name).is_symlink()]
        for name in sorted([*names, *linked]):
            if Path(name).suffix.lower() in SUFFIXES or name in linked:
                yield Path(base) / name


async def import_folder(
    store: Store,
    folder: Path,
    terms: FolderTerms,
    progress: Progress = lambda _phase, _done: None,
) -> FolderReport:
    """Take every good file of a folder and tell what is wrong with the others.

    A file that was taken before, byte for byte in the same session, changes nothing; so an interrupted import goes on
    where it stopped when it is called again.

    Args:
        store: Where to.
        folder: One that can be listed.
        terms: How it is read.
        progress: Told, as the phase ``filing``, how many files are done.

    Raises:
        UnavailableError, InDoubtError: the database was lost on the way.
    """
    importing = _Importing(folder, terms, progress)
    await take_lines(store, importing.lines(), importing.told)
    return importing.report


class _Importing:
    def __init__(self, folder: Path, terms: FolderTerms, progress: Progress) -> None:
        self.report = FolderReport()
        self._folder = folder
        self._terms = terms
        self._progress = progress
        self._waiting: dict[int, str] = {}  # files whose lines are under way, by their number
        self._done = 0

    def lines(self) -> Iterator[Line]:
        """The lines that the files come to; bad files are told in the report."""
        for number, path in enumerate(files_in(self._folder), start=1):
            self.report.files += 1
            name = path.relative_to(self._folder).as_posix()
            try:
                data = content(path)
                file = read(data, self._terms.policy.types)
                commands = list(commands_of(file, self._terms))
            except ConceptFileError as error:
                self._refuse(name, error.faults)
            except KnowledgeError as error:
                self._refuse(name, [_refused(error)])
            else:
                self.report.warnings += [FileFault(name, warning) for warning in file.warnings]
                self._waiting[number] = name
                # As a line it would hold the body twice: by itself, and in the file.
                yield from (Line(number, held(2 * len(data), command), command, None) for command in commands)

    def told(self, line: Line, answer: Answer) -> None:
        """Count what became of a line: a file's own first, then those of the claims against it."""
        name = self._waiting.pop(line.number, None)
        if name is None:
            self.report.against += not isinstance(answer, KnowledgeError) and answer.applied
        elif isinstance(answer, KnowledgeError):
            self._refuse(name, [_refused(answer)])
        else:
            verdict = answer.verdict if answer.applied else None
            self.report.verdicts[REPEATED if verdict is None else verdict.value] += 1
            self.report.redacted += Counter(line.command.redacted)
            self._one_done()

    def _refuse(self, name: str, faults: Sequence[Fault]) -> None:
        self.report.refuse(name, faults)
        self._one_done()

    def _one_done(self) -> None:
        self._done += 1
        self._progress("filing", self._done)


def content(path: Path) -> bytes:
    """As much of a file as can be of use.

    Raises:
        ConceptFileError: it cannot be read.
    """
    try:
        if path.is_symlink() and path.is_dir():
            raise ConceptFileError(Fault("unreadable", 1, "a link to a folder is not followed", allowed="a file"))
        if not path.is_file() and path.exists():  # to open a pipe would take until somebody writes
            raise ConceptFileError(Fault("unreadable", 1, "it is no regular file", allowed="a file"))
        with path.open("rb") as file:
            return file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConceptFileError(Fault("unreadable", 1, error.strerror or str(error), allowed="a file")) from None


def commands_of(file: ConceptFile, terms: FolderTerms) -> Iterator[Command]:
    """What a file says: its concept, then what stands against it, which challenges it."""
    concept = concept_in(file, terms.session)
    said: Json = {"description": concept.description, "type": concept.type}
    own: Json = {
        **said,
        "body": concept.body,
        "links": list(concept.links),
        "sources": list(concept.sources),
        "occurrences": concept.occurrences,
        "file": concept.file,
    }
    validity = {} if file.created_at is None else {"valid_from": first_instant(file.created_at)}
    payloads: list[Json] = [{"concept": own, **validity}]
    # Of one of the sources that the file names anyway: what stands in it was said by one of them.
    payloads += [{"concept": {**said, "body": text, "sources": [concept.sources[-1]]}} for text in file.contradictions]
    digest = ""
    for count, payload in enumerate(payloads):
        line = {"transition": "proposed", "key": concept.name, "payload": payload}
        command = read_command(line, actor=terms.actor, project=terms.project, redacting=terms.policy.redacting)
        # Of what is left once it is redacted: from a hash of what was taken out that could be guessed.
        digest = digest or hashlib.sha256(canonical([command.key, command.payload]).encode()).hexdigest()[:32]
        yield replace(command, event_id=f"concept-file-{digest}" + (f"-against-{count}" if count else ""))


def first_instant(text: str) -> str:
    """A date's first instant; an instant as it is."""
    return text if "T" in text else f"{text}T00:00:00Z"


def _refused(error: KnowledgeError) -> Fault:
    return Fault(error.code.lower(), 1, error.message, error.field, error.allowed)


async def export_folder(
    service: Service, project: str, folder: Path, progress: Callable[[int], None] = lambda _done: None
) -> int:
    """Write each live concept of a project, forgotten ones among them, as a file; how many there were.

    Args:
        service: Where they are.
        project: Its project.
        folder: Where to; made where it is missing. A file of the same name is replaced, whole.
        progress: Told how many are written.

    Raises:
        ValidationError: the folder cannot be written.
    """
    count = 0
    try:
        _make(folder)
        head = await service.head(project)
        at = Moment(head.seq if head else 0, service.now())
        async for name, data in concept_files(service, project, at):
            _put(folder / name, data)
            count += 1
            if count % FILES == 0:
                progress(count)
        progress(count)
    except OSError as error:
        message = f"{error.filename or folder}: {error.strerror or error}"
        raise ValidationError(message, field="DIR", allowed="a folder that can be written") from error
    return count


async def dangling(service: Service, project: str) -> list[Row]:
    """Concepts with links that lead to nothing yet, by name, at most 1,000: each as ``key`` and ``targets``."""
    return await service.store.read("concepts_dangling", project=project, first=DANGLING_MAX)


async def concept_files(service: Service, project: str, at: Moment) -> AsyncIterator[tuple[str, bytes]]:
    """The live concepts of a project at a moment, forgotten ones among them, each as a file's name and content."""

    async def then(ids: Sequence[NodeId], _seq: int) -> dict[NodeId, Row]:
        return await service.nodes(project, ids, at)

    async for batch in batches(nodes_at(service.store, project, at.seq, then), FILES):
        live = [node for node in batch if node["concept"] is not None and not node["retired"]]
        against = await contradictions(service, project, [id_of(node) for node in live], at)
        for node in live:
            text = written(
                concept_of(node["key"], node["concept"]),
                state=State(node["state"]),
                created_at=node["valid_from"],
                updated_at=node["updated_at"],
                contradictions=against[id_of(node)],
            )
            yield file_name(node["key"]), text.encode()


def file_name(name: str) -> str:
    """The name of a concept's file: its own, unless that is too long for a file."""
    whole = f"{name}.md"
    if len(whole.encode()) <= _NAME_BYTES_MAX:
        return whole
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    start = name.encode()[: _NAME_BYTES_MAX - len(digest) - len("~.md")].decode(errors="ignore")
    return f"{start}~{digest}.md"


def _make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)


def _put(path: Path, data: bytes) -> None:
    part = path.with_name(f".{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
