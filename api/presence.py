"""What a running service leaves in WHENCE_HOME, so that other commands find it and a second one does not begin."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from graph.embedded.locks import FileLock
from graph.embedded.secret import write_private
from graph.embedded.state import Holder
from graph.errors import UnavailableError


@dataclass(frozen=True, slots=True)
class Presence:
    """A service in the foreground of some terminal.

    Attributes:
        holder: The program that runs it.
        embedded: Whether its Neo4j is the one in WHENCE_HOME, and not one that NEO4J_URI names.
        url: Where it answers; None until it does.
        bolt: The address of its Neo4j; None until that answers.
        browser: The address of Neo4j Browser, where it is known.
        token: What opens everything of it; None until that is known.
        model: What tells the vectors of its embedder from those of all others; None without one, or until it is known.
    """

    holder: Holder
    embedded: bool
    url: str | None = None
    bolt: str | None = None
    browser: str | None = None
    token: str | None = None
    model: str | None = None

    def addresses(self) -> dict[str, object]:
        """What clients are told: url, graphql, bolt, browser, token and pid; None where there is none."""
        return {
            "url": self.url,
            "graphql": None if self.url is None else f"{self.url}/graphql",
            "bolt": self.bolt,
            "browser": self.browser,
            "token": self.token if self.url is not None else None,
            "pid": self.holder.pid,
        }

    def write(self, home: Path) -> None:
        """Put it where ``find`` looks; the caller holds the home."""
        write_private(_file(home), json.dumps(asdict(self), indent=1) + "\n")


def find(home: Path) -> Presence | None:
    """The service of this home, if there is one that is still alive."""
    try:
        told = json.loads(_file(home).read_bytes())
        found = Presence(Holder(**told.pop("holder")), **told)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if found.holder.find() is not None else None


@contextmanager
def held(home: Path, *, embedded: bool) -> Generator[Presence]:
    """Hold the home for the service of this program, and forget the service at the end.

    Args:
        home: Whence's folder; made if missing.
        embedded: As in ``Presence``.

    Raises:
        UnavailableError: another service holds it; says which. Or the folder cannot be written.
    """
    run = _file(home).parent
    try:
        run.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(run / "service.lock")
        taken = lock.take()
    except OSError as error:
        raise UnavailableError(
            f"{home} cannot be written: {error.strerror}",
            field="WHENCE_HOME",
            allowed="a folder of one's own",
        ) from error
    if not taken:
        raise _in_use(home)
    try:
        mine = Presence(Holder.of(os.getpid()), embedded)
        mine.write(home)
        yield mine
    finally:
        _file(home).unlink(missing_ok=True)
        lock.release()


def _in_use(home: Path) -> UnavailableError:
    found = find(home)
    who = "another service"
    if found is not None:
        where = found.url or "and is not ready yet"
        who = f"the service {where} (process {found.holder.pid} since {found.holder.since})"
    return UnavailableError(
        f"{home} is in use by {who}",
        field="WHENCE_HOME",
        allowed="`whence down`, or another folder in WHENCE_HOME",
    )


def _file(home: Path) -> Path:
    return home / "run" / "service.json"
