"""A project's journal, read in its order, checked link by link and folded on a scratch.

The fold can follow a journal that grows: what it has made so far is kept, and only what came behind it is read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from graph import projection, received, risk
from graph.errors import KnowledgeError
from graph.journal import Event, Head, first_broken
from graph.knowledge import NodeId
from graph.rows import Row, event_of
from graph.scratch import Scratch
from graph.slices import Slice, needs
from graph.store import BATCH_SECONDS, Run, Store
from graph.stored import event_altered, event_wrong, stored_event

FOLD_EVENTS = 1_000  # events folded at a time: one statement's worth of slice
PAGE = 1_000
ALWAYS = 2**53  # above every position

_MARKING = risk.Change()
T = TypeVar("T")


async def events(store: Store, project: str, until: int = ALWAYS) -> AsyncIterator[Event]:
    """A project's journal in its order, up to a position; a page in memory at a time."""

    def page(last: Row | None) -> dict[str, object]:
        return {"project": project, "until": until, "after": 0 if last is None else last["event"]["seq"]}

    async for row in store.stream("journal_page", page, PAGE):
        yield event_of(row["event"])


async def batches(source: AsyncIterator[T], size: int = FOLD_EVENTS) -> AsyncIterator[list[T]]:
    """What comes, in lists of at most ``size``."""
    batch: list[T] = []
    async for each in source:
        batch.append(each)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def reading(store: Store) -> Run:
    """Runs read statements in transactions of their own, with the deadline of long work, and takes all they bring."""

    async def run(name: str, **params: Any) -> list[Row]:
        with received.allowed(None):
            return await store.read(name, seconds=BATCH_SECONDS, **params)

    return run


class Fold:
    """What a project's journal makes, as far as it was followed.

    Args:
        project: Its name.
        tell: Told the position of an event with wrong ties, while it is read.

    Attributes:
        scratch: What the journal makes; its head is the position that it is made of.
        broken: The position of the first event that is not there, cannot be read or does not follow; None so far.
        why: What is wrong there.
    """

    def __init__(self, project: str, tell: Callable[[int], None] = lambda _seq: None) -> None:
        self.project = project
        self.scratch = Scratch(project)
        self.broken: int | None = None
        self.why: list[str] = []
        self._tell = tell
        self._marks_known = False

    def close(self) -> None:
        """Let the scratch go."""
        self.scratch.close()

    async def follow(
        self, read: Run, until: int = ALWAYS, progress: Callable[[int], None] = lambda _done: None
    ) -> None:
        """Fold what the journal holds behind what was folded, up to a position; stops where the journal is broken."""
        while self.broken is None:
            after = self.scratch.head.seq
            rows = await read("audit_events", project=self.project, after=after, until=until, first=FOLD_EVENTS)
            self._take(rows)
            progress(self.scratch.head.seq)
            if len(rows) < FOLD_EVENTS:
                return

    def marked(self, node_id: NodeId) -> int | None:
        """The mark that a node should have."""
        if not self._marks_known:
            scratch = self.scratch
            scratch.set_marks(risk.marks(scratch.verified(), scratch.resting(), scratch.threats()))
            self._marks_known = True
        return self.scratch.marked(node_id)

    def _take(self, rows: list[Row]) -> None:
        found: list[Event] = []
        for row in rows:
            event = self._checked(row, found)
            if event is None:
                break
            found.append(event)
            if event_wrong(row, event):
                self._tell(event.seq)
        if not found:
            return
        here = self.scratch.laid_over(Slice(self.project), [needs(event) for event in found])
        for event in found:
            try:
                projection.evolve(here, event)
            except (KnowledgeError, LookupError, AssertionError, TypeError, ValueError):
                self.break_at(event.seq, [f"event {event.seq} says what cannot be in the state before it"])
                return
            self._marks_known &= risk.change(event) == _MARKING
        self.scratch.save(here, ())

    def _checked(self, row: Row, before: list[Event]) -> Event | None:
        head = self.scratch.head
        seq = head.seq + len(before) + 1
        last = before[-1].hash if before else head.hash
        event = stored_event(row)
        if row["seq"] != seq:
            self.break_at(
                seq, [f"event {seq} is not there" if row["seq"] > seq else f"event {row['seq']} is there twice"]
            )
        elif event is None:
            self.break_at(seq, [f"event {seq} cannot be read"])
        elif not _follows(event, Head(seq - 1, last)):
            self.break_at(seq, [f"event {seq} does not follow from the one before it"])
        elif altered := event_altered(row, event):
            self.break_at(seq, [f"{name} of event {seq} is not as it was written" for name in altered])
        else:
            return event
        return None

    def compare_head(self, seq: object, digest: object) -> None:
        """Compare the end of the journal with the position and the hash that the project's head names."""
        last = self.scratch.head
        if not isinstance(seq, int) or seq > last.seq:
            self.break_at(last.seq + 1, [f"the head names event {seq}, the journal ends with {last.seq}"])
        elif seq < last.seq:
            self.break_at(seq + 1, [f"event {seq + 1} stands behind the head, which names event {seq}"])
        elif digest != last.hash:
            self.break_at(seq, [f"the head names another event {seq} than the journal ends with"])

    def reconsider(self) -> None:
        """Take back that the journal is broken, so that ``follow`` looks there again."""
        self.broken, self.why = None, []

    def break_at(self, seq: int, why: list[str]) -> None:
        """Note that the journal is broken at a position, and what is wrong there."""
        self.broken = seq if self.broken is None else min(self.broken, seq)
        self.why += why


def _follows(event: Event, head: Head) -> bool:
    try:
        return first_broken([event], head) is None
    except ValueError:  # it holds what canonical JSON cannot say, and so no event ever held
        return False
