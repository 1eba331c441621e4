"""What rests on what in one project, in memory, and the marks that events leave on it (rules.md section 5).

An import changes marks many times over; here that is a walk over lists of numbers, and the database hears only how it
ended. ``risk.marks`` is the rule that the marks here agree with after every event.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from graph import risk
from graph.journal import Event
from graph.knowledge import Node, NodeId
from graph.slices import Slice


class Dependence:
    """The live dependence edges of a project, and for each node at their ends what decides its mark.

    A node that has no such edge is never at risk and is not held. A marked node knows over which other the mark came to
    it, so that only what hangs on a mark is looked at when that mark goes.

    Attributes:
        edges: How many there are.
    """

    def __init__(self) -> None:
        self.edges = 0
        self._numbers: dict[NodeId, int] = {}
        self._ids: list[NodeId] = []
        self._verified: list[int] = []
        self._retired: list[int] = []
        self._marks: list[int] = []
        self._told: list[int] = []
        self._over: list[int] = []
        self._rests_on: list[list[int]] = []
        self._dependents: list[list[int]] = []
        self._changed: set[int] = set()

    def follow(self, here: Slice, event: Event) -> int:
        """Bring the marks to where an event leaves them.

        Args:
            here: The slice in which the event was folded just now.
            event: The next event of the project's journal.

        Returns:
            How many nodes it newly marked.
        """
        change = risk.change(event)
        if change.retired is not None:
            return self._retire(change.retired, event.seq)
        if change.linked:
            return self._link(here, change.linked[0][0], event.seq)
        if change.cleared is not None:
            self._clear(here, here.nodes[change.cleared], event.seq)
        return 0

    def changed(self) -> dict[NodeId, int]:
        """The marks that differ from when this was asked last, 0 for none; retiring ends a mark without being told."""
        found = [n for n in self._changed if self._marks[n] != self._told[n] and not self._retired[n]]
        self._changed.clear()
        for node in found:
            self._told[node] = self._marks[node]
        return {self._ids[n]: self._marks[n] for n in found}

    def _retire(self, node_id: NodeId, seq: int) -> int:
        node = self._numbers.get(node_id)
        if node is None:
            return 0
        self._retired[node], self._marks[node] = seq, 0
        return self._spread(node, self._dependents[node], seq)

    def _link(self, here: Slice, source_id: NodeId, seq: int) -> int:
        newly = 0
        for edge in here.turned(source_id, seq):
            if edge.relation.carries_dependence:
                source, target = self._number(here.nodes[source_id]), self._number(here.nodes[edge.target])
                self.edges += 1
                self._rests_on[source].append(target)
                self._dependents[target].append(source)
                newly += self._spread(target, [source], self._retired[target] or self._marks[target])
        return newly

    def _clear(self, here: Slice, node: Node, seq: int) -> None:
        number = self._numbers.get(node.id)
        if number is None:
            return
        self._verified[number] = node.verified_seq or 0
        for edge in here.turned(node.id, seq):
            target = self._numbers[edge.target]
            self._rests_on[number].remove(target)
            self._dependents[target].remove(number)
            self.edges -= 1
        if self._marks[number]:
            self._lift(number)

    def _number(self, node: Node) -> int:
        """The number of a node, which is held from now on if it was not before: then it has no mark yet."""
        if (number := self._numbers.get(node.id)) is not None:
            return number
        number = self._numbers[node.id] = len(self._ids)
        self._ids.append(node.id)
        self._verified.append(node.verified_seq or 0)
        self._retired.append(node.retired_seq or 0)
        self._marks.append(0)
        self._told.append(0)
        self._over.append(number)
        self._rests_on.append([])
        self._dependents.append([])
        return number

    def _spread(self, over: int, nodes: Sequence[int], seq: int) -> int:
        """Mark nodes, and what rests on them, as at risk of the retirement at ``seq``; how many had no mark before."""
        retired, verified, marks, came_over = self._retired, self._verified, self._marks, self._over
        newly, waiting = 0, [(over, nodes)]
        while waiting:
            over, nodes = waiting.pop()
            for node in nodes:
                if marks[node] < seq and verified[node] < seq and not retired[node]:
                    newly += not marks[node]
                    marks[node], came_over[node] = (
                        seq,
                        over,
                    )  # as ``_mark`` does, which here would take most of the time
                    self._changed.add(node)
                    waiting.append((node, self._dependents[node]))
        return newly

    def _mark(self, node: int, over: int, seq: int) -> None:
        self._marks[node], self._over[node] = seq, over
        self._changed.add(node)

    def _lift(self, start: int) -> None:
        """Take back a mark and those that hang on it, and set what is left for each: the newest threat first."""
        lifted = self._hanging(start)
        waiting = [(-seq, node, over) for node in lifted for seq, over in self._threats(node)]
        heapify(waiting)
        while waiting:
            falling, node, over = heappop(waiting)
            if not self._marks[node] and self._verified[node] < -falling:
                self._mark(node, over, -falling)
                for dependent in self._dependents[node]:
                    if not self._retired[dependent] and not self._marks[dependent]:
                        heappush(waiting, (falling, dependent, node))

    def _hanging(self, start: int) -> list[int]:
        """A node and all whose marks came over it, their marks taken back."""
        self._mark(start, start, 0)
        found = [start]
        for node in found:
            for dependent in self._dependents[node]:
                if self._over[dependent] == node and self._marks[dependent]:
                    self._mark(dependent, dependent, 0)
                    found.append(dependent)
        return found

    def _threats(self, node: int) -> list[tuple[int, int]]:
        """The newest retirement that a node rests on, as marks stand, and the node that it comes over; if any."""
        found = max(((self._retired[t] or self._marks[t], t) for t in self._rests_on[node]), default=(0, node))
        return [found] if found[0] > self._verified[node] else []
