"""Whether a journal is whole, and whether a projection is the fold of its journal; and how to make it so again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

from graph import projection, risk
from graph.errors import NotFoundError
from graph.journal import Event, Head, first_broken
from graph.knowledge import Node, NodeId
from graph.rows import Row, edge_of, event_of, evidence_of, labels_of, node_of
from graph.scratch import Scratch
from graph.slices import Slice, needs
from graph.store import Store

FOLD_EVENTS = 1_000  # events folded at a time: one statement's worth of slice
PAGE = 1_000
DIFFERENCES_MAX = 100  # sentences in an answer; the first ones are what a person looks at
_ALWAYS = 2**53


async def events(store: Store, project: str, until: int = _ALWAYS) -> AsyncIterator[Event]:
    """A project's journal in its order, up to a position; a page in memory at a time."""

    def page(last: Row | None) -> dict[str, object]:
        return {"project": project, "until": until, "after": 0 if last is None else last["event"]["seq"]}

    async for row in store.stream("journal_page", page, PAGE):
        yield event_of(row["event"])


async def batches(source: AsyncIterator[Event], size: int = FOLD_EVENTS) -> AsyncIterator[list[Event]]:
    """The events in lists of at most ``size``."""
    batch: list[Event] = []
    async for event in source:
        batch.append(event)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


async def verify(store: Store, project: str, saved_seq: int | None, saved_hash: str | None) -> Row:
    """Check the hash chain, the head, a saved head, and every property of the projection.

    Returns:
        ok, events, first_broken, projection_matches and differences (at most 100 sentences).
    """
    scratch, differences = Scratch(project), _Differences()
    heads = await store.read("project_head", project=project)
    head = Head(heads[0]["seq"], heads[0]["hash"]) if heads else Head()
    broken = await _fold(store, project, head.seq, scratch, differences)
    last = Head(scratch.head.seq, scratch.head.hash)
    if broken is None and last != head:
        broken = last.seq + 1
        differences.add(f"the head names event {head.seq}, the journal ends with {last.seq}")
    if saved_seq is not None:
        broken = await _against_saved(store, project, saved_seq, saved_hash, broken, differences)
    chain_differences = len(differences.found)
    if broken is None:
        await _compare(store, project, scratch, differences)
    matches = broken is None and len(differences.found) == chain_differences
    scratch.close()
    return {
        "ok": broken is None and matches,
        "events": last.seq,
        "first_broken": broken,
        "projection_matches": matches,
        "differences": differences.found,
    }


async def _fold(store: Store, project: str, until: int, scratch: Scratch, differences: _Differences) -> int | None:
    head = Head()
    async for batch in batches(events(store, project, until)):
        if broken := first_broken(batch, head):
            differences.add(f"event {broken} does not follow from the one before it")
            return broken
        head = Head(batch[-1].seq, batch[-1].hash)
        here = scratch.laid_over(Slice(project), [needs(event) for event in batch])
        for event in batch:
            projection.evolve(here, event)
        scratch.save(here, ())
    return None


async def _against_saved(
    store: Store,
    project: str,
    saved_seq: int,
    saved_hash: str | None,
    broken: int | None,
    differences: _Differences,
) -> int | None:
    rows = await store.read("events_at", project=project, seqs=[saved_seq])
    if not rows:
        differences.add(f"event {saved_seq}, which the saved head names, is gone")
    elif rows[0]["event"]["hash"] != saved_hash:
        differences.add(f"event {saved_seq} is not the one that the saved head names")
    else:
        return broken
    return saved_seq if broken is None else min(broken, saved_seq)


class _Differences:
    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, sentence: str) -> None:
        if len(self.found) < DIFFERENCES_MAX:
            self.found.append(sentence)


