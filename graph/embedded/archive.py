"""Made beside the first long run: a class archive that takes two thirds off every later start.

Measured on two cores: a start with the archive takes 2.6 s where it took 6 to 11 (4.5 CPU seconds for 10), and the
server 100 MB less. To make one takes 20 to 30 s of the least urgent CPU time, from the list of the classes that the
running server has loaded. The archive is a convenience only: it is made aside, moved into place whole, and thrown away
when a server did not start or crashed with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import psutil

from graph.embedded.java import Java
from graph.embedded.locks import FileLock
from graph.embedded.profile import memory_bytes

DELAY_SECONDS = 30.0  # leaves the first requests alone, and lets them load the classes that belong in the list
ROOM_BYTES_MIN = 1_000_000_000
MEMORY_BYTES_MIN = 2_000_000_000  # the JVM that writes the archive takes up to 800 MB
KEPT_MAX = 2  # two Javas in turn, as for work and for tests; each archive is 155 MB
LINE_CHARS_MAX = 4000  # the JVM refuses a whole list for one line that is longer

log = logging.getLogger(__name__)


class Archive:
    """The class archive of one Java and one class path.

    Args:
        folder: Where archives are kept; may be shared by several servers.
        java: The Java that will run.
        jars: The class path, in its order.
    """

    def __init__(self, folder: Path, java: Java, jars: Sequence[Path]) -> None:
        name = _fingerprint(java, jars)
        self._folder = folder
        self._java = java
        self._jars = jars
        self._file = folder / f"{name}.jsa"
        self._made = folder / f"{name}.made"  # size and time of change of the whole archive; touched at each use
        self._refused = folder / f"{name}.refused"
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def options(self, listing: Path, *, make: bool) -> list[str]:
        """Flags for the JVM: to use the archive if there is one, else to note the loaded classes, if one is wanted.

        Args:
            listing: Where the JVM notes them.
            make: Whether one is wanted.
        """
        if self._is_whole():
            with contextlib.suppress(OSError):
                self._made.touch()
            return [f"-XX:SharedArchiveFile={self._file}", "-Xshare:auto"]
        return [f"-XX:DumpLoadedClassList={listing}"] if make and not self._refused.exists() else []

    def make_later(self, listing: Path) -> None:
        """Make the archive in a while, if there is none, from what the running server has loaded by then."""
        if not self._is_whole() and not self._refused.exists():
            self._stopping.clear()
            self._thread = threading.Thread(
                target=self._make, args=(listing,), daemon=True, name="whence-class-archive"
            )
            self._thread.start()

    def stop(self) -> None:
        """Give up making it; without effect when it is not being made."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()

    def discard(self) -> bool:
        """Throw the archive away; False if there was none."""
        try:
            self._made.unlink()
            self._file.unlink()
        except OSError:  # none, or still in use by another server where that forbids it
            return False
        log.warning("the class archive was thrown away, since a server failed with it")
        return True

    def _make(self, listing: Path) -> None:
        if self._stopping.wait(DELAY_SECONDS):
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._folder / ".lock")
            if not lock.take():
                return  # another server of this user makes it
            try:
                if not self._is_whole() and self._affordable():
                    self._dump(listing)
            finally:
                lock.release()
        except OSError as failure:
            log.info("no class archive was made: %s", failure)

    def _is_whole(self) -> bool:
        """Whether the archive is as it was when it was made; the JVM would ignore a torn one without a word."""
        try:
            return self._made.read_text("ascii") == _stamp(self._file)
        except OSError:
            return False

    def _affordable(self) -> bool:
        memory = min(memory_bytes(), psutil.virtual_memory().available)
        return memory > MEMORY_BYTES_MIN and shutil.disk_usage(self._folder).free > ROOM_BYTES_MIN

    def _dump(self, listing: Path) -> None:
        for left in self._folder.glob("*.new*"):  # of an owner that was killed; the lock is ours
            left.unlink(missing_ok=True)
        classes, torn = self._file.with_suffix(".new-classes"), self._file.with_suffix(".new")
        classes.write_text(_chosen(listing.read_text("utf-8", "replace")), "utf-8")
        code = self._run(
            "-Xshare:dump",
            "-Xmx512m",
            f"-XX:SharedClassListFile={classes}",
            f"-XX:SharedArchiveFile={torn}",
            "-cp",
            os.pathsep.join(map(str, self._jars)),
        )
        if code == 0 and torn.exists():
            torn.chmod(0o600)  # Java makes it read-only, and such a file cannot be synced
            with torn.open("rb+") as file:  # or a loss of power could leave a whole name with half of the content
                os.fsync(file.fileno())
            torn.replace(self._file)
            self._made.write_text(_stamp(self._file), "ascii")
            self._prune()
            log.info("a class archive was made; the next start takes a third of the time")
        elif code is not None and code > 0:  # below zero it was killed, which says nothing of the Java
            self._refused.touch()
            log.info("this Java makes no class archive (exit code %d)", code)
        for left in (classes, torn):
            left.unlink(missing_ok=True)

    def _run(self, *options: str) -> int | None:
        """Run Java with the least priority until it ends or we are told to stop; None for the latter."""
        with subprocess.Popen(  # noqa: S603  a Java that was asked, and arguments of our own
            [str(self._java.program), *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as child:
            with contextlib.suppress(psutil.Error):
                psutil.Process(child.pid).nice(psutil.IDLE_PRIORITY_CLASS if sys.platform == "win32" else 19)
            while child.poll() is None:
                if self._stopping.wait(0.2):
                    child.kill()
                    return None
            return child.returncode

    def _prune(self) -> None:
        """Keep the archives used last; one without its note was left by an owner that was killed."""
        made = sorted(self._folder.glob("*.made"), key=lambda file: file.stat().st_mtime, reverse=True)
        kept = {file.stem for file in made[:KEPT_MAX]}
        for old in (*self._folder.glob("*.jsa"), *made):
            if old.stem not in kept:
                with contextlib.suppress(OSError):  # in use by another server, where that forbids it
                    old.unlink()


def _stamp(file: Path) -> str:
    found = file.stat()
    return f"{found.st_size} {found.st_mtime_ns}"


def _fingerprint(java: Java, jars: Sequence[Path]) -> str:
    """Changes with all that makes the JVM ignore an archive, which it does without a word."""
    image = java.program.resolve().parent.parent / "lib" / "modules"
    files = [image, *jars] if image.exists() else jars
    stamps = [f"{file} {_stamp(file)}" for file in files]
    return hashlib.sha256("\n".join([java.version, *stamps]).encode()).hexdigest()[:16]


def _chosen(listing: str) -> str:
    """The lines that a dump takes: whole ones, not too long, and no proxies, whose names differ from run to run."""
    whole = listing.splitlines()[:-1]  # the server is still writing the last one
    return "".join(f"{line}\n" for line in whole if len(line) < LINE_CHARS_MAX and "$Proxy" not in line)
