"""The limit: the official driver behind a bare Starlette route, one hand-written statement a shape.

Each answers what Whence's GraphQL answers to the same question, evidence in the same order, edges as long as they are
live, so that what GraphQL costs is the difference.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, LiteralString

import neo4j
import orjson
import uvicorn
import uvloop
from neo4j import AsyncDriver, AsyncGraphDatabase
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

POINT = """
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key = $key AND n.generation >= 1
WITH n ORDER BY n.generation DESC LIMIT 1
RETURN {knowledge: n {.key, .proposition, .state}} AS data
"""

HOP = """
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key = $key AND n.generation >= 1
WITH n ORDER BY n.generation DESC LIMIT 1
RETURN {knowledge: n {
  .key, .generation, .proposition, .kind, .state, atRisk: n:AtRisk, .uses,
  evidence: COLLECT {
    MATCH (n)-[s:EVIDENCED_BY]->(e)
    WITH s, e ORDER BY s.seq, e.key
    RETURN e {.key, .type, .source, .hash}
  },
  relations: COLLECT {
    MATCH (n)-[r:DEPENDS_ON|DERIVED_FROM]->(m)
    WHERE r.until IS NULL
    WITH r, m ORDER BY type(r), m.key, m.generation
    RETURN {relation: type(r), to: m {.key, .proposition, .kind, .state, atRisk: m:AtRisk}}
  }
}} AS data
"""

WALK = """
MATCH (root:Knowledge)
WHERE root.project = $project AND root.key = $key AND root.generation >= 1
WITH root ORDER BY root.generation DESC LIMIT 1
CALL (root) {
  MATCH path = (root)-[:DEPENDS_ON|DERIVED_FROM*1..6]->(n)
  WHERE all(r IN relationships(path) WHERE r.until IS NULL) AND n <> root
  WITH n, min(length(path)) AS distance
  ORDER BY distance, n.key, n.generation
  LIMIT 1000
  RETURN collect(n) AS walked, collect(n {
    .key, .proposition, .kind, .state, atRisk: n:AtRisk,
    evidence: COLLECT {
      MATCH (n)-[s:EVIDENCED_BY]->(e)
      WITH s, e ORDER BY s.seq, e.key
      RETURN e {.key, .type, .source, .hash}
    }
  }) AS nodes
}
CALL (root, walked) {
  WITH [root] + walked AS kept
  UNWIND kept AS a
  MATCH (a)-[r:DEPENDS_ON|DERIVED_FROM]->(b)
  WHERE r.until IS NULL
  WITH a, r, b, b IN kept AS inside
  ORDER BY a.key, a.generation, type(r), b.key, b.generation
  RETURN collect(CASE WHEN inside THEN {from: {key: a.key}, relation: type(r), to: {key: b.key}} END) AS edges,
    count(CASE WHEN inside THEN null ELSE 1 END) > 0 AS truncated
}
RETURN {provenance: {nodes: nodes, edges: edges, truncated: truncated}} AS data
"""

LIST = """
MATCH (n:Knowledge)
WHERE n.project = $project AND n.state = 'confirmed' AND n.key >= '' AND n.generation >= 1 AND NOT n:Forgotten
WITH n ORDER BY n.project, n.state, n.key, n.generation LIMIT 100
RETURN {knowledgeList: {edges: collect({node: n {
  .key, .proposition, .kind, .state, atRisk: n:AtRisk,
  evidence: COLLECT {
    MATCH (n)-[s:EVIDENCED_BY]->(e)
    WITH s, e ORDER BY s.seq, e.key
    RETURN e {.key, .type, .source, .hash}
  }
}})}} AS data
"""

STATEMENTS: dict[str, LiteralString] = {"Q1": POINT, "Q2": HOP, "Q3": WALK, "Q4": LIST}


def create_app(driver: AsyncDriver, database: str) -> Starlette:
    """A route a shape, which takes the variables of a question as a JSON object."""

    def route(name: str, statement: LiteralString) -> Route:
        async def answer(request: Request) -> Response:
            variables: dict[str, Any] = orjson.loads(await request.body())
            async with driver.session(  # pyright: ignore[reportUnknownMemberType] (its options are untyped)
                database=database, default_access_mode=neo4j.READ_ACCESS
            ) as session:
                record = await (await session.run(statement, variables)).single()
            return Response(orjson.dumps({"data": record and record[0]}), media_type="application/json")

        return Route(f"/{name}", answer, methods=["POST"])

    return Starlette(routes=[route(name, statement) for name, statement in STATEMENTS.items()])


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[AsyncDriver, str]]:
    """The driver on the server that the environment names."""
    given = os.environ
    async with AsyncGraphDatabase.driver(  # pyright: ignore[reportUnknownMemberType] (its options are untyped)
        given["NEO4J_URI"],
        auth=(given["NEO4J_USERNAME"], given["NEO4J_PASSWORD"]),
        notifications_min_severity="OFF",
        telemetry_disabled=True,
    ) as driver:
        yield driver, given["NEO4J_DATABASE"]


async def _serve(port: int) -> None:
    async with opened() as (driver, database):
        config = uvicorn.Config(
            create_app(driver, database),
            port=port,
            http="httptools",
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
        )
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(int(os.environ["PORT"])))
