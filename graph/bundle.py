"""Backups: projects in one zip file, each of one piece although others write meanwhile, and the way back.

A project stands in it three times: as its journal, from which all else follows and which alone is read back; as
GraphML; and as its concept files, for people and other programs. The manifest names each file with its length and its
sha256, each project with its position and the hash there, and the settings that are in no journal. All of it is
checked before anything is taken.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import Any, BinaryIO, cast

from graph import strict_json
from graph.aging_times import AGING_MAX, AGING_MIN, Change
from graph.concept_folder import concept_files
from graph.errors import KnowledgeError, NotFoundError, ValidationError
from graph.exchange import Report, Terms, import_journal, lines_of
from graph.fold import ALWAYS
from graph.journal import Head
from graph.knowledge import Actor, checked_instant, checked_key, instant_text
from graph.policies import DEFAULT, Policy, checked_types
from graph.redaction import personal_kinds
from graph.service import Moment, Service

FORM = "whence-backup"
VERSION = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 256 * 1024 * 1024  # some 150 bytes a file: more than a million concepts
_CHUNK_BYTES = 1024 * 1024
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the format wants a date of each file; the manifest has the one that counts
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError),  # a packing or a secret of others, and names that are none
)
Progress = Callable[[str, int, int], None]
"""Told a project, how many of its events are done, and how many there are."""


def _unwatched(_project: str, _done: int, _total: int) -> None:
    """Nobody looks on."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A project in a bundle.

    Attributes:
        name: Its name.
        folder: Where its files stand in the bundle.
        seq: The position of its journal that all of them tell of.
        hash: The hash of the event there.
        aging: The aging times that were set, the newest first.
        policy: What it lets in.
    """

    name: str
    folder: str
    seq: int
    hash: str
    aging: Sequence[Change] = ()
    policy: Policy = DEFAULT


@dataclass(frozen=True, slots=True)
class Restored:
    """A project that was read back: events that were new, and those that had been there already."""

    name: str
    seq: int
    taken: int
    repeated: int


@dataclass(slots=True)
class _Files:
    """The files of a bundle as they are written: each with its length and its hash."""

    archive: zipfile.ZipFile
    written: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])

    async def add(self, name: str, chunks: AsyncIterator[bytes], told: Callable[[bytes], None]) -> None:
        """Write a file from what comes."""
        digest, size = hashlib.sha256(), 0
        with self.archive.open(_entry(name), "w", force_zip64=True) as file:
            async for chunk in chunks:
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
                told(chunk)
        self.written[name] = {"bytes": size, "sha256": digest.hexdigest()}

    def put(self, name: str, data: bytes) -> None:
        """Write a file that is there."""
        self.archive.writestr(_entry(name), data)
        self.written[name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


async def back_up(
    service: Service, file: BinaryIO, projects: Sequence[str] = (), progress: Progress = _unwatched
) -> list[BackedUp]:
    """Write projects into a bundle; others may write to them meanwhile, and what they write is left out.

    Args:
        service: Where they are.
        file: Where to.
        projects: Their names; all that there are unless given.
        progress: Told how far it is.

    Returns:
        What stands in the bundle, by name.

    Raises:
        NotFoundError: there is no such project; the bundle is of no use then.
    """
    known = await service.projects()
    named = sorted(set(projects)) or known
    for name in named:
        if name not in known:
            raise NotFoundError(f"there is no project {name!r}", field="project", allowed="a known project")
    made_at, found = service.now(), list[BackedUp]()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        files = _Files(archive)
        for at, name in enumerate(named, start=1):
            found.append(await _back_up(service, files, name, f"projects/{at:04d}", progress))
        manifest = {
            "form": FORM,
            "version": VERSION,
            "made_at": instant_text(made_at),
            "projects": [_said(project) for project in found],
            "files": files.written,
        }
        archive.writestr(_entry(MANIFEST), json.dumps(manifest, indent=1, sort_keys=True))
    return found


async def _back_up(service: Service, files: _Files, name: str, folder: str, progress: Progress) -> BackedUp:
    head, marked = await service.store.marked(name)
    lines = 0

    def counted(chunk: bytes) -> None:
        nonlocal lines
        lines += chunk.count(b"\n")
        progress(name, lines, head.seq)

    await files.add(f"{folder}/journal.jsonl", service.export_journal(name, head.seq), counted)
    await files.add(f"{folder}/graph.graphml", service.export_graphml(name, (head, marked)), lambda _chunk: None)
    async for title, data in concept_files(service, name, Moment(head.seq, service.now())):
        files.put(f"{folder}/concepts/{title}", data)
    aging, policy = await service.aging.changes(name), await service.policies.of(name)
    return BackedUp(name, folder, head.seq, head.hash, aging, policy)


def _said(project: BackedUp) -> dict[str, object]:
    return {
        "name": project.name,
        "folder": project.folder,
        "seq": project.seq,
        "hash": project.hash,
        "aging": [{"since": instant_text(c.since), "seconds": int(c.aging.total_seconds())} for c in project.aging],
        "kept": sorted(project.policy.kept),
        "types": list(project.policy.types),
    }


class Bundle:
    """A bundle that was read through: every file of it is as it was written.

    Made by ``Bundle.checked``.

    Attributes:
        projects: What stands in it.
    """

    def __init__(self, archive: zipfile.ZipFile, projects: Sequence[BackedUp]) -> None:
        self._archive = archive
        self.projects = projects

    @classmethod
    @contextmanager
    def checked(cls, file: BinaryIO) -> Generator[Bundle]:
        """Open a bundle and compare each of its files with the manifest.

        Raises:
            ValidationError: it is no bundle, or not whole; the sentence names the file that is damaged.
        """
        with _refused_as(None), zipfile.ZipFile(file) as archive:
            manifest = _manifest(archive)
            with _refused_as(MANIFEST):
                projects = [_project(record) for record in manifest["projects"]]
            if len({project.name for project in projects}) < len(projects):
                raise _damaged("a project stands in the backup twice")
            _compare(archive, manifest["files"], [f"{project.folder}/journal.jsonl" for project in projects])
            yield cls(archive, projects)

    def hash_at(self, project: BackedUp, seq: int) -> object:
        """The hash that the event at a position has in the bundle; None where there is none."""
        with _refused_as(f"{project.folder}/journal.jsonl"):
            line = next(islice(self.journal(project), seq - 1, None), b"{}")
            return json.loads(line).get("hash")

    def journal(self, project: BackedUp) -> Iterator[bytes]:
        """The lines of a project's journal."""
        with self._archive.open(f"{project.folder}/journal.jsonl") as file:
            yield from lines_of(cast("BinaryIO", file))


