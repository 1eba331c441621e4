"""A Neo4j of our own: started, proved, watched, restarted when it dies, and stopped.

One folder, one server, one owner. The owner holds the folder's lock for as long as it lives; the server is its child in
a session of its own, so that Ctrl-C reaches the owner first and the store is closed after the last request.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from neo4j.exceptions import AuthError, DriverError, Neo4jError

from graph.embedded import proof
from graph.embedded.archive import Archive
from graph.embedded.child import Heir, begin, crashed, end
from graph.embedded.connection import Connection, holder, identity, local
from graph.embedded.jars import classpath
from graph.embedded.java import find_java
from graph.embedded.locks import FileLock
from graph.embedded.logs import LogSince
from graph.embedded.profile import SERVE, Ports, Profile
from graph.embedded.room import require_room_for_start
from graph.embedded.secret import establish_password
from graph.embedded.state import Holder, ServerState, forget_state, orphans
from graph.errors import UnavailableError

if TYPE_CHECKING:
    from rich.console import Console

TRIES = 3  # a port that was free may be taken before the server binds it, and a class archive may be bad
_CHAR_MAX = 0xFFFF  # Java 17 cannot load a class from a path with others
POLL_SECONDS = 0.1
BACKOFF_SECONDS_MAX = 30.0  # between restarts that do not last; they go on for as long as the owner lives
LASTING_SECONDS = 5.0  # a server that answered for so long was no failed restart, and is brought back at once

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Incident:
    """What the watcher has to tell.

    Attributes:
        kind: `died` and `restarted` come in pairs; `failed` is a restart in between that did not succeed and will
            be tried again.
        detail: The reason, as far as it is known; for people.
        connection: How to reach the server after `restarted`; the address and the password are as before.
    """

    kind: Literal["died", "failed", "restarted"]
    detail: str
    connection: Connection | None = None


class _StoppedError(Exception):
    """The owner stopped the server while it was starting."""


class EmbeddedNeo4j:
    """One server in one folder. Its methods may be called from any thread; `start` and `stop` block.

    Args:
        home: Whence's folder; the server lives in `neo4j` under it.
        profile: How it is tuned.
        cache: Where jars are kept; `cache` under `home` by default.
        console: Where progress is shown; stderr by default, and nothing when that is no terminal.
        on_incident: Told when the server dies and comes back, in the watcher's thread. What it raises is logged.
    """

    def __init__(
        self,
        home: Path,
        profile: Profile = SERVE,
        *,
        cache: Path | None = None,
        console: Console | None = None,
        on_incident: Callable[[Incident], None] | None = None,
    ) -> None:
        self._home = home.resolve() / "neo4j"
        self._cache = (cache or home / "cache").resolve()  # a class archive is for one path of the jars
        self._profile = profile
        self._console = console
        self._on_incident = on_incident
        self._lock = FileLock(self._home / "run" / "lock")
        self._guard = threading.Lock()  # held to begin a child and to decide that none will begin any more
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._heir: Heir | None = None
        self._connection: Connection | None = None
        self._listing = self._home / "run" / "classes"
        self._password = ""
        self._ports = Ports(0, None)
        self._watcher: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    @property
    def connection(self) -> Connection | None:
        """How to reach the server while it answers; None before the start, during a restart and after the end."""
        return self._connection

    def start(self) -> Connection:
        """Start the server and wait until it answers.

        The first start on a machine fetches 121 MB. A server that an owner left behind is stopped first.

        Raises:
            UnavailableError: the folder is in use, the disk is almost full, there is no Java, the jars are not to be
                had, or the server does not answer in time; `allowed` says what to do.
        """
        assert not self._lock.held, "this server was started before"
        try:
            return self._start()
        except OSError as failure:
            raise UnavailableError(
                f"the embedded Neo4j cannot use {self._home}: {failure}",
                field="WHENCE_HOME",
                allowed="a folder of this user on a disk with room",
            ) from failure

    def stop(self) -> None:
        """Stop the server and let the folder go; without effect when it is not running.

        Takes one to two seconds, and at most 20 before the server is killed, which loses no commit.
        """
        self._stopping.set()
        with self._guard:
            child = self._child
        if child is not None:
            self._archive.stop()
            end(child, orderly=self._profile.durable)
            self._dismiss_heir()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join()
        self._connection = None
        if self._lock.held:
            forget_state(self._home)
            self._lock.release()
            atexit.unregister(self.stop)
        self._over.set()

    def restart(self) -> None:
        """Kill a server that answered once and does no more, for the watcher to bring it back.

        Without effect on one that is starting, which has its own deadline. Nothing committed is lost; to ask it to
        stop would be in vain after a full disk.
        """
        with self._guard:
            child = self._child
        if child is not None and self._connection is not None:
            child.kill()

    def alive(self) -> bool:
        """Whether the server runs and has been proved to answer since it last began."""
        child = self._child
        return self._connection is not None and child is not None and child.poll() is None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the server is stopped; False if it is not after that time."""
        return self._over.wait(seconds)

    def _start(self) -> Connection:
        for folder in (self._home, self._home / "conf", self._home / "run", self._home / "logs"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._take_lock()
        try:
            self._stopping.clear()
            self._over.clear()
            require_room_for_start(self._home)
            for left in orphans(self._home):
                log.warning("stopping a Neo4j that its owner left behind, pid %d", left.pid)
                end(left, orderly=self._profile.durable)
            self._prepare()
            connection = self._first_launch()
            self._watcher = threading.Thread(target=self._watch, daemon=True, name="whence-neo4j-watcher")
            self._watcher.start()
        except BaseException:
            self._stopping.set()
            if self._child is not None:
                end(self._child, orderly=False)
                self._dismiss_heir()
            forget_state(self._home)
            self._lock.release()
            raise
        atexit.register(self.stop)
        if self._profile.archive:
            self._archive.make_later(self._listing)
        return connection

    def _take_lock(self) -> None:
        if self._lock.take():
            me = Holder.of(os.getpid())
            self._lock.note(f"{me.pid} {me.created}\n")
            return
        found = holder(self._home.parent)
        who = f"process {found.pid} since {found.since}" if found else "another process"
        raise UnavailableError(
            f"{self._home.parent} is in use by {who}",
            field="WHENCE_HOME",
            allowed="`whence down`, or another folder in WHENCE_HOME",
        )

    def _prepare(self) -> None:
        if any(ord(char) > _CHAR_MAX for char in f"{self._home}{self._cache}"):
            raise UnavailableError(
                f"Java cannot start from {self._home}",
                field="WHENCE_HOME",
                allowed="a folder whose path has no emoji and no other characters beyond U+FFFF",
            )
        self._java = find_java()
        self._jars = classpath(self._cache / "jars", console=self._console)
        self._archive = Archive(self._cache / "archives", self._java, self._jars)
        self._password = establish_password(self._home)

    def _first_launch(self) -> Connection:
        wanted = proof.remembered_ports(self._home)
        for attempt in range(1, TRIES + 1):
            bolt = proof.free_port(wanted.bolt)
            http = proof.free_port(wanted.http) if self._profile.browser and self._can_serve_files() else None
            try:
                return self._launch(Ports(bolt, http))
            except _StoppedError:
                break
            except UnavailableError:
                taken = any(proof.accepts(port) for port in (bolt, http) if port)
                if attempt == TRIES or not (self._blame_archive() or taken):
                    raise
                wanted = Ports(0, 0)  # somebody took one meanwhile
        raise UnavailableError("the embedded Neo4j was stopped while it was starting", allowed="another start")

    def _can_serve_files(self) -> bool:
        """Whether Browser can be had: Neo4j's web server ends on a path with other letters than ASCII."""
        return os.name != "posix" or all(str(jar).isascii() for jar in self._jars)

    def _launch(self, ports: Ports) -> Connection:
        """Begin a child and prove it; on any failure there is no child left."""
        (self._home / "conf" / "neo4j.conf").write_text(self._profile.conf(ports), "utf-8")
        options = self._archive.options(self._listing, make=self._profile.archive)
        told = LogSince(self._home / "logs")
        self._ports = ports
        with self._guard:
            if self._stopping.is_set():
                raise _StoppedError
            child = self._child = begin(
                self._java.program, [*options, *self._profile.java_options(self._jars)], self._home
            )
            self._dismiss_heir()  # of the one before
            self._heir = Heir(child.pid) if os.name == "posix" else None
        try:
            me, java = Holder.of(os.getpid()), Holder.of(child.pid)
            ServerState(java, me, ports, self._profile.name, ready=False).write(self._home)
            connection = self._await(child, ports, told)
            ServerState(java, me, ports, self._profile.name, ready=True).write(self._home)
        except BaseException:
            child.kill()
            child.wait()
            raise
        self._connection = connection
        return connection

    def _dismiss_heir(self) -> None:
        heir, self._heir = self._heir, None
        if heir is not None:
            heir.dismiss()

    def _await(self, child: subprocess.Popen[bytes], ports: Ports, told: LogSince) -> Connection:
        """Wait for the child to answer, and prove that it is ours; the driver's own waiting is bounded here."""
        connection = local(self._home, ports, self._password, child.pid)
        deadline = time.monotonic() + self._profile.start_seconds_max
        while not self._answers(child, connection, ports):
            if self._stopping.is_set():
                raise _StoppedError
            if child.poll() is not None or time.monotonic() > deadline:
                how = f"is silent after {self._profile.start_seconds_max:.0f} s"
                if child.returncode is not None:
                    how = f"ended with code {child.returncode}"
                raise UnavailableError(
                    f"the embedded Neo4j {how}: {told.reason()}", allowed=f"what {self._home / 'logs'} tells"
                )
            time.sleep(POLL_SECONDS)
        return connection

    def _answers(self, child: subprocess.Popen[bytes], connection: Connection, ports: Ports) -> bool:
        if child.poll() is not None or not proof.accepts(ports.bolt):
            return False
        if not proof.listens(child.pid, ports.bolt):
            return False  # someone else has the port; our child is about to find out
        try:
            store = proof.within(proof.QUESTION_SECONDS_MAX, lambda: identity(connection))
            closed = not self._profile.auth or proof.within(
                proof.QUESTION_SECONDS_MAX, lambda: proof.refuses_strangers(connection.uri, connection.username)
            )
        except AuthError as failure:
            raise UnavailableError(
                f"the embedded Neo4j refuses the password in {self._home}",
                allowed="the password file that belongs to it",
            ) from failure
        except (Neo4jError, DriverError, TimeoutError, OSError):
            return False  # not yet; the deadline decides
        if not closed:
            raise UnavailableError("the embedded Neo4j takes any password", allowed="a report to the makers of Whence")
        proof.remember(self._home, store, ports)
        return True

    def _watch(self) -> None:
        pause = 0.0
        while True:
            child, begun = self._child, time.monotonic()
            assert child is not None
            code = child.wait()
            if self._stopping.is_set():
                return
            self._connection = None
            self._blame_archive()
            self._tell(Incident("died", f"exit code {code}"))
            pause = 0.0 if time.monotonic() - begun > LASTING_SECONDS else _longer(pause)
            if not self._bring_back(pause):
                return

    def _blame_archive(self) -> bool:
        """Throw the class archive away if the JVM broke; whether there was one."""
        code = self._child.returncode if self._child is not None else None
        return code is not None and crashed(code) and self._archive.discard()

    def _bring_back(self, pause: float) -> bool:
        """Restart on the same ports until it works, after a pause of so many seconds; False when it was stopped."""
        while not self._stopping.wait(pause):
            try:
                require_room_for_start(self._home)
                connection = self._launch(self._ports)
            except _StoppedError:
                return False
            except (UnavailableError, OSError) as failure:
                self._tell(Incident("failed", str(failure)))
                pause = _longer(pause)
            else:
                self._tell(Incident("restarted", f"pid {connection.pid}", connection))
                return True
        return False

    def _tell(self, incident: Incident) -> None:
        level = logging.INFO if incident.kind == "restarted" else logging.WARNING
        log.log(level, "embedded Neo4j %s: %s", incident.kind, incident.detail)
        if self._on_incident is not None:
            try:
                self._on_incident(incident)
            except Exception:
                log.exception("the listener for incidents failed")


def _longer(pause: float) -> float:
    """The pause before the next restart, when that after the last pause did not last."""
    return min(BACKOFF_SECONDS_MAX, 2 * pause or 1.0)
