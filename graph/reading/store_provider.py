"""What a project holds, as a provider: the retrieval's own answer, with all that it says of each item."""

from __future__ import annotations

from collections.abc import AsyncIterator

from graph.concept import concept_of
from graph.errors import ValidationError
from graph.knowledge import Kind, checked_instant, named
from graph.reading.provider import Basis, Omitted, Piece, Request, Stored
from graph.retrieval import Asked, Item, Retrieval
from graph.rows import Row, id_of


class StoreProvider:
    """Reads the project of a request; ``Provider`` by its form.

    Args:
        name: By which it is told from the others.
        location: None.
        retrieval: Finds what the project holds.
    """

    def __init__(self, name: str, location: str, retrieval: Retrieval) -> None:
        if location:
            raise ValidationError("the store has no location", field="location", allowed="nothing")
        self.name = name
        self._retrieval = retrieval

    def intent_match(self, goal: str) -> float:
        """Whatever the goal is, the project may know of it."""
        del goal
        return 1.0

    async def stream(self, request: Request) -> AsyncIterator[Piece | Omitted | Basis]:
        """The items that search finds, in its order."""
        found = await self._retrieval.search(Asked(request.project, request.goal), request.limit)
        yield Basis(found.seq, found.embedder)
        ids = [id_of(item.node) for item in found.items]
        evidence = await self._retrieval.service.evidence(request.project, ids) if ids else {}
        for item in found.items:
            yield _piece(item, evidence.get(id_of(item.node), []))
        yield Omitted(found.omitted, tuple(found.omissions))


def _piece(item: Item, evidence: list[Row]) -> Piece:
    node = item.node
    concept = None if node["concept"] is None else concept_of(node["key"], node["concept"])
    return Piece(
        key=node["key"],
        text=node["proposition"],
        score=item.score,
        source=f"knowledge:{named(id_of(node))}",
        source_type="knowledge",
        kind=Kind(node["kind"]),
        valid_from=checked_instant(node["valid_from"], "valid_from"),
        links=() if concept is None else concept.links,
        cautions=item.cautions,
        stored=Stored(item, evidence),
    )
