"""Labels, relationship types and properties of the database, and what must be installed before the first write.

neomodel declares the model and its single-property constraint; composite ones, which it cannot declare, are
statements in ``cypher/schema_*.cypher``. Requests do not go through neomodel: appends and walks are statements of
their own, and ``save()`` would overwrite what others write.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from io import StringIO
from typing import Any, ClassVar, LiteralString

from neo4j import AsyncDriver
from neo4j.exceptions import ClientError, DriverError, Neo4jError, TransientError
from neomodel import (
    ArrayProperty,
    AsyncRelationshipFrom,
    AsyncRelationshipTo,
    AsyncStructuredNode,
    AsyncStructuredRel,
    BooleanProperty,
    DateTimeNeo4jFormatProperty,
    FloatProperty,
    IntegerProperty,
    StringProperty,
    adb,
    config,
)

from graph import queries
from graph.errors import UnavailableError, failure_name
from graph.knowledge import Kind, State

STATE_LABELS = tuple(state.value.capitalize() for state in State)
WORDS = "knowledge_texts"  # the full-text index, which is asked by its name
FORMER_WORDS = "knowledge_words"  # that of earlier versions, which did not hold descriptions
TRIES = 5  # of what deadlocks with another who installs; each time one of both gets through
KIND_LABELS = tuple(kind.value.capitalize() for kind in Kind)


class Stated(AsyncStructuredRel):
    """An edge between two nodes of knowledge, as the newest event left it."""

    turns: Any = ArrayProperty(IntegerProperty())
    times: Any = ArrayProperty(DateTimeNeo4jFormatProperty())
    event_ids: Any = ArrayProperty(StringProperty())
    since: Any = DateTimeNeo4jFormatProperty()
    until: Any = DateTimeNeo4jFormatProperty()


class StandsOn(AsyncStructuredRel):
    """That a node stands on evidence, since the event at ``seq``."""

    seq: Any = IntegerProperty()


class Project(AsyncStructuredNode):
    """A project's head: the newest position of its journal, which is also the lock that writers take."""

    name: Any = StringProperty(unique_index=True, required=True)
    seq: Any = IntegerProperty()
    hash: Any = StringProperty()
    recorded_at: Any = DateTimeNeo4jFormatProperty()
    rebuilding: Any = BooleanProperty()


class Aging(AsyncStructuredNode):
    """How many seconds after its last verification a node of a project counts as stale, as set at an instant."""

    project: Any = StringProperty(required=True)
    since: Any = DateTimeNeo4jFormatProperty(required=True)
    seconds: Any = IntegerProperty()


class Policy(AsyncStructuredNode):
    """What a project lets in: kinds of personal data that stay in texts, and types of concepts (none: the default)."""

    project: Any = StringProperty(required=True)
    kept: Any = ArrayProperty(StringProperty())
    types: Any = ArrayProperty(StringProperty())


class StoreFormat(AsyncStructuredNode):
    """In which form the store is written: there is one, called ``whence``."""

    name: Any = StringProperty(required=True)
    schema_version: Any = IntegerProperty()
    journal_version: Any = IntegerProperty()
    written_by: Any = StringProperty()


class AccessToken(AsyncStructuredNode):
    """What a caller shows; kept by the hash of its secret, with who acts by it and what that one may do where."""

    token_id: Any = StringProperty(required=True)
    hash: Any = StringProperty()
    label: Any = StringProperty()
    projects: Any = ArrayProperty(StringProperty())
    role: Any = StringProperty()
    issuer: Any = StringProperty()
    subject: Any = StringProperty()
    type: Any = StringProperty()
    created_at: Any = DateTimeNeo4jFormatProperty()
    expires_at: Any = DateTimeNeo4jFormatProperty()
    revoked_at: Any = DateTimeNeo4jFormatProperty()
    rate: Any = IntegerProperty()


class Replay(AsyncStructuredNode):
    """That a stored session, told by a digest of its name and text, was replayed into a project to its end."""

    project: Any = StringProperty(required=True)
    session: Any = StringProperty(required=True)


