"""Which nodes a list shows, and by which index it finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from graph.knowledge import Kind, NodeId, State, instant_text
from graph.rows import Row


@dataclass(frozen=True, slots=True)
class Filter:
    """Which nodes a list shows; None filters nothing. Forgotten nodes are never shown."""

    states: tuple[State, ...] | None = None
    kinds: tuple[Kind, ...] | None = None
    at_risk: bool | None = None
    stale: bool | None = None
    updated_after: datetime | None = None
    valid_at: datetime | None = None
    key_prefix: str | None = None

    @property
    def statement(self) -> str:
        """The statement that enters by the index that leaves most out; what else is asked for it looks at."""
        if self.states is not None:
            return "knowledge_page_of_states"
        return "knowledge_page" if self.kinds is None else "knowledge_page_of_kinds"

    def page(self, project: str, first: int, after: NodeId | None, limit: datetime) -> Row:
        """What any of the statements takes for up to ``first`` nodes behind the node ``after``.

        What was verified last before ``limit`` is stale.
        """
        prefix = self.key_prefix or ""
        key, generation = after if after is not None else (prefix, 0)
        return {
            "project": project,
            "prefix": prefix,
            "key": key,
            "generation": generation,
            "first": first,
            "filters": self._filters(limit),
        }

    def lets_through(self, node: Row) -> bool:
        """Whether a node's map is of one that the filter lets through."""
        return all(
            (
                self.states is None or node["state"] in self.states,
                self.kinds is None or node["kind"] in self.kinds,
                self.at_risk is None or node["at_risk"] == self.at_risk,
                self.stale is None or node["stale"] == self.stale,
                self.updated_after is None or datetime.fromisoformat(node["updated_at"]) > self.updated_after,
                self.valid_at is None or _valid(node, self.valid_at),
                self.key_prefix is None or node["key"].startswith(self.key_prefix),
            )
        )

    def _filters(self, limit: datetime) -> Row:
        return {
            "states": _values(self.states),
            "kinds": _values(self.kinds),
            "at_risk": self.at_risk,
            "stale": self.stale,
            "aged": instant_text(limit),
            "updated_after": None if self.updated_after is None else instant_text(self.updated_after),
            "valid_at": None if self.valid_at is None else instant_text(self.valid_at),
        }


def _valid(node: Row, at: datetime) -> bool:
    """Whether a claim was true of the world at an instant; intervals are half open (rules.md section 3)."""
    ends = node["valid_to"]
    return datetime.fromisoformat(node["valid_from"]) <= at and (ends is None or at < datetime.fromisoformat(ends))


def _values(wanted: Sequence[State] | Sequence[Kind] | None) -> list[str] | None:
    return None if wanted is None else sorted({one.value for one in wanted})
