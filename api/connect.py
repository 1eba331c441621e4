"""Which database a command works with: the named one, the running service's, or one that is started for it alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from api import presence
from api.settings import Settings
from graph.embedded import Connection, EmbeddedNeo4j, holder, running
from graph.errors import UnavailableError

WAIT_SECONDS_MAX = 60.0  # another command's use of the embedded server mostly ends within seconds
POLL_SECONDS = 0.2


def named(settings: Settings) -> Connection | None:
    """The server that NEO4J_URI names, if it names one."""
    if settings.neo4j_uri is None:
        return None
    return Connection(settings.neo4j_uri, settings.neo4j_username, settings.neo4j_password, settings.neo4j_database)


@contextmanager
def database(settings: Settings, tell: Callable[[str], None] = lambda _text: None) -> Generator[Connection]:
    """The database for one command; a server that had to be started is stopped again.

    Args:
        settings: Say where to look.
        tell: Told, for people, what takes a while.

    Raises:
        UnavailableError: it cannot be had; says why.
    """
    connection, server = named(settings), None
    while connection is None:
        connection = _shared(settings.home, tell)
        if connection is None:
            tell("Starting Neo4j for this command; `whence up` keeps one running.")
            server = EmbeddedNeo4j(settings.home)
            connection = _started(server, settings.home)
    try:
        yield connection
    finally:
        if server is not None:
            server.stop()


def _started(server: EmbeddedNeo4j, home: Path) -> Connection | None:
    """The connection to the server; None when another command was quicker to take the folder."""
    try:
        return server.start()
    except UnavailableError as error:
        if error.field == "WHENCE_HOME" and holder(home) is not None:
            return None
        raise


def _shared(home: Path, tell: Callable[[str], None]) -> Connection | None:
    """How to reach the running service's server; None when no program holds the folder.

    A server that another command started for itself would be stopped under our feet, so that command is waited for.
    """
    deadline, told = time.monotonic() + WAIT_SECONDS_MAX, False
    while True:
        service, found = presence.find(home), holder(home)
        if service is not None and not service.embedded:
            raise UnavailableError(
                f"the service of {home} works on another Neo4j than the one in that folder",
                field="NEO4J_URI",
                allowed="the address that the service was started with, and its NEO4J_PASSWORD",
            )
        if service is not None and (connection := running(home)) is not None:
            return connection
        owner = found or (service.holder if service is not None else None)
        if owner is None:
            return None
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"{home} is in use by process {owner.pid} since {owner.since}",
                field="WHENCE_HOME",
                allowed="`whence up`, whose server several commands can use at once; or another folder",
            )
        if not told:
            tell(f"Waiting for process {owner.pid}, which has {home} in use since {owner.since}.")
            told = True
        time.sleep(POLL_SECONDS)
