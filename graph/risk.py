"""Which live nodes rest on something retired: the reference rule of rules.md section 5.

A chain of live dependence edges from a live node N to a retired node R puts N at risk of R when nothing between them
is retired and nothing on it, N included, was confirmed with evidence after R's retirement. Of all retirements that
reach a node, the newest is the hardest to answer: a node that its newest one does not put at risk is not at risk at
all. So one number, the position of that newest retirement, is the whole mark, and one pass over the graph in falling
order of retirement finds every mark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from graph.journal import Event
from graph.knowledge import NodeId, Relation, Transition


@dataclass(frozen=True, slots=True)
class Change:
    """What an event may do to marks.

    Attributes:
        retired: The node that the event retired: what rests on it may now be at risk.
        linked: Dependence edges that the event stated, as (key of the near end, key of the far end).
        cleared: The node whose own mark, and those that rest on it, may be gone.
    """

    retired: NodeId | None = None
    linked: tuple[tuple[NodeId, str], ...] = ()
    cleared: NodeId | None = None


_RETIRING = frozenset({Transition.CORRECTED, Transition.SUPERSEDED, Transition.INVALIDATED, Transition.DISPROVED})


def change(event: Event) -> Change:
    """What the event may do to marks; most events do nothing to them."""
    node = (event.key, event.generation)
    payload = event.payload
    if event.transition in _RETIRING:
        return Change(retired=node)
    if event.transition is Transition.PROPOSED:
        ends = [r["to"] for r in payload.get("relations", ()) if Relation(r["relation"]).carries_dependence]
        return Change(linked=tuple((node, to) for to in ends))
    if event.transition is Transition.LINKED and Relation(payload["relation"]).carries_dependence:
        return Change(linked=((node, payload["to"]),))
    if event.transition is Transition.UNLINKED and Relation(payload["relation"]).carries_dependence:
        return Change(cleared=node)
    if event.transition is Transition.CONFIRMED and payload.get("evidence"):
        return Change(cleared=node)
    return Change()


def marks(
    verified: Mapping[NodeId, int],
    dependents: Mapping[NodeId, Sequence[NodeId]],
    threats: Iterable[tuple[NodeId, int]],
) -> dict[NodeId, int]:
    """The newest retirement that puts each node at risk; a node that is not at risk is left out.

    Args:
        verified: For each live node in question, the position at which evidence last confirmed it, 0 for never.
        dependents: For each of them, the live nodes that rest on it directly.
        threats: (node, position of a retirement) wherever a node rests on something outside that is retired, or
            that is itself at risk since that position.

    Returns:
        Position of the retirement by node; each edge is looked at once.
    """
    waiting = [(-seq, node) for node, seq in threats]
    heapify(waiting)
    found: dict[NodeId, int] = {}
    while waiting:
        falling, node = heappop(waiting)
        if node in found or node not in verified or verified[node] >= -falling:
            continue
        found[node] = -falling
        for dependent in dependents.get(node, ()):
            if dependent not in found:
                heappush(waiting, (falling, dependent))
    return found


def chains(
    start: NodeId,
    verified: Mapping[NodeId, int],
    retired: Mapping[NodeId, int],
    dependencies: Mapping[NodeId, Sequence[NodeId]],
) -> list[list[NodeId]]:
    """For each retired node that puts ``start`` at risk, a shortest chain from ``start`` to it.

    Args:
        start: A live node.
        verified: As in ``marks``, for every live node of the graph.
        retired: The position of its retirement for every retired node of the graph.
        dependencies: What each live node rests on directly, in a fixed order.

    Returns:
        Chains with both ends, oldest retirement first.
    """
    found: list[list[NodeId]] = []
    for root, seq in sorted(retired.items(), key=lambda item: (item[1], item[0])):
        chain = _shortest(start, root, seq, verified, dependencies)
        if chain:
            found.append(chain)
    return found


def _shortest(
    start: NodeId,
    root: NodeId,
    retired_seq: int,
    verified: Mapping[NodeId, int],
    dependencies: Mapping[NodeId, Sequence[NodeId]],
) -> list[NodeId]:
    if verified.get(start, 0) >= retired_seq:
        return []
    came_from: dict[NodeId, NodeId] = {}
    waiting, seen = deque([start]), {start}
    while waiting:
        node = waiting.popleft()
        for target in dependencies.get(node, ()):
            if target == root:
                return [*_walked_back(node, came_from, start), root]
            if target in verified and target not in seen and verified[target] < retired_seq:
                seen.add(target)
                came_from[target] = node
                waiting.append(target)
    return []


def _walked_back(node: NodeId, came_from: Mapping[NodeId, NodeId], start: NodeId) -> list[NodeId]:
    chain = [node]
    while node != start:
        node = came_from[node]
        chain.append(node)
    return chain[::-1]
