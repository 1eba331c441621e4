"""Backups: of one piece under writes, restored to the very same, refused by name where they are damaged."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from conftest import wipe
from ledger import HUMAN
from test_exchange import claimed, mixed, taken

from graph.bundle import MANIFEST, BackedUp, Bundle, Restored, back_up, restore
from graph.commands import read_command
from graph.concept_folder import concept_files
from graph.errors import NotFoundError, ValidationError
from graph.service import Moment, Service

CONCEPT = {"description": "What a test knows", "type": "fact", "body": "It is so, see [[other]].", "sources": ["s"]}


class Place:
    """One service, and what is written of it."""

    def __init__(self, service: Service, loop: asyncio.Runner) -> None:
        self.service = service
        self._loop = loop

    def filled(self) -> None:
        """Two projects, one with marks, evidence and concepts, one with an aging time of its own."""
        said = [{"transition": "proposed", "key": "known", "payload": {"concept": CONCEPT}, "event_id": "c1"}]
        assert taken(self._loop, self.service, [*mixed(), *said], project="P").refused == 0
        assert taken(self._loop, self.service, [claimed("a"), claimed("b")], project="Q / ü").refused == 0
        self._loop.run(self.service.aging.set("Q / ü", timedelta(days=7)))
        self._loop.run(self.service.policies.keep("P", ["email"]))
        self._loop.run(self.service.policies.allow("P", ["fact", "rule of ours"]))

    def backup(self, *projects: str) -> bytes:
        file = io.BytesIO()
        self._loop.run(back_up(self.service, file, projects))
        return file.getvalue()

    def restored(self, data: bytes) -> list[Restored]:
        with Bundle.checked(io.BytesIO(data)) as bundle:
            return self._loop.run(restore(self.service, bundle, HUMAN))

    def emptied(self) -> None:
        self._loop.run(wipe(self.service.store))
        self.service = Service(self.service.store)

    def all(self, project: str) -> dict[str, Any]:
        """What a project holds, as every way out of it tells."""

        async def read() -> dict[str, Any]:
            head = await self.service.head(project)
            assert head is not None
            files = concept_files(self.service, project, Moment(head.seq, self.service.now()))
            return {
                "head": head,
                "journal": b"".join([chunk async for chunk in self.service.export_journal(project)]),
                "graphml": b"".join([chunk async for chunk in self.service.export_graphml(project)]),
                "concepts": {name: data async for name, data in files},
                "aging": await self.service.aging.changes(project),
                "policy": await self.service.policies.of(project),
            }

        return self._loop.run(read())

    def projects(self) -> list[str]:
        return self._loop.run(self.service.projects())


@pytest.fixture
def place(service: Service, loop: asyncio.Runner) -> Place:
    return Place(service, loop)


def test_what_is_restored_into_an_empty_server_is_what_was_backed_up(place: Place) -> None:
    place.filled()
    before = {name: place.all(name) for name in place.projects()}
    assert set(before["P"]["concepts"]) == {"known.md"}
    data = place.backup()
    place.emptied()
    assert place.projects() == []
    made = place.restored(data)
    assert [(each.name, each.taken, each.repeated) for each in made] == [
        (name, before[name]["head"].seq, 0) for name in sorted(before)
    ]
    assert {name: place.all(name) for name in place.projects()} == before


def test_a_restore_that_is_called_again_changes_nothing(place: Place) -> None:
    place.filled()
    data = place.backup()
    before = {name: place.all(name) for name in place.projects()}
    assert all(each.taken == 0 and each.repeated == each.seq for each in place.restored(data))
    assert {name: place.all(name) for name in place.projects()} == before


def test_a_restore_goes_on_where_one_was_interrupted(place: Place, loop: asyncio.Runner) -> None:
    place.filled()
    data, before = place.backup("P"), place.all("P")
    place.emptied()
    first = [json.loads(line) for line in before["journal"].splitlines()[:9]]
    assert taken(loop, place.service, first, project="P", restore=True).taken == 9
    (made,) = place.restored(data)
    assert (made.taken, made.repeated) == (before["head"].seq - 9, 9)
    assert place.all("P") == before


def test_a_project_that_has_gone_another_way_is_left_as_it_is(place: Place, loop: asyncio.Runner) -> None:
    place.filled()
    data = place.backup()
    place.emptied()
    taken(loop, place.service, [claimed(f"own-{at}") for at in range(40)], project="Q / ü")
    before = place.all("Q / ü")
    with pytest.raises(ValidationError, match="other events: 40 of them, and 2 in the backup"):
        place.restored(data)
    assert (place.projects(), place.all("Q / ü")) == (["Q / ü"], before)


def test_nothing_is_taken_where_one_of_several_projects_began_in_another_way(
    place: Place, loop: asyncio.Runner
) -> None:
    place.filled()
    data = place.backup()
    place.emptied()
    taken(loop, place.service, [claimed("own")], project="Q / ü")
    with pytest.raises(ValidationError, match="other events: 1 of them, and 2 in the backup"):
        place.restored(data)
    assert place.projects() == ["Q / ü"]


def test_one_project_can_be_backed_up_alone_and_an_unknown_one_is_refused(place: Place) -> None:
    place.filled()
    with Bundle.checked(io.BytesIO(place.backup("P"))) as bundle:
        assert [each.name for each in bundle.projects] == ["P"]
    with pytest.raises(NotFoundError):
        place.backup("P", "R")


def test_a_backup_is_of_one_piece_while_others_write(place: Place, loop: asyncio.Runner) -> None:
    place.filled()

    async def write(number: int, done: asyncio.Event) -> None:
        at = 0
        while not done.is_set():
            said = {**CONCEPT, "body": f"concept {number} {at}"}
            for line in (
                {"transition": "proposed", "key": f"w{number}-{at}", "payload": {"concept": said}},
                {"transition": "used", "key": "known"},
                {"transition": "invalidated", "key": f"w{number}-{at - 1}", "reason": "r"} if at else None,
            ):
                if line is not None:
                    await place.service.run(read_command(line, actor=HUMAN, project="P"))
            at += 1

    async def both() -> tuple[bytes, list[BackedUp]]:
        file, done = io.BytesIO(), asyncio.Event()
        writers = [asyncio.create_task(write(number, done)) for number in range(3)]
        await asyncio.sleep(0.5)
        found = await back_up(place.service, file, ["P"])
        done.set()
        await asyncio.gather(*writers)
        return file.getvalue(), found

    data, (told,) = loop.run(both())
    head = loop.run(place.service.head("P"))
    assert head is not None
    assert head.seq > told.seq, "nobody wrote meanwhile, so this tells nothing"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        journal = [json.loads(line) for line in archive.read(f"{told.folder}/journal.jsonl").splitlines()]
        graph = ET.fromstring(archive.read(f"{told.folder}/graph.graphml"))
        names = {Path(name).stem for name in archive.namelist() if "/concepts/" in name}
    retired = {event["key"] for event in journal if event["transition"] == "invalidated"}
    concepts = {event["key"] for event in journal if "concept" in event["payload"]}
    assert (len(journal), journal[-1]["hash"]) == (told.seq, told.hash)
    assert names == concepts - retired
    assert len(graph.findall(".//{*}node")) == sum(
        event["transition"] in ("proposed", "corrected") for event in journal
    )
    place.emptied()
    place.restored(data)


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return file.getvalue()


def edited(data: bytes, name: str, change: Callable[[bytes], bytes]) -> bytes:
    files = parts(data)
    return packed(files | {name: change(files[name])})


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def test_a_damaged_file_is_refused_by_its_name_and_nothing_is_taken(place: Place) -> None:
    place.filled()
    whole = place.backup()
    place.emptied()
    names = [name for name in parts(whole) if name != MANIFEST]
    assert len(names) == 5
    for name in names:
        for damaged in (
            edited(whole, name, flipped),
            edited(whole, name, lambda data: data[:-1]),
            edited(whole, name, lambda data: data + b"\n"),
            packed({each: data for each, data in parts(whole).items() if each != name}),
        ):
            with pytest.raises(ValidationError, match=name):
                place.restored(damaged)
    with pytest.raises(ValidationError, match=f"{MANIFEST} is missing"):
        place.restored(packed({name: parts(whole)[name] for name in names}))
    assert place.projects() == []


def test_what_is_no_whole_backup_is_refused(place: Place) -> None:
    place.filled()
    whole = place.backup()
    place.emptied()
    manifest = json.loads(parts(whole)[MANIFEST])

    def saying(**more: Any) -> bytes:
        return edited(whole, MANIFEST, lambda _data: json.dumps(manifest | more).encode())

    project = manifest["projects"][0]
    for damaged in (
        *(b"", b"PK", b"not a zip", whole[: len(whole) // 2], whole[:-10], packed({}), packed({"a": b"b"})),
        *(saying(form="other"), saying(version=2), saying(files=[]), saying(projects={}), saying(projects=[{}])),
        *(saying(projects=[project | {"seq": "1"}]), saying(projects=[project | {"hash": "0"}])),
        *(saying(projects=[project | {"folder": "elsewhere"}]), saying(projects=[project | {"name": ""}])),
        *(saying(projects=[project | {"aging": [{"since": s, "seconds": 1}]}]) for s in ("yesterday", 1)),
        *(
            saying(projects=[project | {"aging": [{"since": "2026-01-01T00:00:00Z", "seconds": seconds}]}])
            for seconds in (1e300, 10**13, -5, 0, "1")
        ),
        *(saying(projects=[project | {"seq": 10**30}]), saying(projects=[project, project])),
        *(saying(projects=[project | {"types": types}]) for types in (["x" * 5_000], [1], ["ok", ""], 7)),
        *(saying(projects=[project | {"kept": kept}]) for kept in (["password"], [[]], [{}], 7)),
        *(saying(projects=projects) for projects in ([None], [[]], [project | {"seq": True}], [project | {"hash": 5}])),
        *(saying(files=manifest["files"] | {name: said}) for name in manifest["files"] for said in (None, {}, 5)),
        saying(files={name: {"bytes": "x", "sha256": 5} for name in manifest["files"]}),
        edited(whole, MANIFEST, lambda _data: b"{"),
        edited(whole, MANIFEST, lambda data: data.replace(b"{", b'{"version": 2,', 1)),
        edited(whole, MANIFEST, lambda _data: b"\xff"),
        packed(parts(whole) | {"more": b""}),
    ):
        with pytest.raises(ValidationError) as refused:
            place.restored(damaged)
        assert not re.search("'(int|str|NoneType|dict)'|object is not|unhashable", str(refused.value))
    assert place.projects() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda journal: journal.replace(b"claim a", b"claim z", 1),
        lambda journal: b"".join(journal.splitlines(keepends=True)[:-1]),
    ],
    ids=["a claim", "cut"],
)
def test_a_journal_that_was_changed_with_its_manifest_is_still_refused(
    place: Place, change: Callable[[bytes], bytes]
) -> None:
    place.filled()
    files = parts(place.backup())
    place.emptied()
    manifest = json.loads(files[MANIFEST])
    name = "projects/0001/journal.jsonl"
    changed = change(files[name])
    manifest["files"][name] |= {"bytes": len(changed), "sha256": hashlib.sha256(changed).hexdigest()}
    with pytest.raises(ValidationError, match=name):
        place.restored(packed(files | {name: changed, MANIFEST: json.dumps(manifest).encode()}))
    assert place.projects() == []
