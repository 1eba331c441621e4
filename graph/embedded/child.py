"""Begin and end the server as a child of this program."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"
STOP_SECONDS_MAX = 20.0  # an orderly stop takes one to two; after a full disk it never ends

# What waits beside a server: told a line it goes, and at the end of its input it ends the server as `end` does.
_HEIR = """
read -r _ && exit
kill -TERM "$1" || exit
waited=0
while [ "$waited" -lt "$2" ]; do
  sleep 1
  kill -0 "$1" || exit
  waited=$((waited + 1))
done
kill -KILL "$1"
"""

EXIT_CODE_MAX = 255  # below zero stands a signal, above it a fault as Windows counts them

log = logging.getLogger(__name__)


# Java reads its arguments by the locale: in the plain one a folder with other letters than ASCII is none to it.
_LOCALE = {"LC_ALL": "C.UTF-8"} if sys.platform == "linux" else {}


def begin(program: Path, options: Sequence[str], home: Path) -> subprocess.Popen[bytes]:
    """Start a server.

    Args:
        program: The `java` to run.
        options: For the JVM; written to a file, since a command line is short on some systems.
        home: The server's folder, with its configuration in it.

    Returns:
        The child, in a session of its own, so that Ctrl-C reaches this program first.
    """
    listed = home / "conf" / "java.options"
    listed.write_bytes(os.fsencode(_quoted(options)))
    command = [program, f"@{listed}", MAIN_CLASS, f"--home-dir={home}", f"--config-dir={home / 'conf'}"]
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("NEO4J_")} | _LOCALE
    with (home / "logs" / "console.log").open("wb") as console:
        return subprocess.Popen(  # noqa: S603  a Java that was asked, and arguments of our own
            [str(word) for word in command],
            cwd=home,
            env=quiet,  # another server's password is none of its business
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP if sys.platform == "win32" else 0,
        )


class Heir:
    """Ends a server whose owner is gone without a word, as one is that was killed; on POSIX systems.

    It is a shell at the other end of a pipe, whose closing tells it. A signal at a parent's death would come at the end
    of the thread that began the server.

    Args:
        server: Its pid.
    """

    def __init__(self, server: int) -> None:
        command = ["/bin/sh", "-c", _HEIR, "whence-heir", str(server), f"{STOP_SECONDS_MAX:.0f}"]
        self.shell = subprocess.Popen(  # noqa: S603  a text and numbers of our own
            command,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Say that the server has ended."""
        with contextlib.suppress(BrokenPipeError):
            self.shell.communicate(b"\n")


def end(server: psutil.Process | subprocess.Popen[bytes], *, orderly: bool) -> None:
    """End a server: in order if its store is worth it, by force if it does not go or is not worth the wait."""
    with contextlib.suppress(psutil.NoSuchProcess):
        try:
            if orderly:
                server.terminate()
                _await_end(server)
        except (psutil.TimeoutExpired, subprocess.TimeoutExpired):
            log.warning("Neo4j did not stop within %.0f s and is killed", STOP_SECONDS_MAX)
        finally:
            server.kill()
            _await_end(server)


def _await_end(server: psutil.Process | subprocess.Popen[bytes]) -> None:
    """Wait for the server's end; another's child that nobody has collected yet has ended too."""
    if isinstance(server, subprocess.Popen):
        server.wait(STOP_SECONDS_MAX)
        return
    deadline = time.monotonic() + STOP_SECONDS_MAX
    while server.is_running() and server.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            raise psutil.TimeoutExpired(STOP_SECONDS_MAX, server.pid)
        time.sleep(0.05)


def crashed(code: int) -> bool:
    """Whether an exit code means that the JVM broke, rather than that it was ended or gave up in order."""
    return code not in (-9, -15) and not 0 <= code <= EXIT_CODE_MAX


def _quoted(options: Sequence[str]) -> str:
    """Options as the `java` program reads them from a file."""
    quoted = [option.replace("\\", "\\\\").replace('"', '\\"') for option in options]
    return "".join(f'"{option}"\n' for option in quoted)
