"""Vectors of all nodes, whatever comes in between: the filler beside a real server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any, LiteralString

import pytest
from hashed import REFUSED, HashEmbedder
from ledger import HUMAN

from graph.commands import read_command
from graph.embedding import filler as filling
from graph.embedding import removal
from graph.embedding import representations as representing
from graph.embedding.filler import Filler
from graph.embedding.representations import Representations
from graph.errors import KnowledgeError, NotFoundError, UnavailableError, ValidationError
from graph.schema import drop_vectors
from graph.service import Service
from graph.store import Store

SECONDS = 20.0
Row = dict[str, Any]


def proposed(key: str, text: str) -> Row:
    return {"transition": "proposed", "key": key, "payload": {"proposition": text}}


async def taken(service: Service, *lines: Row, project: str = "p") -> None:
    answers = await service.run_many([read_command(line, actor=HUMAN, project=project) for line in lines])
    assert [answer for answer in answers if isinstance(answer, KnowledgeError)] == []


async def asked(store: Store, statement: LiteralString) -> list[Row]:
    return [row.data() for row in (await store.driver.execute_query(statement, database_=store.database)).records]


async def represented(store: Store, model: str | None = None) -> dict[str, int]:
    """How many nodes of each project have a vector."""
    rows = await asked(store, "MATCH (n:Knowledge)-[:REPRESENTED_BY]->(r) RETURN n.project AS p, r.model AS m")
    found: dict[str, int] = {}
    for row in rows:
        if model in (None, row["m"]):
            found[row["p"]] = found.get(row["p"], 0) + 1
    return found


async def nearest(
    store: Store, embedder: HashEmbedder, text: str, limit: int, project: str = "p"
) -> list[tuple[str, float]]:
    """The nodes of a project that lie nearest to a text, as (key, cosine), nearest first."""
    found = await Representations(store, embedder.profile).nearest(project, embedder.vector(text), limit)
    return [(near.key, near.cosine) for near in found]


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await done():  # noqa: ASYNC110  the database has no events for it
            await asyncio.sleep(0.05)


@asynccontextmanager
async def running(filler: Filler) -> AsyncGenerator[None]:
    task = asyncio.create_task(filler.run())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_what_is_there_and_what_comes_is_embedded_behind_the_append(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        embedder = HashEmbedder()
        filler = Filler(store, embedder)
        service = Service(store, grown=filler.wake)
        await taken(service, proposed("a", "one"), proposed("b", "two"))
        await taken(service, proposed("a", "other"), project="q")
        async with running(filler):
            await until(lambda: is_represented(store, {"p": 2, "q": 1}))
            await taken(
                service, {"transition": "corrected", "key": "a", "reason": "r", "payload": {"proposition": "x"}}
            )
            await until(lambda: is_represented(store, {"p": 3, "q": 1}))
            await taken(service, {"transition": "invalidated", "key": "b", "reason": "r"})
            await until(lambda: is_filled(filler, "p"))
        assert embedder.embedded == 4
        assert (await service.verify("p"))["ok"]

    loop.run(play())


async def is_represented(store: Store, wanted: dict[str, int]) -> bool:
    return await represented(store) == wanted


async def is_filled(filler: Filler, project: str) -> bool:
    found = await filler.representations.filled(project)
    return found is not None and found.seq == found.head


def test_only_what_is_new_is_read_again(store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        embedder, pages = HashEmbedder(), list[tuple[int, int]]()
        filler = Filler(store, embedder)
        service = Service(store)
        await taken(service, *(proposed(f"k{at}", f"claim {at}") for at in range(300)))
        assert await filler.fill("p") == 300
        wanted = filler.representations.wanted

        async def watched(project: str, after: int, first: int) -> Any:
            pages.append((after, first))
            return await wanted(project, after, first)

        monkeypatch.setattr(filler.representations, "wanted", watched)
        await taken(service, proposed("new", "a new one"), {"transition": "used", "key": "k1"})
        filler.wake("p")
        async with running(filler):
            await until(lambda: is_filled(filler, "p"))
        assert [after for after, _ in pages] == [300, 302]
        assert embedder.embedded == 301

    loop.run(play())


def test_another_process_that_appends_is_seen_without_a_call(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        filler = Filler(store, HashEmbedder(), poll_seconds=0.1)
        async with running(filler):
            await taken(Service(store), proposed("a", "one"))
            await until(lambda: is_represented(store, {"p": 1}))

    loop.run(play())


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_crash_between_the_embedding_and_the_writing_heals(
    at: int, store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "PAGE", 4)
    monkeypatch.setattr(filling, "NUMBERS", 4 * 16)

    async def play() -> None:
        filler, written = Filler(store, HashEmbedder()), 0
        await taken(Service(store), *(proposed(f"k{number}", f"claim {number}") for number in range(10)))
        put = filler.representations.put

        async def dying(*given: Any, **named: Any) -> int:
            nonlocal written
            written += 1
            if written == at:
                raise KeyboardInterrupt
            return await put(*given, **named)

        monkeypatch.setattr(filler.representations, "put", dying)
        with pytest.raises(KeyboardInterrupt):
            await filler.fill_due()
        assert (await represented(store)).get("p", 0) == 4 * (at - 1)
        embedder = HashEmbedder()
        await Filler(store, embedder).fill_due()
        assert await represented(store) == {"p": 10}
        assert embedder.embedded == 10 - 4 * (at - 1)
        assert (await Service(store).verify("p"))["ok"]

    loop.run(play())


@pytest.mark.parametrize(
    ("together", "seconds", "written"),
    [
        (3_000, 30.0, [300]),  # all there is
        (100, 30.0, [100, 300]),
        (70, 30.0, [100, 300]),  # a page that is read is written whole
        (3_000, 0.0, [50, 100, 150, 200, 250, 300]),
    ],
)
def test_pages_are_written_together_up_to_so_many_vectors_or_for_so_long(
    together: int,
    seconds: float,
    written: list[int],
    store: Store,
    loop: asyncio.Runner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(filling, "PAGE", 50)
    monkeypatch.setattr(filling, "NUMBERS", together * 16)
    monkeypatch.setattr(filling, "COMMIT_SECONDS", seconds)

    async def play() -> None:
        embedder, ends = HashEmbedder(), list[int]()
        filler = Filler(store, embedder)
        lines = [proposed(f"k{at}", f"claim {at}") for at in range(150)]
        await taken(Service(store), *lines, *({"transition": "used", "key": f"k{at}"} for at in range(150)))
        put = filler.representations.put

        async def watched(project: str, after: int, until: int, *rest: Any, **named: Any) -> int:
            ends.append(until)
            return await put(project, after, until, *rest, **named)

        monkeypatch.setattr(filler.representations, "put", watched)
        assert await filler.fill("p") == 150
        assert ends == written
        assert embedder.embedded == 150, "also a node that two pages are about before it is written"
        assert await is_filled(filler, "p")

    loop.run(play())


def test_what_was_embedded_before_the_embedder_failed_is_written(
    store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "PAGE", 10)

    async def play() -> None:
        embedder = HashEmbedder()
        filler = Filler(store, embedder)
        await taken(Service(store), *(proposed(f"k{at}", f"claim {at}") for at in range(40)))

        def leave(done: int, _total: int) -> None:
            embedder.away = done == 30

        with pytest.raises(UnavailableError):
            await filler.fill("p", leave)
        assert await represented(store) == {"p": 30}
        embedder.away = False
        await filler.fill_due()
        assert (await represented(store), embedder.embedded) == ({"p": 40}, 40)

    loop.run(play())


def test_it_rests_while_callers_ask_and_goes_on_when_they_have_gone(
    store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "WAY", 10.0)

    async def play() -> tuple[float, float]:
        embedder = HashEmbedder()
        embedder.pause = 0.05
        filler = Filler(store, embedder)
        seconds = list[float]()
        for project, asking in (("asked", True), ("alone", False)):
            await taken(
                Service(store), *(proposed(f"k{at}", f"claim {at}") for at in range(4 * filling.TEXTS)), project=project
            )
            filler.give_way() if asking else await asyncio.sleep(filling.CALLERS_SECONDS)
            began = asyncio.get_running_loop().time()
            assert await filler.fill(project) == 4 * filling.TEXTS
            seconds.append(asyncio.get_running_loop().time() - began)
        return seconds[0], seconds[1]

    asked, alone = loop.run(play())
    assert asked > 10 * 0.05 > alone - 4 * 0.05


def test_an_embedder_that_is_away_is_told_once_and_what_came_meanwhile_is_embedded(
    store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(filling, "REST_SECONDS", (0.02, 0.05))

    async def play() -> None:
        embedder = HashEmbedder()
        embedder.away = True
        filler = Filler(store, embedder)
        service = Service(store, grown=filler.wake)
        async with running(filler):
            await taken(service, proposed("a", "one"))
            await asyncio.sleep(0.5)
            await taken(service, proposed("b", "two"))
            assert await represented(store) == {}
            embedder.away = False
            await until(lambda: is_represented(store, {"p": 2}))
            await until(is_told_twice)

    async def is_told_twice() -> bool:
        return len(caplog.records) > 1

    with caplog.at_level(logging.INFO, "whence.embedding"):
        loop.run(play())
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_an_embedder_that_is_too_slow_is_refused_within_the_deadline(
    store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "TEXTS_SECONDS", 0.1)

    async def play() -> float:
        embedder = HashEmbedder()
        embedder.pause = 5
        await taken(Service(store), proposed("a", "one"))
        began = asyncio.get_running_loop().time()
        with pytest.raises(UnavailableError):
            await Filler(store, embedder).fill("p")
        return asyncio.get_running_loop().time() - began

    assert loop.run(play()) < 4


def test_a_text_that_the_model_refuses_keeps_no_other_from_its_vector(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        texts = ["one", REFUSED, "three", "four"]
        await taken(Service(store), *(proposed(f"k{at}", text) for at, text in enumerate(texts)))
        assert await Filler(store, HashEmbedder()).fill("p") == 3

    loop.run(play())


def test_two_models_of_other_dimensions_stand_beside_each_other(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        one, two = HashEmbedder("one", 16), HashEmbedder("two", 24)
        service = Service(store)
        await taken(service, proposed("tea", "anna drinks tea"), proposed("tabs", "parsers reject tabs"))
        assert [await Filler(store, each).fill("p") for each in (one, two, one)] == [2, 2, 0]
        for embedder in (one, two):
            found = await nearest(store, embedder, "tabs", 2)
            assert [key for key, _ in found] == ["tabs", "tea"]
        assert [await represented(store, each.profile.model) for each in (one, two)] == [{"p": 2}, {"p": 2}]
        assert (await service.verify("p"))["ok"]

    loop.run(play())


def test_a_text_that_was_changed_behind_our_back_is_embedded_anew_after_the_rebuild(
    store: Store, loop: asyncio.Runner
) -> None:
    async def play() -> None:
        embedder, service = HashEmbedder(), Service(store)
        await taken(service, proposed("a", "one"), proposed("b", "two"))
        filler = Filler(store, embedder)
        await filler.fill("p")
        await asked(store, "MATCH (n:Knowledge {key: 'a'}) SET n.proposition = 'forged'")
        assert await filler.fill("p") == 1
        await asked(store, "MATCH (n:Knowledge {key: 'b'}) DETACH DELETE n")
        await service.rebuild("p")
        assert (await asked(store, "MATCH (r:Representation) RETURN count(r) AS n"))[0]["n"] == 1
        await filler.fill_due()
        assert await represented(store) == {"p": 2}
        assert await nearest(store, embedder, "one", 1) == [("a", pytest.approx(1, abs=1e-6))]
        assert await asked(store, "MATCH (r:Representation) WHERE NOT (r)<--() RETURN r") == []

    loop.run(play())


def test_two_fillers_at_once_write_each_vector_once(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        await taken(Service(store), *(proposed(f"k{at}", f"claim {at}") for at in range(200)))
        both = [Filler(store, HashEmbedder()) for _ in range(2)]
        await asyncio.gather(*(each.fill_due() for each in both))
        assert await represented(store) == {"p": 200}
        assert (await asked(store, "MATCH (r:Representation) RETURN count(r) AS n"))[0]["n"] == 200

    loop.run(play())


def test_appends_go_on_while_a_project_is_filled(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        embedder = HashEmbedder()
        embedder.pause = 0.05
        filler = Filler(store, embedder)
        service = Service(store, grown=filler.wake)
        await taken(service, *(proposed(f"k{at}", f"claim {at}") for at in range(200)))
        async with running(filler):
            for at in range(20):
                await taken(service, proposed(f"later{at}", f"later {at}"))
            await until(lambda: is_represented(store, {"p": 220}))
        assert embedder.embedded == 220

    loop.run(play())


def test_no_other_projects_text_is_near(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        embedder, service = HashEmbedder(), Service(store)
        for project in ("p", "q"):
            await taken(service, proposed(f"in-{project}", "the very same text"), project=project)
            await Filler(store, embedder).fill(project)
        assert [key for key, _ in await nearest(store, embedder, "the very same text", 9)] == ["in-p"]

    loop.run(play())


async def indexes(store: Store, *, shared: bool = False) -> list[str]:
    """The indexes that projects have of their own, and if need be that of all others."""
    rows = await asked(store, "SHOW VECTOR INDEXES YIELD name WHERE name STARTS WITH 'Model_crowd' RETURN name")
    return sorted(row["name"] for row in rows if shared or row["name"].count("_") > 2)


@pytest.fixture
def crowded(store: Store, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> Iterator[HashEmbedder]:
    """An embedder whose projects have an index of their own from 21 vectors on; its indexes are dropped at the end."""
    monkeypatch.setattr(representing, "EXACT_MAX", 20)
    monkeypatch.setattr(representing, "LABELLED", 7)
    yield HashEmbedder("crowd")

    async def drop() -> None:
        for name in await indexes(store, shared=True):
            await drop_vectors(store.driver, store.database, name)

    loop.run(drop())


async def crowd(store: Store, project: str, count: int, text: str) -> None:
    await taken(Service(store), *(proposed(f"{project}{at}", f"{text} {at}") for at in range(count)), project=project)


def test_a_small_project_beside_a_crowd_finds_its_own_and_so_does_a_large_one(
    store: Store, loop: asyncio.Runner, crowded: HashEmbedder
) -> None:
    async def play() -> None:
        await crowd(store, "crowd", 300, "the northern depot")
        await crowd(store, "large", 30, "a southern depot")
        await crowd(store, "p", 5, "some harbour")
        filler = Filler(store, crowded)
        await filler.fill_due()
        assert len(await indexes(store)) == 2, "of the two large ones"
        near = await nearest(store, crowded, "the northern depot 7", 9)
        assert sorted(key for key, _ in near) == [f"p{at}" for at in range(5)]
        found = await nearest(store, crowded, "the northern depot 7", 9, project="large")
        assert len(found) == 9
        assert all(key.startswith("large") for key, _ in found)
        assert (await nearest(store, crowded, "the northern depot 7", 1, project="crowd"))[0][0] == "crowd7"

    loop.run(play())


def test_a_project_that_grows_is_found_whole_before_and_after_it_has_an_index(
    store: Store, loop: asyncio.Runner, crowded: HashEmbedder
) -> None:
    async def play() -> None:
        filler = Filler(store, crowded)
        for count in (19, 1, 1, 30):
            at = sum((await represented(store)).values())
            await taken(Service(store), *(proposed(f"k{at + n}", f"claim {at + n}") for n in range(count)))
            await filler.fill_due()
            for key in ("k0", f"k{at + count - 1}"):
                assert (await nearest(store, crowded, f"claim {key[1:]}", 1))[0][0] == key
            assert len(await indexes(store)) == (at + count > 20)
        assert (await Service(store).verify("p"))["ok"]

    loop.run(play())


def test_an_index_that_is_lost_is_named_and_made_again_by_a_rebuild_or_the_next_start(
    store: Store, loop: asyncio.Runner, crowded: HashEmbedder
) -> None:
    async def play() -> None:
        service = Service(store)
        await crowd(store, "p", 30, "claim")
        await Filler(store, crowded).fill_due()
        await crowd(store, "q", 3, "claim")
        await Filler(store, crowded).fill_due()
        shared, own = await indexes(store, shared=True)
        for name, project in ((own, "p"), (shared, "q")):
            await drop_vectors(store.driver, store.database, name)
            told = await service.verify(project)
            assert (told["ok"], told["differences"]) == (
                False,
                [f"{name} is missing, the index of the project's vectors"],
            )
            await service.rebuild(project)
            assert (await service.verify(project))["ok"]
        for mend in (lambda: service.rebuild("p"), lambda: Filler(store, crowded).fill_due()):
            name = own
            await drop_vectors(store.driver, store.database, name)
            told = await service.verify("p")
            assert (told["ok"], told["differences"]) == (
                False,
                [f"{name} is missing, the index of the project's vectors"],
            )
            await mend()
            assert (await service.verify("p"))["ok"]
            assert (await nearest(store, crowded, "claim 7", 1))[0][0] == "p7"

    loop.run(play())


def test_a_project_that_grew_too_large_for_the_index_of_all_is_given_its_own_at_the_next_start(
    store: Store, loop: asyncio.Runner, crowded: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        await crowd(store, "p", 30, "claim")
        monkeypatch.setattr(representing, "EXACT_MAX", 10_000)
        await Filler(store, crowded).fill_due()
        assert await indexes(store) == []
        monkeypatch.setattr(representing, "EXACT_MAX", 20)
        await Filler(store, crowded).fill_due()
        assert len(await indexes(store)) == 1
        assert (await nearest(store, crowded, "claim 7", 1))[0][0] == "p7"

    loop.run(play())


def test_a_models_vectors_are_dropped_with_its_indexes_and_no_others(
    store: Store, loop: asyncio.Runner, crowded: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "TOGETHER", 8)

    async def play() -> None:
        told = list[tuple[str, int, int]]()
        await crowd(store, "p", 30, "claim")
        await crowd(store, "q", 3, "claim")
        other = HashEmbedder("other")
        for embedder in (crowded, other):
            await Filler(store, embedder).fill_due()
        with pytest.raises(NotFoundError) as unknown:
            await removal.stored(store, "none")
        assert unknown.value.allowed == "crowd, other"
        found = await removal.stored(store, "crowd")
        assert found == await removal.stored(store, crowded.profile.model)
        assert found.projects == ("p", "q")
        assert await removal.drop(store, found, lambda *each: told.append(each)) == {"p": 30, "q": 3}
        assert told == [("p", 8, 30), ("p", 16, 30), ("p", 24, 30), ("p", 30, 30), ("q", 3, 3)]
        assert await indexes(store, shared=True) == []
        assert await represented(store) == {"p": 30, "q": 3}, "the other model's"
        assert (await nearest(store, other, "claim 7", 1))[0][0] == "p7"
        assert (await Service(store).verify("p"))["ok"]

    loop.run(play())


@pytest.mark.parametrize("after", [1, 3])
def test_a_drop_that_was_cut_short_is_finished_by_the_next(
    after: int, store: Store, loop: asyncio.Runner, crowded: HashEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "TOGETHER", 8)

    async def play() -> None:
        await crowd(store, "p", 30, "claim")
        await Filler(store, crowded).fill_due()
        steps = 0

        def cut(*_each: object) -> None:
            nonlocal steps
            steps += 1
            if steps == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await removal.drop(store, await removal.stored(store, "crowd"), cut)
        assert await represented(store) == {"p": 30 - 8 * after}
        assert len(await nearest(store, crowded, "claim 7", 30)) == 30 - 8 * after
        assert await removal.drop(store, await removal.stored(store, "crowd"), lambda *_: None) == {"p": 30 - 8 * after}
        with pytest.raises(NotFoundError):
            await removal.stored(store, "crowd")

    loop.run(play())


def test_models_of_one_name_are_told_apart(store: Store, loop: asyncio.Runner) -> None:
    async def play() -> None:
        await crowd(store, "p", 1, "claim")
        for dimensions in (16, 24):
            await Filler(store, HashEmbedder("twin", dimensions)).fill_due()
        with pytest.raises(ValidationError) as refused:
            await removal.stored(store, "twin")
        models = str(refused.value.allowed).split(", ")
        assert [(await removal.stored(store, model)).model for model in models] == models
        assert len(models) == 2

    loop.run(play())


def test_a_project_that_is_not_there_is_told(store: Store, loop: asyncio.Runner) -> None:
    with pytest.raises(NotFoundError):
        loop.run(Filler(store, HashEmbedder()).fill("none"))