class Evidence(AsyncStructuredNode):
    """A pointer to what a node rests on (PROV: Entity)."""

    project: Any = StringProperty(required=True)
    key: Any = StringProperty(required=True)
    type: Any = StringProperty()
    source: Any = StringProperty()
    timestamp: Any = DateTimeNeo4jFormatProperty()
    hash: Any = StringProperty()
    artifact_ref: Any = StringProperty()
    metadata: Any = StringProperty()


class Knowledge(AsyncStructuredNode):
    """A claim or an observation; its state, kind and risk are labels too, so that analysts can colour by them."""

    __optional_labels__: ClassVar = [
        *STATE_LABELS,
        *KIND_LABELS,
        "Retired",
        "AtRisk",
        "Forgotten",
        "Concept",
        "Dangling",
    ]

    project: Any = StringProperty(required=True)
    key: Any = StringProperty(required=True)
    generation: Any = IntegerProperty(required=True)
    scope: Any = StringProperty()
    proposition: Any = StringProperty()
    description: Any = StringProperty()
    kind: Any = StringProperty()
    state: Any = StringProperty()
    valid_from: Any = DateTimeNeo4jFormatProperty()
    valid_to: Any = DateTimeNeo4jFormatProperty()
    created_at: Any = DateTimeNeo4jFormatProperty()
    created_seq: Any = IntegerProperty()
    updated_at: Any = DateTimeNeo4jFormatProperty()
    updated_seq: Any = IntegerProperty()
    verified_at: Any = DateTimeNeo4jFormatProperty()
    verified_seq: Any = IntegerProperty()
    retired_seq: Any = IntegerProperty()
    risk_seq: Any = IntegerProperty()
    uses: Any = IntegerProperty()
    helpful: Any = IntegerProperty()
    harmful: Any = IntegerProperty()
    unsupported: Any = IntegerProperty()
    forgotten: Any = BooleanProperty()
    confirmed_by: Any = StringProperty()
    lineage: Any = StringProperty()
    concept: Any = StringProperty()
    dangling: Any = ArrayProperty(StringProperty())

    evidence = AsyncRelationshipTo("Evidence", "EVIDENCED_BY", model=StandsOn)
    representations = AsyncRelationshipTo("Representation", "REPRESENTED_BY")
    derived_from = AsyncRelationshipTo("Knowledge", "DERIVED_FROM", model=Stated)
    supports = AsyncRelationshipTo("Knowledge", "SUPPORTS", model=Stated)
    contradicts = AsyncRelationshipTo("Knowledge", "CONTRADICTS", model=Stated)
    depends_on = AsyncRelationshipTo("Knowledge", "DEPENDS_ON", model=Stated)
    supersedes = AsyncRelationshipTo("Knowledge", "SUPERSEDES", model=Stated)
    related_to = AsyncRelationshipTo("Knowledge", "RELATED_TO", model=Stated)
    events = AsyncRelationshipFrom("Event", "ABOUT")


class Representation(AsyncStructuredNode):
    """A node's text as a vector of one model; its label for ``Model`` is that of the index, where there is one."""

    __optional_labels__: ClassVar = ["Model"]

    project: Any = StringProperty(required=True)
    key: Any = StringProperty(required=True)
    generation: Any = IntegerProperty(required=True)
    model: Any = StringProperty(required=True)
    model_name: Any = StringProperty()
    model_sha256: Any = StringProperty()
    text_sha256: Any = StringProperty()
    vector: Any = ArrayProperty(FloatProperty())


class Filling(AsyncStructuredNode):
    """Up to which position of a project's journal a model has vectors of all nodes, and the index that finds them."""

    project: Any = StringProperty(required=True)
    model: Any = StringProperty(required=True)
    model_name: Any = StringProperty()
    seq: Any = IntegerProperty()
    index: Any = StringProperty()


