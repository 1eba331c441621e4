"""The API as its callers meet it: over HTTP, on the real service and a real Neo4j."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote
from xml.etree import ElementTree as ET

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from quiet import cpu_seconds
from strategies import NESTED_METADATA

from api.access import Everyone
from api.app import create_app
from api.limits import ALIASES_MAX, LEVELS_MAX, TOKENS_MAX
from api.schema import build_schema
from api.serving import serve
from api.settings import Settings
from api.spoken import argument_name
from api.wire import BODY_BYTES_MAX, encoded
from graph import schema
from graph.errors import UnavailableError, ValidationError
from graph.feed import Feed
from graph.scope import Scope
from graph.service import Service
from graph.store import Store

SETTINGS = Settings(home=Path("/nowhere"))
JSON_TYPE = {"content-type": "application/json"}
GRAPHQL_TYPE = "application/graphql-response+json"

NODE = """
    id project key generation proposition kind state atRisk forgotten validFrom validTo updatedAt verifiedAt stale
    uses lineage { sources { type id } method confidence createdAt }
    evidence { id key type source timestamp hash artifactRef metadata }
"""
EVENT = """
    id eventId seq transition actor { issuer subject type } execution { run frame task parentRun parentFrame }
    time recordedAt reason causedBy { eventId } stateAfter hash knowledge { key }
"""
TRANSITIONED = f"applied newlyAtRisk redacted {{ kind count }} knowledge {{ {NODE} }} event {{ {EVENT} }}"


class Api:
    """A caller of the API, in process."""

    def __init__(self, service: Any, loop: asyncio.Runner, **app: Any) -> None:
        self.app = create_app(cast(Service, service), SETTINGS, Everyone(SETTINGS.actor), **app)
        self.loop = loop

    def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://whence", timeout=60) as client:
                return await client.request(method, path, **request)

        return self.loop.run(sent())

    def post(self, query: object, variables: object = None, **headers: str) -> httpx.Response:
        body = json.dumps({"query": query, "variables": variables})  # escapes what UTF-8 cannot carry
        return self.send("POST", "/graphql", content=body, headers=JSON_TYPE | headers)

    def ask(self, query: str, **variables: Any) -> Any:
        """The data of an answer without errors."""
        answer = self.post(query, variables).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def refused(self, query: str, **variables: Any) -> dict[str, Any]:
        """The facts of the one error of an answer."""
        response = self.post(query, variables)
        assert response.status_code == 200
        (error,) = response.json()["errors"]
        assert set(error["extensions"]) <= {"code", "field", "position", "allowed"}
        return {"message": error["message"], **error["extensions"]}

    def propose(self, key: str, proposition: str = "It holds", project: str = "P") -> None:
        self.ask(
            _PROPOSE_TEXT,
            p=project,
            k=key,
            t=proposition,
        )

    def link(self, source: str, relation: str, to: str) -> None:
        self.ask(_LINK, f=source, r=relation, t=to)


_PROPOSE_TEXT = """mutation($p: String!, $k: String, $t: String!) {
    propose(project: $p, key: $k, proposition: $t) { applied }
}"""
_LINK = """mutation($f: String!, $r: Relation!, $t: String!) {
    link(project: "P", from: $f, relation: $r, to: $t) { applied }
}"""


@pytest.fixture
def api(service: Service, loop: asyncio.Runner) -> Api:
    return Api(service, loop)


class Counted:
    """The service, counting what is asked of it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.calls: Counter[str] = Counter()

    def within(self, _scope: Scope) -> Counted:
        return self

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.service, name)
        if name == "policies":  # is asked itself
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            return found(*args, **kwargs)

        return call


# Every mutation, in an order in which each of them is allowed.
EVERY_MUTATION = [
    ('propose(project: "P", key: "a", proposition: "A", kind: OBSERVATION)', "PROPOSED", "PROPOSED"),
    ('confirm(project: "P", key: "a", evidence: [{type: "run", source: "ci:1"}])', "CONFIRMED", "CONFIRMED"),
    ('challenge(project: "P", key: "a", event: {reason: "doubt"})', "CHALLENGED", "CHALLENGED"),
    ('use(project: "P", key: "a")', "USED", "CHALLENGED"),
    ('forget(project: "P", key: "a")', "FORGOTTEN", "CHALLENGED"),
    ('recall(project: "P", key: "a")', "RECALLED", "CHALLENGED"),
    ('hint(project: "P", key: "a", outcome: HELPFUL, supported: true)', "HINTED", "CHALLENGED"),
    (
        'addEvidence(project: "P", key: "a", evidence: [{type: "run", source: "ci:2"}])',
        "EVIDENCED",
        "CHALLENGED",
    ),
    ('correct(project: "P", key: "a", proposition: "A2", event: {reason: "typo"})', "CORRECTED", "CORRECTED"),
    (
        'propose(project: "P", key: "b", proposition: "B", relations: [{relation: DEPENDS_ON, to: "a"}])',
        "PROPOSED",
        "PROPOSED",
    ),
    ('link(project: "P", from: "b", relation: SUPPORTS, to: "a")', "LINKED", "PROPOSED"),
    ('unlink(project: "P", from: "b", relation: SUPPORTS, to: "a")', "UNLINKED", "PROPOSED"),
    ('transfer(project: "P", key: "b", toProject: "Q")', "TRANSFERRED", "PROPOSED"),
    ('supersede(project: "P", key: "a", by: "b")', "SUPERSEDED", "SUPERSEDED"),
    (
        'disprove(project: "P", key: "b", evidence: [{type: "run", source: "ci:3"}], event: {reason: "no"})',
        "DISPROVED",
        "INVALIDATED",
    ),
    ('propose(project: "P", key: "b", proposition: "B again")', "PROPOSED", "PROPOSED"),
    ('invalidate(project: "P", key: "b", event: {reason: "no"})', "INVALIDATED", "INVALIDATED"),
    (
        'observeExecution(project: "P", workspace: "w", command: "make check", exitCode: 0, operationId: "o-1")',
        "PROPOSED",
        "PROPOSED",
    ),
]


NO_SINGLE_EVENT = {
    "ingest",
    "sweep",
    "setAgingTime",
    "setUnredactedKinds",
    "setConceptTypes",
    "recordConcept",
}  # many of them, none, and what the one door makes


def test_every_mutation_answers_with_the_node_and_the_event_as_they_are_after_it(api: Api) -> None:
    served = set(build_schema()._schema.mutation_type.fields)  # type: ignore[union-attr]
    assert {call.partition("(")[0] for call, _, _ in EVERY_MUTATION} | NO_SINGLE_EVENT == served
    for seq, (call, transition, state) in enumerate(EVERY_MUTATION, start=1):
        (answer,) = api.ask(f"mutation {{ {call} {{ {TRANSITIONED} }} }}").values()
        assert answer["applied"] is True
        assert (answer["event"]["seq"], answer["event"]["transition"]) == (seq, transition)
        assert answer["event"]["stateAfter"] == answer["knowledge"]["state"] == state
        assert answer["event"]["actor"] == {"issuer": "whence", "subject": "anonymous", "type": "SERVICE"}


def test_a_mutation_tells_what_was_taken_out_of_what_it_said_a_repeat_and_an_execution_too(api: Api) -> None:
    said = "ask anna@example.org or bob@example.org, password=hunter2"
    propose = (
        'mutation($p: String!) { propose(project: "P", key: "a", proposition: $p, event: {eventId: "e"}) '
        "{ applied redacted { kind count } } }"
    )
    taken_out = [{"kind": "email", "count": 2}, {"kind": "password", "count": 1}]
    for applied in (True, False):
        assert api.ask(propose, p=said)["propose"] == {"applied": applied, "redacted": taken_out}
    observe = (
        'mutation($c: String!) { observeExecution(project: "P", workspace: "w", command: $c, exitCode: 0, '
        'operationId: "o") { redacted { kind count } } }'
    )
    for _ in range(2):
        answer = api.ask(observe, c="PASSWORD=hunter2 make check")["observeExecution"]
        assert answer["redacted"] == [{"kind": "password", "count": 1}]
    assert api.ask('mutation { use(project: "P", key: "a") { redacted { kind } } }')["use"]["redacted"] == []


def test_after_a_correction_the_answer_holds_the_retired_node_and_the_key_gives_the_new_one(api: Api) -> None:
    api.propose("a", "Old")
    answer = api.ask(
        """mutation { correct(project: "P", key: "a", proposition: "New", event: {reason: "typo"}) {
            knowledge { generation state proposition } } }"""
    )
    assert answer["correct"]["knowledge"] == {"generation": 1, "state": "CORRECTED", "proposition": "Old"}
    newest = api.ask('{ knowledge(project: "P", key: "a") { generation state proposition } }')
    assert newest["knowledge"] == {"generation": 2, "state": "PROPOSED", "proposition": "New"}


