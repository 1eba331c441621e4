"""The part of a graph on which it depends what is at risk, as the statements of risk bring it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from graph.knowledge import NodeId
from graph.rows import Row, id_of


@dataclass(frozen=True, slots=True)
class RiskGraph:
    """Nodes, and what they rest on.

    Attributes:
        verified: For live nodes, the position at which evidence confirmed them last.
        retired: For retired ones, the position at which they were retired.
        dependencies: What live nodes rest on.
    """

    verified: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    retired: dict[NodeId, int] = field(default_factory=dict[NodeId, int])
    dependencies: dict[NodeId, list[NodeId]] = field(default_factory=dict[NodeId, list[NodeId]])

    @classmethod
    def of(cls, rows: Sequence[Row]) -> RiskGraph:
        """The graph of a statement's rows."""
        graph = cls()
        for row in rows:
            if row["retired_seq"] is None:
                graph.verified[id_of(row)] = row["verified_seq"]
                graph.dependencies[id_of(row)] = [(key, generation) for key, generation in row["rests_on"]]
            else:
                graph.retired[id_of(row)] = row["retired_seq"]
        return graph

    def dependents(self) -> dict[NodeId, list[NodeId]]:
        """What rests on each node."""
        found: dict[NodeId, list[NodeId]] = {}
        for node, targets in self.dependencies.items():
            for target in targets:
                found.setdefault(target, []).append(node)
        return found

    def threats(self) -> Iterable[tuple[NodeId, int]]:
        """Live nodes that rest on a retired one, each with the position of that retirement."""
        for node, targets in self.dependencies.items():
            for target in targets:
                if target in self.retired:
                    yield node, self.retired[target]
