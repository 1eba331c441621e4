"""Which database a benchmark runs on."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from platformdirs import user_data_path

from graph.embedded import SERVE, Connection, EmbeddedNeo4j, Profile


@contextmanager
def database(profile: Profile = SERVE) -> Generator[Connection]:
    """The named server, or an embedded one, tuned as the profile says, that is gone afterwards."""
    if uri := os.environ.get("NEO4J_URI"):
        yield Connection(uri, os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
        return
    ends_in_order()
    with tempfile.TemporaryDirectory() as home, EmbeddedNeo4j(Path(home), profile, cache=cache()) as server:
        assert server.connection is not None
        yield server.connection


def ends_in_order() -> None:
    """Have SIGTERM end this program as an error would, so that what it started ends with it."""
    signal.signal(signal.SIGTERM, _end)


def _end(_signal: int, _frame: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)


def cache() -> Path:
    """Where this user's jars are already, or will be for the next run."""
    return Path(os.environ.get("WHENCE_HOME") or user_data_path("whence", appauthor=False)) / "cache"
