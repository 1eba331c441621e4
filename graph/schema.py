"""Labels, relationship types and properties of the database, and what must be installed before the first write.

neomodel declares the model and its single-property constraint; composite ones, which it cannot declare, are
statements in ``cypher/schema_*.cypher``. Requests do not go through neomodel: appends and walks are statements of
their own, and ``save()`` would overwrite what others write.
"""

from __future__ import annotations

from typing import Any, ClassVar, LiteralString

from neo4j import AsyncDriver
from neomodel import (
    ArrayProperty,
    AsyncRelationshipFrom,
    AsyncRelationshipTo,
    AsyncStructuredNode,
    AsyncStructuredRel,
    BooleanProperty,
    DateTimeNeo4jFormatProperty,
    IntegerProperty,
    StringProperty,
    adb,
    config,
)

from graph import queries
from graph.errors import UnavailableError
from graph.knowledge import Kind, Relation, State

STATE_LABELS = tuple(state.value.capitalize() for state in State)
KIND_LABELS = tuple(kind.value.capitalize() for kind in Kind)
RELATIONSHIP_TYPES = tuple(relation.value.upper() for relation in Relation)


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

    __optional_labels__: ClassVar = [*STATE_LABELS, *KIND_LABELS, "Retired", "AtRisk", "Forgotten"]

    project: Any = StringProperty(required=True)
    key: Any = StringProperty(required=True)
    generation: Any = IntegerProperty(required=True)
    proposition: Any = StringProperty()
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

    evidence = AsyncRelationshipTo("Evidence", "EVIDENCED_BY", model=StandsOn)
    derived_from = AsyncRelationshipTo("Knowledge", "DERIVED_FROM", model=Stated)
    supports = AsyncRelationshipTo("Knowledge", "SUPPORTS", model=Stated)
    contradicts = AsyncRelationshipTo("Knowledge", "CONTRADICTS", model=Stated)
    depends_on = AsyncRelationshipTo("Knowledge", "DEPENDS_ON", model=Stated)
    supersedes = AsyncRelationshipTo("Knowledge", "SUPERSEDES", model=Stated)
    related_to = AsyncRelationshipTo("Knowledge", "RELATED_TO", model=Stated)
    events = AsyncRelationshipFrom("Event", "ABOUT")


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


MODELS = (Project, Knowledge, Evidence, Event)
_DECLARED_BY_NEOMODEL = "constraint_unique_Project_name"
_SHOW: tuple[LiteralString, LiteralString] = (
    "SHOW CONSTRAINTS YIELD name RETURN name",
    "SHOW INDEXES YIELD name WHERE NOT name STARTS WITH 'index_' RETURN name",
)


async def install(driver: AsyncDriver, database: str) -> None:
    """Create what is missing of constraints and indexes; a second run changes nothing and prints nothing.

    Raises:
        UnavailableError: something is still missing afterwards.
    """
    missing = await absent(driver, database)
    if _DECLARED_BY_NEOMODEL in missing:
        config.get_config().database_name = database
        await adb.set_connection(driver=driver)
        await adb.install_labels(Project, quiet=True)
    for name in queries.names():
        if name.removeprefix("schema_") in missing:
            await driver.execute_query(queries.load(name).text, database_=database)
    await driver.execute_query("CALL db.awaitIndexes(60)", database_=database)
    if still := await absent(driver, database):
        raise UnavailableError(f"the database lacks {', '.join(sorted(still))}")


async def absent(driver: AsyncDriver, database: str) -> frozenset[str]:
    """Names of the constraints and indexes that the database should have and has not."""
    declared = {name.removeprefix("schema_") for name in queries.names() if name.startswith("schema_")}
    declared.add(_DECLARED_BY_NEOMODEL)
    for statement in _SHOW:
        records, _, _ = await driver.execute_query(statement, database_=database)
        declared -= {record["name"] for record in records}
    return frozenset(declared)
