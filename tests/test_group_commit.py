"""Who shares a transaction with whom, and what each is told.

The first part is about the queue alone: its door takes a tenth of a second of a clock that leaps, and no database is
asked. The second is about the queue in front of Neo4j.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import pytest
import virtual
from conftest import wipe
from proxy import Link
from strategies import said

from graph.commands import Command
from graph.embedded import Connection
from graph.errors import (
    DatabaseFailedError,
    InDoubtError,
    KnowledgeError,
    LimitError,
    NotFoundError,
    TooSlowError,
    UnavailableError,
)
from graph.group_commit import (
    BATCHES_MAX,
    SHARED_CHARS_MAX,
    SHARED_COMMANDS_MAX,
    WAITING_CHARS_MAX,
    WAITING_COMMANDS_MAX,
    GroupCommit,
)
from graph.service import Service
from graph.slices import projects
from graph.store import Store, Taken

NOW = datetime(2026, 1, 1, tzinfo=UTC)
Answer = Taken | KnowledgeError
Fault = Callable[[list[str]], Exception | None]


class Door:
    """Takes commands in a tenth of a second, refuses the key ``refused``, and fails as it is told to.

    Where it takes longer it gives up at the deadline, unless it is deaf to that.

    Attributes:
        taken: The keys of each transaction that was committed, in order.
        tried: How many transactions began.
        most: The most that were under way at a time.
    """

    def __init__(self, fault: Fault = lambda _keys: None, seconds: float = 0.1, *, deaf: bool = False) -> None:
        self.taken: list[list[str]] = []
        self.tried = 0
        self.most = 0
        self._fault = fault
        self._seconds = seconds
        self._deaf = deaf
        self._busy: set[str] = set()
        self._under_way = 0

    @property
    def keys(self) -> list[str]:
        return [key for keys in self.taken for key in keys]

    async def append(self, commands: Sequence[Command], now: datetime, *, seconds: float) -> list[Answer]:
        concerned = projects(commands, rules=True)
        assert now == NOW
        assert not concerned & self._busy, "one transaction of a project at a time"
        self._busy |= concerned
        self.tried += 1
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            if self._seconds > seconds and not self._deaf:
                await asyncio.sleep(seconds)
                raise TooSlowError("too slow")
            await asyncio.sleep(self._seconds)
            keys = [command.keyed for command in commands]
            if error := self._fault(keys):
                raise error
            self.taken.append([key for key in keys if key != "refused"])
            return [self._answer(command) for command in commands]
        finally:
            self._under_way -= 1
            self._busy -= concerned

    @staticmethod
    def _answer(command: Command) -> Answer:
        if command.key == "refused":
            return NotFoundError("there is no such node", field="key")
        return Taken(command.project, command.keyed, 1, 1, command.event_id, applied=True)


def queue(door: Door) -> GroupCommit:
    return GroupCommit(door, lambda: NOW)


def used(key: str, project: str = "P") -> Command:
    return said("used", key, project)


def moved(key: str, source: str, target: str) -> Command:
    return said("transferred", key, source, to_project=target)


async def one(appends: GroupCommit, command: Command, seconds: float = 30.0) -> Answer:
    try:
        return (await appends.append([command], seconds=seconds))[0]
    except KnowledgeError as error:
        return error


async def at_once(*calls: Awaitable[Answer]) -> list[Answer]:
    return list(await asyncio.gather(*calls))


def codes(answers: Sequence[Answer]) -> Counter[str]:
    return Counter(answer.code if isinstance(answer, KnowledgeError) else "taken" for answer in answers)


def moment() -> float:
    return asyncio.get_running_loop().time()


def test_a_lone_caller_waits_for_nobody() -> None:
    async def scenario() -> None:
        door = Door()
        assert codes([await one(queue(door), used("a"))]) == {"taken": 1}
        assert moment() == pytest.approx(0.1)

    virtual.run(scenario())


def test_those_who_come_while_a_transaction_is_under_way_share_the_next() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        first = asyncio.ensure_future(one(appends, used("first")))
        await asyncio.sleep(0.05)
        await at_once(*(one(appends, used(f"k{at}")) for at in range(9)), first)
        assert door.taken == [["first"], [f"k{at}" for at in range(9)]]
        assert moment() == pytest.approx(0.2)

    virtual.run(scenario())


def test_callers_who_are_answered_together_and_ask_again_go_together_again() -> None:
    async def caller(appends: GroupCommit, name: int) -> None:
        for turn in range(10):
            await one(appends, used(f"{name}-{turn}"))

    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        await asyncio.gather(*(caller(appends, name) for name in range(64)))
        assert [len(keys) for keys in door.taken] == [64] * 10

    virtual.run(scenario())


def test_projects_do_not_wait_for_each_other_up_to_a_bound() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        count = 2 * BATCHES_MAX
        answers = await at_once(*(one(appends, used("a", f"P{at}")) for at in range(count) for _ in range(3)))
        assert codes(answers) == {"taken": 3 * count}
        assert door.most == BATCHES_MAX
        assert door.tried == count

    virtual.run(scenario())


def test_a_transfer_has_both_projects_for_itself_and_its_turn_comes() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        busy = [asyncio.ensure_future(_for_a_while(appends, project, 20)) for project in ("P", "Q")]
        await asyncio.sleep(0.05)
        answers = await at_once(
            *(one(appends, moved(f"{at}", *(("P", "Q") if at % 2 else ("Q", "P")))) for at in range(10))
        )
        assert codes(answers) == {"taken": 10}
        assert moment() < 1.0, "the transfers waited for the others to end"
        await asyncio.gather(*busy)
        assert len(door.keys) == 50

    virtual.run(scenario())


async def _for_a_while(appends: GroupCommit, project: str, turns: int) -> None:
    for turn in range(turns):
        await one(appends, used(f"{turn}", project))


def test_what_one_caller_asks_for_at_once_stays_together_and_in_order() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        asked = [[used(f"{name}-{at}") for at in range(5)] for name in range(7)]
        answers = await asyncio.gather(*(appends.append(commands) for commands in asked))
        for commands, told in zip(asked, answers, strict=True):
            assert [answer.key for answer in told if isinstance(answer, Taken)] == [c.key for c in commands]
        assert door.keys == [c.keyed for commands in asked for c in commands]
        assert await appends.append([]) == []

    virtual.run(scenario())


def test_a_refusal_is_one_callers_own() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        answers = await at_once(*(one(appends, used(key)) for key in ("a", "refused", "b")))
        assert [codes([answer]).popitem()[0] for answer in answers] == ["taken", "NOT_FOUND", "taken"]
        assert door.taken == [["a", "b"]]

    virtual.run(scenario())


def test_a_transaction_is_bounded_by_commands_and_by_what_is_in_them() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        await at_once(*(one(appends, used(f"{at}")) for at in range(SHARED_COMMANDS_MAX + 1)))
        assert [len(keys) for keys in door.taken] == [SHARED_COMMANDS_MAX, 1]
        door.taken.clear()
        large = [said("proposed", f"{at}", proposition="x" * 2_000) for at in range(SHARED_COMMANDS_MAX)]
        together = SHARED_CHARS_MAX // 4
        heavy = [[*large[:1], *_heavy(together)] for _ in range(5)]
        await asyncio.gather(*(appends.append(commands) for commands in heavy))
        assert len(door.taken) == 2
        door.taken.clear()
        await appends.append(large * 2)  # more than a share, all at once
        assert [len(keys) for keys in door.taken] == [2 * SHARED_COMMANDS_MAX]

    virtual.run(scenario())


def _heavy(chars: int) -> list[Command]:
    """Proposals with metadata, whose payloads are about so long; not one more than that."""
    metadata = {"type": "t", "source": "s", "metadata": {"text": "x" * 10_000}}
    each = said("proposed", "heavy", proposition="p", evidence=[metadata] * 5)
    return [each] * ((chars - 2_100) // 50_011)


@pytest.mark.parametrize(
    "alone",
    [LimitError("memory"), ValueError("a fault of ours"), TooSlowError("too slow"), DatabaseFailedError("at one")],
)
def test_one_that_fails_does_not_fail_its_neighbours(alone: Exception) -> None:
    async def scenario() -> None:
        door = Door(lambda keys: alone if "bad" in keys else None)
        appends = queue(door)
        calls = [asyncio.ensure_future(appends.append([used(key)])) for key in ("a", "bad", "b")]
        told = await asyncio.gather(*calls, return_exceptions=True)
        assert door.taken == [["a"], ["b"]]
        assert isinstance(told[1], type(alone))
        assert [isinstance(answer, list) for answer in told] == [True, False, True]
        assert codes([await one(appends, used("c"))]) == {"taken": 1}

    virtual.run(scenario())


@pytest.mark.parametrize(("lost", "code"), [(UnavailableError("down"), "UNAVAILABLE"), (InDoubtError("?"), "IN_DOUBT")])
def test_a_lost_connection_or_commit_is_told_to_each_and_nothing_is_tried_again(
    lost: KnowledgeError, code: str
) -> None:
    async def scenario() -> None:
        door = Door(lambda _keys: lost)
        appends = queue(door)
        answers = await at_once(*(one(appends, used(f"{at}")) for at in range(9)))
        assert codes(answers) == {code: 9}
        assert len(set(map(id, answers))) == 9, "an error that is raised twice carries the other's traceback"
        assert door.tried == 1

    virtual.run(scenario())


def test_where_too_much_waits_nothing_more_is_let_in_until_there_is_room() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        first = asyncio.ensure_future(one(appends, used("first")))
        await asyncio.sleep(0.05)
        waiting = [asyncio.ensure_future(one(appends, used(f"{at}"))) for at in range(WAITING_COMMANDS_MAX)]
        await asyncio.sleep(0)
        began = moment()
        refused = await one(appends, used("too many"))
        assert isinstance(refused, UnavailableError)
        assert refused.allowed is not None
        assert f"{WAITING_COMMANDS_MAX:,}" in refused.allowed
        assert moment() == began
        assert codes(await at_once(first, *waiting)) == {"taken": WAITING_COMMANDS_MAX + 1}
        assert codes([await one(appends, used("later"))]) == {"taken": 1}
        assert "too many" not in door.keys

    virtual.run(scenario())


def test_where_too_much_is_in_what_waits_nothing_more_is_let_in() -> None:
    async def scenario() -> None:
        appends = queue(Door())
        calls = [appends.append(_heavy(WAITING_CHARS_MAX // 10)) for _ in range(12)]
        told = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(isinstance(answer, UnavailableError) for answer in told) in (1, 2)
        assert sum(isinstance(answer, list) for answer in told) in (10, 11)

    virtual.run(scenario())


def test_one_who_goes_away_while_waiting_has_nothing_taken_and_makes_room() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        first = asyncio.ensure_future(one(appends, used("first")))
        await asyncio.sleep(0.05)
        calls = [asyncio.ensure_future(one(appends, used(f"{at}"))) for at in range(WAITING_COMMANDS_MAX)]
        await asyncio.sleep(0)
        for call in calls[3:]:
            call.cancel()
        await asyncio.sleep(0)
        stays = asyncio.ensure_future(one(appends, used("there is room")))
        await asyncio.wait([first, stays, *calls])
        assert door.taken == [["first"], ["0", "1", "2", "there is room"]]

    virtual.run(scenario())


def test_one_who_goes_away_under_way_disturbs_nobody() -> None:
    async def scenario() -> None:
        door = Door()
        appends = queue(door)
        calls = [asyncio.ensure_future(one(appends, used(f"{at}"))) for at in range(3)]
        await asyncio.sleep(0.05)
        calls[1].cancel()
        await asyncio.wait(calls)
        assert calls[1].cancelled()
        assert codes([calls[0].result(), calls[2].result()]) == {"taken": 2}
        assert door.taken == [["0", "1", "2"]]

    virtual.run(scenario())


def test_when_all_are_gone_what_failed_is_not_tried_again() -> None:
    async def scenario() -> None:
        door = Door(lambda _keys: LimitError("memory"))
        appends = queue(door)
        calls = [asyncio.ensure_future(one(appends, used(f"{at}"))) for at in range(3)]
        await asyncio.sleep(0.05)
        for call in calls:
            call.cancel()
        await asyncio.sleep(1)
        assert door.tried == 1

    virtual.run(scenario())


@pytest.mark.parametrize("deaf", [False, True])
def test_while_nothing_moves_each_is_told_within_a_second_of_its_deadline(*, deaf: bool) -> None:
    async def told(appends: GroupCommit, key: str, seconds: float) -> Answer:
        began = moment()
        answer = await one(appends, used(key), seconds)
        assert seconds <= moment() - began <= seconds + 1.0
        return answer

    async def scenario() -> None:
        appends = queue(Door(seconds=10_000, deaf=deaf))
        calls = [asyncio.ensure_future(told(appends, f"{at}", 1.0 + at)) for at in range(3)]
        await asyncio.sleep(0.5)
        calls += [asyncio.ensure_future(told(appends, f"late {at}", 0.1 + at)) for at in range(3)]
        answers = await at_once(*calls)
        under_way = {"IN_DOUBT": 3} if deaf else {"UNAVAILABLE": 3}
        assert codes(answers[:3]) == under_way
        assert codes(answers[3:]) == {"UNAVAILABLE": 3}

    virtual.run(scenario())


# --- in front of Neo4j --------------------------------------------------------------------------------------


async def _sound(store: Store, project: str) -> int:
    found = await Service(store).verify(project)
    assert found["ok"], found
    return found["events"]


def test_sixty_four_callers_in_two_processes_leave_one_journal(
    store: Store, neo4j: Connection, loop: asyncio.Runner
) -> None:
    async def caller(service: Service, name: int) -> list[Answer]:
        answers: list[Answer] = []
        for turn in range(4):
            project, key = f"p{(name + turn) % 2}", f"k{name % 8}"
            commands = [
                said("proposed", key, project, event_id=f"{name}-{turn}", proposition="The gate is shut"),
                said("used", key, project, event_id=f"{name}-{turn}"),
                said("transferred", key, project, event_id=f"{name}-{turn}", to_project=f"p{(name + turn + 1) % 2}"),
            ]
            try:
                answers.append(await service.run(commands[(name + turn) % 3]))
            except KnowledgeError as refusal:
                answers.append(refusal)
        return answers

    async def scenario() -> None:
        async with Store.open(neo4j.uri, neo4j.username, neo4j.password, neo4j.database) as second:
            services = [Service(store), Service(second)]
            await services[0].run_many(
                [said("proposed", "k0", "p0", proposition="The gate is shut"), said("used", "k0", "p0")]
            )
            told = await asyncio.gather(*(caller(services[name % 2], name) for name in range(64)))
        answers = [answer for answers in told for answer in answers]
        taken = [a for a in answers if isinstance(a, Taken) and a.applied]
        assert len({(a.project, a.seq) for a in taken}) == len(taken)
        assert set(codes(answers)) <= {"taken", "NOT_FOUND"}
        assert sum([await _sound(store, project) for project in ("p0", "p1")]) >= len(taken) + 2
        for project in ("p0", "p1"):
            journal = (await services[0].journal(project, 0, 1_000)).items
            by_id = {event["event_id"]: event["seq"] for event in journal}
            assert len(by_id) == len(journal)
            assert all(by_id[a.event_id] == a.seq for a in taken if a.project == project)

    loop.run(scenario())


def test_a_repeat_in_the_same_transaction_is_a_repeat(service: Service, loop: asyncio.Runner) -> None:
    async def scenario() -> None:
        command = said("proposed", "a", event_id="once", proposition="The gate is shut")
        answers = await asyncio.gather(*(service.run(command) for _ in range(16)))
        assert Counter(answer.applied for answer in answers) == {True: 1, False: 15}
        assert await _sound(service.store, "P") == 1

    loop.run(scenario())


def test_a_database_that_stands_still_keeps_nobody_longer_than_a_second_behind_its_deadline(
    neo4j: Connection, open_store: Store, loop: asyncio.Runner
) -> None:
    async def told(appends: GroupCommit, command: Command, seconds: float) -> Answer:
        began = time.monotonic()
        answer = await one(appends, command, seconds)
        assert time.monotonic() - began < seconds + 1.0
        return answer

    async def scenario() -> None:
        await wipe(open_store)
        async with (
            Link.to(neo4j.uri) as link,
            Store.open(link.uri, neo4j.username, neo4j.password, neo4j.database) as store,
        ):
            appends = GroupCommit(store, lambda: datetime.now(UTC))
            assert codes([await one(appends, said("proposed", "a", proposition="The gate is shut"))]) == {"taken": 1}
            link.still(on=True)
            commands = [said("used", "a") for _ in range(12)]
            answers = await at_once(*(told(appends, c, 1.0 + at % 3) for at, c in enumerate(commands)))
            assert set(codes(answers)) <= {"UNAVAILABLE", "IN_DOUBT"}
            link.still(on=False)
            again = await at_once(*(one(appends, command) for command in commands))
            assert codes(again) == {"taken": 12}
        assert await _sound(open_store, "P") == 13

    loop.run(scenario())
