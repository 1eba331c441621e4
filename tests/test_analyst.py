"""What analysts get in Neo4j Browser: queries that answer, fitting looks, and a copy in which nobody can write."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any, LiteralString, cast
from xml.etree import ElementTree as ET

import httpx
import pytest
from conftest import cache
from neo4j import GraphDatabase
from neo4j.exceptions import Neo4jError
from test_cli import POSIX, WHENCE
from test_cypher_files import LABELS, TYPES
from test_exchange import claimed, taken

from api import analyst
from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph.embedded import Connection
from graph.service import Service

PROOF = [{"type": "run", "source": "ci"}]


def story() -> list[dict[str, Any]]:
    """A foundation that falls, a dispute, and something that nobody has verified for years."""

    def resting(key: str, on: str) -> dict[str, Any]:
        payload = {"proposition": f"claim {key}", "relations": [{"relation": "depends_on", "to": on}]}
        return {"transition": "proposed", "key": key, "payload": payload}

    return [
        claimed("base"),
        claimed("old", time="2020-01-01T00:00:00Z"),
        resting("middle", "base"),
        resting("top", "middle"),
        resting("other", "old"),
        {"transition": "confirmed", "key": "old", "payload": {"evidence": PROOF}, "time": "2020-01-02T00:00:00Z"},
        claimed("rival"),
        {"transition": "linked", "key": "rival", "payload": {"relation": "contradicts", "to": "other"}},
        {"transition": "invalidated", "key": "base", "reason": "it was wrong"},
    ]


class Desk:
    """An analyst's look at one project."""

    def __init__(self, service: Service, loop: asyncio.Runner) -> None:
        self._service = service
        self._loop = loop

    def rows(self, title: str, key: str = "top") -> list[dict[str, Any]]:
        """What the query of that title returns."""
        query = next(query for query in analyst.queries() if query.title == title)
        text = cast(LiteralString, query.text)
        found = self._loop.run(self._service.store.driver.execute_query(text, project="P", key=key))
        return [dict(record) for record in found.records]

    def chains(self, title: str, key: str = "top", column: str = "path") -> set[tuple[str, ...]]:
        """The keys along each path that it returns."""
        paths = [row[column] for row in self.rows(title, key) if row[column] is not None]
        return {tuple(node["key"] for node in path.nodes) for path in paths}


@pytest.fixture
def desk(service: Service, loop: asyncio.Runner) -> Desk:
    assert taken(loop, service, story()).refused == 0
    assert taken(loop, service, story(), project="Q").refused == 0
    return Desk(service, loop)


def test_every_query_answers_what_its_title_asks(desk: Desk) -> None:
    assert desk.chains("What is at risk, and of what") == {("middle", "base"), ("top", "middle", "base")}
    assert desk.chains("What is disputed") == {("rival", "other")}
    assert desk.chains("Where an item came from") == {("top",), ("top", "middle"), ("top", "middle", "base")}
    assert {chain[0] for chain in desk.chains("Where an item came from", "other", "proof")} == {"old"}
    assert desk.chains("What rests on an item", "middle") == {("middle",), ("middle", "top")}
    history = desk.rows("What happened to an item", "base")
    assert [(row["transition"], row["reason"]) for row in history] == [
        ("proposed", None),
        ("invalidated", "it was wrong"),
    ]
    assert [row["position"] for row in desk.rows("What changed this week")] == list(range(10, 0, -1))
    assert [row["key"] for row in desk.rows("What nobody verified for long")] == ["old"]
    assert [(row["key"], row["dependents"]) for row in desk.rows("What most rests on")] == [("middle", 1), ("old", 1)]


