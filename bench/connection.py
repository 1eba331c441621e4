"""Which database a benchmark runs on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_data_path

from graph.embedded import SERVE, Connection, EmbeddedNeo4j, Profile


@contextmanager
def database(profile: Profile = SERVE) -> Generator[Connection]:
    """The named server, or an embedded one, tuned as the profile says, that is gone afterwards."""
    if uri := os.environ.get("NEO4J_URI"):
        yield Connection(uri, os.environ.get("NEO4J_USERNAME", "neo4j"), os.environ.get("NEO4J_PASSWORD", ""))
        return
    with tempfile.TemporaryDirectory() as home, EmbeddedNeo4j(Path(home), profile, cache=cache()) as server:
        assert server.connection is not None
        yield server.connection


def cache() -> Path:
    """Where this user's jars are already, or will be for the next run."""
    return Path(os.environ.get("WHENCE_HOME") or user_data_path("whence", appauthor=False)) / "cache"
