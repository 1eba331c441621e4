"""Requests that are built to hurt, against the service as it runs, in a process of its own.

Each is answered or refused for little CPU and little memory, in a form that a client can read, and the next caller
notices nothing of it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from conftest import wipe
from corpus import MIB, Hostile, corpus
from quiet import cpu_seconds
from served import Served, served

from graph.embedded import Connection
from graph.store import Store

CPU_SECONDS_MAX = 0.25  # of the server's process, for one request
MEMORY_BYTES_MAX = 25 * MIB  # that it may grow by over the whole corpus, once it has seen all of it
REFUSAL_BYTES_MAX = 64 * 1024  # an answer that refuses repeats little of what it was sent
CONNECTIONS_MAX = 100  # to the database, of one process: the driver's own bound
SMALL = '{ knowledge(project: "P", key: "n3") { key state proposition evidence { source } } }'


@pytest.fixture(scope="module")
def service(
    neo4j: Connection, open_store: Store, loop: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """The service with a hub and thirty nodes that rest on it, in two projects."""
    loop.run(wipe(open_store))
    with served(neo4j, tmp_path_factory.mktemp("served")) as caller:
        for project in "PQ":
            caller.ask(PROPOSE, p=project, k="hub", r=[])
            for count in range(30):
                caller.ask(PROPOSE, p=project, k=f"n{count}", r=[{"relation": "DEPENDS_ON", "to": "hub"}])
        yield caller


PROPOSE = """mutation($p: String!, $k: String!, $r: [RelationInput!]) {
    propose(project: $p, key: $k, proposition: "It holds", relations: $r, evidence: [{type: "t", source: "s"}]) {
        applied
    }
}"""


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of a hostile request, and of a small query right after it."""

    status: int
    size: int
    body: Any
    cpu_seconds: float
    after: Any

    @property
    def codes(self) -> set[str]:
        return {error["extensions"]["code"] for error in self.body.get("errors", ())}


@dataclass(frozen=True, slots=True)
class Course:
    """What was observed of the whole corpus."""

    requests: list[Hostile]
    observed: dict[str, Observed]
    small: Any
    grown_bytes: int


@pytest.fixture(scope="module")
def course(service: Served) -> Course:
    foreign = service.ask('{ knowledgeList(project: "Q", first: 1) { edges { cursor } } }')["knowledgeList"]
    journal = service.ask('{ journal(project: "P", first: 1) { edges { cursor } } }')["journal"]
    requests = corpus(foreign["edges"][0]["cursor"], journal["edges"][0]["cursor"])
    small = service.ask(SMALL)
    observed = {each.name: _observe(service, each) for each in requests}
    before = service.memory()
    for each in requests:
        _send(service, each)
    return Course(requests, observed, small, service.memory() - before)


def _send(service: Served, each: Hostile) -> httpx.Response:
    return service.client.request(each.method, each.path, content=each.content, headers=each.headers)


def _observe(service: Served, each: Hostile) -> Observed:
    sent = list[httpx.Response]()
    spent = cpu_seconds(lambda: sent.append(_send(service, each)), CPU_SECONDS_MAX, service.cpu, more=0)
    response = sent[0]
    body = json.loads(response.content.decode()) if response.content else {}
    return Observed(response.status_code, len(response.content), body, spent, service.ask(SMALL))


def test_the_corpus_holds_each_request_once(course: Course) -> None:
    assert [name for name, count in Counter(each.name for each in course.requests).items() if count > 1] == []
    assert len(course.requests) > 100


def test_each_is_answered_or_refused_by_its_code(course: Course) -> None:
    expected = {each.name: set[str]() if each.code is None else {each.code} for each in course.requests}
    assert {name: seen.codes for name, seen in course.observed.items()} == expected


def test_none_is_a_failure_of_the_server(course: Course) -> None:
    assert {name: seen.status for name, seen in course.observed.items() if seen.status >= 500} == {}


def test_each_costs_little_cpu(course: Course) -> None:
    dear = {name: seen.cpu_seconds for name, seen in course.observed.items() if seen.cpu_seconds > CPU_SECONDS_MAX}
    assert dear == {}


def test_all_of_them_leave_the_memory_as_it_was(course: Course) -> None:
    assert course.grown_bytes < MEMORY_BYTES_MAX


def test_a_small_query_right_after_is_answered_as_before(course: Course) -> None:
    assert course.small["knowledge"]["evidence"] == [{"source": "s"}]
    assert [name for name, seen in course.observed.items() if seen.after != course.small] == []


