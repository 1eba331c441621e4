"""What the machines say, in so few words that what is said meets; and lines that no door may let through."""

# pyright: strict

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from model import RELATIONS

from graph.commands import Command, read_command
from graph.knowledge import Actor, ActorType

Record = dict[str, Any]

START = datetime(2020, 3, 1, 12, tzinfo=UTC)
PROJECTS = ("P", "Q")
KEYS = ("a", "b", "c", "d", "e")
NOBODY = "nobody"  # a key that is never proposed

HUMAN: Record = {"issuer": "here", "subject": "hana", "type": "human"}
AGENT: Record = {"issuer": "here", "subject": "bot-7", "type": "agent"}
SYSTEM: Record = {"issuer": "there", "subject": "nightly", "type": "system"}
ACTORS = (HUMAN, AGENT, SYSTEM)

# The first three are one claim. The last trims to fewer characters than it has.
CLAIMS = ("The gate is shut", " the  GATE is shut", "The gate is shut\n", "The gate stands open", "  Nobody knows ")

YEAR = 365 * 86_400


# --- commands -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class How:
    """What goes along with a command, whatever it does.

    Attributes:
        actor: Who acts.
        tick: How far the clock moves first, in seconds; it may stand, and be set back.
        ago: How long before the present it happened, in seconds; None leaves the time out.
        cause: Names an earlier event of the project, counted round; -1 one that never was; None none.
        run: The run it is part of.
    """

    actor: Record
    tick: float
    ago: float | None
    cause: int | None
    run: str | None

    def __repr__(self) -> str:
        return f"How({self.actor['type']}, tick={self.tick}, ago={self.ago}, cause={self.cause}, run={self.run})"


# Written often where it should be drawn often. 299 seconds ahead is allowed, 301 is not.
TICKS = (1.0, 1.0, 1.0, 1.0, 60.0, 0.0, 0.000_001, -90.0, 86_400.0)
TIMES_AGO = (None, None, None, None, None, None, 0.0, 1.0, 0.5, 3_600.0, -299.0)

hows = st.builds(
    How,
    actor=st.sampled_from(ACTORS),
    tick=st.sampled_from(TICKS),
    ago=st.sampled_from(TIMES_AGO),
    cause=st.sampled_from((None, None, None, None, 0, 1, 7)),
    run=st.sampled_from((None, None, None, "run-1")),
)

projects = st.sampled_from(("P", "P", "P", "Q"))
keys = st.sampled_from(KEYS)
claims = st.sampled_from(CLAIMS)
relations = st.sampled_from(("depends_on", "depends_on", "depends_on", "derived_from", "contradicts", *RELATIONS))
flags = st.booleans()


def _known_evidence(number: int) -> Record:
    """Evidence whose key says all of its content, so that two who name it never disagree."""
    return {
        "key": f"ev-{number}",
        "type": "run",
        "source": f"run:{number}",
        "timestamp": "2020-02-01T00:00:00Z",
        "metadata": {"number": number, "parts": [None, True, 1.5, "x"], "empty": {}},
    }


EVIDENCE: dict[str, Record] = {
    "known 1": _known_evidence(1),
    "known 2": _known_evidence(2),
    "plain": {"type": "run", "source": "run:plain"},
    "dated": {"type": "file", "source": "a:b", "timestamp": "2020-02-02T03:00:00+03:00", "hash": "sha256:00ff"},
    "rich": {"type": "note", "source": "n:1", "artifact_ref": "s3://b/1", "metadata": [1, {"big": 2**53 + 1}]},
}

# Names of evidence, so that what is drawn reads well.
evidence_lists = st.lists(st.sampled_from(sorted(EVIDENCE)), max_size=2, unique=True)
some_evidence = st.lists(st.sampled_from(sorted(EVIDENCE)), min_size=1, max_size=2, unique=True)
ends = st.sampled_from((*KEYS, *KEYS, NOBODY))
relation_lists = st.lists(st.tuples(relations, ends), max_size=3)
LINEAGE: Record = {
    "sources": ["plain", {"id": "x"}, {"type": "lost"}, {"type": "page", "id": "y"}],
    "method": "by hand",
}


@dataclasses.dataclass(frozen=True)
class Claim:
    """A proposal's own part. `since` and `until` are seconds before the present, as in `How.ago`."""

    proposition: str
    kind: str | None
    since: float | None
    until: float | None
    relations: list[tuple[str, str]]
    evidence: list[str]
    lineage: bool


proposals = st.builds(
    Claim,
    proposition=claims,
    kind=st.sampled_from((None, "claim", "observation")),
    since=st.sampled_from((None, None, 3_600.0, YEAR * 2.0, -YEAR * 1.0)),
    until=st.sampled_from((None, None, None, -3_600.0, YEAR * 2.0, YEAR * 3.0)),
    relations=relation_lists,
    evidence=evidence_lists,
    lineage=st.sampled_from((False, False, True)),
)


# --- commands in plain words --------------------------------------------------------------------------------

ENVELOPE = ("event_id", "time", "reason", "caused_by", "execution", "generation", "actor")
IMPORTER = Actor("here", "importer", ActorType.SYSTEM)


def said(transition: str, key: str | None = None, project: str = "P", **parts: Any) -> Command:
    """A command: what of its parts is not the event's own is its payload."""
    line: Record = {"transition": transition, "key": key, "project": project}
    line |= {name: value for name, value in parts.items() if name in ENVELOPE}
    line["payload"] = {name: value for name, value in parts.items() if name not in ENVELOPE}
    return read_command(line, actor=IMPORTER)