@contextmanager
def _refused_as(name: str | None) -> Generator[None]:
    """What cannot be read is refused by name."""
    try:
        yield
    except KnowledgeError:
        raise
    except (*_UNREADABLE, AttributeError, LookupError, TypeError) as error:
        what = "the file is no backup, or not a whole one" if name is None else f"{name} of the backup is damaged"
        raise _damaged(f"{what}: {error if isinstance(error, _UNREADABLE) else 'it is of another form'}") from error


def _damaged(what: str) -> ValidationError:
    return ValidationError(what, field="FILE", allowed="a backup that `whence backup` wrote, whole and unchanged")


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    if MANIFEST not in archive.NameToInfo:
        raise _damaged(f"{MANIFEST} is missing from the backup")
    with _refused_as(MANIFEST):
        entry = archive.getinfo(MANIFEST)
        if entry.file_size > MANIFEST_BYTES_MAX:
            raise _damaged(f"{MANIFEST} of the backup is too long")
        manifest = strict_json.loads(archive.read(entry).decode())
        if manifest["form"] != FORM or manifest["version"] != VERSION:
            raise _damaged(f"the backup is of the form {manifest['form']!r}, version {manifest['version']!r}")
        if not isinstance(manifest["files"], dict) or not isinstance(manifest["projects"], list):
            raise _damaged(f"{MANIFEST} of the backup names no files or no projects")
        return manifest


def _project(record: dict[str, Any]) -> BackedUp:
    name, folder, seq, digest = (record[part] for part in ("name", "folder", "seq", "hash"))
    placed = type(seq) is int and 0 < seq < ALWAYS and isinstance(folder, str) and isinstance(digest, str)
    if not placed or not re.fullmatch("[0-9a-f]{64}", digest):
        raise _damaged(f"{MANIFEST} of the backup does not say how far project {name!r} goes")
    aging = tuple(_change(change) for change in record["aging"])
    policy = Policy(personal_kinds(record["kept"], "kept"), checked_types(record["types"]))
    return BackedUp(checked_key(name, "project"), folder, seq, digest, aging, policy)


