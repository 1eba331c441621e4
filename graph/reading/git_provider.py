"""A git repository's history as a provider: the messages of its newest commits.

The repository may be anybody's. ``git`` reads it in a process of its own, with an environment that holds nothing of
ours and no settings but these: no pager, no signatures, no transport to anywhere, no settings of the user or machine.
What the repository's own settings could still have run is switched off by name; ``git log`` runs no hooks. A folder
that belongs to another user git refuses to read; where a ``.git`` leads elsewhere, as a linked work tree's does, git
follows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from graph.errors import UnavailableError, ValidationError
from graph.knowledge import Kind, without_forbidden
from graph.reading.matching import best
from graph.reading.provider import Basis, Omitted, Piece, Request
from graph.retrieval import Retrieval
from graph.words import words

COMMITS_MAX = 5_000  # the newest; what older ones say the newer mostly say better
BYTES_MAX = 8 * 1024 * 1024  # of messages; a history of five thousand has a tenth of it
INTENT, INTENT_OF_CHANGE = 0.5, 0.8  # messages tell of changes, and of other matters by the way
_MEMORY_BYTES_MAX = 256 * 1024 * 1024  # of one object that git unpacks
_ABBREVIATED = 12  # digits of a commit's name, as long as in large projects
_CHANGE_TEXT = """
add bug change changed commit commits fix fixed history introduce introduced remove removed rename renamed revert
reverted version
"""
_CHANGE = frozenset(_CHANGE_TEXT.split())
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.commitGraph=false",
    "log.showSignature=false",
    "log.mailmap=false",
    "protocol.allow=never",
)
_LOG = (
    "log",
    "-z",
    "--format=%H%x00%ct%x00%B",
    "--encoding=UTF-8",
    "--no-show-signature",
    "--no-patch",
    "--no-notes",
    "--no-color",
    "--decorate=no",
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its full name, when it was made, and its message."""

    sha: str
    time: datetime
    message: str


class GitProvider:
    """Reads the history that the checked out commit has; ``Provider`` by its form.

    Args:
        name: By which it is told from the others.
        location: The path of the repository, bare or not.
        retrieval: Not asked.
    """

    def __init__(self, name: str, location: str, retrieval: Retrieval | None = None) -> None:
        del retrieval
        self.name = name
        self._folder = Path(location).expanduser().absolute()

    def intent_match(self, goal: str) -> float:
        """More where the goal is about changes."""
        return INTENT_OF_CHANGE if _CHANGE.intersection(words(goal)) else INTENT

    async def stream(self, request: Request) -> AsyncIterator[Piece | Omitted | Basis]:
        """The commits whose messages serve the goal by their words.

        Raises:
            UnavailableError: there is no ``git`` here.
            ValidationError: there is no repository, or git does not read it.
        """
        output, whole = await self._history()
        commits = await asyncio.to_thread(commits_in, output)
        if not commits and not whole:
            message = f"git reads no history in {self._folder}"
            raise ValidationError(message, field="location", allowed="a repository of the same user, with a commit")
        messages = [commit.message for commit in commits]
        for at, score in await asyncio.to_thread(best, request.goal, messages, request.limit):
            yield self._piece(commits[at], score)
        if not whole or len(commits) == COMMITS_MAX:
            oldest = commits[-1].sha[:_ABBREVIATED]
            reason = f"what is older is not read: {COMMITS_MAX:,} commits, {BYTES_MAX:,} bytes, or as far as git came"
            yield Omitted(1, ((oldest, reason),))

    def _piece(self, commit: Commit, score: float) -> Piece:
        return Piece(
            key=commit.sha[:_ABBREVIATED],
            text=commit.message,
            score=score,
            source=f"git+{self._folder.as_uri()}@{commit.sha}",
            source_type="commit",
            kind=Kind.OBSERVATION,
            valid_from=commit.time,
        )

    async def _history(self) -> tuple[bytes, bool]:
        """What git writes of the history, and whether that is all that was asked for."""
        git = shutil.which("git")
        if git is None:
            raise UnavailableError("there is no git", field="PATH", allowed="a PATH on which git is")
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        command = [git, "-C", str(self._folder), "--no-pager", "--no-optional-locks", *settings, *_LOG]
        command += [f"--max-count={COMMITS_MAX}", "HEAD", "--"]
        async with _running(command, _environment(self._folder)) as process:
            output, ended = await _read(process)
            return output, ended and await process.wait() == 0


def _environment(folder: Path) -> Mapping[str, str]:
    """All that git is told of its surroundings."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        **{name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ},
        "LC_ALL": "C",
        "GIT_CEILING_DIRECTORIES": str(folder.parent),  # the repository itself, not one that it lies in
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",  # from version 2.44 on; what is missing stays so before it too, for want of a
        "GIT_ALLOW_PROTOCOL": "none",  # transport: a protocol of this name there is not
        "GIT_ALLOC_LIMIT": str(_MEMORY_BYTES_MAX),
    }


@asynccontextmanager
async def _running(command: list[str], environment: Mapping[str, str]) -> AsyncGenerator[Process]:
    """A process with all that it starts; both are ended at the end, whatever they are at."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            _kill(process)
        await process.communicate()  # what is still in the pipe, which is not closed before


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # the session that it leads
        else:
            process.kill()


async def _read(process: Process) -> tuple[bytes, bool]:
    """As much of the output as is read, and whether that is all of it."""
    assert process.stdout is not None, "it is a pipe"
    parts, size = list[bytes](), 0
    while part := await process.stdout.read(65_536):
        parts.append(part)
        size += len(part)
        if size > BYTES_MAX:
            return b"".join(parts)[:BYTES_MAX], False
    return b"".join(parts), True


def commits_in(output: bytes) -> list[Commit]:
    """The commits in git's output that are whole and say something, the newest first.

    Args:
        output: For each commit its name, seconds since 1970 and its message, each ended by a null byte.
    """
    fields = output.split(b"\0")
    commits: list[Commit] = []
    for at in range(0, len(fields) - 3, 3):  # each message has an end, so behind the last one lies what was cut
        sha, time, message = fields[at : at + 3]
        text = without_forbidden(message.decode(errors="replace").replace("\r\n", "\n")).strip()
        if text:
            commits.append(Commit(sha.decode(errors="replace"), _time(time), text))
    return commits


def _time(seconds: bytes) -> datetime:
    """An instant from seconds since 1970; whoever writes a commit may write any number."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
