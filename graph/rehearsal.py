"""The append before the first: a server that has just started takes seconds to plan a dozen statements.

One event of each kind that asks another statement is taken in a project of its own and undone, so that the plans are
there when somebody waits for them.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from graph.commands import read_command
from graph.errors import KnowledgeError
from graph.knowledge import Actor, ActorType
from graph.store import Store

_PROJECT = "whence.rehearsal"
_ACTOR = Actor("whence", "rehearsal", ActorType.SYSTEM)
_EVIDENCE = [{"key": "rehearsal", "type": "rehearsal", "source": "whence:rehearsal"}]
_EVENTS: tuple[dict[str, Any], ...] = (
    {"transition": "proposed", "key": "base", "payload": {"proposition": "base", "evidence": _EVIDENCE}},
    {
        "transition": "proposed",
        "key": "top",
        "payload": {
            "proposition": "top",
            "evidence": _EVIDENCE,
            "relations": [{"relation": "depends_on", "to": "base"}],
        },
    },
    {"transition": "proposed", "key": "tip", "payload": {"proposition": "tip"}},
    {"transition": "linked", "key": "tip", "payload": {"relation": "depends_on", "to": "top"}},
    {"transition": "linked", "key": "tip", "payload": {"relation": "contradicts", "to": "base"}},  # challenges it
    {"transition": "invalidated", "key": "base", "reason": "rehearsal"},  # marks what rests on it
    {"transition": "confirmed", "key": "top", "payload": {"evidence": _EVIDENCE}},  # clears the marks
)
_LOG = logging.getLogger("whence.rehearsal")


async def rehearse(store: Store) -> None:
    """Have the statements of appends planned; what goes wrong is noted in the log only."""
    commands = [read_command(event | {"project": _PROJECT}, actor=_ACTOR) for event in _EVENTS]
    try:
        await store.rehearse(commands, datetime.now(UTC))
    except KnowledgeError as error:
        _LOG.info("appends were not rehearsed: %s", error)
