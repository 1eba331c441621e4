"""``whence analyst``: a Neo4j with Browser that lets nobody write, over a copy of what the journals say.

Community Edition has no user who may only read, so analysts get a server of their own. Its copy is made through a
backup, so each project is of one piece and verified, whoever writes to the original meanwhile.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import uvicorn
from starlette.applications import Starlette

from api.analyst import GUIDE_PATH, browser_settings, routes
from api.command import asked
from api.course import by_project
from api.interrupt import ends_as_interrupt
from api.screen import Screen
from api.settings import Settings
from graph.bundle import BackedUp, Bundle, back_up, restore
from graph.embedded import SERVE, Connection, EmbeddedNeo4j
from graph.embedded.locks import FileLock
from graph.errors import UnavailableError
from graph.service import Service
from graph.store import Store

READ_ONLY = ("server.databases.default_to_read_only", "true")


def analyst(settings: Settings, projects: Sequence[str], screen: Screen) -> int:
    """Copy projects, and serve the copy until a signal ends it.

    Args:
        settings: Where the original is found; the copy stands in its home, and the one before is dropped.
        projects: Their names; all that there are unless given.
        screen: Where it is told how the copy is reached.

    Returns:
        130, since it is always interrupted.

    Raises:
        NotFoundError: there is no such project.
        UnavailableError: the original cannot be had, or another copy of this home is being served.
    """
    ends_as_interrupt()
    home, cache = settings.home / "analyst", settings.home / "cache"
    try:
        with _alone(home), tempfile.TemporaryFile() as file:
            found = _backed_up(settings, projects, screen, cast("BinaryIO", file))
            screen.tell(f"Copying {sum(each.seq for each in found):,} events to a Neo4j of its own; a minute or more.")
            _copied(home, cache, settings, screen, cast("BinaryIO", file))
            with _files_served() as (url, listening):
                loaded = browser_settings(url, found[0].name if found else "default")
                profile = replace(SERVE, settings=(*SERVE.settings, READ_ONLY, *loaded))
                with EmbeddedNeo4j(home, profile, cache=cache) as server:
                    assert server.connection is not None, "a server that was started is connected"
                    _tell(server.connection, home, url, found, screen)
                    asyncio.run(_serve(listening))
    except KeyboardInterrupt:
        pass
    screen.tell("Stopped.")
    return 130


@contextmanager
def _alone(home: Path) -> Generator[None]:
    """Hold the copy's folder: another copy may be served from it."""
    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "lock")
    if not lock.take():
        raise UnavailableError(
            f"{home} is in use by another `whence analyst`", field="WHENCE_HOME", allowed="one at a time"
        )
    try:
        yield
    finally:
        lock.release()


def _backed_up(settings: Settings, projects: Sequence[str], screen: Screen, file: BinaryIO) -> list[BackedUp]:
    async def work(service: Service) -> list[BackedUp]:
        with by_project(screen, "Copying") as progress:
            return await back_up(service, file, projects, progress)

    return asked(screen, settings, work)


def _copied(home: Path, cache: Path, settings: Settings, screen: Screen, file: BinaryIO) -> None:
    """Make the copy anew, on a server that may be written to."""
    shutil.rmtree(home / "neo4j", ignore_errors=True)
    with Bundle.checked(file) as bundle, EmbeddedNeo4j(home, replace(SERVE, browser=False), cache=cache) as server:
        here = server.connection
        assert here is not None, "a server that was started is connected"

        async def work() -> None:
            async with Store.open(here.uri, here.username, here.password, here.database, here.require_room) as store:
                with by_project(screen, "Restoring") as progress:
                    await restore(Service(store), bundle, settings.actor, progress)

        asyncio.run(work())


@contextmanager
def _files_served() -> Generator[tuple[str, socket.socket]]:
    """Where Browser will find the style and the guide, also where no API runs."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", listening


async def _serve(listening: socket.socket) -> None:
    config = uvicorn.Config(Starlette(routes=routes()), log_config=None, access_log=False, lifespan="off", ws="none")
    await uvicorn.Server(config).serve(sockets=[listening])
    raise KeyboardInterrupt  # it ends by a signal alone, which it has caught


def _tell(connection: Connection, home: Path, url: str, found: Sequence[BackedUp], screen: Screen) -> None:
    told: dict[str, Any] = {
        "browser": connection.browser,
        "bolt": connection.uri,
        "username": connection.username,
        "password_file": str(home / "neo4j" / "password"),
        "guide": url + GUIDE_PATH,
        "projects": [{"project": each.name, "events": each.seq, "head": each.hash} for each in found],
    }
    if screen.machine:
        screen.document(told, indent=None)
        return
    sys.stdout.write(f"ready {told['browser'] or told['bolt']}\n")
    sys.stdout.flush()
    screen.tell(
        f"  User {told['username']}, password in {told['password_file']}; nobody can change what is known there."
    )
    screen.tell("  It shows the journals as they were when this began. Ctrl-C ends it.")
