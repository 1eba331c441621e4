"""A project in the terms of W3C PROV, read back by the package that wrote it and compared with the journal."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger import HUMAN
from prov.model import ProvDocument

from graph import prov_export
from graph.commands import read_command
from graph.errors import KnowledgeError, LimitError, NotFoundError
from graph.prov_export import encoded, prov_file
from graph.service import Service

Row = dict[str, Any]
HOSTILE = ["a:b c/d", "é\u2028\U0001f600", "%41", "a", "-.", "'\"<&>\\", "k" * 200, "_:b1", "a/1"]
EVIDENCE: list[Row] = [{"key": "e :1.", "type": "t", "source": 's "q" \\ \n x', "metadata": {"a": [1, "é"]}}]
JOURNAL: list[Row] = [
    *({"transition": "proposed", "key": key, "payload": {"proposition": f'says "{key}"\n'}} for key in HOSTILE),
    {"transition": "linked", "key": "a", "payload": {"relation": "depends_on", "to": "-."}},
    {"transition": "linked", "key": "a", "payload": {"relation": "derived_from", "to": "%41"}},
    {"transition": "linked", "key": "a", "payload": {"relation": "contradicts", "to": "%41"}},
    {"transition": "unlinked", "key": "a", "payload": {"relation": "depends_on", "to": "-."}},
    {
        "transition": "confirmed",
        "key": "a",
        "payload": {"evidence": EVIDENCE},
        "caused_by": ["p-1"],
        "execution": {"run": "r 1", "frame": "f", "parent_run": "r 0"},
        "actor": {"issuer": "x:y", "subject": "bot", "type": "agent"},
    },
    {"transition": "corrected", "key": "-.", "reason": "so", "payload": {"proposition": "other"}},
    {"transition": "superseded", "key": "_:b1", "payload": {"by": "a/1"}},
]


@pytest.fixture
def told(service: Service, loop: asyncio.Runner) -> Service:
    commands = [
        read_command(line | {"event_id": f"p-{at}"}, actor=HUMAN, project="P: é/1")
        for at, line in enumerate(JOURNAL, 1)
    ]
    taken = loop.run(service.run_many(commands))
    assert [answer for answer in taken if isinstance(answer, KnowledgeError)] == []
    return service


def written(service: Service, loop: asyncio.Runner, form: prov_export.Form, project: str = "P: é/1") -> str:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in prov_file(service.store, project, form)])

    return loop.run(read()).decode()


def unnumbered(document: Row) -> Row:
    """The document without the numbers of its nameless statements, which come by chance."""
    return {
        kind: sorted(json.dumps([name * (not name.startswith("_:id")), each]) for name, each in records.items())
        for kind, records in document.items()
    }


def test_the_document_is_read_back_equal_and_holds_what_the_journal_says(told: Service, loop: asyncio.Runner) -> None:
    text = written(told, loop, "json")
    read = ProvDocument.deserialize(content=text, format="json")
    again = json.loads(text)
    assert unnumbered(json.loads(cast(str, read.serialize(format="json")))) == unnumbered(again)
    counts = Counter({kind: len(records) for kind, records in again.items()})
    events = 2 + len(JOURNAL) - 1  # the contradiction challenges by rule
    assert counts == {
        "prefix": counts["prefix"],
        "entity": len(HOSTILE) + 1 + 1 + 1,  # a second generation, its key, and the evidence
        "activity": events + 2,  # two executions
        "agent": 4,  # two actors and their issuers
        "wasGeneratedBy": len(HOSTILE) + 1,
        "wasAttributedTo": len(HOSTILE) + 1,
        "wasAssociatedWith": events,
        "actedOnBehalfOf": 2,
        "used": events - len(HOSTILE) + 1,
        "wasInvalidatedBy": 2,
        "wasInformedBy": 2 + 1 + 1,  # two causes, one of them by rule; an execution and its parent
        "wasDerivedFrom": 3,
        "wasInfluencedBy": 3,
        "specializationOf": 2,
        "alternateOf": 1,
    }
    nodes = {each["whence:key"]: each for name, each in again["entity"].items() if name.startswith("node:")}
    assert nodes.keys() == set(HOSTILE)
    assert nodes["a"]["prov:label"] == 'says "a"\n'.strip()
    (evidence,) = (each for name, each in again["entity"].items() if name.startswith("evidence:"))
    assert (evidence["whence:key"], evidence["whence:source"]) == ("e :1.", EVIDENCE[0]["source"])
    assert json.loads(evidence["whence:metadata"]) == EVIDENCE[0]["metadata"]
    revisions = [each for each in again["wasDerivedFrom"].values() if "prov:type" in each]
    assert {(each["prov:generatedEntity"], each["prov:usedEntity"]) for each in revisions} == {
        ("node:%2D%2E/2", "node:%2D%2E/1"),
        ("node:a%2F1/1", "node:_%3Ab1/1"),
    }
    ended = [each for each in again["wasInfluencedBy"].values() if "whence:until" in each]
    assert [each["whence:relation"] for each in ended] == ["depends_on"]


def test_prov_n_names_everything_by_a_valid_name(told: Service, loop: asyncio.Runner) -> None:
    text = written(told, loop, "provn")
    assert text.startswith("document\n")
    assert text.endswith("endDocument")
    names = re.findall(r"^  entity\(([^,)]*)", text, re.MULTILINE)
    assert len(names) == len(set(names)) == len(HOSTILE) + 3
    assert all(re.fullmatch(r"(node|key|evidence):([A-Za-z0-9_/]|%[0-9A-F]{2})+", name) for name in names)


def test_prov_xml_can_be_made_of_it(told: Service, loop: asyncio.Runner) -> None:
    read = ProvDocument.deserialize(content=written(told, loop, "json"), format="json")
    xml = cast(str, read.serialize(format="xml"))
    again = ProvDocument.deserialize(content=xml, format="xml")
    assert len([*again.get_records()]) == len([*read.get_records()])


def test_a_project_is_not_unknown_and_not_too_long(
    told: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFoundError):
        written(told, loop, "json", "nobody")
    monkeypatch.setattr(prov_export, "EVENTS_MAX", 3)
    with pytest.raises(LimitError) as refused:
        written(told, loop, "json")
    assert "at most 3 events" in (refused.value.allowed or "")


@given(st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=5))
def test_no_two_keys_have_one_name(keys: list[str]) -> None:
    texts = [key for key in keys if not re.search("[\ud800-\udfff]", key)]
    names = [encoded(text) for text in texts]
    assert len(set(names)) == len(texts)
    assert all(re.fullmatch("([A-Za-z0-9_]|%[0-9A-F]{2})+", name) for name in names)