def test_mutations_of_one_request_follow_each_other_and_each_sees_the_ones_before(api: Api) -> None:
    answer = api.ask(
        """mutation {
            a: propose(project: "P", key: "a", proposition: "A") { knowledge { state } event { seq } }
            b: confirm(project: "P", key: "a") { knowledge { state } event { seq } }
            c: challenge(project: "P", key: "a", event: {reason: "r"}) { knowledge { state } event { seq } }
        }"""
    )
    assert [(one["knowledge"]["state"], one["event"]["seq"]) for one in answer.values()] == [
        ("PROPOSED", 1),
        ("CONFIRMED", 2),
        ("CHALLENGED", 3),
    ]


def test_what_a_caller_says_of_an_event_is_kept_and_a_repeat_changes_nothing(api: Api) -> None:
    api.propose("a")
    event: dict[str, Any] = {
        "eventId": "mine",
        "time": "replaced below",
        "reason": "because",
        "causedBy": [],
        "execution": {"run": "r", "frame": "f", "task": "t", "parentRun": "pr", "parentFrame": "pf"},
        "actor": {"issuer": "here", "subject": "me", "type": "HUMAN"},
    }
    event["time"] = api.ask('{ knowledge(project: "P", key: "a") { validFrom } }')["knowledge"]["validFrom"]
    query = f'mutation($e: EventInput) {{ confirm(project: "P", key: "a", event: $e) {{ {TRANSITIONED} }} }}'
    first, second = (api.ask(query, e=event)["confirm"] for _ in range(2))
    assert (first["applied"], second["applied"]) == (True, False)
    assert first["event"] == second["event"]
    assert {name: first["event"][name] for name in event if name != "causedBy"} == {
        name: value for name, value in event.items() if name != "causedBy"
    }
    conflict = api.refused(query, e=event | {"reason": "another"})
    assert (conflict["code"], conflict["field"]) == ("EVENT_CONFLICT", "event.eventId")


def test_every_query_answers_with_all_its_fields(api: Api) -> None:
    served = set(build_schema()._schema.query_type.fields)  # type: ignore[union-attr]
    api.propose("a")
    api.ask('mutation { confirm(project: "P", key: "a", evidence: [{type: "t", source: "s"}]) { applied } }')
    api.propose("b")
    api.link("b", "DEPENDS_ON", "a")
    api.ask('mutation { invalidate(project: "P", key: "a", event: {reason: "wrong"}) { applied } }')
    ident = api.ask('{ knowledge(project: "P", key: "b") { id } }')["knowledge"]["id"]
    page = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
    edge = f"from {{ key }} relation to {{ key }} since until events {{ {EVENT} }}"
    answer = api.ask(
        f"""query($id: ID!) {{
            projects agingTime(project: "P") unredactedKinds(project: "P") conceptTypes(project: "P")
            node(id: $id) {{ id __typename ... on Knowledge {{ key }} }}
            knowledge(project: "P", key: "b") {{
                {NODE} relations {{ {edge} }} events {{ edges {{ cursor node {{ {EVENT} }} }} {page} }}
            }}
            knowledgeList(project: "P") {{ edges {{ cursor node {{ {NODE} }} }} {page} }}
            provenance(project: "P", key: "b") {{
                root {{ {NODE} }} nodes {{ {NODE} }} edges {{ {edge} }} evidence {{ id metadata }} truncated atSeq
            }}
            impact(project: "P", key: "a") {{ count nodes {{ edges {{ cursor node {{ {NODE} }} }} {page} }} }}
            whyAtRisk(project: "P", key: "b") {{ retired {{ {NODE} }} event {{ {EVENT} }} path {{ {NODE} }} }}
            journal(project: "P") {{ edges {{ cursor node {{ {EVENT} }} }} {page} }}
            journalHead(project: "P") {{ seq hash }}
            verifyJournal(project: "P") {{ ok events firstBroken projectionMatches differences }}
            search(project: "P", text: "b") {{ knowledge {{ {NODE} }} score tier tokens cautions via }}
            context(project: "P", goal: "b") {{
                text tokens budget items {{ knowledge {{ {NODE} }} score tier tokens cautions via }} omitted
                omissions {{ key reason }} tokenizer embedder atSeq
                authorization {{ allowed actor {{ issuer subject type }} project rule }}
            }}
        }}""",
        id=ident,
    )
    assert set(answer) == served
    assert answer["projects"] == ["P"]
    assert answer["node"] == {"id": ident, "__typename": "Knowledge", "key": "b"}
    assert answer["knowledge"]["atRisk"] is True
    assert [(e["from"]["key"], e["to"]["key"]) for e in answer["knowledge"]["relations"]] == [("b", "a")]
    assert [e["node"]["key"] for e in answer["knowledgeList"]["edges"]] == ["a", "b"]
    assert [n["key"] for n in answer["provenance"]["nodes"]] == ["a"]
    assert [e["source"] for e in answer["provenance"]["nodes"][0]["evidence"]] == ["s"]
    assert len(answer["provenance"]["evidence"]) == 1
    assert answer["impact"]["count"] == 1
    assert [(item["knowledge"]["key"], item["cautions"]) for item in answer["search"]] == [
        ("b", ["unconfirmed", "at risk of a"])
    ]
    assert answer["context"]["items"] == [answer["search"][0] | {"tokens": answer["context"]["items"][0]["tokens"]}]
    assert [n["key"] for n in answer["whyAtRisk"][0]["path"]] == ["b", "a"]
    seqs = [e["node"]["seq"] for e in answer["journal"]["edges"]]
    assert seqs == list(range(1, answer["journalHead"]["seq"] + 1))
    assert answer["verifyJournal"] == {
        "ok": True,
        "events": len(seqs),
        "firstBroken": None,
        "projectionMatches": True,
        "differences": [],
    }


def test_a_saved_head_is_checked_and_half_of_one_is_refused(api: Api) -> None:
    api.propose("a")
    query = 'query($s: Int, $h: String) { verifyJournal(project: "P", savedSeq: $s, savedHash: $h) { ok } }'
    head = api.ask('{ journalHead(project: "P") { seq hash } }')["journalHead"]
    assert api.ask(query, s=head["seq"], h=head["hash"])["verifyJournal"]["ok"] is True
    assert api.ask(query, s=head["seq"], h="0" * 64)["verifyJournal"]["ok"] is False
    assert api.refused(query, s=1)["field"] == "savedHash"
    assert api.refused(query, s=-1, h="x")["field"] == "savedSeq"


def test_what_is_not_there_is_null_or_not_found_by_name(api: Api) -> None:
    assert api.ask('{ knowledge(project: "none", key: "x") { key } }') == {"knowledge": None}
    assert api.ask('{ journalHead(project: "none") { seq } }') == {"journalHead": None}
    assert api.ask('{ knowledgeList(project: "none") { edges { cursor } } }')["knowledgeList"]["edges"] == []
    for query in ("provenance", "impact", "whyAtRisk"):
        facts = api.refused(f'{{ {query}(project: "P", key: "ghost") {{ __typename }} }}')
        assert (facts["code"], facts["field"]) == ("NOT_FOUND", "key")


def test_an_instant_is_written_in_one_form_wherever_it_comes_from(api: Api) -> None:
    times = {
        "2020-01-01T00:00:00Z": "2020-01-01T00:00:00Z",
        "2020-01-01T02:00:00.5+02:00": "2020-01-01T00:00:00.500000Z",
    }
    for count, (given_time, written) in enumerate(times.items()):
        answer = api.ask(
            """mutation($k: String, $t: DateTime!) { propose(project: "P", key: $k, proposition: "A", validFrom: $t,
                event: {time: $t}, evidence: [{type: "t", source: "s", timestamp: $t}]) {
                knowledge { validFrom evidence { timestamp } } event { time } } }""",
            k=f"k{count}",
            t=given_time,
        )["propose"]
        assert answer["knowledge"] == {"validFrom": written, "evidence": [{"timestamp": written}]}
        assert answer["event"] == {"time": written}


# --- the past ---


PAST = """query($t: DateTime) {
    knowledge(project: "P", key: "b", asOf: $t) {
        atRisk evidence { source } events { edges { node { transition knowledge { atRisk } } } }
        relations { until from { atRisk } to { state events { edges { node { seq } } } } events { seq } }
    }
}"""


def _between(loop: asyncio.Runner) -> str:
    """An instant that lies between what was done before and what is done after."""
    loop.run(asyncio.sleep(0.002))
    instant = datetime.now(UTC).isoformat()
    loop.run(asyncio.sleep(0.002))
    return instant


def test_a_read_of_the_past_answers_as_of_then_in_all_that_hangs_on_it(api: Api, loop: asyncio.Runner) -> None:
    before = _between(loop)
    api.propose("a")
    api.propose("b")
    api.link("b", "DEPENDS_ON", "a")
    linked = _between(loop)
    api.ask('mutation { invalidate(project: "P", key: "a", event: {reason: "wrong"}) { applied } }')
    at_risk = _between(loop)
    api.ask('mutation { unlink(project: "P", from: "b", relation: DEPENDS_ON, to: "a") { applied } }')
    api.ask('mutation { addEvidence(project: "P", key: "b", evidence: [{type: "t", source: "s"}]) { applied } }')
    assert api.ask(PAST, t=before) == {"knowledge": None}
    then = api.ask(PAST, t=linked)["knowledge"]
    assert then["atRisk"] is False
    assert [(e["to"]["state"], e["from"]["atRisk"]) for e in then["relations"]] == [("PROPOSED", False)]
    then = api.ask(PAST, t=at_risk)["knowledge"]
    assert (then["atRisk"], then["evidence"]) == (True, [])
    (edge,) = then["relations"]
    assert (edge["to"]["state"], edge["from"]["atRisk"], edge["until"]) == ("INVALIDATED", True, None)
    assert [e["node"]["transition"] for e in then["events"]["edges"]] == ["PROPOSED", "LINKED"]
    assert all(e["node"]["knowledge"]["atRisk"] for e in then["events"]["edges"])


