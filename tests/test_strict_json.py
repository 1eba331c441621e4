"""A name that stands twice in one object is refused wherever JSON comes in, by its path and its position."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger import HUMAN
from test_api import Api

from graph.errors import ValidationError
from graph.exchange import Terms, import_journal
from graph.ingestion.extractor import listed
from graph.service import Service
from graph.strict_json import loads


@pytest.mark.parametrize(
    ("text", "field", "position"),
    [
        ('{"a": 1, "a": 1}', "a", 9),
        ('{"a": 1, "\\u0061" : 2}', "a", 9),
        ('{"a": {"b": [0, {"c": 1, "d": [], "c": 2}]}}', "a.b[1].c", 34),
        ('[[], {"": 0, "": 1}]', "[1].", 13),
        ('{"a": ["a", "a"], "b": {"a": "\\"a\\": {,"}, "b": 2}', "b", 43),
        ('{"a": {"a": 1}, "b": {"a": 1}, "a": 2}', "a", 31),
        ('{"\\ud800": 1, "\\ud800": 2}', "?", 14),
    ],
)
def test_a_name_that_stands_twice_is_refused_where_it_stands_again(text: str, field: str, position: int) -> None:
    with pytest.raises(ValidationError, match="stands twice") as refused:
        loads(text)
    assert (refused.value.field, refused.value.position) == (field, position)
    assert refused.value.allowed == "each name once"


@pytest.mark.parametrize(
    "text", ['{"e\u0301": 1, "\u00e9": 2}', '{"a": 1, "A": 2}', '[{"a": 1}, {"a": 1}]', '{"a": {"a": 1}}']
)
def test_names_that_only_resemble_each_other_stand(text: str) -> None:
    assert loads(text) == json.loads(text)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "{'a': 1}", "{", '{"a": 1,}', "01", ""])
def test_what_is_no_json_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


@given(VALUES, st.sampled_from([None, 1]))
def test_any_json_is_read_as_it_was_written(value: Any, indent: int | None) -> None:
    assert loads(json.dumps(value, indent=indent)) == value
    assert loads(json.dumps(value, ensure_ascii=False)) == value


@given(VALUES, VALUES, st.text(max_size=3))
def test_any_object_with_a_name_again_is_refused(before: Any, between: Any, name: str) -> None:
    again, parts = json.dumps(name), (json.dumps(part) for part in (before, between, 0))
    values = [f"{again}:{part}" for part in parts]
    text = f"{{{json.dumps('x' + name)}: [{json.dumps(before)}, {{{values[0]},{values[1]}}}]}}"
    with pytest.raises(ValidationError) as refused:
        loads(text)
    assert refused.value.position == text.rindex(values[1])


def test_a_long_line_is_looked_through_once() -> None:
    names = ",".join(f'"n{at}":["{at}","\\"",{{}}]' for at in range(60_000))
    with pytest.raises(ValidationError) as refused:
        loads(f'{{{names},"n0":0}}')
    assert refused.value.position == len(names) + 2


def test_deep_nests_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecursionError):
        loads("[" * sys.getrecursionlimit() * 20)


def test_a_line_of_a_journal_is_refused_by_its_number_and_where_in_it(service: Service, loop: asyncio.Runner) -> None:
    def line(metadata: str) -> bytes:
        evidence = f'{{"type":"t","source":"s","metadata":{metadata}}}'
        return f'{{"transition":"proposed","key":"a","payload":{{"proposition":"p","evidence":[{evidence}]}}}}'.encode()

    lines = [line('{"n":1}'), line('{"n":1,"m":{"n":1,"n":1.0}}'), b'{"transition":"used","key":"a","key":"b"}']
    report = loop.run(import_journal(service.store, lambda: lines, Terms("P", HUMAN)))
    told = [(each.line, each.error.code, each.error.field, each.error.position) for each in report.refusals]
    assert told == [
        (2, "VALIDATION", "payload.evidence[0].metadata.m.n", lines[1].rindex(b'"n"')),
        (3, "VALIDATION", "key", lines[2].rindex(b'"key"')),
    ]
    assert loop.run(service.projects()) == []


@pytest.fixture
def api(service: Service, loop: asyncio.Runner) -> Api:
    return Api(service, loop)


PROPOSE = """mutation($m: JSON) {
  propose(project: "P", key: "a", proposition: "p", evidence: [{type: "t", source: "s", metadata: $m}]) { applied }
}"""


def test_graphql_refuses_it_in_variables_and_around_them(api: Api, service: Service, loop: asyncio.Runner) -> None:
    query = json.dumps(PROPOSE)
    for body, field in (
        (f'{{"query": {query}, "variables": {{"m": {{"n": 1, "n": 2}}}}}}', "variables.m.n"),
        (f'{{"query": {query}, "variables": {{"m": 1, "m": 2}}}}', "variables.m"),
        (f'{{"query": "{{ projects }}", "query": {query}}}', "query"),
    ):
        refused = api.send("POST", "/graphql", content=body, headers={"content-type": "application/json"})
        assert refused.status_code == 400
        (error,) = refused.json()["errors"]
        facts = error["extensions"]
        assert (facts["code"], facts["field"], facts["allowed"]) == ("VALIDATION", field, "each name once")
        assert facts["position"] == body.rindex(f'"{field.rpartition(".")[2]}"')
    assert loop.run(service.projects()) == []


def test_graphql_refuses_it_in_the_address_and_in_the_text_of_a_query(api: Api) -> None:
    query = "query($p: String!) { journalHead(project: $p) { seq } }"
    by_get = api.send("GET", "/graphql", params={"query": query, "variables": '{"p": "P", "p": "Q"}'})
    assert by_get.json()["errors"][0]["extensions"]["field"] == "p"
    twice = PROPOSE.replace("metadata: $m", "metadata: {n: 1, n: 2}").replace("($m: JSON)", "")
    assert api.refused(twice)["code"] == "VALIDATION"


def test_a_query_that_has_a_plan_is_not_answered_for_the_last_of_two_names(api: Api) -> None:
    api.propose("a")
    query = 'query($k: String!) { knowledge(project: "P", key: $k) { key } }'
    for _ in range(3):
        assert api.ask(query, k="a") == {"knowledge": {"key": "a"}}
    body = f'{{"query": {json.dumps(query)}, "variables": {{"k": "b", "k": "a"}}}}'
    refused = api.send("POST", "/graphql", content=body, headers={"content-type": "application/json"})
    assert refused.json()["errors"][0]["extensions"]["field"] == "variables.k"


def test_a_body_that_asks_for_a_block_is_refused_as_well(api: Api) -> None:
    refused = api.send("POST", "/context", content='{"goal": "a", "goal": "b"}')
    assert refused.status_code == 400
    assert refused.json()["errors"][0]["extensions"]["field"] == "goal"


def test_a_models_answer_with_two_readings_is_none() -> None:
    assert listed('[{"name": "a", "name": "b"}]') is None
    assert listed('[{"name": "a"}]') == [{"name": "a"}]
