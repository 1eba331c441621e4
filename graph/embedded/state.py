"""What is known of a running server, on disk: enough for another program to find it, and for the next to clean up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from graph.embedded.profile import Ports
from graph.embedded.secret import write_private

# The system gives a pid again, and its start time moves by a second when the clock is set; so both are compared.
CLOCK_SECONDS_MAX = 2.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A running program of ours: which process it is, and since when (seconds since 1970, by the system)."""

    pid: int
    created: float

    @classmethod
    def of(cls, pid: int) -> Holder:
        """The process with this pid, which must be alive."""
        return cls(pid, psutil.Process(pid).create_time())

    @property
    def since(self) -> str:
        """When it started, in UTC, to the second."""
        return datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds")

    def find(self) -> psutil.Process | None:
        """The process if it is alive and still the same, else None."""
        try:
            found = psutil.Process(self.pid)
            same = abs(found.create_time() - self.created) <= CLOCK_SECONDS_MAX
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None


@dataclass(frozen=True, slots=True)
class ServerState:
    """One server, as its owner wrote it down.

    Attributes:
        java: The server itself.
        owner: The program that started it and watches over it.
        ports: Where it listens.
        profile: The name of the profile it was started with.
        ready: Whether it has been proved to answer.
    """

    java: Holder
    owner: Holder
    ports: Ports
    profile: str
    ready: bool

    def write(self, home: Path) -> None:
        """Put it into the server's folder."""
        write_private(_file(home), json.dumps(asdict(self), indent=1) + "\n")


def read_state(home: Path) -> ServerState | None:
    """What was written last, or None when there is nothing whole to read."""
    try:
        told = json.loads(_file(home).read_bytes())
        java, owner = Holder(**told["java"]), Holder(**told["owner"])
        return ServerState(java, owner, Ports(**told["ports"]), str(told["profile"]), bool(told["ready"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget_state(home: Path) -> None:
    """Remove what was written; without effect when there is nothing."""
    _file(home).unlink(missing_ok=True)


def orphans(home: Path) -> Iterator[psutil.Process]:
    """Every live server on this folder. Whoever holds the folder's lock and started none may end them.

    The one in the state file comes first; the command lines are searched as well, since an owner may have been killed
    between starting a server and writing it down.
    """
    told = read_state(home)
    known = told.java.find() if told else None
    if known is not None and _serves(known, home):
        yield known
    for each in psutil.process_iter():
        if each not in (known, psutil.Process()) and _serves(each, home):
            yield each


def _serves(program: psutil.Process, home: Path) -> bool:
    try:
        return f"--home-dir={home}" in program.cmdline()
    except (psutil.Error, OSError):  # gone meanwhile, or another user's
        return False


def _file(home: Path) -> Path:
    return home / "run" / "server.json"