def test_an_instant_ahead_is_now(api: Api) -> None:
    api.propose("a")
    api.propose("b")
    ahead = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert api.ask(PAST, t=ahead) == api.ask(PAST) != {"knowledge": None}


def test_edges_can_be_asked_for_as_of_another_instant_and_ended_ones_on_request(api: Api, loop: asyncio.Runner) -> None:
    api.propose("a")
    api.propose("b")
    api.link("b", "SUPPORTS", "a")
    instant = _between(loop)
    api.ask('mutation { unlink(project: "P", from: "b", relation: SUPPORTS, to: "a") { applied } }')
    answer = api.ask(
        """query($t: DateTime) { knowledge(project: "P", key: "a") {
            now: relations { until } then: relations(asOf: $t) { until from { key } }
            ended: relations(includeEnded: true, direction: DOWNSTREAM, types: [SUPPORTS]) { until }
            none: relations(asOf: $t, direction: UPSTREAM) { until }
        } }""",
        t=instant,
    )["knowledge"]
    assert (answer["now"], answer["none"]) == ([], [])
    assert answer["then"] == [{"until": None, "from": {"key": "b"}}]
    assert answer["ended"][0]["until"] is not None


def test_a_walk_of_the_past_holds_the_nodes_and_the_evidence_of_then(api: Api, loop: asyncio.Runner) -> None:
    api.propose("a")
    api.propose("b")
    api.link("b", "DEPENDS_ON", "a")
    instant = _between(loop)
    api.ask('mutation { addEvidence(project: "P", key: "a", evidence: [{type: "t", source: "s"}]) { applied } }')
    query = """query($t: DateTime) { provenance(project: "P", key: "b", asOf: $t) {
        nodes { key evidence { source } events { edges { node { seq } } } } evidence { source } atSeq
    } }"""
    then, today = (api.ask(query, t=t)["provenance"] for t in (instant, None))
    assert (then["atSeq"], then["nodes"][0]["evidence"], then["evidence"]) == (3, [], [])
    assert (today["atSeq"], len(today["nodes"][0]["evidence"]), len(today["evidence"])) == (4, 1, 1)
    assert [e["node"]["seq"] for e in then["nodes"][0]["events"]["edges"]] == [1]
    assert [e["node"]["seq"] for e in today["nodes"][0]["events"]["edges"]] == [1, 4]


# --- few calls ---


def test_a_list_with_everything_below_it_costs_one_call_a_level(service: Service, loop: asyncio.Runner) -> None:
    counted = Counted(service)
    api = Api(counted, loop)
    api.propose("root")
    for count in range(12):
        key = f"n{count:02}"
        api.propose(key)
        api.link(key, "DEPENDS_ON", "root")
        api.ask(
            f'mutation {{ confirm(project: "P", key: "{key}", evidence: [{{type: "t", source: "s"}}]) {{ applied }} }}'
        )
    counted.calls.clear()
    nested = api.ask(
        """{ knowledgeList(project: "P") { edges { node {
            evidence { key }
            relations {
                from { key evidence { key } } to { key relations { to { key } } } events { eventId causedBy { seq } }
            }
        } } } }"""
    )
    assert len(nested["knowledgeList"]["edges"]) == 13
    # The page with its evidence; the edges of its nodes, which are the far ends' too; the far ends; the evidence of
    # all ends; the events.
    assert counted.calls == {"page": 1, "relations": 1, "nodes": 1, "evidence": 1, "events_named": 1}


def test_a_journal_page_costs_one_call_for_all_its_nodes(service: Service, loop: asyncio.Runner) -> None:
    counted = Counted(service)
    api = Api(counted, loop)
    for count in range(5):
        api.propose(f"n{count}")
    counted.calls.clear()
    api.ask('{ journal(project: "P") { edges { node { knowledge { key } causedBy { eventId } } } } }')
    assert counted.calls == {"journal": 1, "nodes": 1}


def test_a_walk_answers_from_one_map(service: Service, loop: asyncio.Runner) -> None:
    counted = Counted(service)
    api = Api(counted, loop)
    for key in "abc":
        api.propose(key)
    api.link("b", "DEPENDS_ON", "a")
    api.link("c", "DEPENDS_ON", "b")
    counted.calls.clear()
    api.ask(
        """{ provenance(project: "P", key: "c") {
            root { evidence { key } } nodes { key evidence { key } } edges { from { key } to { key } } evidence { key }
        } }"""
    )
    assert counted.calls == {"provenance": 1}


# --- field reports ---


def test_fr03_an_edge_to_nothing_is_refused_by_name_and_leaves_nothing(api: Api) -> None:
    api.propose("real")
    api.propose("ghost", project="Q")
    facts = api.refused(_LINK, f="real", r="DEPENDS_ON", t="ghost")
    assert (facts["code"], facts["field"]) == ("NOT_FOUND", "to")
    assert "ghost" in facts["message"]
    facts = api.refused(_LINK, f="ghost2", r="SUPPORTS", t="real")
    assert (facts["code"], facts["field"]) == ("NOT_FOUND", "from")
    assert "ghost2" in facts["message"]
    assert api.refused(_LINK, f="real", r="DEPENDS_ON", t="real2")["code"] == "NOT_FOUND"
    facts = api.refused(
        """mutation { propose(project: "P", key: "late", proposition: "L",
            relations: [{relation: SUPPORTS, to: "real"}, {relation: SUPPORTS, to: "ghost3"}]) { applied } }"""
    )
    assert (facts["code"], facts["field"]) == ("NOT_FOUND", "relations[1].to")
    seen = '{ knowledgeList(project: "P") { edges { node { key relations { to { key } } } } } }'
    assert [e["node"] for e in api.ask(seen)["knowledgeList"]["edges"]] == [{"key": "real", "relations": []}]
    api.propose("real2")
    api.link("real", "DEPENDS_ON", "real2")
    assert [e["node"] for e in api.ask(seen)["knowledgeList"]["edges"]] == [
        {"key": "real", "relations": [{"to": {"key": "real2"}}]},
        {"key": "real2", "relations": [{"to": {"key": "real2"}}]},
    ]


METADATA = {
    **NESTED_METADATA,
    "huge": 123456789012345678901234567890,
    "float": 0.1,
    "whole": 1.0,
    "text": "ü📦",
}


def test_fr04_nested_metadata_comes_back_equal_value_by_value_and_type_by_type(api: Api) -> None:
    api.propose("a")
    add = 'mutation($e: [EvidenceInput!]!) { addEvidence(project: "P", key: "a", evidence: $e) { applied } }'
    record = {"type": "run", "source": "ci:1", "artifactRef": "s3://bucket/1", "metadata": METADATA}
    api.ask(add, e=[record])
    api.ask(
        """mutation { addEvidence(project: "P", key: "a", evidence: [{type: "run", source: "ci:2",
            metadata: {big: 9007199254740993, none: null, empty: {}, mixed: [1, "two", 3.5, true]}}]) { applied } }"""
    )
    api.ask(add, e=[{"type": "run", "source": "ci:3"}])
    read = api.ask('{ knowledge(project: "P", key: "a") { evidence { artifactRef metadata } } }')["knowledge"][
        "evidence"
    ]
    assert read[0] == {"artifactRef": "s3://bucket/1", "metadata": METADATA}
    assert json.dumps(read[0]["metadata"], sort_keys=True) == json.dumps(METADATA, sort_keys=True)
    assert read[1]["metadata"] == {k: METADATA[k] for k in ("big", "none", "empty", "mixed")}
    assert read[2]["metadata"] is None


def test_fr06_depth_counts_hops_and_a_cut_answer_says_so(api: Api) -> None:
    api.propose("n0")
    for step in range(1, 6):
        api.propose(f"n{step}")
        api.link(f"n{step}", "DEPENDS_ON", f"n{step - 1}")
    query = 'query($d: Int) { provenance(project: "P", key: "n5", depth: $d) { nodes { key } truncated } }'
    seen = {d: api.ask(query, d=d)["provenance"] for d in (0, 1, 2, 5, 6)}
    keys = {depth: [node["key"] for node in answer["nodes"]] for depth, answer in seen.items()}
    assert keys == {0: [], 1: ["n4"], 2: ["n4", "n3"], 5: ["n4", "n3", "n2", "n1", "n0"], 6: keys[5]}
    assert {depth: answer["truncated"] for depth, answer in seen.items()} == {
        0: True,
        1: True,
        2: True,
        5: False,
        6: False,
    }
    facts = api.refused(query, d=-1)
    assert (facts["code"], facts["field"]) == ("VALIDATION", "depth")
    assert api.refused(query, d=101)["code"] == "LIMIT"


