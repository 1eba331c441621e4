"""Documents and requests that nobody thought of: generated from the schema, and from bytes.

Whatever comes, the answer is JSON in which every error carries a code of the contract, and none of them is INTERNAL.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from conftest import wipe
from graphql import StringValueNode, ValueNode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import Mode, from_schema, nodes
from test_api import Api

from api.ids import cursor, packed
from graph.service import Service
from graph.store import Store

SDL = (Path(__file__).parent.parent / "api" / "schema.graphql").read_text("utf-8")
CODES = {
    *("VALIDATION", "NOT_FOUND", "AUTHORITY", "TERMINAL_STATE", "PROPOSITION_CONFLICT", "EVENT_CONFLICT"),
    *("RELATION_REFUSED", "LIMIT"),
}
ERRORS_MAX = 50
ANSWER_BYTES_MAX = 1_000_000  # of a few dozen nodes, however they are asked for
# Projects and keys bear the same few names: a document that is made of them finds something nearly always.
NAMES = ["n1", "n2", "n3"]


@pytest.fixture(scope="module")
def api(open_store: Store, loop: asyncio.Runner) -> Api:
    """A caller of projects in which there is something of everything."""
    loop.run(wipe(open_store))
    api = Api(Service(open_store), loop)
    for project in NAMES:
        for key in NAMES:
            api.propose(key, f"It holds of {key}", project)
        for source, relation, to in (
            ("n2", "DEPENDS_ON", "n1"),
            ("n3", "DERIVED_FROM", "n2"),
            ("n3", "SUPPORTS", "n1"),
        ):
            api.ask(_LINKED, p=project, f=source, r=relation, t=to)
        api.ask(_CONFIRMED, p=project)
    api.ask('mutation { invalidate(project: "n2", key: "n1", event: {reason: "over"}) { applied } }')
    return api


_LINKED = """mutation($p: String!, $f: String!, $r: Relation!, $t: String!) {
    link(project: $p, from: $f, relation: $r, to: $t) { applied }
}"""
_CONFIRMED = """mutation($p: String!) {
    confirm(project: $p, key: "n2", evidence: [{type: "t", source: "s", metadata: {a: [1, 2]}}]) { applied }
}"""


def text(value: str) -> ValueNode:
    return StringValueNode(value=value)


TEXTS = st.sampled_from([*NAMES * 3, cursor("journal", "n1", 1), "It holds of n1"]) | st.text(max_size=30)
IDS = [packed("Knowledge", "n1", "n2", 1), packed("Knowledge", "n9", "n2", 1)]
INSTANTS = st.sampled_from(["2026-01-01T00:00:00Z", "2999-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "now"])
SCALARS: dict[str, st.SearchStrategy[ValueNode]] = {
    "String": TEXTS.map(text),
    "ID": (st.sampled_from(IDS) | TEXTS).map(text),
    "DateTime": INSTANTS.map(text),
    "JSON": st.integers().map(nodes.Int) | TEXTS.map(text) | st.just(nodes.Null),
}
RIGHT = from_schema(SDL, custom_scalars=SCALARS)
WRONG = from_schema(SDL, custom_scalars=SCALARS, mode=Mode.NEGATIVE)


def several(examples: int) -> settings:
    slow = (HealthCheck.too_slow, HealthCheck.function_scoped_fixture)
    return settings(max_examples=examples, deadline=None, suppress_health_check=slow)


def checked(response: httpx.Response) -> Any:
    """The answer, which holds to what every answer holds to."""
    assert response.status_code < 500, response.text
    assert len(response.content) <= ANSWER_BYTES_MAX
    answer = json.loads(response.content.decode())
    errors = answer.get("errors", [])
    assert len(errors) <= ERRORS_MAX
    assert {error["extensions"]["code"] for error in errors} <= CODES, answer
    for error in errors:
        assert set(error["extensions"]) <= {"code", "field", "position", "allowed"}
        assert error["message"]
    return answer


def is_answered(api: Api, document: str) -> None:
    answer = checked(api.post(document))
    assert "data" in answer or answer["errors"]


def is_refused(api: Api, document: str) -> None:
    assert checked(api.post(document))["errors"]


@several(40)
@given(RIGHT)
def test_a_document_of_the_schema_is_answered_or_refused_by_a_code(api: Api, document: str) -> None:
    is_answered(api, document)


@several(20)
@given(WRONG)
def test_a_document_that_breaks_the_schema_is_refused_by_a_code(api: Api, document: str) -> None:
    is_refused(api, document)


@pytest.mark.slow
@several(400)
@given(RIGHT)
def test_hundreds_of_documents_of_the_schema_are_answered_or_refused_by_a_code(api: Api, document: str) -> None:
    is_answered(api, document)


@pytest.mark.slow
@several(100)
@given(WRONG)
def test_a_hundred_documents_that_break_the_schema_are_refused_by_a_code(api: Api, document: str) -> None:
    is_refused(api, document)


# --- bytes ---

WORDS = [
    b"{",
    b"}",
    b'"query"',
    b":",
    b'"{ projects }"',
    b'"variables"',
    b"[",
    b"]",
    b",",
    b"1e999",
    b"\xff",
    b"\\ud800",
    b"null",
]
BODIES = st.binary(max_size=200) | st.lists(st.sampled_from(WORDS), max_size=20).map(b"".join)
MEDIA = st.sampled_from(["application/json", "application/json; charset=utf-16", "text/plain", ""]) | st.text(
    st.characters(min_codepoint=33, max_codepoint=126), max_size=20
)
METHODS = st.sampled_from(["POST", "POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD"])
PATHS = st.sampled_from(["/graphql", "/graphql", "/graphql/", "/export/n1.jsonl", "/export/n1.graphml"]) | st.text(
    st.characters(min_codepoint=33, max_codepoint=126), max_size=30
).map(lambda rest: "/" + quote(rest, safe="/%.;=&?"))


def is_served(api: Api, method: str, path: str, media: str, body: bytes) -> None:
    response = api.send(method, path, content=body, headers={"content-type": media, "accept": "*/*"})
    assert response.status_code < 500, (response.status_code, response.text)
    if response.status_code >= 400 and method != "HEAD":
        assert checked(response)["errors"]


@several(150)
@given(METHODS, PATHS, MEDIA, BODIES)
def test_no_bytes_make_the_server_fail(api: Api, method: str, path: str, media: str, body: bytes) -> None:
    is_served(api, method, path, media, body)


@pytest.mark.slow
@several(3_000)
@given(METHODS, PATHS, MEDIA, BODIES)
def test_thousands_of_bytes_do_not_make_the_server_fail(
    api: Api, method: str, path: str, media: str, body: bytes
) -> None:
    is_served(api, method, path, media, body)
