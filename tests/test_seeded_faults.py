"""Whatever a driver may raise, and wherever: what was acknowledged is there once, what was refused is not.

A seed decides who asks for what and when, who goes away, and what fails at which point of which transaction. It is
printed where a promise is broken; against the database of dicts the same seed breaks it again.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
import virtual
from seeded import FAULTS, HANGS, LATE, DictDatabase, DictDriver, DictStore, Faults, FaultyDriver
from strategies import HUMAN, Record

from graph.commands import Command, read_command
from graph.errors import InDoubtError, KnowledgeError
from graph.group_commit import GroupCommit
from graph.knowledge import Actor, ActorType
from graph.service import Service
from graph.store import Store, Taken

ACTOR = Actor("here", "hana", ActorType.HUMAN)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEEDS, CHUNK = 1_000, 250
CALLERS, CALLS = 8, 4
SHARE = 0.2
NOT_TAKEN = frozenset({"UNAVAILABLE", "LIMIT", "INTERNAL"})


@dataclass
class Told:
    """All calls of one event id: what each was told; None to one who went away."""

    command: Command
    answers: list[Taken | KnowledgeError | None] = field(default_factory=list[Taken | KnowledgeError | None])

    @property
    def doubtful(self) -> bool:
        return any(answer is None or isinstance(answer, InDoubtError) for answer in self.answers)

    @property
    def taken(self) -> list[Taken]:
        return [answer for answer in self.answers if isinstance(answer, Taken)]


def line(drawn: random.Random, event_id: str) -> Record:
    """Something to ask for, of a few nodes in two projects."""
    key, other = drawn.sample("abc", 2)
    project, away = drawn.sample("PQ", 2)
    transition, payload = drawn.choice(
        [
            ("proposed", {"proposition": drawn.choice(["The gate is shut", "The gate stands open"])}),
            ("proposed", {"proposition": "The gate is shut"}),
            ("used", {}),
            ("confirmed", {}),
            ("linked", {"relation": "depends_on", "to": other}),
            ("invalidated", {}),
            ("transferred", {"to_project": away}),
        ]
    )
    reason = "it fell" if transition == "invalidated" else None
    written: Record = {"event_id": event_id, "transition": transition, "key": key, "actor": HUMAN, "payload": payload}
    return written | {"project": project, "reason": reason}


class Scene:
    """Callers of two processes on one database.

    Args:
        drawn: Decides who does what.
        processes: The queues that they call.
        lines: Where what they ask for is noted, by event id.
        patience: The deadlines that callers have, in seconds.
    """

    def __init__(
        self,
        drawn: random.Random,
        processes: Sequence[GroupCommit],
        lines: dict[str, Record],
        patience: Sequence[float],
    ) -> None:
        self._drawn = drawn
        self._processes = processes
        self._lines = lines
        self._patience = patience
        self.told: dict[str, Told] = {}

    async def play(self) -> None:
        """Every caller makes its calls; some go away while they wait for the answer."""
        await asyncio.gather(*(self._caller(name) for name in range(CALLERS)))

    async def _caller(self, name: int) -> None:
        drawn = self._drawn
        for turn in range(CALLS):
            event_id = f"{name}-{turn}"
            self._lines[event_id] = line(drawn, event_id)
            command = read_command(self._lines[event_id], actor=ACTOR)
            self.told[event_id] = Told(command)
            for _ in range(drawn.choice([1, 1, 1, 2])):
                process, seconds = drawn.choice(self._processes), drawn.choice(self._patience)
                goes = drawn.uniform(0, 2) if drawn.random() < 0.1 else None
                self.told[event_id].answers.append(await asked(process, command, seconds, goes))
            await asyncio.sleep(drawn.choice([0, 0, 0.05, 1]))

    async def ask_again(self) -> None:
        """Nothing fails any more: whoever was left in doubt learns what became of it."""
        for told in self.told.values():
            if told.doubtful:
                answer = await asked(self._processes[0], told.command, 30.0)
                assert answer is not None
                assert not isinstance(answer, InDoubtError)
                assert not (isinstance(answer, KnowledgeError) and answer.code in NOT_TAKEN), answer
                told.answers.append(answer)


async def asked(
    process: GroupCommit, command: Command, seconds: float, goes: float | None = None
) -> Taken | KnowledgeError | None:
    """What one caller is told, in time; None when it went away first."""
    clock = asyncio.get_running_loop().time
    began = clock()
    call = asyncio.ensure_future(process.append([command], seconds=seconds))
    if goes is not None:
        asyncio.get_running_loop().call_later(goes, call.cancel)
    try:
        answer = (await call)[0]
    except asyncio.CancelledError:
        return None
    except KnowledgeError as error:
        answer = error
    assert clock() - began <= seconds + 1.0
    return answer


def promises_kept(told: Sequence[Told], journals: dict[str, list[Record]], *, before: dict[str, list[Record]]) -> None:
    """Each acknowledged event is there once, refused ones are not, those in doubt were there at most once."""
    for journal in journals.values():
        assert [event["seq"] for event in journal] == list(range(1, len(journal) + 1))
    for one in told:
        at = [e for e in journals.get(one.command.project, []) if e["event_id"] == one.command.event_id]
        first = [e for e in before.get(one.command.project, []) if e["event_id"] == one.command.event_id]
        assert len(first) <= len(at) <= 1, one
        for answer in one.taken:
            events = [e for e in journals[one.command.project] if e["event_id"] == answer.event_id]
            assert [event["seq"] for event in events] == [answer.seq], one
        if not one.taken:
            assert not at, one
        if not one.taken and not one.doubtful:
            assert not first, one
        assert sum(answer.applied for answer in one.taken) <= 1, one


async def on_dicts(seed: int) -> Counter[tuple[str, str]]:
    """One seed against the database of dicts; which faults it met."""
    faults, database, lines = Faults(seed, SHARE), DictDatabase(seed), dict[str, Record]()
    clock = asyncio.get_running_loop().time
    processes = [
        GroupCommit(
            DictStore(FaultyDriver(DictDriver(database), faults).as_driver(), lines),
            lambda: NOW + timedelta(seconds=clock()),
        )
        for _ in range(2)
    ]
    scene = Scene(random.Random(seed), processes, lines, (0.5, 2.0, 10.0, 30.0))
    await scene.play()
    faults.share = 0.0
    await asyncio.sleep(60)
    await asyncio.gather(*database.late)
    before = {project: database.model.journal(project) for project in database.model.projects()}
    await scene.ask_again()
    after = {project: database.model.journal(project) for project in database.model.projects()}
    promises_kept(list(scene.told.values()), after, before=before)
    return faults.met


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_a_thousand_seeds_break_no_promise(first: int) -> None:
    met: Counter[tuple[str, str]] = Counter()
    for seed in range(first, first + CHUNK):
        try:
            met += virtual.run(on_dicts(seed))
        except BaseException as error:
            raise AssertionError(f"seed {seed} breaks a promise") from error
    assert set(met) == {(point, fault) for point, faults in FAULTS.items() for fault in faults}


@pytest.mark.parametrize("seed", range(3))
def test_a_few_seeds_on_neo4j_break_no_promise(store: Store, loop: asyncio.Runner, seed: int) -> None:
    async def scenario() -> None:
        faults = Faults(seed, 0.1, without=(HANGS, LATE))
        driver = FaultyDriver(store.driver, faults).as_driver()
        processes = [GroupCommit(Store(driver, store.database), lambda: datetime.now(UTC)) for _ in range(2)]
        scene = Scene(random.Random(seed), processes, {}, (30.0,))
        await scene.play()
        assert faults.met
        faults.share = 0.0
        service = Service(store)
        before = {project: (await service.journal(project, 0, 1_000)).items for project in "PQ"}
        await scene.ask_again()
        after = {project: (await service.journal(project, 0, 1_000)).items for project in "PQ"}
        promises_kept(list(scene.told.values()), after, before=before)
        for project in await service.projects():
            assert (await service.verify(project))["ok"]

    loop.run(scenario())
