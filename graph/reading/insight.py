"""What a reading leaves behind: an insight as evidence, which says for what goal which items were used.

Insights stand on a few observations of the project, which are forgotten at once: no search finds them, no list shows
them and no block quotes them, while journal, history and export keep them. One for each reading would crowd out what
searches look for; so a project has at most 256 of these nodes, however much is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from graph.commands import read_command
from graph.errors import KnowledgeError
from graph.journal import Json, canonical
from graph.knowledge import Actor
from graph.reading.planning import Reading
from graph.reading.reducing import Offered
from graph.redaction import redact
from graph.service import Service

GOAL_CHARS_MAX = 2_000  # of a goal that are kept
TRACE_CHARS_MAX = 12_000  # of keys and sources in one insight: metadata has 64 KiB, and a character up to four bytes
RULE = "reading.v1"


@dataclass(frozen=True, slots=True)
class Insight:
    """Where the insight of a reading is.

    Attributes:
        node: The key of the observation that it is evidence of.
        evidence: The key of the evidence.
        applied: False where the very same reading had left it before.
    """

    node: str
    evidence: str
    applied: bool


async def record(
    service: Service, reading: Reading, used: Sequence[Offered], nodes: int, edges: int, actor: Actor
) -> Insight:
    """Leave the insight of a reading; the same items for the same goal and budget change nothing.

    Args:
        service: Where to.
        reading: What was read.
        used: What is in its block, in that order.
        nodes: How many pieces were loaded.
        edges: How many links there were between them.
        actor: Who read.

    Raises:
        KnowledgeError: the database did not take it.
    """
    metadata = _metadata(reading, used, nodes, edges)
    who = [actor.issuer, actor.subject, actor.type.value]  # an event is a repeat only of the same actor's
    digest, reader = _digest([*who, metadata]), _digest(who)
    node, evidence = f"insights_{digest[:2]}", f"insight/{digest}"
    proposition = f"Insights of readings, part {digest[:2]}"
    record = {"key": evidence, "type": "insight", "source": f"reading:{digest}", "metadata": metadata}
    steps: list[tuple[str, str, Json]] = [
        ("proposed", f"{node}:{reader}:proposed", {"proposition": proposition, "kind": "observation"}),
        ("forgotten", f"{node}:{reader}:forgotten", {}),
        ("evidenced", evidence, {"evidence": [record]}),
    ]
    commands = [
        read_command(
            {"transition": transition, "key": node, "event_id": event_id, "reason": RULE, "payload": payload},
            actor=actor,
            project=reading.project,
        )
        for transition, event_id, payload in steps
    ]
    answers = await service.run_many(commands)
    for answer in answers:
        if isinstance(answer, KnowledgeError):
            raise answer
    left = answers[-1]
    assert not isinstance(left, KnowledgeError), "refusals were raised"
    return Insight(node, evidence, left.applied)


def _metadata(reading: Reading, used: Sequence[Offered], nodes: int, edges: int) -> Json:
    """The insight itself, redacted before anything is made of it."""
    items: list[Json] = []
    room = TRACE_CHARS_MAX
    for one in used:
        item = _trace(one)
        room -= len(canonical(item))
        if room < 0:
            break
        items.append(item)
    return {
        "goal": redact(reading.goal)[0][:GOAL_CHARS_MAX],
        "budget": reading.budget,
        "format": reading.form.value,
        "nodes": nodes,
        "edges": edges,
        "used": len(used),
        "items": items,
    }


def _trace(one: Offered) -> Json:
    """By what an item is found again: its key and generation in the project, or where else it was read."""
    piece = one.piece
    if piece.stored is not None:
        node = piece.stored.item.node
        return {"key": node["key"], "generation": node["generation"]}
    text = hashlib.sha256(piece.text.encode()).hexdigest()
    return {"provider": one.source, "key": piece.key, "source": piece.source, "hash": f"sha256:{text}"}


def _digest(value: object) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:32]
