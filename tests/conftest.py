"""One Neo4j a session: the one that is named, else a container, else our own."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest
from neo4j import GraphDatabase
from scenario import Database, Stage

from graph.embedded import TEST, Connection, EmbeddedNeo4j
from graph.service import Service
from graph.store import Store

COMPOSE = Path(__file__).parent.parent / "docker-compose.yml"
WORKERS = 2  # each with a server of its own, which is a gigabyte of memory


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """How many processes share the tests; one where they must share a server, or where long runs are measured."""
    alone = "NEO4J_URI" in os.environ or "not slow" not in config.option.markexpr
    return 0 if alone else min(WORKERS, os.cpu_count() or 1)


@pytest.fixture(scope="session")
def neo4j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A server that tests may write to and wipe; never one that holds anything of worth."""
    if "NEO4J_URI" in os.environ:
        yield _named()
    elif _docker_answers():
        yield from _container()
    else:
        server = EmbeddedNeo4j(tmp_path_factory.mktemp("whence"), TEST, cache=cache())
        try:
            yield server.start()
        finally:
            server.stop()


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.Runner]:
    """The one event loop of the session, since the driver's connections belong to a loop."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def open_store(neo4j: Connection, loop: asyncio.Runner) -> Iterator[Store]:
    """A store on the session's server, its schema installed."""
    opened = Store.open(neo4j.uri, neo4j.username, neo4j.password, neo4j.database)
    store = loop.run(opened.__aenter__())
    yield store
    loop.run(opened.__aexit__(None, None, None))


@pytest.fixture
def store(open_store: Store, loop: asyncio.Runner) -> Store:
    """The session's store, emptied."""
    loop.run(wipe(open_store))
    return open_store


@pytest.fixture
def service(store: Store) -> Service:
    """The use cases on an empty store."""
    return Service(store)


@pytest.fixture(scope="module")
def database(open_store: Store, loop: asyncio.Runner) -> Database:
    """The session's server, for tests of single statements."""
    return Database(open_store, loop)


@pytest.fixture
def scenario(database: Database) -> Stage:
    """What one statement is tried on."""
    return Stage(database)


async def wipe(store: Store) -> None:
    """Delete every node; constraints and indexes stay.

    Few at a time: a batch holds its nodes' edges too, and what it cannot delete would fail every test after it.
    """
    async with store.driver.session(database=store.database) as session:
        await session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 500 ROWS")


def cache() -> Path:
    """Where this user's jars are already, or will be for the next session."""
    return Path(os.environ.get("WHENCE_HOME") or platformdirs.user_data_path("whence", appauthor=False)) / "cache"


def _named() -> Connection:
    connection = Connection(
        os.environ["NEO4J_URI"],
        os.environ.get("NEO4J_USERNAME", "neo4j"),
        os.environ.get("NEO4J_PASSWORD", ""),
        os.environ.get("NEO4J_DATABASE", "neo4j"),
    )
    login = (connection.username, connection.password)
    with GraphDatabase.driver(connection.uri, auth=login) as driver:  # pyright: ignore[reportUnknownMemberType]
        found = driver.execute_query("MATCH (n) RETURN 1 LIMIT 1", database_=connection.database)
    if found.records and os.environ.get("WHENCE_TEST_STORE") != "1":
        pytest.exit("NEO4J_URI names a store that is not empty; WHENCE_TEST_STORE=1 lets tests wipe it", 2)
    return connection


def _docker_answers() -> bool:
    """Whether there is an engine; a `docker` program on the PATH proves nothing."""
    import docker  # noqa: PLC0415  a tenth of a second, for the sessions that get here
    from docker.errors import DockerException  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # without an engine the client leaves a socket open
        try:
            docker.from_env(timeout=1).close()
        except DockerException:
            answers = False
        else:
            answers = True
        gc.collect()  # now, since it would warn later
    return answers


def _container() -> Iterator[Connection]:
    from testcontainers.community.neo4j import Neo4jContainer  # noqa: PLC0415  its import talks to the engine

    image = re.search(r"image: (neo4j:\S+)", COMPOSE.read_text("utf-8"))
    assert image, f"{COMPOSE} names no image of Neo4j"
    with Neo4jContainer(image[1], password="only-for-tests") as container:
        yield Connection(container.get_connection_url(), container.username, container.password)
