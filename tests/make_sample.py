"""Makes ``api/sample/peps.jsonl``: the life of the PEPs as a journal that was written as it happened.

The lines of ``datasets.peps`` are decided and folded as the service would, with the time of each event as its
recorded time, so that a question about 2015 is answered as it would have been in 2015. Run it where the shared data
is: ``uv run --no-sync python tests/make_sample.py``.
"""

# pyright: strict

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from datasets import PEP_ACTOR, Record, peps

from graph.commands import read_command
from graph.journal import Event, canonical
from graph.knowledge import Actor, ActorType
from graph.lifecycle import decide
from graph.projection import evolve
from graph.slices import Slice

SAMPLE = Path(__file__).resolve().parents[1] / "api" / "sample" / "peps.jsonl"
PROJECT = "peps"
ACTOR = Actor(PEP_ACTOR["issuer"], PEP_ACTOR["subject"], ActorType(PEP_ACTOR["type"]))


def sample() -> bytes:
    """The whole file."""
    return b"".join(canonical(event.line()).encode() + b"\n" for event in _events())


def _events() -> Iterator[Event]:
    here = Slice(PROJECT)
    for line in peps():
        now = datetime.fromisoformat(line["recorded_at"])
        command = read_command(_named(line), actor=ACTOR, project=PROJECT)
        for event in decide({PROJECT: here}, command, now).events:
            evolve(here, event)
            yield event


def _named(line: Record) -> Record:
    """With a key for each piece of evidence: one that is made by chance would differ from run to run."""
    payload: Record = dict(line["payload"])
    if "evidence" in payload:
        records = enumerate(payload["evidence"], start=1)
        payload["evidence"] = [{"key": f"{line['event_id']}/{nth}", **record} for nth, record in records]
    return {**line, "payload": payload}


if __name__ == "__main__":
    SAMPLE.parent.mkdir(exist_ok=True)
    SAMPLE.write_bytes(sample())
