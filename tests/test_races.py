"""What several processes do to one database at the same time.

Each writer is a service of its own on a driver of its own, as separate API processes would be. A short run of each
race stands in every test run; the long one has the number of rounds that a promise is worth, or WHENCE_ROUNDS.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import itertools
import os
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import pytest
from conftest import wipe
from history import Call, counted, explained
from strategies import HUMAN, Record, said

from graph.commands import Command
from graph.embedded import Connection
from graph.errors import KnowledgeError
from graph.service import Service
from graph.store import Store, Taken

WRITERS = 6
ROUNDS = int(os.environ.get("WHENCE_ROUNDS", "10000"))  # of the long runs
Answer = Taken | KnowledgeError
Race = Callable[[list[Service], int], Awaitable[None]]

PROOF = [{"type": "run", "source": "run:1"}]


@pytest.fixture(scope="module")
def eight(neo4j: Connection, open_store: Store, loop: asyncio.Runner) -> Iterator[list[Service]]:
    """Services that share nothing but the database; the schema is there."""
    stack = AsyncExitStack()

    async def opened() -> list[Service]:
        opening = [Store.open(neo4j.uri, neo4j.username, neo4j.password, neo4j.database) for _ in range(8)]
        return [Service(await stack.enter_async_context(store)) for store in opening]

    loop.run(wipe(open_store))
    yield loop.run(opened())
    loop.run(stack.aclose())


@pytest.fixture
def writers(eight: list[Service]) -> list[Service]:
    """As many as most races need."""
    return eight[:WRITERS]


async def answered(service: Service, command: Command) -> Answer:
    try:
        return await service.run(command)
    except KnowledgeError as refusal:
        return refusal


async def at_once(*calls: Awaitable[Answer]) -> list[Answer]:
    return list(await asyncio.gather(*calls))


def codes(answers: list[Answer]) -> Counter[str]:
    """How often each code was answered; ``applied`` and ``repeat`` for what was no refusal."""
    return Counter(a.code if isinstance(a, KnowledgeError) else "applied" if a.applied else "repeat" for a in answers)


async def states(service: Service, project: str) -> dict[str, Record]:
    """The newest node of every key."""
    nodes: dict[str, Record] = {}
    events = (await service.journal(project, 0, 1_000)).items
    ids = sorted({(e["key"], e["generation"] + extra) for e in events for extra in (0, 1)})
    for (key, _), node in sorted((await service.nodes(project, ids)).items()):
        nodes[key] = node
    return nodes


async def sound(service: Service, project: str) -> int:
    """The journal has no gap, its chain holds, and the projection is its fold; the number of events."""
    found = await service.verify(project)
    assert found["ok"], found
    return found["events"]


# --- races, each in a project of its own --------------------------------------------------------------------


async def of_all_endings_one_wins(writers: list[Service], number: int) -> None:
    project = f"endings {number}"
    for key in ("node", "other", "third"):
        await writers[0].run(said("proposed", key, project, proposition=f"claim {key}"))
    endings = [
        said("corrected", "node", project, proposition="better", reason="r", generation=1),
        said("superseded", "node", project, by="other", generation=1),
        said("invalidated", "node", project, reason="r", generation=1),
        said("disproved", "node", project, reason="r", evidence=PROOF, generation=1),
        said("superseded", "node", project, by="third", generation=1),
        said("invalidated", "node", project, reason="another", generation=1),
    ]
    random.Random(number).shuffle(endings)
    answers = await at_once(*map(answered, writers, endings))
    assert codes(answers) == {"applied": 1, "TERMINAL_STATE": len(endings) - 1}
    won = next(command for command, a in zip(endings, answers, strict=True) if isinstance(a, Taken))
    node = (await writers[1].nodes(project, [("node", 1)]))["node", 1]
    landed = "invalidated" if won.transition == "disproved" else won.transition.value
    assert node["state"] == landed
    assert await sound(writers[2], project) == 4


async def no_mark_is_missed(writers: list[Service], number: int) -> None:
    project = f"marks {number}"
    for key in ("a", "b", "c"):
        await writers[0].run(said("proposed", key, project, proposition=f"claim {key}"))
    await writers[0].run(said("linked", "c", project, relation="derived_from", to="b"))
    race = [
        said("invalidated", "a", project, reason="r"),
        said("linked", "b", project, relation="depends_on", to="a"),
        said("proposed", "d", project, proposition="d", relations=[{"relation": "depends_on", "to": "c"}]),
        said("proposed", "e", project, proposition="e", relations=[{"relation": "derived_from", "to": "a"}]),
    ]
    random.Random(number).shuffle(race)
    assert codes(await at_once(*map(answered, writers, race))) == {"applied": 4}
    nodes = await states(writers[1], project)
    assert {key for key, node in nodes.items() if node["at_risk"]} == {"b", "c", "d", "e"}
    await sound(writers[2], project)


async def a_confirmation_counts_only_behind_the_retirement(writers: list[Service], number: int) -> None:
    project = f"confirmed {number}"
    await writers[0].run(said("proposed", "a", project, proposition="a"))
    for near, far in (("b", "a"), ("c", "b")):
        relations = [{"relation": "depends_on", "to": far}]
        await writers[0].run(said("proposed", near, project, proposition=near, relations=relations))
    race = [
        said("invalidated", "a", project, reason="r"),
        said("confirmed", "b", project, evidence=PROOF),
        said("confirmed", "c", project),
    ]
    random.Random(number).shuffle(race)
    answers = await at_once(*map(answered, writers, race))
    seqs = {c.transition.value + c.keyed: a.seq for c, a in zip(race, answers, strict=True) if isinstance(a, Taken)}
    cleared = seqs["confirmedb"] > seqs["invalidateda"]
    nodes = await states(writers[1], project)
    assert {key for key, node in nodes.items() if node["at_risk"]} == (set() if cleared else {"b", "c"})
    await sound(writers[2], project)


async def one_event_id_is_taken_once(writers: list[Service], number: int) -> None:
    project = f"ids {number}"
    same = said("proposed", None, project, event_id="the one", proposition="said by all")
    answers = await at_once(*(answered(writer, same) for writer in writers))
    assert codes(answers) == {"applied": 1, "repeat": WRITERS - 1}
    assert len({(a.seq, a.key, a.generation) for a in answers if isinstance(a, Taken)}) == 1
    other = [said("used", "k", project, event_id="the one") for _ in writers]
    assert codes(await at_once(*map(answered, writers, other))) == {"EVENT_CONFLICT": WRITERS}
    assert await sound(writers[0], project) == 1


async def one_key_is_made_once(writers: list[Service], number: int) -> None:
    project = f"keys {number}"
    claims = ["The  same", "the same", "THE SAME", "the same ", "another", "another"]
    commands = [said("proposed", "k", project, proposition=claim) for claim in claims]
    random.Random(number).shuffle(commands)
    answers = await at_once(*map(answered, writers, commands))
    won = next(c for c, a in zip(commands, answers, strict=True) if isinstance(a, Taken) and a.applied)
    conflicts = 4 if won.payload["proposition"] == "another" else 2
    assert codes(answers) == {"applied": 1, "repeat": 5 - conflicts, "PROPOSITION_CONFLICT": conflicts}
    assert {a.seq for a in answers if isinstance(a, Taken)} == {1}
    assert await sound(writers[0], project) == 1


async def a_ring_is_refused_whoever_closes_it(writers: list[Service], number: int) -> None:
    project = f"rings {number}"
    keys = [f"k{at}" for at in range(WRITERS)]
    for key in keys:
        await writers[0].run(said("proposed", key, project, proposition=key))
    links = [
        said("linked", key, project, relation="supersedes", to=keys[(at + 1) % len(keys)])
        for at, key in enumerate(keys)
    ]
    random.Random(number).shuffle(links)
    answers = await at_once(*map(answered, writers, links))
    assert codes(answers) == {"applied": WRITERS - 1, "RELATION_REFUSED": 1}
    await sound(writers[0], project)


RACES = (
    of_all_endings_one_wins,
    no_mark_is_missed,
    a_confirmation_counts_only_behind_the_retirement,
    one_event_id_is_taken_once,
    one_key_is_made_once,
    a_ring_is_refused_whoever_closes_it,
)


async def _rounds(race: Race, writers: list[Service], store: Store, count: int) -> None:
    for number in range(count):
        await race(writers, number)
        if number % 500 == 499:
            await wipe(store)  # what is settled only slows down what is not


@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
def test_thirty_times(
    race: Race,
    writers: list[Service],
    open_store: Store,
    loop: asyncio.Runner,
) -> None:
    loop.run(_rounds(race, writers, open_store, 30))


@pytest.mark.slow
@pytest.mark.timeout(6 * 3_600)
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.__name__)
def test_ten_thousand_times(
    race: Race,
    writers: list[Service],
    open_store: Store,
    loop: asyncio.Runner,
) -> None:
    loop.run(_rounds(race, writers, open_store, ROUNDS))


# --- many races in one project, all at the same time --------------------------------------------------------

ABREAST = 20  # races that are run together: their writers' commands meet in shared transactions, in every order


async def _said_by_all(services: list[Service], races: list[list[Command]], seed: int) -> list[list[Answer]]:
    """The answers to races of as many commands as there are services; each service says its own in another order."""
    answers: list[list[Answer]] = [[] for _ in races]

    async def says(number: int, service: Service) -> list[tuple[int, Answer]]:
        order = random.Random(f"{seed} {number}").sample(range(len(races)), len(races))
        found = await at_once(*(answered(service, races[at][number]) for at in order))
        return list(zip(order, found, strict=True))

    for told in await asyncio.gather(*(says(number, service) for number, service in enumerate(services))):
        for at, answer in told:
            answers[at].append(answer)
    return answers


async def endings_abreast(services: list[Service], seed: int) -> None:
    """Of eight endings of each node exactly one is taken, and the others hear why."""
    project = f"endings abreast {seed}"
    names = [*(f"n{at}" for at in range(ABREAST)), "x", "y", "z"]
    await services[0].run_many([said("proposed", key, project, proposition=f"claim {key}") for key in names])
    races = [_eight_endings(f"n{at}", project) for at in range(ABREAST)]
    for at, race in enumerate(races):
        random.Random(f"{seed} {at}").shuffle(race)
    told = await _said_by_all(services, races, seed)
    nodes = await services[1].nodes(project, [(key, 1) for key in names])
    for race, answers in zip(races, told, strict=True):
        assert codes(answers) == {"applied": 1, "TERMINAL_STATE": 7}
        won = next(command for command, answer in zip(race, answers, strict=True) if isinstance(answer, Taken))
        landed = "invalidated" if won.transition == "disproved" else won.transition.value
        assert nodes[won.keyed, 1]["state"] == landed
    assert await sound(services[2], project) == len(names) + ABREAST


def _eight_endings(key: str, project: str) -> list[Command]:
    return [
        said("corrected", key, project, proposition="better", reason="r", generation=1),
        said("corrected", key, project, proposition="better still", reason="r", generation=1),
        said("superseded", key, project, by="x", generation=1),
        said("superseded", key, project, by="y", generation=1),
        said("superseded", key, project, by="z", generation=1),
        said("invalidated", key, project, reason="r", generation=1),
        said("invalidated", key, project, reason="another", generation=1),
        said("disproved", key, project, reason="r", evidence=PROOF, generation=1),
    ]


async def marks_abreast(services: list[Service], seed: int) -> None:
    """Whether the retirement or the link comes first, what rests on the retired node is marked."""
    project = f"marks abreast {seed}"
    keys = [f"{name}{at}" for at in range(ABREAST) for name in "abc"]
    await services[0].run_many([said("proposed", key, project, proposition=f"claim {key}") for key in keys])
    links = [said("linked", f"c{at}", project, relation="derived_from", to=f"b{at}") for at in range(ABREAST)]
    await services[0].run_many(links)
    races = [_retired_and_linked(at, project) for at in range(ABREAST)]
    for at, race in enumerate(races):
        random.Random(f"{seed} {at}").shuffle(race)
    for answers in await _said_by_all(services[:4], races, seed):
        assert codes(answers) == {"applied": 4}
        newly = sum(answer.newly_at_risk for answer in answers if isinstance(answer, Taken))
        assert newly == 4  # each was marked once, by whichever of the events came last
    ids = [(f"{name}{at}", 1) for at in range(ABREAST) for name in "abcde"]
    nodes = await services[1].nodes(project, ids)
    assert [key for (key, _), node in nodes.items() if node["at_risk"] == (key[0] == "a")] == []
    assert len(nodes) == len(ids)
    await sound(services[2], project)


def _retired_and_linked(at: int, project: str) -> list[Command]:
    return [
        said("invalidated", f"a{at}", project, reason="r"),
        said("linked", f"b{at}", project, relation="depends_on", to=f"a{at}"),
        said("proposed", f"d{at}", project, proposition="d", relations=[{"relation": "depends_on", "to": f"c{at}"}]),
        said("proposed", f"e{at}", project, proposition="e", relations=[{"relation": "derived_from", "to": f"a{at}"}]),
    ]


ABREAST_RACES = (endings_abreast, marks_abreast)


async def _abreast(race: Race, services: list[Service], store: Store, rounds: int) -> None:
    for number in range(rounds // ABREAST):
        if number % 10 == 0:
            await wipe(store)
        await race(services, number)


@pytest.mark.parametrize("processes", [1, 8], ids=["through_one_service", "through_eight"])
@pytest.mark.parametrize("race", ABREAST_RACES, ids=lambda race: race.__name__)
def test_sixty_a_score_at_a_time(
    race: Race, eight: list[Service], open_store: Store, loop: asyncio.Runner, processes: int
) -> None:
    loop.run(_abreast(race, _shared(eight, processes), open_store, 60))


@pytest.mark.slow
@pytest.mark.timeout(6 * 3_600)
@pytest.mark.parametrize("processes", [1, 2, 8], ids=["through_one_service", "through_two", "through_eight"])
@pytest.mark.parametrize("race", ABREAST_RACES, ids=lambda race: race.__name__)
def test_ten_thousand_a_score_at_a_time(
    race: Race, eight: list[Service], open_store: Store, loop: asyncio.Runner, processes: int
) -> None:
    loop.run(_abreast(race, _shared(eight, processes), open_store, ROUNDS))


def _shared(services: list[Service], count: int) -> list[Service]:
    """Eight writers, who share so many services."""
    return [services[at % count] for at in range(len(services))]


# --- a busy hour in one project -----------------------------------------------------------------------------


async def _works(service: Service, name: str, turns: int, seed: int, project: str) -> list[Call]:
    """One writer's life: mostly uses of shared nodes, and everything else now and then."""
    drawn, calls = random.Random(seed), list[Call]()
    for turn in range(turns):
        key, other = drawn.sample(["a", "b", "c", "d"], 2)
        event_id = f"{name}-{turn}"
        commands = [
            said("used", key, project, event_id=event_id),
            said("used", key, project, event_id=event_id),
            said("proposed", key, project, event_id=event_id, proposition="The gate is shut"),
            said("linked", key, project, event_id=event_id, relation="depends_on", to=other),
            said("confirmed", key, project, event_id=event_id, evidence=PROOF),
            said("hinted", key, project, event_id=event_id, outcome="harmful"),
            said("invalidated", key, project, event_id=event_id, reason="r"),
            said("corrected", key, project, event_id=event_id, proposition="Ajar", reason="r"),
            said("linked", key, project, event_id=event_id, relation="contradicts", to=other),
            said("unlinked", key, project, event_id=event_id, relation="depends_on", to=other),
        ]
        command = drawn.choice(commands)
        for _ in range(drawn.choice([1, 1, 1, 2])):
            calls.append(await _called(service, command))
    return calls


