"""How a client reaches a server, and how to find the one that another program of ours holds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neo4j.exceptions import DriverError, Neo4jError

from graph.embedded import proof
from graph.embedded.profile import Ports
from graph.embedded.room import require_room_for_appends
from graph.embedded.secret import USERNAME, read_password
from graph.embedded.state import Holder, read_state


@dataclass(frozen=True, slots=True)
class Connection:
    """All that a client needs.

    Attributes:
        uri: For the driver.
        username: Never empty, also for a server that asks for none.
        password: As above.
        database: The one that holds knowledge.
        browser: Address of Neo4j Browser, if it is served.
        pid: The server, if it runs on this machine and is ours.
        folder: Where such a server lives.
    """

    uri: str
    username: str
    password: str
    database: str = "neo4j"
    browser: str | None = None
    pid: int | None = None
    folder: Path | None = None

    def require_room(self) -> None:
        """Find out whether there is room to append; for a server that is not ours, that is its owner's to watch.

        Raises:
            UnavailableError: the disk is below its floor.
        """
        if self.folder is not None:
            require_room_for_appends(self.folder)

    def __repr__(self) -> str:
        """Everything but the password, since reports and logs print what they are given."""
        return f"Connection(uri={self.uri!r}, database={self.database!r}, browser={self.browser!r}, pid={self.pid})"


def local(folder: Path, ports: Ports, password: str, pid: int) -> Connection:
    """The connection to a server of ours on this machine, which lives in this folder."""
    browser = f"http://{proof.LOOPBACK}:{ports.http}/browser/" if ports.http else None
    uri = f"bolt://{proof.LOOPBACK}:{ports.bolt}"
    return Connection(uri, USERNAME, password, browser=browser, pid=pid, folder=folder)


def running(home: Path) -> Connection | None:
    """How to reach the server that a live program of ours holds in this folder, if it answers to our password.

    Args:
        home: Whence's folder.
    """
    folder = home.resolve() / "neo4j"
    state = read_state(folder)
    password = read_password(folder)
    if state is None or not state.ready or password is None or state.owner.find() is None:
        return None
    server = state.java.find()
    if server is None or not proof.listens(server.pid, state.ports.bolt):
        return None
    connection = local(folder, state.ports, password, server.pid)
    try:
        proof.within(proof.QUESTION_SECONDS_MAX, lambda: identity(connection))
    except (Neo4jError, DriverError, TimeoutError, OSError):
        return None
    return connection


def holder(home: Path) -> Holder | None:
    """Which program holds the server's folder, if one does that is still alive."""
    try:
        pid, created = (home.resolve() / "neo4j" / "run" / "lock").read_text("ascii").split()
        found = Holder(int(pid), float(created))
    except (OSError, ValueError):
        return None
    return found if found.find() is not None else None


def identity(connection: Connection) -> str:
    """Ask the store behind a connection who it is; as `proof.store_identity`."""
    return proof.store_identity(connection.uri, connection.username, connection.password, connection.database)
