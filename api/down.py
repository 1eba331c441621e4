"""``whence down``: the end of the service of this home, asked for from another terminal."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import psutil

from api import presence
from api.settings import Settings
from graph.embedded.locks import FileLock
from graph.embedded.state import orphans
from graph.errors import NotFoundError, UnavailableError

STOP_SECONDS_MAX = 60.0  # 20 for the requests under way, 20 for Neo4j, and some


def down(settings: Settings) -> dict[str, object]:
    """End the service of this home, and wait until it is gone.

    Returns:
        Its pid, and the seconds that it took.

    Raises:
        NotFoundError: none is running.
        UnavailableError: it does not end.
    """
    found = presence.find(settings.home)
    service = None if found is None else found.holder.find()
    begun = time.monotonic()
    if service is None:
        left = _end_orphans(settings.home)
        raise NotFoundError(
            f"no service of {settings.home} is running" + (f"; its Neo4j was, and is stopped ({left})" if left else ""),
            field="WHENCE_HOME",
            allowed="the folder that `whence up` was started with",
        )
    try:
        service.terminate()
        service.wait(STOP_SECONDS_MAX)
    except psutil.NoSuchProcess:
        pass
    except psutil.AccessDenied:
        raise UnavailableError(f"process {service.pid} is another user's", field="WHENCE_HOME") from None
    except psutil.TimeoutExpired:
        raise UnavailableError(f"process {service.pid} has not ended after {STOP_SECONDS_MAX:.0f} s") from None
    _end_orphans(settings.home)
    return {"stopped": True, "pid": service.pid, "seconds": round(time.monotonic() - begun, 1)}


def _end_orphans(home: Path) -> str:
    """End a Neo4j of this home that nobody watches any more; the pids, for a sentence."""
    lock = FileLock(home.resolve() / "neo4j" / "run" / "lock")
    ended: list[str] = []
    with contextlib.suppress(OSError):
        if not lock.take():
            return ""
    try:
        for each in orphans(home.resolve() / "neo4j") if lock.held else ():
            with contextlib.suppress(psutil.Error):
                each.terminate()
                each.wait(STOP_SECONDS_MAX)
            ended.append(f"process {each.pid}")
    finally:
        lock.release()
    return ", ".join(ended)
