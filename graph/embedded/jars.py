"""Fetch exactly the jars of a lock: each with its size and sha256, none resolved at run time.

Here is the cache and what may enter it; `download` is the way over the network. A jar enters whole and proved, so a
killed fetch leaves good jars behind, and the next one goes on from there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from graph.embedded.locks import FileLock
from graph.embedded.maven import Repository, read_repository
from graph.embedded.unsigned import SIGNED, unsigned
from graph.errors import UnavailableError

if TYPE_CHECKING:
    from rich.console import Console

LOCK = "neo4j-5.26.19.lock"
OTHER_FETCH_SECONDS_MAX = 900  # how long to wait for another process that fills the same cache
ROOM_BYTES_SPARE = 50_000_000


@dataclass(frozen=True, slots=True)
class Jar:
    """One line of a lock.

    Attributes:
        sha256: Of the whole file, lower-case hex.
        size: In bytes.
        path: In a Maven repository, with forward slashes.
    """

    sha256: str
    size: int
    path: str

    @property
    def coordinate(self) -> tuple[str, str, str, str]:
        """Group, artifact, version and classifier (empty for most)."""
        *group, artifact, version, name = self.path.split("/")
        classifier = name.removeprefix(f"{artifact}-{version}").removesuffix(".jar").lstrip("-")
        return ".".join(group), artifact, version, classifier


@dataclass(frozen=True, slots=True)
class Need:
    """What jars are wanted for, in the words of messages.

    Attributes:
        name: Of what needs them.
        otherwise: How to do without them.
    """

    name: str
    otherwise: str


NEO4J = Need("the embedded Neo4j", "NEO4J_URI naming a Neo4j that runs already")


def read_lock(text: str) -> tuple[Jar, ...]:
    """The jars of a lock, in its order; a line is `sha256 size path`."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return tuple(Jar(sha256, int(size), path) for sha256, size, path in rows)


def locked() -> tuple[Jar, ...]:
    """The jars of the Neo4j server that this version of Whence starts, sorted by path."""
    return read_lock(resources.files(__package__ or "graph.embedded").joinpath(LOCK).read_text("utf-8"))


def classpath(cache: Path, *, console: Console | None = None) -> tuple[Path, ...]:
    """The server's jars on disk, fetched where missing, in the order that belongs on the class path.

    Args:
        cache: Folder of the jars; made if missing. It may be shared by any number of processes.
        console: Where the progress bar goes; stderr by default, and nothing when that is no terminal.

    Raises:
        UnavailableError: a jar is neither here nor to be had; the message says which and why.
    """
    jars = locked()
    fetch(jars, cache, console=console)
    kept = cache / "unsigned"
    paths = {jar: cache / jar.path for jar in jars}
    return tuple(
        sorted(unsigned(path, kept / jar.sha256[:16]) if path.name in SIGNED else path for jar, path in paths.items())
    )


def fetch(
    jars: Sequence[Jar],
    cache: Path,
    *,
    repository: Repository | None = None,
    console: Console | None = None,
    need: Need = NEO4J,
) -> tuple[Path, ...]:
    """Have these jars in the cache, right to the last bit.

    A jar whose size and time of change are as when its hash was last checked is taken as right, so a warm call reads
    no jar. Missing ones come from the user's local repositories, then from the network.

    Args:
        jars: What is wanted.
        cache: Folder of the jars; made if missing.
        repository: Where from; as the user's own settings say by default.
        console: Where the progress bar goes; stderr by default, and nothing when that is no terminal.
        need: What they are wanted for.

    Returns:
        Their paths, in the order of `jars`.

    Raises:
        UnavailableError: a jar is neither here nor to be had; the message says which and why.
    """
    cache.mkdir(parents=True, exist_ok=True)
    checked = _Checked(cache)
    if not all(checked.holds(jar) for jar in jars):
        lock = FileLock(cache / ".lock")
        if not lock.take(wait_seconds=OTHER_FETCH_SECONDS_MAX):
            raise UnavailableError(f"another process has been fetching into {cache} for too long", allowed="a retry")
        try:
            _fill(jars, cache, repository or read_repository(), console, need)
        finally:
            lock.release()
    return tuple(cache / jar.path for jar in jars)


def _fill(jars: Sequence[Jar], cache: Path, repository: Repository, console: Console | None, need: Need) -> None:
    checked = _Checked(cache)  # read again: another process may have filled the cache while we waited for the lock
    try:
        missing = [jar for jar in jars if not checked.check(jar) and not _adopt(jar, cache, checked, repository)]
        if missing:
            _refuse_without_room(missing, cache, need)
            from graph.embedded.download import download  # noqa: PLC0415  a third of a second at every command

            download(missing, cache, checked.add, repository, need, console)
    finally:
        checked.write()


class _Checked:
    """Which files had the right hash, by the size and time of change they had then."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._file = cache / "checked.json"
        self._seen: dict[str, list[str | int]] = {}
        with contextlib.suppress(OSError, ValueError):  # absent or torn: every file is hashed once more
            self._seen = json.loads(self._file.read_bytes())

    def holds(self, jar: Jar) -> bool:
        """Whether the file is as it was when its hash was right; reads no content."""
        try:
            found = (self._cache / jar.path).stat()
        except OSError:
            return False
        return self._seen.get(jar.path) == [jar.sha256, found.st_size, found.st_mtime_ns]

    def check(self, jar: Jar) -> bool:
        """Whether the file is right, by its content where need be."""
        if self.holds(jar):
            return True
        self._seen.pop(jar.path, None)
        if not is_right(self._cache / jar.path, jar):
            return False
        self.add(jar)
        return True

    def add(self, jar: Jar) -> None:
        """Note that the file has just been proved right."""
        found = (self._cache / jar.path).stat()
        self._seen[jar.path] = [jar.sha256, found.st_size, found.st_mtime_ns]

    def write(self) -> None:
        """Keep the notes for the next process."""
        torn = self._file.with_suffix(".new")
        torn.write_text(json.dumps(self._seen, indent=0, sort_keys=True), "utf-8")
        torn.replace(self._file)


def is_right(path: Path, jar: Jar) -> bool:
    """Whether the file is there and is this jar, by its size and its content."""
    try:
        if path.stat().st_size != jar.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == jar.sha256
    except OSError:
        return False


def _adopt(jar: Jar, cache: Path, checked: _Checked, repository: Repository) -> bool:
    """Take the jar from a local repository of the user, if one has it and it is right."""
    for place in repository.places:
        found = place / jar.path
        if not is_right(found, jar):
            continue
        target = cache / jar.path
        target.parent.mkdir(parents=True, exist_ok=True)
        torn = target.with_suffix(".new")
        torn.unlink(missing_ok=True)
        try:
            os.link(found, torn)
        except OSError:  # another disk, or one without links
            shutil.copyfile(found, torn)
        torn.replace(target)
        checked.add(jar)
        return True
    return False


def _refuse_without_room(missing: Sequence[Jar], cache: Path, need: Need) -> None:
    wanted, free = sum(jar.size for jar in missing) + ROOM_BYTES_SPARE, shutil.disk_usage(cache).free
    if free < wanted:
        raise UnavailableError(
            f"{cache} has {free / 1e6:.0f} MB free, and {need.name} needs {wanted / 1e6:.0f} MB there",
            field="WHENCE_HOME",
            allowed="more room, or WHENCE_HOME on another disk",
        )