async def _compare(store: Store, project: str, scratch: Scratch, differences: _Differences) -> None:
    seen = {
        "nodes": await _compare_nodes(store, project, scratch, differences),
        "edges": await _compare_edges(store, project, scratch, differences),
        "evidence": await _compare_evidence(store, project, scratch, differences),
    }
    for name, count in scratch.counts().items():
        if seen.get(name, count) != count:
            differences.add(f"there are {seen[name]} {name}, the journal makes {count}")


def _behind(project: str, node: Row | None) -> dict[str, object]:
    key, generation = ("", 0) if node is None else (node["key"], node["generation"])
    return {"project": project, "seq": _ALWAYS, "after_key": key, "after_generation": generation}


async def _compare_nodes(store: Store, project: str, scratch: Scratch, differences: _Differences) -> int:
    marks, seen = risk.marks(scratch.verified(), scratch.resting(), scratch.threats()), 0

    def page(last: Row | None) -> dict[str, object]:
        return _behind(project, None if last is None else last["node"])

    async for row in store.stream("export_nodes", page, PAGE):
        seen += 1
        for sentence in _node_differences(row["node"], scratch, marks):
            differences.add(sentence)
    return seen


async def _compare_edges(store: Store, project: str, scratch: Scratch, differences: _Differences) -> int:
    seen = 0
    async for row in store.stream("export_edges", lambda last: _behind(project, last) | {"ended": True}, PAGE):
        for raw in row["edges"]:
            seen += 1
            edge = edge_of(raw)
            if scratch.edge(edge.id) != edge:
                differences.add(f"the edge {_said(edge.source)} {edge.relation} {_said(edge.target)} differs")
    return seen


async def _compare_evidence(store: Store, project: str, scratch: Scratch, differences: _Differences) -> int:
    seen = 0

    def page(last: Row | None) -> dict[str, object]:
        return {"project": project, "after_key": "" if last is None else last["evidence"]["key"]}

    async for row in store.stream("evidence_page", page, PAGE):
        seen += 1
        evidence = evidence_of(row["evidence"])
        if scratch.evidence(evidence.key) != evidence:
            differences.add(f"the evidence {evidence.key!r} differs")
    return seen


def _node_differences(raw: Row, scratch: Scratch, marks: dict[NodeId, int]) -> Iterator[str]:
    node = node_of(raw["project"], raw)
    expected = scratch.node(node.id)
    if expected is None:
        yield f"the node {_said(node.id)} is not in the journal"
        return
    expected = replace(expected, risk_seq=marks.get(node.id))
    for name in Node.__dataclass_fields__:
        if getattr(node, name) != getattr(expected, name):
            yield f"{name} of the node {_said(node.id)} differs"
    labels = {"Knowledge", *labels_of(expected), *(["AtRisk"] if expected.risk_seq is not None else [])}
    if labels != set(raw["labels"]):
        yield f"the labels of the node {_said(node.id)} differ"
    if [record["key"] for record in raw["evidence"]] != scratch.standing_on(node.id):
        yield f"the evidence of the node {_said(node.id)} differs"


def _said(node_id: NodeId) -> str:
    key, generation = node_id
    return repr(key) if generation == 1 else f"{key!r} (generation {generation})"


async def rebuild(store: Store, project: str, progress: Callable[[int, int], None]) -> int:
    """Drop a project's projection and fold its journal again.

    Appends to the project are refused until it is whole again, also when this is interrupted: then run it again.

    Args:
        store: Where the project is.
        project: Its name.
        progress: Told how many events are folded, and of how many.

    Returns:
        The number of events folded.

    Raises:
        NotFoundError: there is no such project.
    """
    marked = await store.project_write("project_rebuilding", project=project, rebuilding=True)
    if not marked:
        raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
    for drop in ("projection_drop", "evidence_drop"):
        while (await store.project_write(drop, project=project, first=PAGE))[0]["dropped"]:
            pass
    folded, total = 0, int(marked[0]["seq"])
    async for batch in batches(events(store, project)):
        await store.replay(project, batch)
        folded += len(batch)
        progress(folded, total)
    await store.project_write("project_rebuilding", project=project, rebuilding=False)
    return folded
