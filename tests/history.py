"""A history of calls held against the journal: does its order agree with real time, and does it explain every answer?

The journal itself says in which order the service took what it took. So there is nothing to search for: the commands
are said to the model in that order, and every caller must have been told what the model tells.
"""

# pyright: strict

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from model import Model, Outcome
from strategies import Record

from graph.commands import Command
from graph.knowledge import Actor
from graph.store import Taken

UNANSWERED = "UNANSWERED"
DOUBTFUL = ("IN_DOUBT", UNANSWERED)
_ALWAYS = 2**53


@dataclass(frozen=True, slots=True)
class Call:
    """A call: from when to when, and what was answered.

    Attributes:
        began: Before it was made, in seconds of one clock.
        ended: After it was answered, or given up.
        command: What was said.
        answer: What became of it, or the code of the refusal or failure; ``UNANSWERED`` where the link was lost.
    """

    began: float
    ended: float
    command: Command
    answer: Taken | str


def counted(calls: Iterable[Call]) -> Counter[str]:
    """How often each code was answered; ``applied`` and ``repeat`` for what was taken."""
    return Counter(
        c.answer if isinstance(c.answer, str) else "applied" if c.answer.applied else "repeat" for c in calls
    )


def explained(project: str, calls: Sequence[Call], events: Sequence[Record]) -> Model:
    """Check all calls of a project against its whole journal; the model that has heard all of it.

    Args:
        project: Its name.
        calls: All that was ever said to it, in any order.
        events: Its journal, in its order.
    """
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len({event["event_id"] for event in events}) == len(events)
    _acknowledged(calls, events)
    commands = {call.command.event_id: call.command for call in calls}
    model, asked = _Asked(), _Open(calls, _windows(calls))
    asked.hear(model, project, 0, datetime.now(UTC))
    for at, event in enumerate(events):
        if "#" in event["event_id"]:
            continue  # comes by rule, behind the event that caused it
        recorded = datetime.fromisoformat(event["recorded_at"])
        outcome = model.run(project, _line(commands[event["event_id"]], event), recorded)
        assert outcome.applied, (event, outcome)
        asked.tell(event, outcome)
        by_rule = next((n for n, e in enumerate(events[at + 1 :]) if "#" not in e["event_id"]), len(events) - at - 1)
        asked.hear(model, project, event["seq"] + by_rule, recorded, since=event["seq"])
    told = [(e["event_id"], e["key"], e["generation"], e["state_after"]) for e in model.journal(project)]
    assert told == [(e["event_id"], e["key"], e["generation"], e["state_after"]) for e in events]
    asked.all_explained()
    return model


def _acknowledged(calls: Sequence[Call], events: Sequence[Record]) -> None:
    """What was acknowledged is there, once, where it was said to be; what was refused is not."""
    seqs = {event["event_id"]: event["seq"] for event in events}
    applied = Counter(c.command.event_id for c in calls if isinstance(c.answer, Taken) and c.answer.applied)
    assert not [event_id for event_id, times in applied.items() if times > 1]
    answers: dict[str, list[Taken | str]] = defaultdict(list)
    for call in calls:
        answers[call.command.event_id].append(call.answer)
        if isinstance(call.answer, Taken):
            assert seqs.get(call.answer.event_id) == call.answer.seq, call
    for event_id, given in answers.items():
        own = [answer for answer in given if isinstance(answer, Taken) and answer.event_id == event_id]
        if not own and not any(answer in DOUBTFUL for answer in given):
            assert event_id not in seqs, (event_id, given)
        if own and not any(answer in DOUBTFUL for answer in given):
            assert any(answer.applied for answer in own), (event_id, given)