def _change(record: dict[str, Any]) -> Change:
    seconds = record["seconds"]
    if type(seconds) is not int or not AGING_MIN.total_seconds() <= seconds <= AGING_MAX.total_seconds():
        raise _damaged(f"{MANIFEST} of the backup has an aging time of {seconds!r} seconds")
    return Change(checked_instant(record["since"], "since"), timedelta(seconds=seconds))


def _compare(archive: zipfile.ZipFile, files: dict[str, Any], journals: Iterable[str]) -> None:
    there = archive.namelist()
    if len(there) != len(set(there)):
        raise _damaged("a file stands in the backup twice")
    for name in (*files, *journals):
        if name not in archive.NameToInfo or name not in files:
            raise _damaged(f"{name} is missing from the backup")
    for name in there:
        if name not in files and name != MANIFEST:
            raise _damaged(f"{name} is in the backup, and its manifest does not know it")
    for name, said in files.items():
        with _refused_as(name):
            if _measured(archive, name, said["bytes"]) != (said["bytes"], said["sha256"]):
                raise _damaged(f"{name} of the backup is damaged: it is not what the manifest says")


def _measured(archive: zipfile.ZipFile, name: str, most: int) -> tuple[int, str]:
    """The length and the hash of a file; one that is longer than it should be is not read to its end."""
    digest, size = hashlib.sha256(), 0
    with archive.open(name) as file:
        while size <= most and (chunk := file.read(_CHUNK_BYTES)):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


async def restore(service: Service, bundle: Bundle, actor: Actor, progress: Progress = _unwatched) -> list[Restored]:
    """Take the projects of a bundle as they were, positions, times and hashes included, and check what came of it.

    A project that is there already and ends where the bundle's does, or before, goes on from there; so a restore that
    was interrupted is called again.

    Args:
        service: Where to.
        bundle: What was read through.
        actor: Who restores; nothing that is taken names them.
        progress: Told how far it is.

    Returns:
        What became of each project, by name.

    Raises:
        ValidationError: a project there holds other or more events, and nothing was taken; or what a project came to
            is not what the bundle says.
    """
    for project in bundle.projects:
        if bundle.hash_at(project, project.seq) != project.hash:
            raise _damaged(f"{project.folder}/journal.jsonl does not end where {MANIFEST} of the backup says")
        _refuse_another(bundle, project, await service.head(project.name))
    restored: list[Restored] = []
    for project in bundle.projects:
        report = await _taken(service, bundle, project, actor, progress)
        await service.aging.replay(project.name, project.aging)
        if project.policy != await service.policies.of(project.name):
            await service.policies.keep(project.name, project.policy.kept)
            await service.policies.allow(project.name, project.policy.types)
        found = await service.verify(project.name, project.seq, project.hash)
        if not found["ok"]:
            raise _damaged(f"project {project.name!r} is not what it was: {'; '.join(found['differences'][:3])}")
        restored.append(Restored(project.name, project.seq, report.taken, report.repeated))
    return restored


def _refuse_another(bundle: Bundle, project: BackedUp, head: Head | None) -> None:
    if head is None or (head.seq <= project.seq and head.hash == bundle.hash_at(project, head.seq)):
        return
    raise ValidationError(
        f"project {project.name!r} is there with other events: {head.seq} of them, and {project.seq} in the backup",
        field="project",
        allowed="an empty server, or the one on which this restore was interrupted",
    )


async def _taken(service: Service, bundle: Bundle, project: BackedUp, actor: Actor, progress: Progress) -> Report:
    def told(phase: str, done: int) -> None:
        if phase == "taking":
            progress(project.name, done, project.seq)

    terms = Terms(project.name, actor, restore=True)
    report = await import_journal(service.store, lambda: bundle.journal(project), terms, told)
    if report.refused:
        first = report.refusals[0]
        raise _damaged(f"line {first.line} of {project.folder}/journal.jsonl is refused: {first.error.message}")
    return report
