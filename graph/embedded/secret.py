"""The password of the embedded server: made here, kept in one private file, never on a command line.

Neo4j takes its first password from `data/dbms/auth.ini` when it makes its system database. Its own tool writes that
file, but wants the password as an argument, which every user of the machine can read; so we write it. That way the
server never accepts the default password, not even for the moment before a statement could change it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from graph.errors import UnavailableError

USERNAME = "neo4j"
PASSWORD_BYTES = 32
ROUNDS = 1024  # what Neo4j 5.26 expects in auth.ini; the hash in its system database is its own


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    torn = path.with_name(f".{path.name}.{os.getpid()}")
    torn.unlink(missing_ok=True)
    descriptor = os.open(torn, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    torn.replace(path)


def read_password(home: Path) -> str | None:
    """The password of the server in this folder, or None before its first start."""
    try:
        return _file(home).read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def establish_password(home: Path) -> str:
    """The password of the server in this folder, made if the server has never run.

    Args:
        home: The server's own folder.

    Raises:
        UnavailableError: there is a store, but the file with its password is gone.
    """
    has_run = (home / "data" / "databases" / "system").exists()
    password = read_password(home)
    if password is None:
        if has_run:
            raise UnavailableError(
                f"{_file(home)} is gone, and the store beside it opens with that password only",
                field="WHENCE_HOME",
                allowed="the file from a backup, or another WHENCE_HOME and an import",
            )
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        write_private(_file(home), password + "\n")
    if not has_run:
        first = home / "data" / "dbms" / "auth.ini"
        first.parent.mkdir(parents=True, exist_ok=True)
        write_private(first, _auth_line(password))
    return password


def _file(home: Path) -> Path:
    return home / "password"


def _auth_line(password: str) -> str:
    salt = secrets.token_bytes(32)
    digest = hashlib.sha256(salt + password.encode()).digest()
    for _ in range(ROUNDS - 1):
        digest = hashlib.sha256(digest).digest()
    return f"{USERNAME}:SHA-256,{digest.hex()},{salt.hex()},{ROUNDS}:\n"
