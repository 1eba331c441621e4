"""What agents get through the Model Context Protocol, asked by the protocol's own client."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.types import TextContent
from served import WHENCE, Served, served
from test_exchange import claimed, taken

from api import agent_tools
from graph.access_tokens import AccessTokens, Grant
from graph.commands import read_command
from graph.embedded import Connection
from graph.knowledge import Actor, ActorType
from graph.retrieval import Retrieval
from graph.scope import Role, everything
from graph.service import Service
from graph.store import Store

AGENT = Actor("tests", "agent", ActorType.AGENT)
TOOLS = {"recall", "trace", "why_at_risk", "impact", "remember", "challenge", "hint", "link"}
T = TypeVar("T")


async def called(client: Client, name: str, **arguments: Any) -> Any:
    """A tool's structured answer, or what its refusal says."""
    answer = await client.call_tool(name, arguments)
    said = "".join(getattr(part, "text", "") for part in answer.content)
    return said if answer.is_error else answer.structured_content


class Agent:
    """An agent's program, which calls tools of a server in this process."""

    def __init__(self, server: MCPServer, loop: asyncio.Runner) -> None:
        self._server = server
        self._loop = loop

    def __call__(self, name: str, **arguments: Any) -> Any:
        return self.with_client(lambda client: called(client, name, **arguments))

    def with_client(self, work: Callable[[Client], Awaitable[T]]) -> T:
        async def connected() -> T:
            async with Client(self._server) as client:
                return await work(client)

        return self._loop.run(connected())


@pytest.fixture
def agent(service: Service, loop: asyncio.Runner) -> Agent:
    return Agent(agent_tools.build(service, Retrieval(service), lambda: everything(AGENT), "P"), loop)


def test_a_claim_lives_from_what_it_rests_on_to_what_becomes_of_it(
    agent: Agent, service: Service, loop: asyncio.Runner
) -> None:
    proof = [{"type": "file", "source": "docs/depot.md"}]
    made = agent("remember", text="The depot closes at 18:00", key="depot", evidence=proof, event_id="e1")
    assert made == {
        "knowledge": {
            "key": "depot",
            "generation": 1,
            "proposition": "The depot closes at 18:00",
            "state": "proposed",
            "at_risk": False,
            "stale": False,
        },
        "applied": True,
        "newly_at_risk": 0,
    }
    again = agent("remember", text="The depot closes at 18:00", key="depot", evidence=proof, event_id="e1")
    assert (again["applied"], again["knowledge"]) == (False, made["knowledge"])
    assert agent("remember", text="The last delivery comes at 17:30", key="last", depends_on=["depot"])["applied"]
    assert agent("remember", text="Vans wait at noon", key="vans", observed=True)["knowledge"]["key"] == "vans"
    assert agent("link", key="vans", relation="depends_on", to="last")["applied"]
    assert agent("hint", key="depot", outcome="helpful")["knowledge"]["state"] == "confirmed"
    assert agent("challenge", key="vans", reason="nobody was there")["knowledge"]["state"] == "challenged"

    walk = agent("trace", key="vans")
    assert [node["key"] for node in walk["nodes"]] == ["last", "depot"]
    assert walk["edges"] == [
        {"source": "last", "relation": "depends_on", "target": "depot"},
        {"source": "vans", "relation": "depends_on", "target": "last"},
    ]
    assert [node["key"] for node in agent("trace", key="depot", direction="downstream", depth=1)["nodes"]] == ["last"]
    affected = agent("impact", key="depot")
    assert (affected["count"], {node["key"] for node in affected["first"]}) == (2, {"last", "vans"})
    assert agent("why_at_risk", key="vans") == {"causes": []}
    fallen = {"transition": "invalidated", "key": "depot", "reason": "a new sign"}
    loop.run(service.run(read_command(fallen, actor=AGENT, project="P")))
    (cause,) = agent("why_at_risk", key="vans")["causes"]
    assert (cause["retired"]["key"], cause["reason"], cause["path"]) == (
        "depot",
        "a new sign",
        ["vans", "last", "depot"],
    )
    block = agent("recall", goal="When do vans wait, when does the last delivery come?", budget=300)
    assert block["tokens"] <= 300
    assert set(block["keys"]) == {"last", "vans"}
    assert all(key in block["text"] for key in block["keys"])
    assert any(caution.startswith("at risk") and "depot" in caution for caution in block["cautions"]["last"])