def test_fr07_a_node_is_never_related_to_itself_and_stays_well(api: Api) -> None:
    api.propose("s")
    for relation in ("DEPENDS_ON", "SUPERSEDES", "CONTRADICTS"):
        facts = api.refused(_LINK, f="s", r=relation, t="s")
        assert (facts["code"], facts["field"]) == ("RELATION_REFUSED", "to")
    assert api.refused('mutation { supersede(project: "P", key: "s", by: "s") { applied } }')["field"] == "by"
    api.ask('mutation { invalidate(project: "P", key: "s", event: {reason: "over"}) { applied } }')
    answer = api.ask(
        '{ knowledge(project: "P", key: "s") { state relations { since } } impact(project: "P", key: "s") { count } }'
    )
    assert answer == {"knowledge": {"state": "INVALIDATED", "relations": []}, "impact": {"count": 0}}


def test_fr08_forbidden_characters_are_refused_with_their_place_and_all_others_come_back(api: Api) -> None:
    query = 'mutation($t: String!) { propose(project: "P", key: "ctl", proposition: $t) { applied } }'
    for bad in ("\u001e", "\u0007", "\u0000", "\ufffe", "\ud83d"):
        facts = api.refused(query, t=f"ab{bad}c")
        assert (facts["code"], facts["field"], facts["position"]) == ("VALIDATION", "proposition", 2)
    # The same characters written as escapes in the document itself.
    facts = api.refused('mutation { propose(project: "P", key: "ctl", proposition: "a\\u0007") { applied } }')
    assert (facts["field"], facts["position"]) == ("proposition", 1)
    text = "1628\u201330 bell 📦 <b>&amp;\"'</b> ]]> a\rb\tc"
    api.ask(query, t=text)
    assert api.ask('{ knowledge(project: "P", key: "ctl") { proposition } }')["knowledge"]["proposition"] == text
    exported = api.send("GET", "/export/P.graphml")
    written = [data.text for data in ET.fromstring(exported.content).iter() if data.text]
    assert text in written


def test_fr09_odd_names_are_kept_exactly_and_unknown_relations_are_refused_with_the_six(api: Api) -> None:
    api.propose("a")
    api.propose("b")
    six = "DERIVED_FROM, SUPPORTS, CONTRADICTS, DEPENDS_ON, SUPERSEDES, RELATED_TO"
    for name in ("icp-kriterien_für", "由...组成", "depends_on", "", "DEPENDS_ON`]->() DELETE n //"):
        facts = api.refused(_LINK, f="a", r=name, t="b")
        assert (facts["code"], facts["field"], facts["allowed"]) == ("VALIDATION", "relation", six)
    facts = api.refused('mutation { link(project: "P", from: "a", relation: UNKNOWN, to: "b") { applied } }')
    assert (facts["code"], facts["field"], facts["allowed"]) == ("VALIDATION", "relation", six)
    odd = "k`]->() DETACH DELETE n //"
    api.propose(odd, "quote ` and $param and {brace} and \\u0060")
    query = 'query($k: String!) { knowledge(project: "P", key: $k) { key proposition } }'
    assert api.ask(query, k=odd)["knowledge"] == {
        "key": odd,
        "proposition": "quote ` and $param and {brace} and \\u0060",
    }
    assert len(api.ask('{ knowledgeList(project: "P") { edges { cursor } } }')["knowledgeList"]["edges"]) == 3


def _pages(read: Callable[[str | None], Any]) -> Iterator[Any]:
    after: str | None = None
    while True:
        page = read(after)
        assert page["pageInfo"]["hasPreviousPage"] is (after is not None)
        yield page
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