def _windows(calls: Sequence[Call]) -> dict[int, tuple[int, int]]:
    """For each call, by place, the positions between which it was decided; in the order of real time.

    It lies behind all that had been answered before the call was made, and before all that was taken on calls which
    were made after its answer.
    """
    taken = [(c, c.answer.seq) for c in calls if isinstance(c.answer, Taken)]
    ends = sorted((call.ended, seq) for call, seq in taken)
    begins = sorted((call.began, seq) for call, seq in taken if isinstance(call.answer, Taken) and call.answer.applied)
    newest = [0]
    for _, seq in ends:
        newest.append(max(newest[-1], seq))
    oldest = [_ALWAYS]
    for _, seq in reversed(begins):
        oldest.append(min(oldest[-1], seq))
    oldest.reverse()
    windows: dict[int, tuple[int, int]] = {}
    for place, call in enumerate(calls):
        behind = newest[bisect_left(ends, (call.began, 0))]
        before = oldest[bisect_left(begins, (call.ended, _ALWAYS))]
        windows[place] = (behind, before - 1)
        if isinstance(call.answer, Taken) and call.answer.applied:
            assert behind < call.answer.seq < before, (behind, before, call)
    return windows


def _line(command: Command, event: Record | None) -> Record:
    """The command as the model hears it; who acted and when, the service filled in."""
    line: Record = {
        "event_id": command.event_id,
        "transition": command.transition.value,
        "key": command.key if event is None else event["key"],
        "reason": command.reason,
        "payload": command.payload,
    }
    actor: Any = event["actor"] if event is not None else _spelled(command.actor)
    return line | {"actor": actor, "time": None if event is None else event["time"]}


def _spelled(actor: Actor) -> Record:
    return {"issuer": actor.issuer, "subject": actor.subject, "type": actor.type.value}


class _Asked(Model):
    """A model that can also be asked what it would say, and does nothing then."""

    asking = False

    def would(self, project: str, line: Record, now: datetime) -> Outcome:
        """What it would answer now."""
        self.asking = True
        try:
            return self.run(project, line, now)
        finally:
            self.asking = False

    def _commit(self, steps: list[Any], given: Record, now: datetime) -> Outcome:
        if self.asking:
            return Outcome(None, None, True, [], -1, steps[0][2]["event_id"])
        return super()._commit(steps, given, now)


class _Open:
    """Answers that wait for the model to give them too: those of events, and refusals somewhere in their window."""

    def __init__(self, calls: Sequence[Call], windows: dict[int, tuple[int, int]]) -> None:
        self._answers: dict[str, list[Taken]] = defaultdict(list)
        self._windows = windows
        self._calls = calls
        self._coming: list[tuple[int, int]] = []
        self._now: set[int] = set()
        for place, call in enumerate(calls):
            answer = call.answer
            if isinstance(answer, Taken) and answer.event_id == call.command.event_id:
                self._answers[answer.event_id].append(answer)
            elif isinstance(answer, Taken) or answer not in (*DOUBTFUL, "UNAVAILABLE"):
                insort(self._coming, (windows[place][0], place))

    def tell(self, event: Record, outcome: Outcome) -> None:
        """Hold the answers that callers had for an event against the model's."""
        for answer in self._answers.pop(event["event_id"], []):
            assert (answer.seq, answer.key, answer.generation) == (event["seq"], event["key"], event["generation"])
            assert answer.newly_at_risk == outcome.newly_at_risk, (answer, outcome)

    def hear(self, model: _Asked, project: str, seq: int, now: datetime, *, since: int = 0) -> None:
        """Try what may have been decided behind the event at ``seq``, and before the next.

        Args:
            model: Has heard everything up to ``seq``.
            project: Its name.
            seq: The newest position.
            now: When that was recorded.
            since: The position of the command's own event; those up to ``seq`` came with it by rule.
        """
        while self._coming and self._coming[0][0] <= seq:
            self._now.add(self._coming.pop(0)[1])
        for place in list(self._now):
            call = self._calls[place]
            assert since <= self._windows[place][1], f"nowhere in {self._windows[place]} is this the answer: {call}"
            if self._same(model.would(project, _line(call.command, None), now), call):
                self._now.discard(place)

    @staticmethod
    def _same(outcome: Outcome, call: Call) -> bool:
        if isinstance(call.answer, str):
            return outcome.code == call.answer
        return outcome.code is None and not outcome.applied and outcome.event_id == call.answer.event_id

    def all_explained(self) -> None:
        """Nothing waits any more."""
        left = [self._calls[place] for place in (*self._now, *(place for _, place in self._coming))]
        assert not left, left[:3]
        assert not self._answers, list(self._answers)[:3]
