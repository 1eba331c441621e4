"""What comes of a text: its output types, and the mutation that learns from it."""

from __future__ import annotations

import strawberry
from strawberry import UNSET

from api.fields import Info, described, field
from api.inputs import EventInput, event_fields
from api.loaders import NOW, Row
from api.records import Redacted
from api.spoken import as_the_caller_wrote
from api.types import Knowledge
from graph.ingestion.pipeline import Given, Ingestion, Rejected
from graph.scope import Role


@described
class RejectedItem:
    """What was not taken."""

    proposition: str
    reason: str
    quality: float | None = strawberry.field(description="From 0 to 1; null where it was not judged.")

    @classmethod
    def of(cls, rejected: Rejected) -> RejectedItem:
        """The face of a refusal."""
        return cls(proposition=rejected.proposition, reason=rejected.reason, quality=rejected.quality)


@described
class Ingested:
    """What came of a text."""

    nodes: strawberry.Private[list[Row]]
    accepted: int = strawberry.field(description="Facts that became nodes.")
    merged: int = strawberry.field(description="Facts that were known already, of which this is another sighting.")
    rejected: list[RejectedItem]
    redacted: list[Redacted]

    @field
    def knowledge(self) -> list[Knowledge]:
        """What the accepted and the merged facts are, in the order of the text."""
        return [Knowledge.of(row, NOW) for row in self.nodes]


@described
class Ingesting:
    """What can be learned from texts."""

    @field
    async def ingest(
        self,
        info: Info,
        project: str,
        text: str,
        source: str,
        event: EventInput | None = UNSET,
        keep_raw: bool | None = False,  # noqa: FBT001, FBT002  the contract's form
    ) -> Ingested:
        """Learns what a text says.

        Each fact stands on its own words by their fingerprint; with `keepRaw` they are stored. The same call again
        changes nothing. At most fifty facts are taken.
        """
        info.context.require(Role.WRITER, project)
        info.context.renew()
        service = info.context.service
        fields = event_fields(event)
        given = Given(project, text, source, info.context.actor, fields, keep_raw=bool(keep_raw))
        with as_the_caller_wrote():
            done = await Ingestion(service, info.context.stages).ingest(given)
        rows = await service.nodes(project, done.nodes) if done.nodes else {}
        return Ingested(
            nodes=[rows[node_id] for node_id in done.nodes if node_id in rows],
            accepted=done.accepted,
            merged=done.merged,
            rejected=[RejectedItem.of(rejected) for rejected in done.rejected],
            redacted=Redacted.of(done.redacted),
        )
