"""What rests on what in one project, in memory, and the marks that events leave on it (rules.md section 5).

An import changes marks many times over; here that is a walk over lists of numbers, and the database hears only how it
ended. ``risk.marks`` is the rule that the marks here agree with after every event.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from graph import risk
from graph.journal import Event
from graph.knowledge import Node, NodeId
from graph.slices import Slice


class Dependence:
    """The live dependence edges of a project, and for each node at their ends what decides its mark.

    A node that has no such edge is never at risk and is not held.

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
        self._rests_on: list[list[int]] = []
        self._dependents: list[list[int]] = []
        self._changed: set[int] = set()

    def hold(
        self, node_id: NodeId, verified_seq: int | None, retired_seq: int | None, risk_seq: int | None = None
    ) -> int:
        """Hold a node as it stands, unless it is held already; gives its number."""
        if (number := self._numbers.get(node_id)) is not None:
            return number
        number = self._numbers[node_id] = len(self._ids)
        self._ids.append(node_id)
        self._verified.append(verified_seq or 0)
        self._retired.append(retired_seq or 0)
        self._marks.append(risk_seq or 0)
        self._rests_on.append([])
        self._dependents.append([])
        return number

    def rest(self, source: int, target: int) -> None:
        """Hold a live edge between two held nodes, by their numbers."""
        self.edges += 1
        self._rests_on[source].append(target)
        self._dependents[target].append(source)

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
        """The marks that changed since this was asked last, 0 for none; retiring ends a mark without being told."""
        found = {self._ids[n]: self._marks[n] for n in self._changed if not self._retired[n]}
        self._changed.clear()
        return found

    def _retire(self, node_id: NodeId, seq: int) -> int:
        node = self._numbers.get(node_id)
        if node is None:
            return 0
        self._retired[node], self._marks[node] = seq, 0
        return self._spread(self._dependents[node], seq)

    def _link(self, here: Slice, source_id: NodeId, seq: int) -> int:
        newly = 0
        for edge in here.turned(source_id, seq):
            if edge.relation.carries_dependence:
                source, target = self._held(here.nodes[source_id]), self._held(here.nodes[edge.target])
                self.rest(source, target)
                newly += self._spread([source], self._retired[target] or self._marks[target])
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
            self._lift(number, self._marks[number])

    def _held(self, node: Node) -> int:
        return self.hold(node.id, node.verified_seq, node.retired_seq)

    def _spread(self, starts: Iterable[int], seq: int) -> int:
        """Mark nodes, and what rests on them, as at risk of the retirement at ``seq``; how many had no mark before."""
        newly, waiting = 0, list(starts)
        while waiting:
            node = waiting.pop()
            if self._retired[node] or self._verified[node] >= seq or self._marks[node] >= seq:
                continue
            newly += not self._marks[node]
            self._mark(node, seq)
            waiting += self._dependents[node]
        return newly

    def _mark(self, node: int, seq: int) -> None:
        self._marks[node] = seq
        self._changed.add(node)

    def _lift(self, start: int, seq: int) -> None:
        """Take back the marks that may hang on one node's, and set what is left for each: the newest threat first."""
        lifted, waiting = [start], [start]
        self._mark(start, 0)
        while waiting:
            for node in self._dependents[waiting.pop()]:
                if self._marks[node] == seq and not self._retired[node]:
                    self._mark(node, 0)
                    lifted.append(node)
                    waiting.append(node)
        threats = [(-seq, node) for node in lifted if (seq := self._threat(node)) > self._verified[node]]
        heapify(threats)
        while threats:
            falling, node = heappop(threats)
            if not self._marks[node] and self._verified[node] < -falling:
                self._mark(node, -falling)
                for dependent in self._dependents[node]:
                    if not self._retired[dependent]:
                        heappush(threats, (falling, dependent))

    def _threat(self, node: int) -> int:
        return max((self._retired[t] or self._marks[t] for t in self._rests_on[node]), default=0)
