"""What became of files that were learned from, counted for people and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from api.files import source
from api.settings import Settings
from graph.embedding.embedder import Embedder
from graph.errors import KnowledgeError, ValidationError
from graph.ingestion.choice import chosen
from graph.ingestion.parts import parts
from graph.ingestion.pipeline import Given, Ingestion, Rejected
from graph.knowledge import checked_key
from graph.service import Service

REJECTED_MAX = 1_000  # that are named; the others are counted by their reason


class Learning:
    """Learns from files, one part after the other, so that memory does not grow with them.

    Args:
        service: Where to.
        settings: Who acts, and which steps are taken.
        embedder: Tells by meaning what is known already.
        project: Where to.
        keep_raw: Whether the words themselves are stored.

    Attributes:
        unread: Files that could not be read to their end, with the reason.
    """

    def __init__(
        self, service: Service, settings: Settings, embedder: Embedder | None, project: str, *, keep_raw: bool
    ) -> None:
        self._ingestion = Ingestion(service, chosen(service, embedder, settings.stages))
        self._actor = settings.actor
        self._project = checked_key(project, "project")
        self._keep_raw = keep_raw
        self._accepted = self._merged = self._repeated = self._files = 0
        self._reasons = Counter[str]()
        self._redacted = Counter[str]()
        self._rejected: list[tuple[str, Rejected]] = []
        self.unread: dict[str, KnowledgeError] = {}

    async def file(self, name: str, address: str) -> None:
        """Learn from a file; one that cannot be read is noted, and what was read of it stays learned.

        Raises:
            KnowledgeError: the database cannot be had.
        """
        self._files += 1
        try:
            with source(name) as given:
                for part in parts(_lines(name, given.lines())):
                    await self._part(name, part, address)
        except ValidationError as error:
            self.unread[name] = error

    async def _part(self, name: str, text: str, address: str) -> None:
        given = Given(self._project, text, address, self._actor, keep_raw=self._keep_raw)
        done = await self._ingestion.ingest(given)
        self._accepted += done.accepted - done.accepted_before
        self._merged += done.merged - done.merged_before
        self._repeated += done.accepted_before + done.merged_before
        self._redacted += done.redacted
        for rejected in done.rejected:
            self._reasons[rejected.reason] += 1
            if len(self._rejected) < REJECTED_MAX:
                self._rejected.append((name, rejected))

    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return {
            "project": self._project,
            "files": self._files,
            "accepted": self._accepted,
            "merged": self._merged,
            "repeated": self._repeated,
            "rejected": self._reasons.total(),
            "reasons": dict(self._reasons.most_common()),
            "redacted": dict(sorted(self._redacted.items())),
            "items": [
                {"file": name, "proposition": one.proposition, "reason": one.reason, "quality": one.quality}
                for name, one in self._rejected
            ],
            "unread": [{"file": name, **error.facts()} for name, error in self.unread.items()],
        }


def _lines(name: str, lines: Iterator[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValidationError(
                f"{name}: line {number} is not UTF-8", field="FILE", position=error.start, allowed="text in UTF-8"
            ) from None
        yield text.removeprefix("\ufeff") if number == 1 else text
