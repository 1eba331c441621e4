"""Stored sessions replayed by a command, and what became of them for people and machines."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from api import embedders
from api.settings import Settings
from graph.errors import KnowledgeError
from graph.ingestion import sessions
from graph.ingestion.backfill import Backfill
from graph.ingestion.chat import chatting
from graph.ingestion.choice import chosen
from graph.ingestion.extractor import Extractor
from graph.knowledge import checked_key
from graph.service import Service

FAILED_MAX = 1_000  # sessions that are named; the others are counted


class Replay:
    """Replays files, one after the other.

    Args:
        backfill: Takes each.
        model: The one that is asked; None where there is none.
    """

    def __init__(self, backfill: Backfill, project: str, model: str | None) -> None:
        self._backfill = backfill
        self._project = project
        self._model = model
        self._failed: list[tuple[str, KnowledgeError]] = []
        self._failures = 0

    async def file(self, path: Path, folder: Path) -> None:
        """Replay a session; one that cannot be read, or that the model cannot, is noted, and the others go on.

        Raises:
            KnowledgeError: the database cannot be had.
        """
        try:
            await self._backfill.session(sessions.read(path, folder))
        except KnowledgeError as error:
            if error.code == "IN_DOUBT" or (error.code == "UNAVAILABLE" and error.field != "WHENCE_CHAT"):
                raise
            self._failures += 1
            if len(self._failed) < FAILED_MAX:
                self._failed.append((str(path), error))

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        replayed = self._backfill.replayed
        return {
            "project": self._project,
            "model": self._model,
            "sessions": replayed.sessions,
            "known": replayed.known,
            "failed": self._failures,
            "verdicts": dict(replayed.verdicts.most_common()),
            "dropped": dict(replayed.dropped.most_common()),
            "refused": dict(replayed.refused.most_common()),
            "redacted": dict(sorted(replayed.redacted.items())),
            "tokens": asdict(replayed.cost),
            "failures": [{"file": name, **error.facts()} for name, error in self._failed],
        }


@asynccontextmanager
async def replaying(service: Service, settings: Settings, project: str, prompt: str | None) -> AsyncGenerator[Replay]:
    """What replays sessions into a project, by the model that the settings name or without one.

    Args:
        service: Where to.
        settings: Who acts, and which model is asked.
        project: Where to.
        prompt: What the model is told; the default for None.

    Raises:
        ValidationError: the settings name no model that can be asked.
    """
    checked_key(project, "project")
    async with embedders.opened(settings) as embedder, chatting(settings.chat) as chat:
        stages = chosen(service, embedder, settings.stages, chat)
        types = (await service.policies.of(project)).types
        extractor = None if chat is None else Extractor(chat, prompt or None, types)
        backfill = Backfill(service, stages, project, settings.actor, extractor)
        yield Replay(backfill, project, None if chat is None else chat.model)
