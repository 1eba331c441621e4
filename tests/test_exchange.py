"""What an import does with projects, repeats and lines that cannot be taken, on the real database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, LiteralString

from ledger import HUMAN

from graph.commands import read_command
from graph.exchange import Report, Terms, import_journal, journal_file
from graph.service import Service
from graph.store import BATCH_SECONDS, Decided, Store


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


def mixed() -> list[dict[str, Any]]:
    """A life in which marks come and go, evidence is shared and events follow by rule."""
    sheet = {"key": "sheet", "type": "file", "source": "s", "metadata": {"n": 1.5}}
    lines: list[dict[str, Any]] = []

    def add(transition: str, key: str, **more: Any) -> None:
        lines.append({"transition": transition, "key": key, "event_id": f"e{len(lines)}", "reason": "r", **more})

    def to(relation: str, other: str) -> dict[str, Any]:
        return {"payload": {"relation": relation, "to": other}}

    for key in "abcdef":
        ends = [{"relation": "depends_on", "to": other} for other in "abcdef" if other < key]
        add("proposed", key, payload={"proposition": f"claim {key}", "relations": ends, "evidence": [sheet]})
    add("superseded", "a", payload={"by": "f"})
    add("confirmed", "c", payload={"evidence": [sheet, {"type": "run", "source": "s"}]}, caused_by=["e6"])
    add("corrected", "b", payload={"proposition": "claim b, corrected", "evidence": [{"type": "t", "source": "s"}]})
    add("linked", "b", **to("derived_from", "c"))
    add("invalidated", "c")
    add("linked", "d", **to("contradicts", "e"))
    add("unlinked", "b", **to("derived_from", "c"))
    add("linked", "b", **to("derived_from", "c"))
    add("hinted", "f", payload={"outcome": "harmful", "supported": False})
    add("confirmed", "f", payload={"evidence": [{"type": "run", "source": "s"}]})
    add("forgotten", "f")
    add(
        "proposed", "a", payload={"proposition": "claim a, again", "relations": [{"relation": "depends_on", "to": "d"}]}
    )
    add("invalidated", "d")
    return lines


async def graph(service: Service, project: str) -> list[Any]:
    """All that a project holds, without its name and what tells when and where it was recorded."""
    statements: tuple[LiteralString, ...] = (
        "MATCH (n:Knowledge|Event|Evidence {project: $project}) RETURN labels(n) AS what, properties(n) AS holds",
        """MATCH (a {project: $project})-[r]->(b)
        RETURN [a.key, a.generation, a.seq, type(r), b.key, b.generation, b.seq] AS what, properties(r) AS holds""",
    )
    changing = {"project", "scope", "updated_at", "recorded_at", "hash", "prev_hash", "payload"}
    found: list[Any] = []
    for statement in statements:
        records, _, _ = await service.store.driver.execute_query(statement, project=project)
        for record in records:
            holds = {name: value for name, value in record["holds"].items() if name not in changing}
            found.append(repr((sorted(map(repr, record["what"])), sorted(holds.items(), key=repr))))
    return sorted(found)


def told() -> list[dict[str, Any]]:
    """The same life with every id and time told, so that none is made."""
    lines: list[dict[str, Any]] = [
        {"event_id": f"e{at}", **line, "time": "2026-01-01T00:00:00Z"} for at, line in enumerate(mixed())
    ]
    for number, line in enumerate(lines):
        for at, record in enumerate(line.get("payload", {}).get("evidence", ())):
            record.setdefault("key", f"made-{number}-{at}")
    return lines


def test_what_is_decided_beside_the_database_comes_out_as_what_the_database_decides(
    loop: asyncio.Runner, service: Service
) -> None:
    lines = told()
    assert taken(loop, service, lines, project="P").refused == 0

    async def one_by_one() -> None:
        for line in lines:
            await service.run(read_command(line, actor=HUMAN, project="Q"))

    loop.run(one_by_one())
    assert loop.run(graph(service, "P")) == loop.run(graph(service, "Q"))
    assert loop.run(service.verify("P"))["differences"] == []


async def events(service: Service, project: str) -> list[dict[str, Any]]:
    """A project's journal without what is of the moment and the project."""
    file = b"".join([chunk async for chunk in journal_file(service.store, project)])
    of_the_moment = {"project", "recorded_at", "hash", "prev_hash"}
    return [{n: v for n, v in json.loads(line).items() if n not in of_the_moment} for line in file.splitlines()]


def test_events_of_a_file_come_out_as_those_that_are_appended_one_by_one(
    loop: asyncio.Runner, service: Service
) -> None:
    lines = told()
    assert taken(loop, service, lines, project="P").refused == 0
    for line in lines:
        command = read_command(line, actor=HUMAN, project="Q")
        loop.run(service.store.append([command], datetime.now(UTC)))
    assert loop.run(events(service, "P")) == loop.run(events(service, "Q"))


def test_what_is_taken_is_what_was_tried(loop: asyncio.Runner, service: Service) -> None:
    once = iter([json.dumps(claimed(f"k{at}")).encode() for at in range(1_001)])
    report = loop.run(import_journal(service.store, lambda: once, Terms("P", HUMAN)))
    assert (report.lines, report.taken, report.refused) == (1_001, 1_001, 0)


class Raced(Store):
    """A store into which somebody else writes just before something decided comes."""

    async def append_decided(self, decided: Sequence[Decided], *, seconds: float = BATCH_SECONDS) -> bool:
        other = read_command(claimed("other"), actor=HUMAN, project="P")
        await self.append([other], datetime.now(UTC))
        return await super().append_decided(decided, seconds=seconds)


def test_what_another_writer_came_before_is_decided_again(loop: asyncio.Runner, service: Service) -> None:
    lines = [*mixed(), claimed("other", event_id="mine")]
    raw = [json.dumps(line).encode() for line in lines]
    store = Raced(service.store.driver, service.store.database)
    report = loop.run(import_journal(store, lambda: raw, Terms("P", HUMAN)))
    assert (report.taken, report.repeated, report.refused) == (len(lines) - 1, 1, 0)
    assert loop.run(service.verify("P"))["differences"] == []


def test_events_are_recorded_when_they_are_written_and_not_when_they_were_tried(
    loop: asyncio.Runner, service: Service
) -> None:
    tried: list[datetime] = []

    def progress(phase: str, _done: int) -> None:
        if phase == "trying":
            tried.append(datetime.now(UTC))

    raw = [json.dumps(line).encode() for line in mixed()]
    loop.run(import_journal(service.store, lambda: raw, Terms("P", HUMAN), progress))
    file = loop.run(exported(service, "P"))
    assert min(datetime.fromisoformat(json.loads(line)["recorded_at"]) for line in file) >= tried[-1]
    assert loop.run(service.verify("P"))["differences"] == []


async def exported(service: Service, project: str) -> list[bytes]:
    return b"".join([chunk async for chunk in journal_file(service.store, project)]).splitlines()
