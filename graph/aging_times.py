"""The aging time of each project: how long after it was last verified a live node of it counts as stale.

A setting and no event: it changes no node and says nothing of the world, only how what the journal holds is read. So
the journal's form does not know it, an exported journal does not carry it, and a rebuild leaves it alone. Each change
is kept with its instant, and a read of the past goes by what was set then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cachetools import TTLCache

from graph.errors import NotFoundError, ValidationError
from graph.knowledge import AGING, instant_text
from graph.rows import Row
from graph.scope import Scope
from graph.store import Store

AGING_MIN, AGING_MAX = timedelta(seconds=1), timedelta(days=36_500)
SEEN_SECONDS = 5.0  # what another process sets is seen so much later at most; what is set here, at once
CHANGES_MAX = 1_000  # of a project that are read; before them it counts as never set
PROJECTS_KEPT = 1_000
_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Change:
    """An aging time that was set, and since when it holds."""

    since: datetime
    aging: timedelta


class AgingTimes:
    """The aging times of the projects in a store.

    Args:
        store: Where they are.
        clock: The present.
        seen_seconds: How old what is known of a project may be.

    Attributes:
        changed: Told the name of a project whose aging time was set here.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime], *, seen_seconds: float = SEEN_SECONDS) -> None:
        self._store = store
        self._now = clock
        self.changed: Callable[[str], None] = lambda _project: None
        self._known: TTLCache[str, tuple[Change, ...]] = TTLCache(PROJECTS_KEPT, seen_seconds, time.monotonic)

    def within(self, scope: Scope) -> AgingTimes:
        """These aging times as a caller may know them: another project has none of its own."""
        seen = copy(self)
        seen._store = self._store.within(scope)  # noqa: SLF001
        return seen

    async def of(self, project: str, at: datetime | None = None) -> timedelta:
        """A project's aging time, now or as it was set at an instant; 90 days where it never was.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        changes = await self.changes(project)
        if at is None:
            return changes[0].aging if changes else AGING
        return next((change.aging for change in changes if change.since <= at), AGING)

    async def limit(self, project: str, at: datetime | None = None) -> datetime:
        """The instant before which a live node must have been verified last to be stale now, or at an instant.

        Raises:
            UnavailableError: as for ``of``.
        """
        aging, end = await self.of(project, at), self._now() if at is None else at
        return end - aging if end - _FIRST > aging else _FIRST

    async def set(self, project: str, aging: timedelta) -> None:
        """Set a project's aging time from now on.

        Args:
            project: One that has events.
            aging: From a second to 36,500 days; parts of a second do not count.

        Raises:
            ValidationError: shorter or longer.
            NotFoundError: there is no such project.
            UnavailableError: the database cannot be had.
        """
        if not AGING_MIN <= aging <= AGING_MAX:
            raise ValidationError("the aging time is too short or too long", field="aging", allowed="PT1S to P36500D")
        if not await self._put(project, Change(self._now(), aging)):
            raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")

    async def replay(self, project: str, changes: Sequence[Change]) -> None:
        """Set what ``changes`` told of a project that was like this one; again, it changes nothing.

        Raises:
            UnavailableError: the database cannot be had.
        """
        for change in sorted(changes, key=lambda change: change.since):
            await self._put(project, change)

    async def _put(self, project: str, change: Change) -> bool:
        since, lasts = instant_text(change.since), int(change.aging.total_seconds())
        rows = await self._store.project_write("aging_put", project=project, since=since, lasts=lasts)
        self.forget(project)
        self.changed(project)
        return bool(rows)

    def forget(self, project: str) -> None:
        """Look anew at a project whose aging time was set elsewhere."""
        self._known.pop(project, None)

    async def changes(self, project: str) -> tuple[Change, ...]:
        """Since when a project has which aging time, the newest first; at most 1,000."""
        project = self._store.seen(project)
        known = self._known.get(project)
        if known is None:
            rows = await self._store.read("aging_changes", project=project, first=CHANGES_MAX)
            known = tuple(
                Change(datetime.fromisoformat(row["since"]), timedelta(seconds=row["seconds"])) for row in rows
            )
            self._known[project] = known
        return known


def is_stale(node: Row, limit: datetime) -> bool:
    """Whether a node is live and was last verified, or without that created, before an instant."""
    return not node["retired"] and datetime.fromisoformat(node["verified_at"] or node["created_at"]) < limit
