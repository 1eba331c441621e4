"""Sweeps: what nothing has verified for long is challenged, so that somebody looks at it again (rule aging.v1)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from graph.commands import read_command
from graph.errors import ValidationError
from graph.knowledge import Actor, NodeId, instant_text
from graph.service import Service
from graph.store import Taken

RULE = "aging.v1"  # the reason of each challenge
NODES = 500  # challenged together


async def sweep(service: Service, project: str, older_than: timedelta, actor: Actor) -> int:
    """Challenge the confirmed nodes that nothing has verified for so long.

    What was never verified with evidence counts from its creation, as ``stale`` does. Pages are taken one after the
    other: a sweep that was cut short has done its part, and the next one does the rest.

    Args:
        service: Where to look.
        project: Its project.
        older_than: How long, more than nothing.
        actor: Who challenges.

    Returns:
        How many were challenged; those that somebody retired meanwhile are not among them.

    Raises:
        ValidationError: no time at all.
    """
    if older_than <= timedelta(0):
        raise ValidationError("olderThan is no time", field="olderThan", allowed="more than nothing, such as P90D")
    now, challenged = service.now(), 0
    if now - datetime.min.replace(tzinfo=UTC) <= older_than:  # since before there were instants
        return 0
    before, after = instant_text(now - older_than), ("", 0)
    while ids := await _page(service, project, before, after):
        lines = [{"transition": "challenged", "key": key, "reason": RULE} for key, _ in ids]
        answers = await service.run_many([read_command(line, actor=actor, project=project) for line in lines])
        challenged += sum(isinstance(answer, Taken) and answer.applied for answer in answers)
        after = ids[-1]
    return challenged


async def _page(service: Service, project: str, before: str, after: NodeId) -> list[NodeId]:
    rows = await service.store.read(
        "unverified_page", project=project, before=before, key=after[0], generation=after[1], first=NODES
    )
    return [(row["key"], row["generation"]) for row in rows]
