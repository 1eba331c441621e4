"""Puts what is stored of a project right where it is not the fold of its journal, and leaves the rest alone.

The journal is folded and compared while writers go on. Only where something is wrong are appends refused, from then
until it is right again: what is decided on a wrong graph would stand in the journal for ever. Reads are answered all
the time, and what was right before stays as it is. After an interruption the same call goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from graph import schema
from graph.audit import Audit, Found, differences, follow, known
from graph.errors import NotFoundError, ValidationError
from graph.fold import Fold
from graph.knowledge import Node, NodeId, instant_text
from graph.rows import Row, edge_row, evidence_row, labels_of, node_row
from graph.store import Run, Store
from graph.stored import NODE_INSTANTS, Wrong

_INSTANTS = frozenset(NODE_INSTANTS)
Progress = Callable[[str, int, int | None], None]
"""Told the phase (``folding`` events, ``comparing`` or ``mending`` things), how many are done, and of how many."""


def unwatched(_phase: str, _done: int, _total: int | None) -> None:
    """For a caller who does not watch."""


async def rebuild(store: Store, project: str, progress: Progress = unwatched) -> int:
    """Put a project's projection right: nodes, edges, evidence, marks, labels, ties of events, head and constraints.

    Args:
        store: Where the project is.
        project: Its name.
        progress: Told how far it is.

    Returns:
        The number of events folded.

    Raises:
        NotFoundError: there is no such project.
        ValidationError: its journal is broken, so there is nothing to fold; nothing was changed.
        UnavailableError: the database cannot be had, or something is wrong and there is no room to put it right.
    """
    if not await known(store, project):
        raise NotFoundError(f"there is no project {project!r}", field="project", allowed="a known project")
    heads = await store.read("project_head", project=project)
    total = int(heads[0]["seq"]) if heads else 0
    doubtful: list[int] = []
    fold = Fold(project, lambda seq: doubtful.append(seq) if not doubtful else None)
    try:
        await follow(store, fold, lambda done: progress("folding", done, max(done, total)))
        audit = Audit(store, fold)
        if fold.broken is None and heads:
            await audit.head()
        _refuse_broken(fold)
        progress("comparing", 0, None)
        if await _is_wrong(audit, doubtful):
            await _mend(store, audit, progress)
        return fold.scratch.head.seq
    finally:
        fold.close()


def _refuse_broken(fold: Fold) -> None:
    if fold.broken is not None:
        raise ValidationError(
            f"the journal is broken at event {fold.broken}: {fold.why[0]}",
            field="project",
            position=fold.broken,
            allowed="a project whose journal is whole, which verify tells",
        )


async def _is_wrong(audit: Audit, doubtful: list[int]) -> bool:
    async for _ in differences(audit, doubtful):
        return True
    return False


async def _mend(store: Store, audit: Audit, progress: Progress) -> None:
    fold, project = audit.fold, audit.project
    mending = _Mending(fold)

    async def begin(run: Run) -> None:
        await run("project_rebuilding", project=project, rebuilding=True)
        await fold.follow(run)

    store.require_room()
    await store.hold(project, begin)
    _refuse_broken(fold)
    fold.scratch.forget_seen()
    await store.project_write("repair_nameless_drop", project=project)
    mended = 0
    for things in (
        audit.evidence(mending.evidence),
        audit.nodes(mending.nodes),
        audit.nodes(mending.ties),
        audit.events(mending.events),
    ):
        async for _ in things:
            store.require_room()
            mended += 1
            progress("mending", mended, None)
    await schema.restore(store.driver, store.database)
    await store.project_write("repair_representations", project=project)
    for row in await store.read("representations_indexes", project=project):
        await schema.install_vectors(store.driver, store.database, row["indexed_by"], row["dimensions"])
    await store.hold(project, mending.head)


class _Mending:
    """Puts right, in the transaction that found it, what is wrong."""

    def __init__(self, fold: Fold) -> None:
        self._fold = fold
        self._project = fold.project

    async def evidence(self, run: Run, found: Found[str]) -> None:
        """Evidence itself, and what leads from it or to it that should not."""
        project, scratch = self._project, self._fold.scratch
        await run("repair_evidence_drop", project=project, keys=[key for key, wrong in found if wrong.dropped])
        rows: list[Row] = []
        for key, wrong in found:
            evidence = scratch.evidence(key)
            if wrong.itself and evidence is not None:
                row = evidence_row(evidence)
                plain = {name: value for name, value in row.items() if name != "timestamp"} | {"project": project}
                rows.append(row | {"plain": plain, "surplus": list(wrong.surplus)})
        await run("repair_evidence", project=project, rows=rows)
        await run("repair_evidence_strays", project=project, keys=[key for key, wrong in found if wrong.strays])

    async def nodes(self, run: Run, found: Found[NodeId]) -> None:
        """Nodes themselves: properties, labels and marks."""
        project, scratch = self._project, self._fold.scratch
        await run("repair_nodes_drop", project=project, ids=_listed(i for i, wrong in found if wrong.dropped))
        rows: list[Row] = []
        for node_id, wrong in found:
            node = scratch.node(node_id)
            if wrong.itself and node is not None:
                rows.append(_exact(replace(node, risk_seq=self._fold.marked(node_id)), wrong))
        await run("repair_nodes", project=project, rows=rows)

    async def ties(self, run: Run, found: Found[NodeId]) -> None:
        """What leads from nodes, once all nodes are there."""
        project, scratch = self._project, self._fold.scratch
        await run("repair_strays", project=project, ids=_listed(i for i, wrong in found if wrong.strays))
        dropped = [
            {"from": list(node_id), "type": kind, "label": label, "to": [key, generation]}
            for node_id, wrong in found
            for kind, label, key, generation in wrong.ties
        ]
        await run("repair_ties_drop", project=project, rows=dropped)
        edges: list[Row] = []
        stands: list[Row] = []
        for node_id, wrong in found:
            ends = {(kind, key, generation) for kind, _, key, generation in wrong.ties}
            edges += [
                edge_row(edge)
                for edge in scratch.edges_from(node_id)
                if (edge.relation.value.upper(), *edge.target) in ends
            ]
            stands += [
                {"key": node_id[0], "generation": node_id[1], "evidence": key, "seq": seq}
                for key, seq in scratch.standing_on(node_id)
                if ("EVIDENCED_BY", key, None) in ends
            ]
        await run("edges_create", project=project, rows=edges)
        await run("evidence_attach", project=project, rows=stands)

    async def events(self, run: Run, found: Found[Row]) -> None:
        """What events are about and what caused them."""
        about = [row for row, _ in found]
        await run("repair_events_untie", project=self._project, seqs=[row["seq"] for row in about])
        await run("events_attach", project=self._project, rows=about)

    async def head(self, run: Run) -> None:
        """The project's head, and with it that appends are taken again."""
        last, project = self._fold.scratch.head, self._project
        if last.recorded_at is None:
            await run("project_drop_empty", project=project)
            return
        rows = await run("audit_project", project=project)
        await run(
            "repair_project",
            project=project,
            seq=last.seq,
            hash=last.hash,
            recorded_at=instant_text(last.recorded_at),
            surplus=sorted({label for row in rows for label in row["labels"]} - {"Project"}),
        )


def _exact(node: Node, wrong: Wrong) -> Row:
    """For ``repair_nodes``."""
    row = node_row(node)
    plain = {name: value for name, value in row.items() if name not in _INSTANTS and name != "labels"}
    marked = ["AtRisk"] if node.risk_seq is not None else []
    return {name: row[name] for name in ("key", "generation", *NODE_INSTANTS)} | {
        "plain": plain | {"project": node.project, "risk_seq": node.risk_seq or 0},
        "labels": [*labels_of(node), *marked],
        "surplus": list(wrong.surplus),
    }


def _listed(ids: Iterable[NodeId]) -> list[list[object]]:
    return [[key, generation] for key, generation in ids]