class Event(AsyncStructuredNode):
    """One immutable entry of a project's journal (PROV: Activity)."""

    project: Any = StringProperty(required=True)
    seq: Any = IntegerProperty(required=True)
    event_id: Any = StringProperty(required=True)
    transition: Any = StringProperty()
    key: Any = StringProperty()
    generation: Any = IntegerProperty()
    actor_issuer: Any = StringProperty()
    actor_subject: Any = StringProperty()
    actor_type: Any = StringProperty()
    time: Any = DateTimeNeo4jFormatProperty()
    recorded_at: Any = DateTimeNeo4jFormatProperty()
    reason: Any = StringProperty()
    caused_by: Any = ArrayProperty(StringProperty())
    execution: Any = StringProperty()
    payload: Any = StringProperty()
    state_after: Any = StringProperty()
    verifies: Any = BooleanProperty()
    newly_at_risk: Any = IntegerProperty()
    prev_hash: Any = StringProperty()
    hash: Any = StringProperty()

    about = AsyncRelationshipTo("Knowledge", "ABOUT")
    causes = AsyncRelationshipTo("Event", "CAUSED_BY")


MODELS = (Project, Aging, Policy, AccessToken, Replay, Knowledge, Evidence, Representation, Filling, Event, StoreFormat)
_DECLARED_BY_NEOMODEL = "constraint_unique_Project_name"
_STATEMENT = re.compile(r"FOR \(\w+:(\w+)\) (?:REQUIRE|ON|ON EACH) [(\[]([^)\]]*)[)\]]( IS UNIQUE)?")
_ANALYZER = re.compile(r"`fulltext.analyzer`: '([\w-]+)'")
_CONSTRAINTS: LiteralString = """
SHOW CONSTRAINTS YIELD type, entityType, labelsOrTypes, properties
WHERE entityType = 'NODE' AND type ENDS WITH 'UNIQUENESS'
RETURN 'UNIQUE' AS type, labelsOrTypes AS labels, properties
"""
_INDEXES: LiteralString = """
SHOW INDEXES YIELD name, type, entityType, state, labelsOrTypes, properties, options
WHERE entityType = 'NODE' AND state = 'ONLINE'
  AND (type = 'RANGE'
    OR type = 'FULLTEXT' AND name = $words AND options.indexConfig['fulltext.analyzer'] = $analyzer)
RETURN type, labelsOrTypes AS labels, properties
"""
_VECTOR_INDEXES: LiteralString = "SHOW VECTOR INDEXES YIELD name, state WHERE state = 'ONLINE' RETURN name"
_SHOW: tuple[LiteralString, ...] = (_CONSTRAINTS, _INDEXES)
_DROPS: tuple[LiteralString, ...] = ("DROP CONSTRAINT $name IF EXISTS", "DROP INDEX $name IF EXISTS")
# IF NOT EXISTS looks before it locks, so that of two who make the same at once one is told that it is there.
_DONE_MEANWHILE = frozenset({"Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"})
_LOG = logging.getLogger("whence.schema")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a constraint or an index is, whatever its name.

    Attributes:
        type: ``UNIQUE`` for a constraint, ``RANGE`` or ``FULLTEXT`` for an index.
        label: Of the nodes that it is for.
        properties: In the order in which it sorts.
    """

    type: str
    label: str
    properties: tuple[str, ...]


async def install(driver: AsyncDriver, database: str) -> None:
    """Create what is missing of constraints and indexes; a second run changes nothing and prints nothing.

    Several may install at once: what one of them made the others find done.

    Raises:
        UnavailableError: something is still missing afterwards, since another constraint or index has its name or
            its properties, or the data are against it; the log says which.
    """
    await _made(driver, database, "DROP INDEX $name IF EXISTS", name=FORMER_WORDS)
    for name in sorted(await absent(driver, database)):
        try:
            await _create(driver, database, name)
        except ClientError as error:
            _tell(f"{name} cannot be created", error)
    await _made(driver, database, "CALL db.awaitIndexes(60)")
    if still := await absent(driver, database):
        raise UnavailableError(
            f"the database lacks {', '.join(sorted(still))}",
            allowed="a database in which nothing else has these names or properties, or one of its own",
        )


def _tell(what: str, error: Exception) -> None:
    _LOG.warning("%s: %s", what, failure_name(error))
    _LOG.debug("%s: %s", what, error)


async def install_vectors(driver: AsyncDriver, database: str, index: str, dimensions: int) -> None:
    """Create a vector index where it is missing, and return once it can be asked.

    Args:
        driver: To the server.
        database: Where.
        index: The label of the vectors, which names the index too.
        dimensions: Of the vectors.

    Raises:
        UnavailableError: the database cannot be had, or refuses the index.
    """
    statement = queries.load("representation_index").labelled(index)
    try:
        await _made(driver, database, statement.text, index=index, dimensions=dimensions)
        await _made(driver, database, "CALL db.awaitIndex($name, 300)", name=index)
    except (Neo4jError, DriverError) as error:
        _tell(f"the vector index {index} cannot be had", error)
        raise UnavailableError("the index of the vectors cannot be had", allowed="the same request later") from error


async def drop_vectors(driver: AsyncDriver, database: str, index: str) -> None:
    """Drop a vector index; the vectors stay.

    Raises:
        UnavailableError: the database cannot be had.
    """
    try:
        await _made(driver, database, "DROP INDEX $name IF EXISTS", name=index)
    except (Neo4jError, DriverError) as error:
        _tell(f"the vector index {index} cannot be dropped", error)
        raise UnavailableError("the index of the vectors cannot be had", allowed="the same request later") from error


async def absent_vectors(driver: AsyncDriver, database: str, indexes: Collection[str]) -> list[str]:
    """Those of some vector indexes that the database has not, or cannot be asked, sorted."""
    records, _, _ = await driver.execute_query(_VECTOR_INDEXES, database_=database)
    return sorted(set(indexes) - {str(row["name"]) for row in records})


async def restore(driver: AsyncDriver, database: str) -> None:
    """Drop what has the name of a constraint or index of ours and is another one, and install what is missing.

    Raises:
        UnavailableError: something is still missing afterwards.
    """
    for name in sorted(await absent(driver, database)):
        for drop in _DROPS:
            await _made(driver, database, drop, name=name)
    await install(driver, database)


async def _create(driver: AsyncDriver, database: str, name: str) -> None:
    if name != _DECLARED_BY_NEOMODEL:
        await _made(driver, database, queries.load(f"schema_{name}").text)
        return
    config.get_config().database_name = database
    await adb.set_connection(driver=driver)
    for left in reversed(range(TRIES)):
        try:
            # It writes that what another one made meanwhile is there, and goes on.
            await adb.install_labels(Project, quiet=True, stdout=StringIO())
        except TransientError:  # neomodel leaves it to others to try again
            if not left:
                raise
        else:
            return


async def _made(driver: AsyncDriver, database: str, statement: LiteralString, **params: Any) -> None:
    """Run a statement about the schema; what somebody else has done meanwhile is done."""
    try:
        await driver.execute_query(statement, params, database_=database)
    except ClientError as error:
        if error.code not in _DONE_MEANWHILE:
            raise


async def absent(driver: AsyncDriver, database: str) -> frozenset[str]:
    """Names of the constraints and indexes that the database should have and has not, by what they are for.

    One of the same definition counts under any name, unless it is asked by its name; one of our name with another
    definition does not count.
    """
    found: set[Definition] = set()
    for statement in _SHOW:
        records, _, _ = await driver.execute_query(statement, words=WORDS, analyzer=_analyzer(), database_=database)
        found |= {Definition(row["type"], row["labels"][0], tuple(row["properties"])) for row in records}
    return frozenset(name for name, definition in declared().items() if definition not in found)


@cache
def declared() -> Mapping[str, Definition]:
    """Every constraint and index of ours by name."""
    found = {_DECLARED_BY_NEOMODEL: Definition("UNIQUE", "Project", ("name",))}
    for name in queries.names():
        if name.startswith("schema_"):
            statement = _STATEMENT.search(queries.load(name).text)
            assert statement, f"cypher/{name}.cypher creates a constraint or an index of one label"
            label, properties, unique = statement.groups()
            names = tuple(part.partition(".")[2] for part in properties.split(", "))
            kind = "UNIQUE" if unique else "FULLTEXT" if "FULLTEXT" in queries.load(name).text else "RANGE"
            found[name.removeprefix("schema_")] = Definition(kind, label, names)
    return found


def _analyzer() -> str:
    """How the full-text index takes words apart; one with another analyzer would find other things."""
    found = _ANALYZER.search(queries.load(f"schema_{WORDS}").text)
    assert found, "the full-text index names its analyzer"
    return found[1]
