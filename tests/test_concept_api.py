"""Concepts over the API, and that no secret of what was said is found anywhere behind it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any, cast

import pytest
from redaction_corpus import CORPUS
from test_api import Api
from test_redaction import marked, unmarked

from graph.service import Service


@pytest.fixture
def api(service: Service, loop: asyncio.Runner) -> Api:
    return Api(service, loop)


RECORD = """
mutation($name: String!, $body: String!, $session: String!, $type: String! = "fact", $id: String) {
  recordConcept(project: "P", name: $name, description: "How returns go", type: $type, body: $body, session: $session,
                event: {eventId: $id}) {
    verdict applied redacted { kind count }
    knowledge { key state generation proposition
      concept { name description type body occurrences confidence sources } } }
}
"""
CONCEPT = "{ name description type body occurrences confidence sources markdown }"


def test_a_concept_is_recorded_and_read_with_its_verdict(api: Api) -> None:
    asked = {"name": "return-window", "body": "Within 30 days.", "session": "s1"}
    first = api.ask(RECORD, **asked)["recordConcept"]
    assert first == {
        "verdict": "NEW",
        "applied": True,
        "redacted": [],
        "knowledge": {
            "key": "return-window",
            "state": "PROPOSED",
            "generation": 1,
            "proposition": "Within 30 days.",
            "concept": {
                "name": "return-window",
                "description": "How returns go",
                "type": "fact",
                "body": "Within 30 days.",
                "occurrences": 1,
                "confidence": 0.6,
                "sources": ["s1"],
            },
        },
    }
    again = api.ask(RECORD, **asked | {"session": "s2", "id": "e"})["recordConcept"]
    assert (again["verdict"], again["knowledge"]["state"]) == ("SAME", "CONFIRMED")
    assert (again["knowledge"]["concept"]["occurrences"], again["knowledge"]["concept"]["confidence"]) == (2, 0.7)
    repeat = api.ask(RECORD, **asked | {"session": "s2", "id": "e"})["recordConcept"]
    assert repeat == again | {"applied": False}
    against = api.ask(RECORD, **asked | {"session": "s3", "body": "Within 14 days, says a@b.org."})["recordConcept"]
    assert against["redacted"] == [{"kind": "email", "count": 1}]
    assert (against["verdict"], against["knowledge"]["state"]) == ("CONTRADICTING", "CHALLENGED")
    assert against["knowledge"]["concept"]["confidence"] == 0.4
    assert against["knowledge"]["concept"]["sources"] == ["s1", "s2", "s3"]


def test_a_concept_is_given_as_a_file_that_shows_what_contradicts_it_now_and_as_of_before(api: Api) -> None:
    api.ask(RECORD, name="return-window", body="Within 30 days.", session="s1")
    query = (
        f'query($as: DateTime) {{ knowledge(project: "P", key: "return-window", asOf: $as) {{ concept {CONCEPT} }} }}'
    )
    before = api.ask(query)["knowledge"]["concept"]
    head = api.ask('{ journal(project: "P") { edges { node { recordedAt } } } }')["journal"]["edges"][-1]["node"]
    api.ask(RECORD, name="return-window", body="Within 14 days.", session="s2")
    after = api.ask(query)["knowledge"]["concept"]
    assert before["markdown"].startswith("---\nname: ")
    assert before["markdown"].endswith("\n\nWithin 30 days.\n")
    assert "## Contradiction" in after["markdown"]
    assert "Within 14 days." in after["markdown"]
    assert api.ask(query, **{"as": head["recordedAt"]})["knowledge"]["concept"] == before
    plain = api.ask('{ knowledgeList(project: "P") { edges { node { key concept { name } } } } }')["knowledgeList"]
    assert [edge["node"]["concept"] for edge in plain["edges"]] == [{"name": "return-window"}, None]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"name": "Not a name"}, "name"),
        ({"type": "opinion"}, "type"),
        ({"body": "x" * 2_001}, "body"),
        ({"session": ""}, "session"),
        ({"id": ""}, "event.eventId"),
    ],
)
def test_a_refused_concept_names_the_argument(api: Api, changed: Mapping[str, str], field: str) -> None:
    asked = {"name": "a", "body": "b", "session": "s"} | dict(changed)
    refused = api.refused(RECORD, **asked)
    assert (refused["code"], refused["field"]) == ("VALIDATION", field)
    assert api.ask("{ projects }") == {"projects": []}


WRITES = """
mutation($k: String!, $t: String!, $m: JSON!) {
  propose(project: "P", key: $k, proposition: $t, evidence: [{type: "note", source: $t, artifactRef: $t, metadata: $m}],
          event: {reason: $t}) { applied }
  challenge(project: "P", key: $k, event: {reason: $t}) { applied }
  correct(project: "P", key: $k, proposition: $t, event: {reason: $t}) { applied }
}
"""


def test_no_secret_of_the_corpus_is_stored_anywhere(
    service: Service, loop: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    """Written on every way in; looked for in the journal, in every property, in the logs and in the exports."""
    caplog.set_level(logging.DEBUG, "whence")
    api = Api(service, loop)
    lines = [line for line in CORPUS if marked(line)]
    secrets = {found for line in lines for found in marked(line)}
    for at in range(0, len(lines), 20):
        text = "\n".join(unmarked(line) for line in lines[at : at + 20])[:1_900]
        concept = {"name": f"c{at}", "body": text, "session": "s1"}
        verdict = api.ask(RECORD, **concept)["recordConcept"]["verdict"]
        assert verdict == "NEW"
        api.ask(RECORD, **concept | {"body": f"not {text}", "session": "s2"})
        api.ask(WRITES, k=f"k{at}", t=text, m={"deep": [text, {text[:500]: 1}]})
    whole = {found for found in secrets if any(found in unmarked(line)[:1_900] for line in lines)}
    assert len(whole) > 150

    async def stored() -> list[str]:
        parts = [part async for part in service.export_journal("P")] + [
            part async for part in service.export_graphml("P")
        ]
        driver = cast(Any, service.store.driver)
        nodes = await driver.execute_query("MATCH (n) RETURN properties(n) AS held", database_=service.store.database)
        ties = await driver.execute_query(
            "MATCH ()-[r]->() RETURN properties(r) AS held", database_=service.store.database
        )
        held = [repr(dict(record["held"])) for result in (nodes, ties) for record in result.records]
        return [part.decode() for part in parts] + held

    where = [*loop.run(stored()), caplog.text]
    everything = "\n".join(where) + json.dumps("\n".join(where))
    assert "[REDACTED:private-key]" in everything
    assert sorted(found for found in whole if found in everything) == []