def test_who_reads_the_text_of_an_answer_alone_has_the_block_as_it_is(
    agent: Agent, service: Service, loop: asyncio.Runner
) -> None:
    taken(loop, service, [claimed("a")])
    answer = agent.with_client(lambda client: client.call_tool("recall", {"goal": "claim a", "budget": 200}))
    block = answer.structured_content
    assert block is not None
    assert [part.text for part in answer.content if isinstance(part, TextContent)] == [block["text"]]
    assert block["text"].startswith("<knowledge>")
    listed = agent.with_client(lambda client: client.list_tools()).tools
    (recall,) = (tool for tool in listed if tool.name == "recall")
    assert recall.output_schema is not None
    assert set(recall.output_schema["properties"]) == set(block)


def test_a_refusal_says_what_to_do(agent: Agent, service: Service, loop: asyncio.Runner) -> None:
    taken(loop, service, [claimed("a"), claimed("b", project="Q")])
    assert "PROPOSITION_CONFLICT" in agent("remember", text="something else", key="a")
    assert "NOT_FOUND, key; allowed: a key of this project" in agent("trace", key="nobody")
    assert "there is no project 'R' (NOT_FOUND, project; allowed: P, Q)" in agent("recall", goal="x", project="R")
    assert "allowed: 0 to 100" in agent("trace", key="a", depth=101)
    assert "allowed: 0 to 1000000" in agent("recall", goal="x", budget=-1)
    assert "RELATION_REFUSED" in agent("link", key="a", relation="supports", to="a")
    assert agent("trace", key="a", project="Q") == agent("trace", key="nobody", project="Q").replace("nobody", "a")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "trace",
            {"kee": "a"},
            "trace has no argument 'kee' (VALIDATION, kee; allowed: key, direction, depth, project)",
        ),
        (
            "trace",
            {"key": "a", "depht": 1},
            "trace has no argument 'depht' (VALIDATION, depht; allowed: key, direction",
        ),
        ("trace", {}, "key is missing (VALIDATION, key; allowed: a value)"),
        (
            "trace",
            {"key": "a", "depth": "far"},
            "that is no value of depth (VALIDATION, depth; allowed: a valid integer)",
        ),
        ("hint", {"key": "a", "outcome": "splendid"}, "(VALIDATION, outcome; allowed: 'helpful' or 'harmful')"),
        ("remember", {"text": "x", "evidence": [{"type": "y"}]}, "(VALIDATION, evidence[0].source; allowed: a value)"),
        (
            "retire",
            {"key": "a"},
            "there is no such tool (VALIDATION, name; allowed: recall, trace, why_at_risk, impact",
        ),
    ],
)
def test_arguments_that_no_tool_takes_are_refused_in_our_words(
    agent: Agent, name: str, arguments: dict[str, Any], said: str
) -> None:
    refused = agent(name, **arguments)
    assert said in refused
    assert "pydantic" not in refused


def test_the_server_says_who_it_is_and_in_which_version(agent: Agent) -> None:
    async def told(client: Client) -> Any:
        return client.server_info

    server = agent.with_client(told)
    assert (server.name, server.title, server.version) == ("whence", "Whence", version("whence"))


