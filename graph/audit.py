"""Whether a journal is whole, and whether what is stored of a project is the fold of its journal.

What is stored is read page by page beside the fold, while writers go on. What differs may have been changed since the
fold was made; so it is looked at once more while writers wait for a moment, with the fold brought up to them. What
differs even then is wrong.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from graph import schema, stored
from graph.fold import ALWAYS, Fold, reading
from graph.knowledge import NodeId
from graph.rows import Row, about_row
from graph.store import Run, Store
from graph.stored import Wrong

PAGE = 500  # nodes and all that leads from them, in memory at a time
DIFFERENCES_MAX = 100  # sentences in an answer; the first ones are what a person looks at
T = TypeVar("T")
Found = list[tuple[T, Wrong]]
"""Things, by what they are known by, and what is wrong with each."""


class Audit:
    """Looks at everything that is stored of a project, beside the fold of its journal.

    Args:
        store: Where the project is.
        fold: Has followed the journal to its end; goes on following it where writers go on.
    """

    def __init__(self, store: Store, fold: Fold) -> None:
        self.fold = fold
        self.project = fold.project
        self._store = store
        self._read = reading(store)

    async def settled(self, look: Callable[[Run], Awaitable[T]], mend: Callable[[Run, T], Awaitable[None]]) -> T:
        """Look, and where something is wrong once more while writers wait; then mend it in that transaction."""
        found = await look(self._read)
        if not found or not await self._read("audit_project", project=self.project):
            return found
        await self.fold.follow(self._read)

        async def again(run: Run) -> T:
            self.fold.reconsider()
            await self.fold.follow(run)
            still = await look(run)
            if still:
                await mend(run, still)
            return still

        return await self._store.hold(self.project, again)

    async def head(self) -> list[Wrong]:
        """What is wrong with the head; where it and the journal do not fit together, the fold is broken there."""
        found = await self.settled(self._head, _leave)
        for row, _ in found:
            if row is not None:
                self.fold.compare_head(row["properties"].get("seq"), row["properties"].get("hash"))
        return [wrong for _, wrong in found]

    async def _head(self, run: Run) -> list[tuple[Row | None, Wrong]]:
        rows = await run("audit_project", project=self.project)
        await self.fold.follow(run)
        row, last = rows[0] if rows else None, self.fold.scratch.head
        wrong = stored.head_wrong(row, self.project, last)
        return [] if wrong is None or (row is None and last.seq == 0) else [(row, wrong)]

    async def nodes(self, mend: Callable[[Run, Found[NodeId]], Awaitable[None]]) -> AsyncIterator[Wrong]:
        """What is wrong with nodes, and with what leads from them."""
        async for ids in self._pages("audit_node_ids", lambda row: (row["key"], row["generation"])):
            self.fold.scratch.see_nodes(ids)
            for _, wrong in await self.settled(partial(self._nodes, ids=ids), mend):
                yield wrong
        for ids in self.fold.scratch.unseen_nodes(PAGE):
            for _, wrong in await self.settled(partial(self._nodes, ids=ids), mend):
                yield wrong

    async def _nodes(self, run: Run, ids: Sequence[NodeId]) -> Found[NodeId]:
        rows: dict[NodeId, list[Row]] = {}
        for row in await run("audit_nodes", project=self.project, ids=[list(node_id) for node_id in ids]):
            rows.setdefault((row["key"], row["generation"]), []).append(row)
        return [(i, wrong) for i in ids if (wrong := self._node(i, rows.get(i, []))) is not None]

    def _node(self, node_id: NodeId, rows: list[Row]) -> Wrong | None:
        scratch, node = self.fold.scratch, self.fold.scratch.node(node_id)
        if node is not None:
            node = replace(node, risk_seq=self.fold.marked(node_id))
        edges, stands = scratch.edges_from(node_id), scratch.standing_on(node_id)
        return stored.node_wrong(node_id, rows, node, edges, stands, self.project)

    async def evidence(self, mend: Callable[[Run, Found[str]], Awaitable[None]]) -> AsyncIterator[Wrong]:
        """What is wrong with evidence."""
        async for keys in self._pages("audit_evidence_keys", lambda row: str(row["key"])):
            self.fold.scratch.see_evidence(keys)
            for _, wrong in await self.settled(partial(self._evidence, keys=keys), mend):
                yield wrong
        for keys in self.fold.scratch.unseen_evidence(PAGE):
            for _, wrong in await self.settled(partial(self._evidence, keys=keys), mend):
                yield wrong

    async def _evidence(self, run: Run, keys: Sequence[str]) -> Found[str]:
        rows: dict[str, list[Row]] = {}
        for row in await run("audit_evidence", project=self.project, keys=list(keys)):
            rows.setdefault(row["key"], []).append(row)
        found = ((k, rows.get(k, []), self.fold.scratch.evidence(k)) for k in keys)
        checked = ((k, stored.evidence_wrong(k, held, made, self.project)) for k, held, made in found)
        return [(key, wrong) for key, wrong in checked if wrong is not None]

    async def events(
        self, mend: Callable[[Run, Found[Row]], Awaitable[None]], seqs: Sequence[int] | None = None
    ) -> AsyncIterator[Wrong]:
        """What is wrong with the ties of events: of all of them, or of those at some positions."""
        ends = range(PAGE, self.fold.scratch.head.seq + PAGE, PAGE)
        spans = [(end - PAGE, end) for end in ends] if seqs is None else [(seq - 1, seq) for seq in seqs]
        for after, until in spans:
            for _, wrong in await self.settled(partial(self._events, after=after, until=until), mend):
                yield wrong

    async def _events(self, run: Run, after: int, until: int) -> Found[Row]:
        found: Found[Row] = []
        for row in await run("audit_events", project=self.project, after=after, until=until, first=PAGE):
            event = stored.stored_event(row)
            wrong = None if event is None else stored.event_wrong(row, event)
            if event is not None and wrong is not None:
                found.append((about_row(event), wrong))
        return found

    async def census(self) -> list[str]:
        """Nodes of ours that no page shows: without a project or a head, or without what they are known by."""
        first = set(await self._census())
        return sorted(first.intersection(await self._census())) if first else []

    async def _census(self) -> list[str]:
        found: list[str] = []
        for row in await self._read("audit_census", projects=self._store.projects):
            label, project, count = row["label"], row["project"], row["nodes"]
            if project is None:
                found.append(f"there are {count} nodes {label} without a project")
            elif not row["headed"]:
                found.append(f"there are {count} nodes {label} of {project!r}, which is no project: it has no head")
            elif project == self.project and row["named"] < count:
                nameless = count - row["named"]
                found.append(f"there are {nameless} nodes {label} of the project without what they are known by")
            elif project == self.project and label == "Event":
                await self.fold.follow(self._read)
                if count > self.fold.scratch.head.seq:
                    found.append(f"there are {count} events, the last position is {self.fold.scratch.head.seq}")
        return found

    async def schema(self) -> list[str]:
        """Constraints and indexes that are missing or not as they are declared, those of the project's vectors too."""
        driver, database = self._store.driver, self._store.database
        missing = sorted(await schema.absent(driver, database))
        rows = await self._read("representations_indexes", project=self.project)
        lost = await schema.absent_vectors(driver, database, [row["indexed_by"] for row in rows]) if rows else []
        return [
            *(f"{name} is missing from the schema, or not as it is declared" for name in missing),
            *(f"{name} is missing, the index of the project's vectors" for name in lost),
        ]

    async def _pages(self, name: str, known_by: Callable[[Row], T]) -> AsyncIterator[list[T]]:
        after: Row = {"key": "", "generation": 0}
        while True:
            place = {"after_key": after["key"]}
            if name == "audit_node_ids":
                place["after_generation"] = after["generation"]
            rows = await self._read(name, project=self.project, first=PAGE, **place)
            if rows:
                yield list(dict.fromkeys(known_by(row) for row in rows))
            if len(rows) < PAGE:
                return
            after = rows[-1]


