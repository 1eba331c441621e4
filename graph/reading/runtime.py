"""The loop itself: what an agent calls with a goal and a budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from graph.context import Block, assemble
from graph.errors import KnowledgeError
from graph.knowledge import Actor
from graph.reading import insight
from graph.reading.insight import Insight
from graph.reading.linking import LINKERS, Linker, linked
from graph.reading.loading import Loaded, loaded
from graph.reading.planning import Reading, Report, planned
from graph.reading.provider import Provider
from graph.reading.reducing import Reduced, reduced
from graph.service import Service

_LOG = logging.getLogger("whence.reading")


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read.

    Attributes:
        block: For a prompt: never over the budget, with what was left out and why.
        reports: On each provider, in their order.
        nodes: How many pieces were loaded.
        edges: How many links there were between them.
        insight: What the reading left behind; None where the database did not take it.
        refusal: Why it did not; None where it did.
    """

    block: Block
    reports: Sequence[Report]
    nodes: int
    edges: int
    insight: Insight | None
    refusal: KnowledgeError | None


class Runtime:
    """Reads for goals.

    Args:
        service: Holds the projects, and takes the insights.
        providers: Who is asked, at most 8, each with a name of its own.
        actor: Who reads.
        linkers: What connects pieces.
    """

    def __init__(
        self, service: Service, providers: Sequence[Provider], actor: Actor, linkers: Sequence[Linker] = LINKERS
    ) -> None:
        self._service = service
        self._providers = providers
        self._actor = actor
        self._linkers = linkers

    async def read(self, reading: Reading) -> Answer:
        """The best block for a goal of what all providers give in time, in the same bytes for the same pieces.

        A provider that fails or is too slow takes nothing from the others; the reports say so. Behind their deadline
        comes the time of one append, which is at most 30 s where the database hangs.

        Raises:
            LimitError: more than 8 providers, or a budget that is larger than that of any reader.
            ValidationError: a field of the reading or the name of a provider that is not of its form.
        """
        plan = planned(reading, self._providers)
        results = await loaded(plan, reading.seconds)
        # Folding and counting take milliseconds a piece, in which others are to have their turn.
        left, block, edges = await asyncio.to_thread(compiled, reading, results, self._linkers)
        nodes = sum(len(result.pieces) for result in results)
        offered = {id(item): one for item, one in zip(left.found.items, left.offered, strict=True)}
        used = [offered[id(item)] for item, _ in block.items]
        left_behind, refusal = None, None
        try:
            left_behind = await insight.record(self._service, reading, used, nodes, edges, self._actor)
        except KnowledgeError as error:
            _LOG.warning("the insight of a reading was not taken: %s", error)
            refusal = error
        return Answer(block, plan.reports, nodes, edges, left_behind, refusal)


def compiled(reading: Reading, results: Sequence[Loaded], linkers: Sequence[Linker]) -> tuple[Reduced, Block, int]:
    """What providers gave as a block, what was offered to it, and how many links there are; nothing is asked."""
    links = linked([piece for result in results for piece in result.pieces], linkers)
    left = reduced(results, links)
    return left, assemble(reading.project, left.found, reading.budget, reading.form), len(links)
