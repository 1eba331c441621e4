"""What an import does with projects, repeats and lines that cannot be taken, on the real database."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ledger import HUMAN

from graph.exchange import Report, Terms, import_journal
from graph.service import Service


def taken(loop: asyncio.Runner, service: Service, lines: list[dict[str, Any]], **how: Any) -> Report:
    raw = [json.dumps(line).encode() for line in lines]
    return loop.run(import_journal(service.store, lambda: raw, Terms(how.pop("project", "P"), HUMAN, **how)))


def claimed(key: str, **more: Any) -> dict[str, Any]:
    return {"transition": "proposed", "key": key, "payload": {"proposition": f"claim {key}"}, **more}


def test_a_line_goes_where_it_says_unless_the_project_was_asked_for(loop: asyncio.Runner, service: Service) -> None:
    line = claimed("a", project="Q", event_id="e")
    assert taken(loop, service, [line]).taken == 1
    assert taken(loop, service, [line], project="R", into=True).taken == 1
    assert loop.run(service.projects()) == ["Q", "R"]


def test_a_written_journal_is_not_restored_into_another_project(loop: asyncio.Runner, service: Service) -> None:
    taken(loop, service, [claimed("a")])

    async def written() -> list[dict[str, Any]]:
        text = b"".join([chunk async for chunk in service.export_journal("P")])
        return [json.loads(line) for line in text.splitlines()]

    report = taken(loop, service, loop.run(written()), project="R", into=True, restore=True)
    assert [(bad.line, bad.error.field) for bad in report.refusals] == [(1, "project")]
    assert loop.run(service.projects()) == ["P"]


def test_the_same_event_twice_in_a_file_is_taken_once(loop: asyncio.Runner, service: Service) -> None:
    line = claimed("a", event_id="e")
    report = taken(loop, service, [line, line])
    assert (report.taken, report.repeated) == (1, 1)


def test_lines_without_an_event_id_are_repeats_when_the_file_comes_again(
    loop: asyncio.Runner, service: Service
) -> None:
    lines = [claimed("a"), {"transition": "used", "key": "a"}, {"transition": "used", "key": "a"}]
    assert taken(loop, service, lines).taken == 3
    assert taken(loop, service, lines).repeated == 3
    node = loop.run(service.knowledge("P", "a"))
    assert node is not None
    assert node["uses"] == 2


def test_one_bad_line_keeps_everything_out_and_keep_going_only_itself(loop: asyncio.Runner, service: Service) -> None:
    lines = [claimed("a"), {"transition": "confirmed", "key": "ghost"}, claimed("b")]
    report = taken(loop, service, lines)
    assert [(bad.line, bad.error.code) for bad in report.refusals] == [(2, "NOT_FOUND")]
    assert loop.run(service.projects()) == []
    assert taken(loop, service, lines, keep_going=True).taken == 2
