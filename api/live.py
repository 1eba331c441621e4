"""The subscription of the contract: a project's journal as it grows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated

import strawberry
from strawberry import UNSET

from api.fields import Info, described
from api.inputs import given
from api.types import KnowledgeEvent
from graph.feed import Batch
from graph.knowledge import checked_key


class Followed(AsyncIterator[KnowledgeEvent]):
    """A project's events, one after the other.

    Attributes:
        batches: The same events as they come, many at a time, and None where nothing came for a while; who takes these
            takes them instead.
    """

    def __init__(self, batches: AsyncGenerator[Batch | None, None]) -> None:
        self.batches = batches
        self._events = self._each()

    async def __anext__(self) -> KnowledgeEvent:
        """The next event, as soon as there is one."""
        return await anext(self._events)

    async def aclose(self) -> None:
        """Follow no longer."""
        await self._events.aclose()
        await self.batches.aclose()

    async def _each(self) -> AsyncGenerator[KnowledgeEvent, None]:
        async for batch in self.batches:
            for row in batch.events if batch is not None else ():
                yield KnowledgeEvent.of(row)


@described
class Subscription:
    """What can be followed."""

    @strawberry.subscription(
        description="The project's events behind a position as they come, each once and in order, without end. "
        "Whoever comes again with the last `seq` that it saw misses nothing. "
        "A project that has no events yet is followed until it has some."
    )
    async def events(
        self,
        info: Info,
        project: str,
        after_seq: Annotated[
            int | None,
            strawberry.argument(description="The position of the last event that was seen; from now on unless given."),
        ] = UNSET,
    ) -> AsyncIterator[KnowledgeEvent]:
        """A project's events."""
        return Followed(await info.context.service.follow(checked_key(project, "project"), given(after_seq)))