async def _called(service: Service, command: Command) -> Call:
    began = time.monotonic()
    answer = await answered(service, command)
    return Call(began, time.monotonic(), command, answer if isinstance(answer, Taken) else answer.code)


async def _busy(writers: list[Service], turns: int, project: str) -> None:
    first = [said("proposed", key, project, event_id=f"first {key}", proposition="The gate is shut") for key in "abcd"]
    calls = [await _called(writers[0], command) for command in first]
    lives = await asyncio.gather(*(_works(writer, f"w{at}", turns, at, project) for at, writer in enumerate(writers)))
    calls.extend(call for life in lives for call in life)
    events = await _journal(writers[0], project)
    assert await sound(writers[0], project) == len(events)
    expected = explained(project, calls, events).nodes(project)
    found = await writers[1].nodes(project, sorted(expected))
    for node_id, node in expected.items():
        for name in ("state", "uses", "at_risk", "proposition"):
            assert found[node_id][name] == node[name], (node_id, name)
    refusals = set(counted(calls)) - {"applied", "repeat"}
    assert refusals <= {"TERMINAL_STATE", "NOT_FOUND", "PROPOSITION_CONFLICT"}


async def _journal(service: Service, project: str) -> list[Record]:
    events: list[Record] = []
    more = True
    while more:
        page = await service.journal(project, len(events), 1_000)
        events, more = events + page.items, page.has_next
    return events