def test_no_refusal_gives_back_what_it_was_sent(course: Course) -> None:
    large = {name: seen.size for name, seen in course.observed.items() if seen.codes and seen.size > REFUSAL_BYTES_MAX}
    assert large == {}
    texts = [
        (name, text)
        for name, seen in course.observed.items()
        for error in seen.body.get("errors", ())
        for text in (error["message"], error["extensions"].get("field"), error["extensions"].get("allowed"))
    ]
    assert [name for name, text in texts if text is not None and len(text) > 510] == []


def test_a_bound_that_was_passed_is_named(course: Course) -> None:
    for name, seen in course.observed.items():
        for error in seen.body.get("errors", ()):
            if error["extensions"]["code"] == "LIMIT":
                assert "at most" in error["extensions"]["allowed"], name


def test_a_refusal_beside_other_reads_leaves_no_connection_behind(service: Served) -> None:
    """What is refused in one field lets the reads of its siblings be given up, while they are under way."""
    siblings = " ".join(f'a{count}: knowledgeList(project: "P") {{ pageInfo {{ endCursor }} }}' for count in range(40))
    for _ in range(12):
        refused = service.post(f'{{ journal(project: "P", afterSeq: -1) {{ edges {{ cursor }} }} {siblings} }}').json()
        assert [error["extensions"]["code"] for error in refused["errors"]] == ["VALIDATION"]
    assert service.process.num_fds() < CONNECTIONS_MAX + 50
    assert service.ask(SMALL)


def test_a_page_that_a_variable_sizes_by_default_counts_by_that(service: Served) -> None:
    query = """query($n: Int = 1000) { knowledgeList(project: "P", first: $n) {
        edges { node { events(first: $n) { edges { node { seq } } } } } } }"""
    assert service.post(query).json()["errors"][0]["extensions"]["code"] == "LIMIT"
    assert service.ask(query, n=10)["knowledgeList"]["edges"]


# --- what scanners ask: each one request, and what they must not find ---


def test_a_batch_is_refused(service: Served) -> None:
    response = service.client.post("/graphql", json=[{"query": "{ __typename }"}] * 10)
    assert (response.status_code, response.json()["errors"][0]["message"]) == (400, "Batching is not enabled")


def test_a_hundred_and_one_aliases_are_refused(service: Served) -> None:
    query = "{ " + " ".join(f"a{count}: __typename" for count in range(101)) + " }"
    assert service.post(query).json()["errors"][0]["extensions"]["code"] == "LIMIT"


def test_a_field_five_hundred_times_is_refused(service: Served) -> None:
    assert service.post("{ " + "__typename " * 500 + "}").json()["errors"][0]["extensions"]["code"] == "LIMIT"


def test_ten_unknown_directives_are_refused_before_anything_is_executed(service: Served) -> None:
    answer = service.post("{ __typename " + "@aa" * 10 + " }").json()
    assert "data" not in answer
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"VALIDATION"}


def test_introspection_does_not_go_in_circles(service: Served) -> None:
    circle = "{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }"
    assert "data" not in service.post(circle).json()


def test_introspection_is_open_as_the_schema_is_published(service: Served) -> None:
    assert service.ask("{ __schema { queryType { name } } }") == {"__schema": {"queryType": {"name": "Query"}}}


def test_no_field_is_suggested(service: Served) -> None:
    (error,) = service.post("{ project }").json()["errors"]
    assert "did you mean" not in error["message"].lower()


def test_a_query_by_get_changes_nothing_and_a_mutation_by_get_is_refused(service: Served) -> None:
    assert service.client.get("/graphql", params={"query": "{ __typename }"}).json() == {
        "data": {"__typename": "Query"}
    }
    mutation = {"query": 'mutation { forget(project: "P", key: "hub") { applied } }'}
    assert service.client.get("/graphql", params=mutation).status_code == 405
    assert service.ask('{ knowledge(project: "P", key: "hub") { forgotten } }') == {"knowledge": {"forgotten": False}}


def test_a_form_of_another_site_is_refused(service: Served) -> None:
    assert service.client.post("/graphql", data={"query": "{ __typename }"}).status_code == 415


def test_a_page_for_browsers_is_given_to_browsers_alone(service: Served) -> None:
    assert "graphiql" not in service.client.get("/graphql", headers={"accept": "*/*"}).text.lower()


def test_an_answer_carries_no_trace(service: Served) -> None:
    answer = service.client.post(
        "/graphql", json={"query": "{ __typename }"}, headers={"apollo-federation-include-trace": "ftv1"}
    )
    assert set(answer.json()) == {"data"}
    wrong = service.post("{ __typename nothing }").json()["errors"][0]
    assert set(wrong) <= {"message", "locations", "path", "extensions"}
    assert "Traceback" not in json.dumps(wrong)
