"""Folders of concept files: every file taken or refused by kind and line, links that wait, and the way back."""

from __future__ import annotations

import asyncio
import gc
import os
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pytest
from datasets import SHARED
from test_concept_file import GIVEN, OURS, records

from graph import exchange
from graph.commands import read_command
from graph.concept import concept_of
from graph.concept_folder import (
    FAULTS_MAX,
    FolderReport,
    FolderTerms,
    dangling,
    export_folder,
    file_name,
    files_in,
    import_folder,
)
from graph.errors import Fault, ValidationError
from graph.exchange import Progress
from graph.knowledge import Actor, ActorType, Relation
from graph.recording import contradictions
from graph.rows import id_of
from graph.service import Service

ACTOR = Actor("tests", "files", ActorType.SYSTEM)


def put(folder: Path, name: str, body: str, fields: str = "") -> None:
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    stem = path.stem
    path.write_text(
        f"---\nname: {stem}\ndescription: About {stem}\ntype: fact\n{fields}---\n\n{body}\n", "utf-8", newline="\n"
    )


class Folders:
    """Imports and exports of one service."""

    def __init__(self, service: Service, loop: asyncio.Runner) -> None:
        self.service = service
        self._loop = loop

    def take(
        self,
        folder: Path,
        project: str = "P",
        session: str = "concept-files",
        told: Progress = lambda _phase, _done: None,
    ) -> FolderReport:
        return self._loop.run(import_folder(self.service.store, folder, FolderTerms(project, ACTOR, session), told))

    def give(self, folder: Path, project: str = "P") -> dict[str, bytes]:
        count = self._loop.run(export_folder(self.service, project, folder))
        written = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert len(written) == count
        return written

    def graph(self, project: str = "P") -> dict[str, Any]:
        """What files can say of a project: its concepts, what they are linked to and what stands against them."""
        return self._loop.run(self._graph(project))

    async def _graph(self, project: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        nodes = [row for row in await self._nodes(project) if row["concept"] is not None and not row["retired"]]
        against = await contradictions(self.service, project, [id_of(node) for node in nodes])
        edges = await self.service.relations(project, [id_of(n) for n in nodes], "upstream", [Relation.RELATED_TO])
        for node in nodes:
            concept = concept_of(node["key"], node["concept"])
            found[node["key"]] = {
                "concept": (concept.description, concept.type, concept.body.strip("\n"), concept.links),
                "counts": (concept.occurrences, concept.sources),
                "state": node["state"],
                "valid_from": node["valid_from"],
                "related": sorted(edge["to"][0] for edge in edges[id_of(node)]),
                "against": against[id_of(node)],
            }
        waiting = await dangling(self.service, project)
        return found | {"": {row["key"]: row["targets"] for row in waiting}}

    async def _nodes(self, project: str) -> list[Any]:
        page = {"seq": 2**53, "after_key": "", "after_generation": 0, "first": 1_000}
        rows: list[Any] = await cast("Any", self.service.store).read("export_nodes", project=project, **page)
        return [row["node"] for row in rows]

    def sound(self, project: str = "P") -> None:
        assert self._loop.run(self.service.verify(project))["ok"]


@pytest.fixture
def folders(service: Service, loop: asyncio.Runner) -> Folders:
    return Folders(service, loop)


def test_every_good_file_is_taken_and_every_bad_one_listed_by_kind_and_line(folders: Folders) -> None:
    report = folders.take(OURS)
    expected = records(OURS)
    good = [record["file"] for record in expected if "faults" not in record]
    assert report.files == len(expected)
    assert (report.verdicts.total(), report.refused) == (len(good), len(expected) - len(good))
    told: dict[str, list[list[Any]]] = {}
    for each in report.faults:
        told.setdefault(each.path, []).append([each.fault.kind, each.fault.line, each.fault.field])
    assert told == {record["file"]: record["faults"] for record in expected if "faults" in record}
    assert [(each.path, each.fault.kind) for each in report.warnings] == [("bare-link.md", "bare_wikilink_in_yaml")] * 2
    folders.sound()


@pytest.mark.skipif(not GIVEN.exists(), reason="the concept files are not on this machine")
def test_the_files_that_were_given_make_the_graph_that_they_say(folders: Folders) -> None:
    report = folders.take(GIVEN)
    bad = {each.path for each in report.faults}
    assert bad == {r["file"] for r in records(GIVEN) if not r["ok"]} | {"README.md"}
    graph = folders.graph()
    assert graph["link-forms"]["related"] == ["damage-claim", "depot-north", "price-match", "return-window"]
    assert graph["größe-xl"]["related"] == []
    assert graph[""]["größe-xl"] == ["größe-xl-hosen", "サイズ表", "📏-maße"]
    assert SHARED.exists()


def test_an_untouched_folder_comes_back_byte_for_byte_and_a_second_import_changes_nothing(
    folders: Folders, tmp_path: Path
) -> None:
    folders.take(OURS)
    before = folders.graph()
    originals = {path.read_bytes() for path in OURS.glob("*.md")}
    written = folders.give(tmp_path / "out")
    assert set(written.values()) <= originals
    again = folders.take(OURS)
    assert again.verdicts == {"repeated": again.verdicts.total()}
    assert folders.graph() == before


def test_what_is_exported_and_imported_gives_the_same_graph(folders: Folders, tmp_path: Path) -> None:
    first, second, third = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    put(first, "a", "It holds, see [[b]] and [[nowhere]].", "created_at: 2025-01-02\ntags: [007]\n")
    put(first, "b", "It rests.", "sources: [run-1, run-2]\n")
    put(
        first,
        "c",
        "Once.\n\n## Contradiction\n\nNever.\n\n## Contradiction\n\nTwice.",
        "sources: [x]\noccurrences: 4\ncreated_at: 2025-02-03T04:05:06Z\n",
    )
    put(second, "a", "It holds, see [[b]] and [[nowhere]].")
    put(second, "b", "It does not rest.")
    put(second, "d", "Said by two.")
    put(third, "d", "Said by two.")
    for folder, session in ((first, "s1"), (second, "s2"), (third, "s3")):
        folders.take(folder, session=session)
    graph = folders.graph()
    assert graph["a"]["counts"] == (2, ("s1", "s2"))
    assert (graph["a"]["state"], graph["b"]["state"], graph["c"]["state"]) == ("confirmed", "challenged", "challenged")
    assert graph["b"]["against"] == ["It does not rest."]
    assert sorted(graph["c"]["against"]) == ["Never.", "Twice."]
    assert graph["c"]["counts"] == (4, ("x",))
    assert graph["a"]["valid_from"] == "2025-01-02T00:00:00Z"
    assert graph["a"]["related"] == ["b"]
    assert graph[""] == {"a": ["nowhere"]}
    written = folders.give(tmp_path / "out")
    assert b'tags: ["007"]' in written["a.md"]
    assert b"\n## Contradiction\n\nIt does not rest.\n" in written["b.md"]
    report = folders.take(tmp_path / "out", "Q")
    assert (report.refused, report.verdicts, report.against) == (0, {"new": 4}, 3)
    assert folders.graph("Q") == graph
    assert folders.give(tmp_path / "again", "Q") == written
    folders.sound("Q")


def test_a_link_waits_for_its_target_and_becomes_an_edge_when_it_comes(folders: Folders, tmp_path: Path) -> None:
    put(tmp_path / "one", "a", "[[b]] [[b|again]] [[a]] [[#here]] [[c]]")
    folders.take(tmp_path / "one")
    assert folders.graph()[""] == {"a": ["b", "c"]}
    put(tmp_path / "two", "b", "Here.")
    folders.take(tmp_path / "two")
    graph = folders.graph()
    assert (graph["a"]["related"], graph[""]) == (["b"], {"a": ["c"]})
    folders.sound()


def test_the_verdicts_of_a_folder_are_those_of_the_door(folders: Folders, tmp_path: Path) -> None:
    put(tmp_path / "one", "a", "It holds.")
    put(tmp_path / "one", "b", "It rests.")
    assert folders.take(tmp_path / "one").verdicts == {"new": 2}
    put(tmp_path / "two", "a", "  it HOLDS. ")
    put(tmp_path / "two", "b", "It moves.")
    put(tmp_path / "two", "sub/c", "It is new.")
    put(tmp_path / "two", "bad", "It is nothing.", "type: fact\n")
    report = folders.take(tmp_path / "two", session="second")
    assert report.verdicts == {"new": 1, "same": 1, "contradicting": 1}
    assert [(each.path, each.fault.kind, each.fault.line) for each in report.faults] == [("bad.md", "duplicate_key", 5)]


def test_what_the_door_refuses_is_listed_like_a_bad_file(
    folders: Folders, tmp_path: Path, loop: asyncio.Runner
) -> None:
    claim = {"transition": "proposed", "key": "a", "payload": {"proposition": "No concept"}}
    loop.run(folders.service.run(read_command(claim, actor=ACTOR, project="P")))
    put(tmp_path, "a", "It holds.")
    put(tmp_path, "b", "It holds too.")
    report = folders.take(tmp_path)
    assert (report.verdicts, report.refused) == ({"new": 1}, 1)
    assert [(each.path, each.fault.kind) for each in report.faults] == [("a.md", "proposition_conflict")]


def test_a_secret_is_stored_nowhere_and_makes_no_id(folders: Folders, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    put(tmp_path / "in", "a", f"Use {token} there.")
    assert folders.take(tmp_path / "in").redacted.total() > 0
    assert token.encode() not in folders.give(tmp_path / "out")["a.md"]
    put(tmp_path / "in", "a", "Use ghp_" + "Z9y8" * 9 + " there.")
    assert folders.take(tmp_path / "in").verdicts == {"repeated": 1}


def test_nothing_of_a_folder_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "b", "x")
    put(tmp_path, "sub/.hidden/a", "x")
    (tmp_path / "C.MD").write_text("x")
    (tmp_path / "d.markdown").write_text("x")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "away.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "linked").symlink_to(tmp_path / "sub", target_is_directory=True)
    found = [path.relative_to(tmp_path).as_posix() for path in files_in(tmp_path)]
    assert found == ["C.MD", "away.md", "b.md", "d.markdown", "linked", "sub/.hidden/a.md"]


def test_what_cannot_be_read_is_listed(folders: Folders, tmp_path: Path) -> None:
    (tmp_path / "away.md").symlink_to(tmp_path / "nowhere.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "folder.md", target_is_directory=True)
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    report = folders.take(tmp_path)
    assert {(each.path.encode(errors="replace"), each.fault.kind) for each in report.faults} == {
        (b"away.md", "unreadable"),
        (b"linked", "unreadable"),
        (b"caf?.md", "missing_frontmatter"),
    }


def test_faults_beyond_what_a_report_holds_are_counted() -> None:
    report = FolderReport()
    for number in range(3):
        report.refuse(f"{number}.md", [Fault("validation", 1, "bad")] * (FAULTS_MAX // 2))
    assert (report.refused, len(report.faults)) == (3, FAULTS_MAX)


def test_the_memory_of_an_import_does_not_grow_with_the_folder(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "BATCH_BYTES", 500_000)  # some twenty of these files

    def collected(_: str, done: int) -> None:
        if done % 20 == 0:  # what stays is looked at, not when the collector comes to what does not
            gc.collect()

    def peak(count: int, project: str) -> int:
        for at in range(count):
            put(tmp_path / project, f"n{at}", "x" * 1_500)
        gc.collect()
        tracemalloc.start()
        try:
            assert folders.take(tmp_path / project, project, told=collected).verdicts == {"new": count}
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(50, "warm")
    assert peak(400, "large") < 2 * peak(100, "small")


def test_a_folder_that_cannot_be_written_is_refused(folders: Folders, tmp_path: Path, loop: asyncio.Runner) -> None:
    put(tmp_path / "in", "a", "It holds.")
    folders.take(tmp_path / "in")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValidationError) as refused:
        loop.run(export_folder(folders.service, "P", tmp_path / "file"))
    assert refused.value.field == "DIR"


def test_a_long_name_makes_a_name_that_a_file_can_have() -> None:
    long = "𐐨" * 80
    assert file_name("größe-xl") == "größe-xl.md"
    assert len(file_name(long).encode()) <= 255
    assert file_name(long) != file_name("𐐨" * 79)