PAGE_OF_NODES = """query($a: String) { knowledgeList(project: "P", first: 10, after: $a) {
    edges { cursor node { key } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""


def test_fr10_pages_hold_each_node_once_although_one_is_proposed_between_them(api: Api) -> None:
    same = "2026-01-01T00:00:00Z"
    calls = " ".join(
        f'p{n:02}: propose(project: "P", key: "p{n:02}", proposition: "p", event: {{time: "{same}"}}) {{ applied }}'
        for n in range(1, 26)
    )
    api.ask(f"mutation {{ {calls} }}")
    keys: list[str] = []
    for count, page in enumerate(_pages(lambda after: api.ask(PAGE_OF_NODES, a=after)["knowledgeList"])):
        keys += [edge["node"]["key"] for edge in page["edges"]]
        assert page["pageInfo"]["startCursor"] == page["edges"][0]["cursor"]
        if count == 0:
            api.propose("p26")
    assert [key for key in keys if key != "p26"] == [f"p{n:02}" for n in range(1, 26)]


def test_a_journal_and_a_nodes_events_page_by_position(api: Api) -> None:
    api.propose("a")
    for _ in range(6):
        api.ask('mutation { use(project: "P", key: "a") { applied } }')
    info = "pageInfo { hasNextPage hasPreviousPage endCursor } edges { cursor node { seq } }"
    own = f'query($a: String) {{ knowledge(project: "P", key: "a") {{ events(first: 3, after: $a) {{ {info} }} }} }}'
    pages = list(_pages(lambda after: api.ask(own, a=after)["knowledge"]["events"]))
    assert [[e["node"]["seq"] for e in page["edges"]] for page in pages] == [[1, 2, 3], [4, 5, 6], [7]]
    journal = f'query($a: String) {{ journal(project: "P", first: 4, after: $a) {{ {info} }} }}'
    pages = list(_pages(lambda after: api.ask(journal, a=after)["journal"]))
    assert [[e["node"]["seq"] for e in page["edges"]] for page in pages] == [[1, 2, 3, 4], [5, 6, 7]]
    rest = api.ask(f'{{ journal(project: "P", afterSeq: 5) {{ {info} }} }}')["journal"]
    assert [e["node"]["seq"] for e in rest["edges"]] == [6, 7]


def test_an_impact_counts_all_and_pages_through_them(api: Api) -> None:
    api.propose("root")
    for count in range(5):
        api.propose(f"n{count}")
        api.link(f"n{count}", "DEPENDS_ON", "root")
    query = """query($a: String) { impact(project: "P", key: "root") { count nodes(first: 2, after: $a) {
        edges { node { key atRisk } } pageInfo { hasNextPage hasPreviousPage endCursor } } } }"""
    answers = [api.ask(query, a=None)["impact"]]
    pages = list(_pages(lambda after: api.ask(query, a=after)["impact"]["nodes"]))
    assert answers[0]["count"] == 5
    assert [[e["node"]["key"] for e in page["edges"]] for page in pages] == [
        ["n0", "n1"],
        ["n2", "n3"],
        ["n4"],
    ]
    assert not any(e["node"]["atRisk"] for page in pages for e in page["edges"])
    both = api.ask(
        """{ impact(project: "P", key: "root") {
            a: nodes(first: 1) { edges { cursor } } b: nodes { edges { cursor } } } }"""
    )["impact"]
    assert (len(both["a"]["edges"]), len(both["b"]["edges"])) == (1, 5)


def test_a_cursor_that_is_broken_or_of_another_list_is_refused(api: Api) -> None:
    for project in ("P", "Q"):
        for key in ("a", "b"):
            api.propose(key, project=project)
    foreign = api.ask('{ knowledgeList(project: "Q", first: 1) { edges { cursor } } }')["knowledgeList"]["edges"][0]
    journal = api.ask('{ journal(project: "P", first: 1) { edges { cursor } } }')["journal"]["edges"][0]
    forged = base64.b64encode(b'after:["knowledgeList","P",5,1]').decode()
    half = base64.b64encode(b'after:["knowledgeList","P","\\ud800",1]').decode()
    huge = base64.b64encode(b'after:["knowledgeList","P","a",99999999999999999999]').decode()
    deep = base64.b64encode(b"after:" + b"[" * 3000).decode()
    for after in (
        "",
        "x",
        "%%%",
        "é",
        foreign["cursor"],
        journal["cursor"],
        forged,
        half,
        huge,
        deep,
        "A" * 100_000,
        "\ud800",
    ):
        facts = api.refused(PAGE_OF_NODES, a=after)
        assert (facts["code"], facts["field"]) == ("VALIDATION", "after")
    own = 'query($a: String) { knowledge(project: "P", key: "a") { events(after: $a) { edges { cursor } } } }'
    other = 'query($a: String) { knowledge(project: "P", key: "b") { events(after: $a) { edges { cursor } } } }'
    cursor = api.ask(own)["knowledge"]["events"]["edges"][0]["cursor"]
    assert api.ask(own, a=cursor)["knowledge"]["events"]["edges"] == []
    assert api.refused(other, a=cursor)["field"] == "after"


def test_fr11_the_same_key_in_two_projects_is_two_nodes_and_neither_shows_in_the_other(api: Api) -> None:
    api.propose("rate", "The discount is 10 percent", project="A")
    api.propose("rate", "The discount is 25 percent", project="B")
    api.propose("only-a", project="A")
    query = "query($p: String!, $k: String!) { knowledge(project: $p, key: $k) { id project proposition } }"
    a, b = (api.ask(query, p=project, k="rate")["knowledge"] for project in "AB")
    assert ("10" in a["proposition"], "25" in b["proposition"]) == (True, True)
    assert a["id"] != b["id"]
    assert api.ask(query, p="B", k="only-a") == api.ask(query, p="B", k="nowhere") == {"knowledge": None}
    listed = api.ask('{ knowledgeList(project: "B") { edges { node { project key } } } }')["knowledgeList"]["edges"]
    assert [e["node"] for e in listed] == [{"project": "B", "key": "rate"}]


# --- ids ---


def test_a_global_id_gives_its_thing_back_and_an_unknown_one_null(api: Api) -> None:
    api.propose("ü/ 📦", project="p/ü")
    answer = api.ask(
        """mutation { addEvidence(project: "p/ü", key: "ü/ 📦", evidence: [{type: "t", source: "s"}]) {
            knowledge { id evidence { id } } event { id } } }"""
    )["addEvidence"]
    query = "query($id: ID!) { node(id: $id) { __typename id } }"
    ids = {
        "Knowledge": answer["knowledge"]["id"],
        "Evidence": answer["knowledge"]["evidence"][0]["id"],
        "KnowledgeEvent": answer["event"]["id"],
    }
    for name, ident in ids.items():
        assert api.ask(query, id=ident)["node"] == {"__typename": name, "id": ident}
    for text in ('Knowledge:["p/ü","none",1]', 'Evidence:["none","e"]', 'KnowledgeEvent:["p/ü","none"]'):
        assert api.ask(query, id=base64.b64encode(text.encode()).decode()) == {"node": None}


@pytest.mark.parametrize(
    "text",
    [
        "Edge:[1]",
        'Knowledge:["P"]',
        'Knowledge:["P","a","1"]',
        'Knowledge:["P","a",true]',
        'Knowledge:["P","a",-1]',
        'Knowledge:["P","a",1e999]',
        'Knowledge:["","a",1]',
        'Evidence:["P","\\u0000"]',
        'Evidence:["P","\\ud800"]',
        "Knowledge:{}",
        "Knowledge",
        "",
    ],
)
def test_an_id_that_was_never_given_out_is_refused(api: Api, text: str) -> None:
    for ident in (base64.b64encode(text.encode()).decode(), text):
        facts = api.refused("query($id: ID!) { node(id: $id) { id } }", id=ident)
        assert (facts["code"], facts["field"]) == ("VALIDATION", "id")


# --- bad input ---

PROPOSE = """mutation($p: String!, $k: String, $t: String!, $kind: Kind, $vf: DateTime, $vt: DateTime,
    $e: [EvidenceInput!], $r: [RelationInput!], $ev: EventInput) {
    propose(project: $p, key: $k, proposition: $t, kind: $kind, validFrom: $vf, validTo: $vt, evidence: $e,
        relations: $r, event: $ev) { applied knowledge { key } event { seq } } }"""
GOOD: Mapping[str, Any] = {"p": "P", "k": "k", "t": "text"}
EVIDENCE: Mapping[str, Any] = {"type": "t", "source": "s"}


@pytest.mark.parametrize(
    ("bad", "field", "position"),
    [
        ({"p": ""}, "project", None),
        ({"p": "a\u0000"}, "project", 1),
        ({"p": "x" * 201}, "project", 200),
        ({"p": None}, "project", None),
        ({"k": ""}, "key", None),
        ({"k": "a\nb"}, "key", 1),
        ({"k": 5}, "key", None),
        ({"t": " "}, "proposition", None),
        ({"t": "x" * 10_001}, "proposition", 10_000),
        ({"t": ["x"]}, "proposition", None),
        ({"t": {}}, "proposition", None),
        ({"kind": "claim"}, "kind", None),
        ({"vf": "yesterday"}, "validFrom", None),
        ({"vf": "2020-01-01T00:00:00"}, "validFrom", None),
        ({"vf": 1_600_000_000}, "validFrom", None),
        ({"vf": "2020-01-02T00:00:00Z", "vt": "2020-01-01T00:00:00Z"}, "validTo", None),
        ({"e": [{"source": "s"}]}, "evidence[0].type", 0),
        ({"e": [EVIDENCE, {"type": "t"}]}, "evidence[1].source", 1),
        ({"e": [EVIDENCE | {"typ": "t"}]}, "evidence[0].typ", 0),
        ({"e": {"type": "t"}}, "evidence.source", None),
        ({"e": "x"}, "evidence", None),
        ({"e": [None]}, "evidence[0]", 0),
        ({"e": [EVIDENCE | {"hash": "md5"}]}, "evidence[0].hash", None),
        ({"e": [EVIDENCE | {"timestamp": "x"}]}, "evidence[0].timestamp", 0),
        ({"e": [EVIDENCE | {"artifactRef": ""}]}, "evidence[0].artifactRef", None),
        ({"e": [EVIDENCE | {"metadata": {"a": "\ud800"}}]}, "evidence[0].metadata", 0),
        ({"e": [EVIDENCE | {"key": "k"}, EVIDENCE | {"key": "k"}]}, "evidence[1].key", 1),
        ({"e": [EVIDENCE] * 101}, "evidence", 100),
        ({"r": [{"relation": "KNOWS", "to": "a"}]}, "relations[0].relation", 0),
        ({"r": [{"relation": "SUPPORTS"}]}, "relations[0].to", 0),
        ({"r": [{"relation": "SUPPORTS", "to": "\u0001"}]}, "relations[0].to", 0),
        ({"ev": {"reason": ""}}, "event.reason", None),
        ({"ev": {"reason": "a\ud800"}}, "event.reason", 1),
        ({"ev": {"time": "2999-01-01T00:00:00Z"}}, "event.time", None),
        ({"ev": {"time": "9999-12-31T23:59:59-14:00"}}, "event.time", None),
        ({"ev": {"causedBy": ["\u0000"]}}, "event.causedBy[0]", 0),
        ({"ev": {"eventId": ""}}, "event.eventId", None),
        ({"ev": {"execution": {"parentRun": ""}}}, "event.execution.parentRun", None),
        ({"ev": {"execution": {"parentrun": "x"}}}, "event.execution.parentrun", None),
        ({"ev": {"actor": {"issuer": "", "subject": "s", "type": "HUMAN"}}}, "event.actor.issuer", None),
        ({"ev": {"actor": {"issuer": "i", "subject": "s", "type": "GOD"}}}, "event.actor.type", None),
        ({"ev": {"actor": {"issuer": "i", "type": "HUMAN"}}}, "event.actor.subject", None),
    ],
)
def test_bad_input_is_refused_with_its_field_and_its_place_and_leaves_nothing(
    api: Api, bad: dict[str, Any], field: str, position: int | None
) -> None:
    facts = api.refused(PROPOSE, **(dict(GOOD) | bad))
    assert (facts["code"], facts["field"], facts.get("position")) == ("VALIDATION", field, position)
    assert facts["allowed"]
    assert api.ask("{ projects }") == {"projects": []}


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("{", "VALIDATION", "query"),
        ('{ knowledge(project: "P" }', "VALIDATION", "query"),
        ("{ nothing }", "VALIDATION", "nothing"),
        ('{ knowledge(project: "P") { key } }', "VALIDATION", "key"),
        ('{ knowledge(project: "P", key: "a", colour: 1) { key } }', "VALIDATION", "colour"),
        ('{ knowledge(project: "P", key: 5) { key } }', "VALIDATION", "key"),
        ('{ knowledge(project: "P", key: "a", generation: 0) { key } }', "VALIDATION", "generation"),
        ('{ knowledge(project: "P", key: "a", generation: 99999999999) { key } }', "VALIDATION", "generation"),
        (f'{{ knowledge(project: "P", key: "a", generation: {"9" * 5000}) {{ key }} }}', "VALIDATION", "generation"),
        ('{ knowledge(project: "P", key: "a\\u0001") { key } }', "VALIDATION", "key"),
        ('{ knowledge(project: "", key: "a") { key } }', "VALIDATION", "project"),
        ('{ knowledge(project: "P", key: "a", asOf: "now") { key } }', "VALIDATION", "asOf"),
        ('{ knowledge(project: "P", key: "a", asOf: 5) { key } }', "VALIDATION", "asOf"),
        ('{ knowledgeList(project: "P", first: 0) { edges { cursor } } }', "VALIDATION", "first"),
        ('{ knowledgeList(project: "P", first: -5) { edges { cursor } } }', "VALIDATION", "first"),
        ('{ knowledgeList(project: "P", first: 1001) { edges { cursor } } }', "LIMIT", "first"),
        ('{ knowledgeList(project: "P", filter: {keyPrefix: "\\u0000"}) { edges { cursor } } }',
         "VALIDATION", "filter.keyPrefix"),
        ('{ knowledgeList(project: "P", filter: {states: [GONE]}) { edges { cursor } } }',
         "VALIDATION", "filter.states[0]"),
        ('{ knowledgeList(project: "P", filter: {updatedAfter: "x"}) { edges { cursor } } }',
         "VALIDATION", "filter.updatedAfter"),
        ('{ provenance(project: "P", key: "a", maxNodes: 0) { atSeq } }', "VALIDATION", "maxNodes"),
        ('{ provenance(project: "P", key: "a", maxNodes: 10001) { atSeq } }', "LIMIT", "maxNodes"),
        ('{ provenance(project: "P", key: "a", direction: SIDEWAYS) { atSeq } }', "VALIDATION", "direction"),
        ('{ impact(project: "P", key: "a") { nodes(first: 1001) { edges { cursor } } } }', "LIMIT", "first"),
        ('{ impact(project: "P", key: "a") { nodes(after: "x") { edges { cursor } } } }', "VALIDATION", "after"),
        ('{ journal(project: "P", afterSeq: -1) { edges { cursor } } }', "VALIDATION", "afterSeq"),
        ('{ journal(project: "P", first: 0) { edges { cursor } } }', "VALIDATION", "first"),
        ('mutation { hint(project: "P", key: "a", outcome: MEH) { applied } }', "VALIDATION", "outcome"),
        ('mutation { hint(project: "P", key: "a") { applied } }', "VALIDATION", "outcome"),
        ('mutation { challenge(project: "P", key: "a") { applied } }', "VALIDATION", "event.reason"),
        ('mutation { disprove(project: "P", key: "a", event: {reason: "r"}) { applied } }', "VALIDATION", "evidence"),
        ('mutation { addEvidence(project: "P", key: "a", evidence: []) { applied } }', "VALIDATION", "evidence"),
        ('mutation { transfer(project: "P", key: "a", toProject: "\\u0000") { applied } }', "VALIDATION", "toProject"),
        ('mutation { confirm(project: "P", key: "ghost") { applied } }', "NOT_FOUND", "key"),
        ('mutation { confirm(project: "P", key: "ghost", event: {causedBy: ["no"]}) { applied } }',
         "NOT_FOUND", "event.causedBy[0]"),
    ],
)  # fmt: skip
def test_every_refusal_names_its_code_and_its_field(api: Api, query: str, code: str, field: str) -> None:
    facts = api.refused(query)
    assert (facts["code"], facts["field"]) == (code, field)


def test_a_transfer_goes_to_another_project_only(api: Api) -> None:
    api.propose("a")
    facts = api.refused('mutation { transfer(project: "P", key: "a", toProject: "P") { applied } }')
    assert (facts["code"], facts["field"]) == ("VALIDATION", "toProject")


def test_the_rules_of_the_lifecycle_reach_the_caller_by_their_codes(api: Api) -> None:
    api.propose("a")
    facts = api.refused('mutation { propose(project: "P", key: "a", proposition: "Another") { applied } }')
    assert (facts["code"], facts["field"]) == ("PROPOSITION_CONFLICT", "proposition")
    human = '{actor: {issuer: "i", subject: "h", type: HUMAN}}'
    agent = '{reason: "r", actor: {issuer: "i", subject: "a", type: AGENT}}'
    api.ask(f'mutation {{ confirm(project: "P", key: "a", event: {human}) {{ applied }} }}')
    facts = api.refused(f'mutation {{ invalidate(project: "P", key: "a", event: {agent}) {{ applied }} }}')
    assert (facts["code"], facts["field"]) == ("AUTHORITY", "event.actor")
    api.ask('mutation { invalidate(project: "P", key: "a", event: {reason: "r"}) { applied } }')
    assert api.refused('mutation { confirm(project: "P", key: "a") { applied } }')["code"] == "TERMINAL_STATE"


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None), max_size=20)
    | st.sampled_from(["P", "k", "CLAIM", "DEPENDS_ON", "2020-01-01T00:00:00Z", "\ud800", "\u0000"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(
            ["type", "source", "metadata", "relation", "to", "reason", "time", "actor", "keyPrefix", "x", "\ud800"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip
ANY_READ = """query($p: String!, $k: String!, $g: Int, $t: DateTime, $f: KnowledgeFilter, $n: Int, $a: String,
    $d: Direction, $r: [Relation!], $id: ID!) {
    node(id: $id) { id }
    knowledge(project: $p, key: $k, generation: $g, asOf: $t) { events(first: $n, after: $a) { edges { cursor } } }
    knowledgeList(project: $p, filter: $f, first: $n, after: $a) { edges { node { key } } }
    provenance(project: $p, key: $k, direction: $d, relations: $r, depth: $n, asOf: $t) { atSeq }
    journal(project: $p, afterSeq: $g, first: $n) { edges { cursor } }
    verifyJournal(project: $p, savedSeq: $g, savedHash: $a) { ok }
}"""
PROPERTY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CODES = {"VALIDATION", "NOT_FOUND", "LIMIT", "PROPOSITION_CONFLICT", "RELATION_REFUSED", "EVENT_CONFLICT"}


def _never_a_failure(response: httpx.Response) -> None:
    assert response.status_code in (200, 400)
    answer = json.loads(response.content.decode())
    assert {error["extensions"]["code"] for error in answer.get("errors", ())} <= CODES, answer


@PROPERTY
@given(st.dictionaries(st.sampled_from(["p", "k", "t", "kind", "vf", "vt", "e", "r", "ev"]), JSON_VALUES))
def test_no_values_of_a_mutations_variables_make_it_fail(api: Api, values: dict[str, Any]) -> None:
    _never_a_failure(api.post(PROPOSE, dict(GOOD) | values))


@PROPERTY
@given(st.dictionaries(st.sampled_from(["p", "k", "g", "t", "f", "n", "a", "d", "r", "id"]), JSON_VALUES))
def test_no_values_of_a_querys_variables_make_it_fail(api: Api, values: dict[str, Any]) -> None:
    _never_a_failure(api.post(ANY_READ, {"p": "P", "k": "k", "id": "x"} | values))


@PROPERTY
@given(JSON_VALUES, JSON_VALUES)
def test_no_body_makes_the_endpoint_fail(api: Api, query: object, variables: object) -> None:
    _never_a_failure(api.post(query, variables))


@PROPERTY
@given(st.sampled_from([PROPOSE, ANY_READ]), st.data())
def test_no_damaged_document_makes_the_endpoint_fail(api: Api, document: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(document)))
    length = data.draw(st.integers(0, 30))
    piece = data.draw(
        st.text(st.characters(codec=None), max_size=4) | st.sampled_from(["}", "{", "$p", "...", "@skip"])
    )
    _never_a_failure(api.post(document[:start] + piece + document[start + length :], dict(GOOD)))


# --- limits ---


def _doubling(levels: int, leaf: str) -> str:
    chain = (f"fragment F{n} on Knowledge {{ ...F{n + 1} ...F{n + 1} }}" for n in range(levels))
    return " ".join((*chain, f"fragment F{levels} on Knowledge {{ {leaf} }}"))


def test_fragments_that_double_sixty_times_cost_next_to_nothing(api: Api) -> None:
    api.propose("a")
    query = '{ knowledge(project: "P", key: "a") { ...F0 } } '
    assert api.ask(query + _doubling(60, "key")) == {"knowledge": {"key": "a"}}

    def refused() -> None:
        assert api.refused(query + _doubling(60, "evidence { key }"))["code"] == "LIMIT"
        assert api.refused(query + _doubling(60, "x: key"))["code"] == "LIMIT"
        ring = "fragment F0 on Knowledge { ...F1 } fragment F1 on Knowledge { ...F0 }"
        assert api.post(query + ring).json()["errors"][0]["extensions"]["code"] == "VALIDATION"
        chain = " ".join(f"fragment F{n} on Knowledge {{ ...F{n + 1} }}" for n in range(600))
        assert api.refused(f"{query} {chain} fragment F600 on Knowledge {{ key }}")["code"] == "LIMIT"

    assert cpu_seconds(refused, 2.0, more=0) < 2.0


def _nested(levels: int) -> str:
    return '{ knowledge(project: "P", key: "a") ' + "{ relations { to " * levels + "{ key }" + "} }" * levels + " }"


@pytest.mark.parametrize(
    "query",
    [
        _nested(LEVELS_MAX // 2 + 1),
        "{ " + " ".join(f"a{n}: projects" for n in range(ALIASES_MAX + 1)) + " }",
        "{ " + "projects " * (TOKENS_MAX + 1) + "}",
        "{ " + "projects " * 2000 + "}",
        """{ knowledgeList(project: "P", first: 1000) { edges { node {
            events(first: 1000) { edges { node { seq } } } } } } }""",
        '{ knowledgeList(project: "P", first: 1000) { edges { node { '
        + "relations { to { " * 5
        + "key"
        + " } }" * 5
        + " } } } }",
    ],
    ids=["depth", "aliases", "tokens", "fields", "pages in pages", "lists in lists"],
)
def test_a_document_that_asks_for_too_much_is_refused_with_the_bound(api: Api, query: str) -> None:
    def refused() -> None:
        facts = api.refused(query)
        assert (facts["code"], facts["field"]) == ("LIMIT", "query")
        assert "at most" in facts["allowed"]

    assert cpu_seconds(refused, 1.0, more=0) < 1.0


def test_the_size_of_a_page_counts_also_when_a_variable_says_it(api: Api) -> None:
    query = """query($n: Int = 1) { knowledgeList(project: "P", first: $n) {
        edges { node { events(first: 1000) { edges { node { seq } } } } } } }"""
    assert api.ask(query) == {"knowledgeList": {"edges": []}}
    assert api.refused(query, n=1000)["code"] == "LIMIT"


def test_the_widest_walk_with_all_it_can_carry_is_allowed(api: Api) -> None:
    api.propose("a")
    answer = api.ask(
        """{ provenance(project: "P", key: "a", depth: 100, maxNodes: 10000) {
            root { key } nodes { key evidence { key } } edges { from { key } to { key } } evidence { key } } }"""
    )
    assert answer["provenance"]["root"] == {"key": "a"}


def test_introspection_as_tools_write_it_is_within_the_limits(api: Api) -> None:
    from graphql import get_introspection_query  # noqa: PLC0415

    answer = api.ask(get_introspection_query(input_value_deprecation=True))
    assert answer["__schema"]["queryType"] == {"name": "Query", "kind": "OBJECT"}


# --- HTTP ---


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"5", 400),
        (b'"x"', 400),
        (b"null", 400),
        (b"[]", 400),
        (b'[{"query": "{ projects }"}]', 400),
        (b"{}", 400),
        (b'{"query": 5}', 400),
        (b'{"query": "{ projects }", "variables": []}', 400),
        (b'{"query": "{ projects }", "variables": {"a": NaN}}', 400),
        (b'{"query": "{ projects }", "operationName": 5}', 400),
        (b'{"query": "{ projects }", "operationName": "Other"}', 400),
        (b'{"query": "{ projects }", "extensions": 5}', 400),
        (b'{"query": "\xff"}', 400),
        (b'{"query": "{ projects }", "x": ' + b"9" * 5000 + b"}", 400),
        (b"[" * 200_000, 400),
        (b'{"a":' * 100_000, 400),
        (b" " * (BODY_BYTES_MAX + 1), 413),
    ],
)
def test_a_body_that_is_no_request_is_refused_in_json(api: Api, body: bytes, status: int) -> None:
    response = api.send("POST", "/graphql", content=body, headers=JSON_TYPE)
    assert response.status_code == status
    (error,) = response.json()["errors"]
    assert error["extensions"]["code"] == ("LIMIT" if status == 413 else "VALIDATION")


@pytest.mark.parametrize("more", ["extensions", "variables", "operationName", "query"])
@pytest.mark.parametrize("value", [0, False, 1.5, []], ids=json.dumps)
def test_a_request_of_a_wrong_form_is_refused_also_where_its_query_has_a_plan(
    api: Api, more: str, value: object
) -> None:
    query = '{ knowledgeList(project: "P") { edges { cursor } } }'
    assert api.ask(query) == api.ask(query) == {"knowledgeList": {"edges": []}}
    response = api.send("POST", "/graphql", content=json.dumps({"query": query} | {more: value}), headers=JSON_TYPE)
    assert response.status_code == 400
    assert response.json()["errors"][0]["message"].startswith(f"`{more}` must be")


def test_a_body_that_hides_its_length_is_counted_all_the_same(api: Api) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100_000

    response = api.send("POST", "/graphql", content=endless(), headers=JSON_TYPE)
    assert response.status_code == 413
    assert response.json()["errors"][0]["extensions"]["code"] == "LIMIT"


def test_what_is_no_json_request_is_refused_by_its_media_type_and_its_method(api: Api) -> None:
    for media in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/graphql",
    ):
        assert api.send("POST", "/graphql", content=b"x", headers={"content-type": media}).status_code == 415
    response = api.send("PUT", "/graphql")
    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST")


def test_queries_may_come_by_get_and_mutations_may_not(api: Api) -> None:
    response = api.send("GET", "/graphql", params={"query": "{ projects }"})
    assert response.json() == {"data": {"projects": []}}
    query = "query($p: String!) { journalHead(project: $p) { seq } }"
    response = api.send("GET", "/graphql", params={"query": query, "variables": '{"p": "P"}'})
    assert response.json() == {"data": {"journalHead": None}}
    response = api.send("GET", "/graphql", params={"query": 'mutation { use(project: "P", key: "a") { applied } }'})
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert api.send("GET", "/graphql", params={"query": query, "variables": "{"}).status_code == 400


def test_a_browser_gets_graphiql_and_others_are_told_that_a_query_is_missing(api: Api) -> None:
    page = api.send("GET", "/graphql", headers={"accept": "text/html,*/*"})
    assert "graphiql" in page.text.lower()
    bare = api.send("GET", "/graphql", headers={"accept": "*/*"})
    assert (bare.status_code, bare.json()["errors"][0]["extensions"]["code"]) == (400, "VALIDATION")


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (GRAPHQL_TYPE, GRAPHQL_TYPE),
        (f"{GRAPHQL_TYPE}, application/json", GRAPHQL_TYPE),
        (f"application/json, {GRAPHQL_TYPE};q=0.5", "application/json"),
        (f"{GRAPHQL_TYPE};q=0, application/json", "application/json"),
        (f"{GRAPHQL_TYPE};q=x", "application/json"),
    ],
)
def test_the_media_type_of_an_answer_is_the_one_that_the_caller_prefers(api: Api, accept: str, media: str) -> None:
    good = api.post("{ projects }", accept=accept)
    assert (good.status_code, good.headers["content-type"].partition(";")[0]) == (200, media)
    for query, variables in (
        ("{", {}),
        ("{ nothing }", {}),
        ('query($f: Int) { journal(project: "P", first: $f) { edges { cursor } } }', {"f": "x"}),
    ):
        bad = api.post(query, variables, accept=accept)
        assert bad.status_code == (400 if media == GRAPHQL_TYPE else 200)
        assert "data" not in bad.json()
    executed = api.post('{ impact(project: "P", key: "ghost") { count } }', accept=accept)
    assert executed.status_code == 200
    assert executed.json()["data"] is None


def test_every_answer_carries_its_id_and_the_light_headers(api: Api) -> None:
    for path in ("/healthz", "/nowhere", "/export/none.jsonl"):
        headers = api.send("GET", path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert len(headers["x-request-id"]) == 12
    missing = api.send("GET", "/nowhere")
    assert (missing.status_code, missing.json()["errors"][0]["extensions"]["code"]) == (404, "NOT_FOUND")
    assert api.send("POST", "/healthz").status_code == 405


def test_any_integer_and_any_text_can_be_written_as_an_answer() -> None:
    value = {"big": 2**200, "text": "ü\ud800", "float": 0.1}
    assert encoded(value) == '{"big":%d,"text":"ü?","float":0.1}'.encode() % 2**200
    assert encoded({"n": 9007199254740993}) == b'{"n":9007199254740993}'


# --- failures ---


class Pretended:
    """What a service is taken for, whoever asks."""

    store: Any = None

    def within(self, _scope: Scope) -> Any:
        return self


class Failing(Pretended):
    """A service that fails in the given way, whatever is asked."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, _name: str) -> Callable[..., Awaitable[Any]]:
        async def call(*_args: Any, **_kwargs: Any) -> Any:
            raise self.error

        return call