async def _leave(_run: Run, _found: object) -> None:
    """Mend nothing."""


async def differences(audit: Audit, seqs: Sequence[int] = ()) -> AsyncIterator[str]:
    """All that is wrong with what is stored of a project whose journal is whole.

    Args:
        audit: Its fold has followed the journal.
        seqs: Positions of events whose ties seemed wrong when they were folded.
    """
    audit.fold.scratch.forget_seen()
    for wrong in await audit.head():
        for sentence in wrong.sentences:
            yield sentence
    for sentence in (*await audit.schema(), *await audit.census()):
        yield sentence
    for things in (audit.events(_leave, seqs), audit.evidence(_leave), audit.nodes(_leave)):
        async for wrong in things:
            for sentence in wrong.sentences:
                yield sentence


async def follow(store: Store, fold: Fold, progress: Callable[[int], None] = lambda _done: None) -> None:
    """Fold a project's journal to its end; where it seems broken, that is made sure of while writers wait."""
    await fold.follow(reading(store), progress=progress)
    if fold.broken is not None and await store.read("audit_project", project=fold.project):
        fold.reconsider()
        await store.hold(fold.project, fold.follow)


async def verify(store: Store, project: str, saved_seq: int | None, saved_hash: str | None) -> Row:
    """Check the hash chain, the head, a saved head, and all that is stored of the project.

    Returns:
        ok, events (the position that the answer is about), first_broken, projection_matches and differences (at most
        100 sentences).
    """
    doubtful: list[int] = []
    fold = Fold(project, lambda seq: doubtful.append(seq) if len(doubtful) < DIFFERENCES_MAX else None)
    try:
        return await _verified(store, fold, doubtful, saved_seq, saved_hash)
    finally:
        fold.close()


async def _verified(
    store: Store, fold: Fold, doubtful: list[int], saved_seq: int | None, saved_hash: str | None
) -> Row:
    audit = Audit(store, fold)
    await follow(store, fold)
    if fold.broken is None:
        await audit.head()
    if saved_seq is not None:
        await _against_saved(store, fold, saved_seq, saved_hash)
    found: list[str] = []
    if fold.broken is None:
        async for sentence in differences(audit, doubtful):
            found.append(sentence)
            if len(found) == DIFFERENCES_MAX:
                break
    return {
        "ok": fold.broken is None and not found,
        "events": fold.scratch.head.seq,
        "first_broken": fold.broken,
        "projection_matches": fold.broken is None and not found,
        "differences": [*fold.why, *found][:DIFFERENCES_MAX],
    }


async def _against_saved(store: Store, fold: Fold, saved_seq: int, saved_hash: str | None) -> None:
    rows = await store.read("audit_events", project=fold.project, after=saved_seq - 1, until=saved_seq, first=1)
    if not rows:
        fold.break_at(saved_seq, [f"event {saved_seq}, which the saved head names, is gone"])
    elif rows[0]["properties"].get("hash") != saved_hash:
        fold.break_at(saved_seq, [f"event {saved_seq} is not the one that the saved head names"])


async def known(store: Store, project: str) -> bool:
    """Whether anything is stored of a project, be it without a head."""
    if await store.read("audit_project", project=project):
        return True
    if await store.read("audit_events", project=project, after=0, until=ALWAYS, first=1):
        return True
    return any(row["project"] == project for row in await reading(store)("audit_census", projects=store.projects))