def test_six_writers_leave_one_order_that_agrees_with_real_time_and_with_the_rules(
    writers: list[Service], loop: asyncio.Runner
) -> None:
    loop.run(_busy(writers, 20, "busy"))


@pytest.mark.slow
@pytest.mark.timeout(4 * 3_600)
def test_six_writers_for_hours_leave_one_order(writers: list[Service], loop: asyncio.Runner) -> None:
    for number in range(20):
        loop.run(_busy(writers, 250, f"busy for long {number}"))


def test_no_use_is_lost(writers: list[Service], loop: asyncio.Runner) -> None:
    async def counting() -> None:
        await writers[0].run(said("proposed", "k", "uses", proposition="counted"))
        batches = [
            writer.run_many([said("used", "k", "uses") for _ in range(10)]) for writer in writers for _ in range(4)
        ]
        answers = list(itertools.chain.from_iterable(await asyncio.gather(*batches)))
        assert codes(answers) == {"applied": 10 * 4 * WRITERS}
        node = await writers[1].knowledge("uses", "k")
        assert node is not None
        assert node["uses"] == 10 * 4 * WRITERS
        await sound(writers[0], "uses")

    loop.run(counting())


def test_transfers_in_both_directions_do_not_wait_for_each_other(writers: list[Service], loop: asyncio.Runner) -> None:
    """Both heads are taken in one order, so nobody waits in a ring."""
    sides = ("left", "right")

    async def crossing() -> None:
        for side in sides:
            proposals = [said("proposed", f"{side} {n}", side, proposition=f"{side} {n}") for n in range(12)]
            assert codes(await writers[0].run_many(proposals)) == {"applied": 12}
        moves = [
            said("transferred", f"{side} {n}", side, to_project=sides[side == "left"])
            for n in range(12)
            for side in sides
        ]
        async with asyncio.timeout(60):
            answers = await at_once(*(answered(writers[n % WRITERS], command) for n, command in enumerate(moves)))
        assert codes(answers) == {"applied": 24}
        for side in sides:
            assert set(await states(writers[0], side)) == {f"{s} {n}" for s in sides for n in range(12)}
            assert await sound(writers[0], side) == 12 + 12 + 12

    loop.run(crossing())