def test_a_failure_of_ours_tells_a_reference_and_nothing_else(
    loop: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    api = Api(Failing(RuntimeError("MATCH (n) at bolt://secret")), loop)
    with caplog.at_level(logging.ERROR, "whence"):
        response = api.post('{ projects knowledge(project: "P", key: "a") { key } }')
    assert "secret" not in response.text
    errors = response.json()["errors"]
    for error in errors:
        assert error["extensions"] == {"code": "INTERNAL"}
        reference = error["message"].removeprefix("Internal error, reference ")
        assert len(reference) == 8
        assert reference in caplog.text
    assert "bolt://secret" in caplog.text


def test_a_map_that_breaks_the_schema_is_a_failure_of_ours(loop: asyncio.Runner) -> None:
    class Odd(Failing):
        async def projects(self) -> list[Any]:
            return ["ok", None]

    response = Api(Odd(RuntimeError()), loop).post("{ projects }")
    assert response.json()["errors"][0]["extensions"] == {"code": "INTERNAL"}
    assert "Query" not in response.text


def test_a_database_that_cannot_be_had_is_told_as_such(loop: asyncio.Runner) -> None:
    api = Api(Failing(UnavailableError("the database does not answer")), loop)
    assert api.refused("{ projects }") == {"message": "the database does not answer", "code": "UNAVAILABLE"}
    ready = api.send("GET", "/readyz")
    assert (ready.status_code, ready.json()["cause"]) == (503, "the database does not answer")
    assert api.send("GET", "/healthz").json() == {"status": "ok"}


def test_an_export_that_fails_before_its_first_byte_is_refused(loop: asyncio.Runner) -> None:
    class Broken(Pretended):
        async def export_graphml(self, _project: str) -> AsyncIterator[bytes]:
            raise UnavailableError("the database does not answer")
            yield b""

        async def export_journal(self, _project: str) -> AsyncIterator[bytes]:
            raise RuntimeError("bolt://secret")
            yield b""

    api = Api(Broken(), loop)
    for kind, status, code in (("graphml", 503, "UNAVAILABLE"), ("jsonl", 500, "INTERNAL")):
        response = api.send("GET", f"/export/P.{kind}")
        assert (response.status_code, response.json()["errors"][0]["extensions"]["code"]) == (status, code)
        assert "secret" not in response.text


def test_a_database_that_hangs_is_not_ready_after_a_second(loop: asyncio.Runner) -> None:
    class Hanging(Pretended):
        async def ready(self) -> None:
            await asyncio.sleep(60)

    started = time.monotonic()
    assert Api(Hanging(), loop).send("GET", "/readyz").status_code == 503
    assert time.monotonic() - started < 5


def told(api: Api, wanted: dict[str, object]) -> bool:
    """Whether that comes to be told; the first question to a database takes more than its second."""
    deadline = time.monotonic() + 60
    while api.send("GET", "/readyz").json() != wanted:
        if time.monotonic() > deadline:
            return False
    return True


def test_the_service_is_ready_on_a_real_database(api: Api) -> None:
    assert told(api, {"status": "ready"})


def test_what_is_rebuilt_or_lacking_is_told_when_somebody_asks(api: Api, store: Store, loop: asyncio.Runner) -> None:
    api.propose("a")
    loop.run(store.project_write("project_rebuilding", project="P", rebuilding=True))
    assert told(api, {"status": "ready", "rebuilding": 1})
    loop.run(store.driver.execute_query("DROP CONSTRAINT event_identity", database_=store.database))
    try:
        assert told(api, {"status": "unavailable", "cause": "the database lacks event_identity"})
    finally:
        loop.run(schema.install(store.driver, store.database))
    assert told(api, {"status": "ready", "rebuilding": 1})


def test_a_field_of_a_journal_line_is_told_as_the_argument_that_it_was() -> None:
    told = {
        "payload.evidence[0].artifact_ref": "evidence[0].artifactRef",
        "payload.to_project": "toProject",
        "payload.relations[1].to": "relations[1].to",
        "payload.key": "key",
        "caused_by[2]": "event.causedBy[2]",
        "execution.parent_run": "event.execution.parentRun",
        "actor.issuer": "event.actor.issuer",
        "event_id": "event.eventId",
        "time": "event.time",
        "reason": "event.reason",
        "proposition": "proposition",
        "key": "from",
    }
    assert {field: argument_name(field, "from") for field in told} == told
    assert argument_name(None) is None


# --- exports ---


@pytest.mark.parametrize("project", ["P", "a/b.graphml", "ü 📦", "x.jsonl", '"; rm', "..", "%2F"])
def test_a_project_of_any_name_is_exported_under_its_name(api: Api, project: str) -> None:
    api.propose("a", project=project)
    encoded_name = quote(project, safe="")
    graph = api.send("GET", f"/export/{encoded_name}.graphml")
    assert (graph.status_code, graph.headers["content-type"]) == (200, "application/graphml+xml")
    assert ET.fromstring(graph.content).tag.endswith("graphml")
    provenance = api.send("GET", f"/export/{encoded_name}.provjson")
    assert (provenance.status_code, provenance.headers["content-type"]) == (200, "application/json")
    assert [each["whence:key"] for each in provenance.json()["entity"].values()] == ["a"]
    assert api.send("GET", f"/export/{encoded_name}.provn").text.startswith("document")
    journal = api.send("GET", f"/export/{encoded_name}.jsonl")
    assert (journal.status_code, journal.headers["content-type"]) == (200, "application/x-ndjson")
    assert [json.loads(line)["key"] for line in journal.content.splitlines()] == ["a"]
    disposition = journal.headers["content-disposition"]
    assert disposition.startswith('attachment; filename="')
    assert disposition.isascii()
    assert disposition.endswith(f"filename*=UTF-8''{quote(project + '.jsonl', safe='')}")
    plain = disposition.split('"')[1]
    assert not set(plain) & set('/\\" %')
    head = api.send("HEAD", f"/export/{encoded_name}.jsonl")
    assert (head.status_code, head.content) == (200, b"")


def test_an_unknown_project_is_a_404_before_any_byte(api: Api) -> None:
    for path in (
        "/export/none.graphml",
        "/export/none.jsonl",
        "/export/none.provn",
        "/export/P.csv",
        "/export/.jsonl",
        "/export/",
    ):
        response = api.send("GET", path)
        assert response.status_code in (404, 400)
        assert response.json()["errors"][0]["extensions"]["code"] in ("NOT_FOUND", "VALIDATION")
    assert api.send("GET", "/export/%FF.jsonl").status_code == 400
    assert api.send("GET", "/export/%00.jsonl").status_code == 400


class Breaking(Pretended):
    """A service that nobody follows, and whose export breaks after its first chunk."""

    feed = Feed(cast(Store, None))
    closed = False

    async def export_journal(self, project: str) -> AsyncIterator[bytes]:
        yield b"the first line\n"
        if project == "breaks":
            raise RuntimeError("the database went away")
        try:
            while True:
                yield b"x" * 100_000
                await asyncio.sleep(0)
        finally:
            self.closed = True

    async def projects(self) -> list[str]:
        return ["real"]


def test_an_export_that_fails_half_way_is_cut_off_and_never_ends_under_success(loop: asyncio.Runner) -> None:
    async def scenario() -> None:
        breaking = Breaking()
        bound: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve(
                cast(Service, breaking),
                SETTINGS,
                Everyone(SETTINGS.actor),
                ready=lambda host, port: bound.set_result(f"http://{host}:{port}"),
            )
        )
        url = await asyncio.wait_for(bound, 10)
        async with httpx.AsyncClient(base_url=url, timeout=10) as client:
            answer = await client.post("/graphql", json={"query": "{ projects }"})
            assert answer.json() == {"data": {"projects": ["real"]}}
            assert "server" not in answer.headers
            received = b""
            with pytest.raises(httpx.RemoteProtocolError):
                async with client.stream("GET", "/export/breaks.jsonl") as response:
                    assert response.status_code == 200
                    async for chunk in response.aiter_bytes():
                        received += chunk
            assert received in (b"", b"the first line\n")
            async with client.stream("GET", "/export/endless.jsonl") as response:
                async for _chunk in response.aiter_bytes():
                    break
            for _ in range(500):
                if breaking.closed:
                    break
                await asyncio.sleep(0.01)
            assert breaking.closed  # a reader who goes away sets the database free
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    loop.run(scenario())


