"""A project in memory: commands decided and folded one after the other, for tests of the core alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from graph.commands import read_command
from graph.errors import KnowledgeError
from graph.journal import Event
from graph.knowledge import Actor, ActorType, Node
from graph.lifecycle import Decision, decide
from graph.projection import evolve
from graph.slices import Slice

HUMAN = Actor("tests", "ada", ActorType.HUMAN)
AGENT = Actor("tests", "bot", ActorType.AGENT)
START = datetime(2026, 1, 1, tzinfo=UTC)


class Ledger:
    """Takes journal lines; every line is a second later than the one before."""

    def __init__(self, project: str = "P") -> None:
        self.here = Slice(project)
        self.events: list[Event] = []
        self.now = START

    def take(self, transition: str, key: str | None = None, actor: Actor = HUMAN, **fields: Any) -> Decision:
        """Decide a line and fold what comes of it; raises its refusal."""
        self.now += timedelta(seconds=1)
        line = {"transition": transition, "key": key, **fields}
        command = read_command(line, actor=actor, project=self.here.project)
        decision = decide({self.here.project: self.here}, command, self.now)
        for event in decision.events:
            evolve(self.here, event)
            self.events.append(event)
        return decision

    def refusal(self, transition: str, key: str | None = None, actor: Actor = HUMAN, **fields: Any) -> KnowledgeError:
        """The refusal that a line meets."""
        try:
            self.take(transition, key, actor, **fields)
        except KnowledgeError as error:
            return error
        raise AssertionError(f"{transition} {key} was not refused")

    def node(self, key: str) -> Node:
        """The newest generation of a key."""
        found = self.here.node(key)
        assert found is not None
        return found


def claim(text: str, **more: Any) -> dict[str, Any]:
    """The payload of a proposal."""
    return {"proposition": text, **more}


def evidence(key: str = "e1") -> dict[str, Any]:
    """A payload with one piece of evidence."""
    return {"evidence": [{"key": key, "type": "run", "source": f"https://example.org/{key}"}]}