def test_batches_over_several_projects_in_any_order_do_not_wait_for_each_other(
    writers: list[Service], loop: asyncio.Runner
) -> None:
    names = ["one", "two", "three"]

    async def mixing() -> None:
        batches = [
            [said("proposed", f"{at} {project}", project, proposition=str(at)) for project in order]
            for at, order in enumerate(itertools.permutations(names))
        ]
        async with asyncio.timeout(60):
            answers = await asyncio.gather(
                *(writer.run_many(batch) for writer, batch in zip(writers, batches, strict=True))
            )
        assert codes(list(itertools.chain.from_iterable(answers))) == {"applied": 18}
        for name in names:
            assert await sound(writers[0], name) == WRITERS

    loop.run(mixing())


def test_what_is_exported_while_others_write_is_of_one_piece(writers: list[Service], loop: asyncio.Runner) -> None:
    """A journal file holds the events up to one head, however many come meanwhile."""

    async def exporting() -> None:
        await writers[0].run(said("proposed", "k", "export", proposition="counted"))
        stop = asyncio.Event()

        async def writing(writer: Service) -> None:
            while not stop.is_set():
                await writer.run(said("used", "k", "export"))

        pens = [asyncio.create_task(writing(writer)) for writer in writers[1:4]]
        for _ in range(5):
            before = await writers[0].head("export")
            lines = b"".join([chunk async for chunk in writers[0].export_journal("export")]).splitlines()
            after = await writers[0].head("export")
            assert before is not None
            assert after is not None
            assert before.seq <= len(lines) <= after.seq
            graph = b"".join([chunk async for chunk in writers[0].export_graphml("export")]).decode()
            assert graph.count("<node ") == 1
        stop.set()
        await asyncio.gather(*pens)
        await sound(writers[0], "export")

    loop.run(exporting())


def test_the_actor_of_a_race_stays_its_own(writers: list[Service], loop: asyncio.Runner) -> None:
    """A human's confirmation binds an agent from the very next event on."""

    async def racing(number: int) -> None:
        project = f"authority {number}"
        agent: Record = {"issuer": "here", "subject": "bot", "type": "agent"}
        await writers[0].run(said("proposed", "k", project, proposition="k"))
        race = [
            said("confirmed", "k", project, actor=HUMAN),
            said("invalidated", "k", project, actor=agent, reason="r"),
        ]
        confirmed, retired = await at_once(*map(answered, writers, race))
        if isinstance(confirmed, Taken):
            assert isinstance(retired, KnowledgeError)
            assert retired.code == "AUTHORITY"
        else:
            assert confirmed.code == "TERMINAL_STATE"
            assert isinstance(retired, Taken)
        assert await sound(writers[0], project) == 2

    for number in range(10):
        loop.run(racing(number))