def test_a_port_that_is_taken_is_told_as_unavailable(loop: asyncio.Runner) -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
        async with server:
            with pytest.raises(UnavailableError):
                await serve(
                    cast(Service, Breaking()),
                    SETTINGS,
                    Everyone(SETTINGS.actor),
                    port=server.sockets[0].getsockname()[1],
                )

    loop.run(scenario())


# --- settings ---


def test_settings_come_from_the_environment_and_keep_the_password_to_themselves() -> None:
    given_settings = Settings.from_environment(
        {
            "WHENCE_HOME": "/srv/whence",
            "WHENCE_LOG": "debug",
            "NEO4J_URI": "bolt://db",
            "NEO4J_USERNAME": "u",
            "NEO4J_PASSWORD": "hush",
            "NEO4J_DATABASE": "d",
        }
    )
    assert given_settings == Settings(Path("/srv/whence"), "DEBUG", "bolt://db", "u", "hush", "d")
    assert given_settings.log_level == logging.DEBUG
    assert "hush" not in repr(given_settings)
    assert Settings.from_environment({"NEO4J_URI": ""}).neo4j_uri is None
    assert Settings.from_environment({"X": ""}).home.name == "whence"
    with pytest.raises(ValidationError):
        Settings.from_environment({"WHENCE_LOG": "loud"})