def test_every_query_is_in_the_guide_and_reads_alone(service: Service, loop: asyncio.Runner) -> None:
    queries = analyst.queries()
    assert len({query.title for query in queries}) == len(queries) == 8
    for query in queries:
        assert query.shows.endswith(".")
        explained = cast(LiteralString, "EXPLAIN " + query.text)
        found = loop.run(service.store.driver.execute_query(explained, project="P", key="k"))
        assert found.summary.query_type == "r"
    page = ET.fromstring(analyst.guide("P"))
    code = [pre.text for pre in page.iter("pre")]
    assert [text for text in code if text and not text.startswith(":param")] == [query.text for query in queries]


@pytest.mark.parametrize("project", ["peps", "it's", "a\\b", "<b>&amp;", "ü 📦", "\\'); MATCH (n) DETACH DELETE n //"])
def test_the_guide_sets_the_project_whatever_it_is_called(service: Service, loop: asyncio.Runner, project: str) -> None:
    first = next(ET.fromstring(analyst.guide(project)).iter("pre")).text or ""
    literal = cast(LiteralString, "RETURN " + first.removeprefix(":param project => ") + " AS project")
    found = loop.run(service.store.driver.execute_query(literal))
    assert [record["project"] for record in found.records] == [project]


def test_the_style_names_labels_and_types_that_there_are() -> None:
    named = set(re.findall(r"^(?:node|relationship)\.(\w+) \{$", analyst.style(), re.MULTILINE))
    assert {"Knowledge", "AtRisk", "Retired", "Proposed", "Confirmed", "Challenged", "DEPENDS_ON"} <= named
    assert named <= LABELS | TYPES
    assert "caption: '{proposition}'" in analyst.style()


def test_browser_may_read_both_from_another_port(service: Service, loop: asyncio.Runner) -> None:
    app = create_app(service, Settings.from_environment({}), Everyone(ANONYMOUS))

    async def ask(method: str, path: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
            return await client.request(method, path, headers={"origin": "http://127.0.0.1:7474"})

    for path, starts in ((analyst.STYLE_PATH, "node {"), (f"{analyst.GUIDE_PATH}?project=peps", "<article")):
        answer, asked = loop.run(ask("GET", path)), loop.run(ask("OPTIONS", path))
        assert (answer.status_code, answer.text[: len(starts)]) == (200, starts)
        assert asked.status_code == 204
        assert {answer.headers["access-control-allow-origin"], asked.headers["access-control-allow-origin"]} == {"*"}
    assert loop.run(ask("GET", f"{analyst.GUIDE_PATH}?project=%00")).status_code == 400


@POSIX
def test_an_analysts_copy_is_the_same_and_takes_no_writes(
    neo4j: Connection, service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    (tmp_path / "cache").symlink_to(cache(), target_is_directory=True)
    names = {
        "WHENCE_HOME": str(tmp_path),
        "NEO4J_URI": neo4j.uri,
        "NEO4J_USERNAME": neo4j.username,
        "NEO4J_PASSWORD": neo4j.password,
        "NEO4J_DATABASE": neo4j.database,
    }
    assert taken(loop, service, story()).refused == 0
    before = loop.run(service.head("P"))
    running = subprocess.Popen(
        [WHENCE, "analyst", "--json"], env=os.environ | names, stdout=subprocess.PIPE, encoding="utf-8"
    )
    try:
        assert running.stdout is not None
        told = json.loads(running.stdout.readline())
        assert before is not None
        assert told["projects"] == [{"project": "P", "events": before.seq, "head": before.hash}]
        login = (told["username"], Path(told["password_file"]).read_text("utf-8").strip())
        with GraphDatabase.driver(told["bolt"], auth=login) as driver:
            count = driver.execute_query("MATCH (e:Event {project: 'P'}) RETURN count(e) AS n").records[0]["n"]
            assert count == before.seq
            for forbidden in ("CREATE (:X)", "MATCH (n) DETACH DELETE n", "DROP CONSTRAINT knowledge_identity"):
                with pytest.raises(Neo4jError, match=r"read.only|not allowed"):
                    driver.execute_query(cast(LiteralString, forbidden))
        assert httpx.get(told["guide"]).text.startswith("<article")
    finally:
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stdout is not None
        running.stdout.close()
