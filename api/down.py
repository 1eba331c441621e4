"""``whence down``: the end of the service of this home, asked for from another terminal."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psutil

from api import presence
from api.settings import Settings
from graph.embedded import Holder
from graph.embedded.locks import FileLock
from graph.embedded.state import orphans
from graph.errors import NotFoundError, UnavailableError

STOP_SECONDS_MAX = 60.0  # 20 for the requests under way, 20 for Neo4j, and some
POLL_SECONDS = 0.1


def down(settings: Settings) -> dict[str, object]:
    """End the service of this home, and wait until it is gone.

    Returns:
        Its pid, and the seconds that it took.

    Raises:
        NotFoundError: none is running.
        UnavailableError: it does not end.
    """
    found = presence.find(settings.home)
    if found is None:
        left = _end_orphans(settings.home)
        raise NotFoundError(
            f"no service of {settings.home} is running"
            + (f"; its Neo4j was, and is stopped (process {', '.join(map(str, left))})" if left else ""),
            field="WHENCE_HOME",
            allowed="the folder that `whence up` was started with",
        )
    begun = time.monotonic()
    if not _end(found.holder):
        raise UnavailableError(
            f"process {found.holder.pid} has not ended after {STOP_SECONDS_MAX:.0f} s", allowed="another try"
        )
    _end_orphans(settings.home)
    return {"stopped": True, "pid": found.holder.pid, "seconds": round(time.monotonic() - begun, 1)}


def _end(program: Holder) -> bool:
    """Ask a program to end; whether it is gone. One that has ended and that nobody has asked for its code is gone."""
    deadline = time.monotonic() + STOP_SECONDS_MAX
    running = program.find()
    try:
        if running is not None:
            running.terminate()
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:
        raise UnavailableError(
            f"process {program.pid} is another user's", field="WHENCE_HOME", allowed="a home of one's own"
        ) from None
    while program.find() is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _end_orphans(home: Path) -> list[int]:
    """End each Neo4j of this home that nobody watches any more; their pids."""
    place = home.resolve() / "neo4j"
    lock = FileLock(place / "run" / "lock")
    with contextlib.suppress(OSError):  # without the folder there is no server either
        lock.take()
    if not lock.held:
        return []
    try:
        left = [Holder.of(each.pid) for each in orphans(place)]
        return [each.pid for each in left if _end(each)]
    finally:
        lock.release()