def test_the_ranker_is_read_from_the_environment_and_an_unknown_one_is_refused() -> None:
    assert Settings.from_environment({"X": ""}).ranker == "fusion"
    assert Settings.from_environment({"WHENCE_RANKER": "hybrid"}).ranker == "hybrid"
    with pytest.raises(ValidationError) as refused:
        Settings.from_environment({"WHENCE_RANKER": "best"})
    assert (refused.value.field, refused.value.allowed) == ("WHENCE_RANKER", "fusion, hybrid, reciprocal")


def test_edges_of_edges_of_a_hub_end_at_a_bound_and_not_at_the_memory(api: Api) -> None:
    api.propose("hub")
    for at in range(30):
        api.propose(f"leaf-{at}")
        api.link(f"leaf-{at}", "DEPENDS_ON", "hub")
    nested = "{ key }"
    for _ in range(2):
        nested = "{ relations { from { relations { to { relations { from " + nested + " } } } } } }"
    answer = api.post('{ knowledge(project: "P", key: "hub") ' + nested + " }").json()
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"LIMIT"}
    assert len(answer["errors"]) <= 50
    assert api.ask('{ knowledge(project: "P", key: "hub") { key } }')["knowledge"]["key"] == "hub"


def test_a_document_of_several_operations_wants_one_named(api: Api) -> None:
    mutations = " ".join(
        f'mutation {name} {{ propose(project: "P", key: "{name}", proposition: "x") {{ applied }} }}' for name in "AB"
    )
    answer = api.post(mutations).json()
    assert [error["extensions"]["field"] for error in answer["errors"]] == ["operationName"]
    assert api.ask("{ projects }")["projects"] == []
