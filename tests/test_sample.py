"""The PEPs that come with Whence: whole, equal to what they are made from, and right in what they answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from datasets import SHARED
from make_sample import PROJECT, SAMPLE, sample

from graph.commands import read_command, read_event
from graph.exchange import Report, Terms, import_journal
from graph.journal import Event, canonical, first_broken
from graph.knowledge import Actor, ActorType, Relation
from graph.service import Service
from graph.store import Store

IMPORTER = Actor("tests", "sample", ActorType.SYSTEM)
EVENTS = 1_487
IN_2015 = datetime(2015, 1, 1, tzinfo=UTC)
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SAMPLE.read_bytes().splitlines()]


def _events() -> Iterator[Event]:
    for line in _lines():
        yield read_event(line, read_command(line, actor=IMPORTER))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data is not there")
def test_the_committed_file_is_what_the_maker_makes() -> None:
    assert sample() == SAMPLE.read_bytes()


def test_every_line_is_whole_and_in_the_written_form() -> None:
    for raw, event in zip(SAMPLE.read_bytes().splitlines(), _events(), strict=True):
        assert canonical(event.line()).encode() == raw
        assert event.project == PROJECT


def test_the_chain_of_hashes_is_whole() -> None:
    events = list(_events())
    assert len(events) == EVENTS
    assert first_broken(events) is None


def test_each_event_is_recorded_when_it_happened() -> None:
    events = list(_events())
    assert [e.recorded_at for e in events] == sorted(e.time for e in events)
    assert all(event.recorded_at == event.time for event in events)


@pytest.fixture(scope="module")
def taken(open_store: Store, loop: asyncio.Runner) -> tuple[Service, Report]:
    """A service that holds the sample, and the report of its import."""
    from conftest import wipe  # noqa: PLC0415

    loop.run(wipe(open_store))
    return Service(open_store, lambda: NOW), loop.run(_import(open_store))


async def _import(store: Store) -> Report:
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    return await import_journal(store, lambda: lines, Terms(PROJECT, IMPORTER, restore=True))


def test_restored_into_an_empty_project_it_is_taken_whole(loop: asyncio.Runner, taken: tuple[Service, Report]) -> None:
    service, report = taken
    assert (report.taken, report.repeated, report.refused) == (EVENTS, 0, 0)
    head = loop.run(service.head(PROJECT))
    assert head is not None
    assert (head.seq, head.hash) == (EVENTS, _lines()[-1]["hash"])
    answer = loop.run(service.verify(PROJECT, EVENTS, _lines()[-1]["hash"]))
    assert (answer["ok"], answer["events"], answer["differences"]) == (True, EVENTS, [])


def test_a_second_import_takes_nothing(loop: asyncio.Runner, taken: tuple[Service, Report]) -> None:
    report = loop.run(_import(taken[0].store))
    assert (report.taken, report.repeated, report.refused) == (0, EVENTS, 0)


def test_its_export_is_the_file_byte_for_byte(loop: asyncio.Runner, taken: tuple[Service, Report]) -> None:
    async def exported(service: Service) -> bytes:
        return b"".join([chunk async for chunk in service.export_journal(PROJECT)])

    assert loop.run(exported(taken[0])) == SAMPLE.read_bytes()


def _state(loop: asyncio.Runner, service: Service, key: str, as_of: datetime | None = None) -> str | None:
    node = loop.run(service.knowledge(PROJECT, key, as_of=as_of))
    return None if node is None else node["state"]


def test_in_2015_the_peps_stood_as_they_did_then(loop: asyncio.Runner, taken: tuple[Service, Report]) -> None:
    service = taken[0]
    then = {key: _state(loop, service, key, IN_2015) for key in ("PEP-0008", "PEP-0345", "PEP-0484", "PEP-0572")}
    assert then == {
        "PEP-0008": "confirmed",
        "PEP-0345": "proposed",  # what took its place came in December 2017
        "PEP-0484": "proposed",  # it was adopted in May 2015
        "PEP-0572": None,  # nobody had written it
    }
    now = {key: _state(loop, service, key) for key in then}
    assert now == {
        "PEP-0008": "confirmed",
        "PEP-0345": "superseded",
        "PEP-0484": "confirmed",
        "PEP-0572": "confirmed",
    }


def _walk(loop: asyncio.Runner, service: Service, key: str, **how: Any) -> Mapping[str, Any]:
    return loop.run(service.provenance(PROJECT, key, direction="downstream", **how))


def test_nothing_took_the_place_of_pep_3_which_was_taken_back(
    loop: asyncio.Runner, taken: tuple[Service, Report]
) -> None:
    service = taken[0]
    assert _walk(loop, service, "PEP-0003", relations=[Relation.SUPERSEDES])["nodes"] == []
    events = loop.run(service.events_about(PROJECT, [("PEP-0003", 1)], 10))["PEP-0003", 1].items
    assert [(e["transition"], e["reason"]) for e in events] == [
        ("proposed", None),
        ("invalidated", "taken back before it was adopted"),
    ]


def test_what_took_the_place_of_pep_241_is_a_chain_of_four(loop: asyncio.Runner, taken: tuple[Service, Report]) -> None:
    walk = _walk(loop, taken[0], "PEP-0241", relations=[Relation.SUPERSEDES])
    reached = [(node["key"], node["state"]) for node in walk["nodes"]]
    assert reached == [
        ("PEP-0314", "superseded"),
        ("PEP-0345", "superseded"),
        ("PEP-0426", "invalidated"),
        ("PEP-0566", "confirmed"),
    ]


@pytest.mark.parametrize(
    ("key", "resting"),
    [
        ("PEP-0484", set[str]()),  # no header says that it requires PEP 484
        ("PEP-0649", {"PEP-0749"}),
        ("PEP-0703", {"PEP-0803", "PEP-0809"}),
        ("PEP-0440", {"PEP-0426", "PEP-0459"}),
    ],
)
def test_what_rests_on_a_pep_is_what_requires_it(
    loop: asyncio.Runner, taken: tuple[Service, Report], key: str, resting: set[str]
) -> None:
    walk = _walk(loop, taken[0], key, relations=[Relation.DEPENDS_ON])
    assert {node["key"] for node in walk["nodes"]} == resting


@pytest.mark.parametrize(
    ("key", "at_risk"),
    [
        ("PEP-0484", list[str]()),
        ("PEP-0649", ["PEP-0749"]),
        ("PEP-0703", ["PEP-0803", "PEP-0809"]),
        ("PEP-0440", list[str]()),  # both that rest on it are retired themselves
    ],
)
def test_retiring_a_pep_would_put_at_risk_what_is_alive_and_rests_on_it(
    loop: asyncio.Runner, taken: tuple[Service, Report], key: str, at_risk: list[str]
) -> None:
    answer = loop.run(taken[0].impact(PROJECT, key))
    assert [node["key"] for node in answer["items"]] == at_risk
    assert answer["count"] == len(at_risk)
