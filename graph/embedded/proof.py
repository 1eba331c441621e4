"""Prove that what answers on a port is our server with our store, before anybody is told to use it."""

# pyright: reportUnknownMemberType=false
# The driver types the settings it takes as unknown.

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil
from neo4j import READ_ACCESS, GraphDatabase

from graph.embedded.profile import Ports
from graph.embedded.secret import write_private
from graph.errors import UnavailableError

Answer = TypeVar("Answer")

CONNECT_SECONDS_MAX = 5.0
QUESTION_SECONDS_MAX = 10.0
LOOPBACK = "127.0.0.1"


def free_port(wanted: int | None = None) -> int:
    """A port on the loopback that nothing listens on now: the wanted one if it is free, else any."""
    for port in [wanted, 0] if wanted else [0]:
        with socket.socket() as probe, contextlib.suppress(OSError):
            if sys.platform != "win32":  # there it would share a port that is taken
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
            return probe.getsockname()[1]
    raise UnavailableError("no port is free on the loopback", allowed="fewer open connections")


def accepts(port: int) -> bool:
    """Whether something takes connections on this port of the loopback."""
    with socket.socket() as probe:
        probe.settimeout(CONNECT_SECONDS_MAX)
        return probe.connect_ex((LOOPBACK, port)) == 0


def listens(pid: int, port: int) -> bool:
    """Whether it is this program, and no other, that listens on the port; True where the system does not tell."""
    try:
        sockets = psutil.Process(pid).net_connections("tcp")
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
    return any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in sockets)


def store_identity(uri: str, username: str, password: str, database: str) -> str:
    """Log in and ask the store who it is.

    Returns:
        An id that stays with the store over restarts.

    Raises:
        AuthError: the password is refused.
        Neo4jError, DriverError: it cannot be asked, or not yet.
    """
    with (
        GraphDatabase.driver(
            uri,
            auth=(username, password),
            connection_timeout=CONNECT_SECONDS_MAX,
            connection_acquisition_timeout=CONNECT_SECONDS_MAX,
            telemetry_disabled=True,
        ) as driver,
        driver.session(database=database, default_access_mode=READ_ACCESS) as session,
    ):
        return str(session.run("CALL db.info() YIELD id RETURN id").single(strict=True)["id"])


def refuses_strangers(uri: str, username: str) -> bool:
    """Whether a password that nobody has is refused."""
    with GraphDatabase.driver(
        uri,
        auth=(username, secrets.token_urlsafe()),
        connection_timeout=CONNECT_SECONDS_MAX,
        telemetry_disabled=True,
    ) as driver:
        return not driver.verify_authentication()


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Call, but do not wait for longer; the driver waits for ever for a server that took the question and hangs.

    Raises:
        TimeoutError: there was no answer in that time. The call is left behind in a thread that ends with the program.
    """
    answers: list[Answer] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as failure:  # noqa: BLE001  raised below, in the caller's thread
            failures.append(failure)

    thread = threading.Thread(target=run, daemon=True, name="whence-neo4j-question")
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not answers:
        raise TimeoutError(f"no answer within {seconds:.0f} s")
    return answers[0]


def remembered_ports(home: Path) -> Ports:
    """The ports of the last run, so that a bookmark in Browser lasts; zeros before the first."""
    told = _remembered(home)
    return Ports(int(told.get("bolt") or 0), int(told.get("http") or 0))


def remember(home: Path, identity: str, ports: Ports) -> None:
    """Keep who the store is, and where it was reached.

    Raises:
        UnavailableError: this folder held another store the last time.
    """
    known = _remembered(home).get("store")
    if known not in (None, identity):
        raise UnavailableError(
            f"the store in {home / 'data'} is not the one that was there before: it was replaced or emptied",
            field="WHENCE_HOME",
            allowed=f"the former data folder, or, if the change was meant, a start without {_file(home)}",
        )
    told = {"store": identity, "bolt": ports.bolt, "http": ports.http}
    if told != _remembered(home):
        write_private(_file(home), json.dumps(told, indent=1) + "\n")


def _remembered(home: Path) -> dict[str, str | int | None]:
    try:
        return json.loads(_file(home).read_bytes())
    except (OSError, ValueError):
        return {}


def _file(home: Path) -> Path:
    return home / "store.json"