def test_tools_are_described_in_few_words_and_said_to_read_or_write(agent: Agent) -> None:
    async def listed(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = agent.with_client(listed)
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert 20 < len(tool.description) < 140, tool.description
        assert tool.output_schema
        assert tool.annotations.read_only_hint == (tool.name in {"recall", "trace", "why_at_risk", "impact"})
    assert sum(len(json.dumps(tool.input_schema)) + len(tool.description) for tool in tools) < 9_000, (
        "agents pay for it"
    )


@pytest.fixture
def running(neo4j: Connection, service: Service, loop: asyncio.Runner, tmp_path: Path) -> Generator[Served]:
    taken(loop, service, [claimed("a")], project="default")
    taken(loop, service, [claimed("a")], project="Q")
    with served(neo4j, tmp_path) as started:
        yield started


@asynccontextmanager
async def agent_of(running: Served, headers: Mapping[str, str]) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=60) as http,
        Client(streamable_http_client(f"{running.url}/mcp", http_client=http)) as client,
    ):
        yield client


def test_agents_are_answered_over_http_and_pages_of_the_web_are_not(running: Served, loop: asyncio.Runner) -> None:
    async def asked() -> Any:
        async with agent_of(running, running.bearer) as client:
            return await asyncio.gather(*(called(client, "trace", key="a") for _ in range(5)))

    assert [answer["root"]["key"] for answer in loop.run(asked())] == ["a"] * 5
    url, body = f"{running.url}/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepts = {"accept": "application/json, text/event-stream"}
    assert httpx.post(url, json=body, headers={**accepts, "origin": "https://evil.example"}).status_code == 401
    twice = json.dumps(body).replace('"method"', '"method": "tools/call", "method"')
    refused = httpx.post(url, content=twice, headers={**accepts, **running.bearer, "content-type": "application/json"})
    assert (refused.status_code, refused.json()["errors"][0]["extensions"]["field"]) == (400, "method")
    assert httpx.post(url, content=b"x" * 2_000_000, headers={**accepts, **running.bearer}).status_code == 413


def test_each_agent_sees_the_projects_of_its_own_token(running: Served, store: Store, loop: asyncio.Runner) -> None:
    reads = Grant(AGENT, Role.READER, ["Q"])
    _, reader = loop.run(AccessTokens(store).create(reads))
    _, writer = loop.run(AccessTokens(store).create(replace(reads, role=Role.WRITER, projects=["default"])))

    async def asked() -> Any:
        async with (
            agent_of(running, {"authorization": f"Bearer {reader}"}) as one,
            agent_of(running, {"authorization": f"Bearer {writer}"}) as other,
        ):
            return await asyncio.gather(
                called(one, "trace", key="a"),  # of the one project that it sees
                called(one, "trace", key="a", project="default"),
                called(one, "trace", key="a", project="nowhere"),
                called(one, "remember", text="It rains."),
                called(other, "remember", text="It rains.", key="rain"),
                called(other, "trace", key="a", project="Q"),
            )

    own, foreign, missing, refused, written, other = loop.run(asked())
    assert own["root"]["key"] == "a"
    assert foreign == missing.replace("nowhere", "default")
    assert "Q" in foreign
    assert "FORBIDDEN" in refused
    assert written["applied"]
    assert "NOT_FOUND" in other


def test_a_program_may_start_the_command_and_speak_through_pipes(
    neo4j: Connection, service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    taken(loop, service, [claimed("a")])
    environment = os.environ | {
        "WHENCE_HOME": str(tmp_path),
        "WHENCE_EMBEDDER": "none",
        "NEO4J_URI": neo4j.uri,
        "NEO4J_USERNAME": neo4j.username,
        "NEO4J_PASSWORD": neo4j.password,
    }
    command = StdioServerParameters(command=str(WHENCE), args=["mcp", "--project", "P"], env=dict(environment))

    async def asked() -> Any:
        async with Client(stdio_client(command)) as client:
            return await called(client, "recall", goal="claim a"), await called(client, "remember", text="b", key="b")

    block, made = loop.run(asked())
    assert (block["keys"], made["knowledge"]["key"]) == (["a"], "b")
