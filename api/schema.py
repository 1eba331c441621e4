"""The queries of the contract, and the schema that they make with the mutations.

Queries read through the service and wrap its maps.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.schema.config import StrawberryConfig

from api.execution import Checked, Parsed, Planned, Plans, ServedSchema
from api.fields import SCALARS, DateTime, Direction, Info, described, field
from api.ids import checked_first, place_after
from api.inputs import (
    KnowledgeFilter,
    checked_hash,
    chosen,
    duration_text,
    filter_of,
    given,
    tense_of,
)
from api.live import Subscription
from api.loaders import bare
from api.mutations import Mutation
from api.records import JournalCheck, JournalHead
from api.retrieved import Retrieving
from api.types import (
    Edge,
    Evidence,
    Impact,
    Knowledge,
    KnowledgeConnection,
    KnowledgeEvent,
    KnowledgeEventConnection,
    Node,
    Provenance,
    Risk,
    node_of_id,
    read_impact,
)
from graph.errors import ValidationError
from graph.knowledge import Relation, checked_key


@described
class Query(Retrieving):
    """What can be asked."""

    @field
    async def node(self, info: Info, id: strawberry.ID) -> Node | None:  # noqa: A002  the contract's name
        """Anything by its global id."""
        return await node_of_id(info, id)

    @field
    async def projects(self, info: Info) -> list[str]:
        """The names of all projects, sorted."""
        return await info.context.service.projects()

    @field
    async def aging_time(self, info: Info, project: str) -> str:
        """How long after it was last verified a live node of the project counts as stale, as ISO 8601."""
        return duration_text(await info.context.service.aging.of(checked_key(project, "project")))

    @field
    async def unredacted_kinds(self, info: Info, project: str) -> list[str]:
        """Kinds of personal data that stay in what is written to the project; secrets never do."""
        return sorted((await info.context.service.policies.of(checked_key(project, "project"))).kept)

    @field
    async def concept_types(self, info: Info, project: str) -> list[str]:
        """The types that concepts of the project may have."""
        return list((await info.context.service.policies.of(checked_key(project, "project"))).types)

    @field
    async def knowledge(
        self,
        info: Info,
        project: str,
        key: str,
        generation: int | None = UNSET,
        as_of: DateTime | None = UNSET,
    ) -> Knowledge | None:
        """The current generation of the key, or the one asked for.

        With `asOf`, as the journal had it at that instant.
        """
        if isinstance(generation, int) and generation < 1:
            raise ValidationError("generations count from 1", field="generation", allowed="1, 2, 3 …")
        tense, evidence = tense_of(as_of), info.asks("evidence")
        row = await info.context.service.knowledge(
            checked_key(project, "project"), key, given(generation), tense.instant, evidence=evidence
        )
        return None if row is None else Knowledge.of(bare(row, evidence=evidence), tense)

    @field
    async def knowledge_list(
        self,
        info: Info,
        project: str,
        filter: KnowledgeFilter | None = UNSET,  # noqa: A002  the contract's name
        first: int | None = 50,
        after: str | None = UNSET,
    ) -> KnowledgeConnection:
        """The nodes that the filter lets through, by key and generation; forgotten ones are left out."""
        within = ("knowledgeList", checked_key(project, "project"))
        place = place_after(after, within, str, int)
        evidence = info.asks("edges", "node", "evidence")
        page = await info.context.service.page(
            project,
            filter_of(filter),
            checked_first(first, 50),
            (place[0], place[1]) if place else None,
            evidence=evidence,
        )
        rows = [bare(row, evidence=evidence) for row in page.items]
        return KnowledgeConnection.of(rows, within, more=page.has_next, before=place is not None)

    @field
    async def provenance(
        self,
        info: Info,
        project: str,
        key: str,
        direction: Direction | None = Direction.UPSTREAM,
        relations: list[Relation] | None = UNSET,
        depth: int | None = 6,
        max_nodes: int | None = 1000,
        as_of: DateTime | None = UNSET,
    ) -> Provenance:
        """What a node came from or rests on, or what came from it."""
        tense = tense_of(as_of)
        below = (("evidence",), ("root", "evidence"), ("nodes", "evidence"))
        ends = (("edges", "from", "evidence"), ("edges", "to", "evidence"))
        evidence = any(info.asks(*path) for path in (*below, *ends))
        row = await info.context.service.provenance(
            checked_key(project, "project"),
            key,
            direction=(direction or Direction.UPSTREAM).value,
            relations=chosen(relations),
            depth=6 if depth is None else depth,
            max_nodes=1000 if max_nodes is None else max_nodes,
            as_of=tense.instant,
            evidence=evidence,
        )
        for node in (row["root"], *row["nodes"]):
            bare(node, evidence=evidence)
        return Provenance.of(row, tense.instant)

    @field
    async def impact(self, info: Info, project: str, key: str) -> Impact:
        """What would be put at risk if the node were retired now; changes nothing."""
        checked_key(project, "project")
        asked = info.pages("nodes")
        first, after = asked[0] if asked else (1, UNSET)
        page = await read_impact(
            info,
            project,
            key,
            first if isinstance(first, int) else 100,
            after if isinstance(after, str) else None,
        )
        return Impact(project=project, key=key, read=page, count=page.row["count"])

    @field
    async def why_at_risk(self, info: Info, project: str, key: str) -> list[Risk]:
        """The retirements that put the node at risk, each with a shortest chain to it."""
        rows = await info.context.service.why_at_risk(checked_key(project, "project"), key)
        return [
            Risk(
                retired=Knowledge.of(row["retired"]),
                event=KnowledgeEvent.of(row["event"]),
                path=[Knowledge.of(node) for node in row["path"]],
            )
            for row in rows
        ]

    @field
    async def journal(
        self,
        info: Info,
        project: str,
        after_seq: int | None = 0,
        first: int | None = 100,
        after: Annotated[
            str | None, strawberry.argument(description="A cursor of this list, in place of `afterSeq`.")
        ] = UNSET,
    ) -> KnowledgeEventConnection:
        """The project's events behind a position, oldest first."""
        within = ("journal", checked_key(project, "project"))
        place = place_after(after, within, int)
        seq = place[0] if place else after_seq or 0
        page = await info.context.service.journal(project, seq, checked_first(first, 100))
        return KnowledgeEventConnection.of(page.items, within, more=page.has_next, before=seq > 0)

    @field
    async def journal_head(self, info: Info, project: str) -> JournalHead | None:
        """The newest event's position and hash; null for a project without events."""
        head = await info.context.service.head(checked_key(project, "project"))
        return None if head is None else JournalHead(seq=head.seq, hash=head.hash)

    @field
    async def verify_journal(
        self, info: Info, project: str, saved_seq: int | None = UNSET, saved_hash: str | None = UNSET
    ) -> JournalCheck:
        """With a head kept from before, a cut or rewritten journal shows too."""
        if isinstance(saved_seq, int) and saved_seq < 0:
            raise ValidationError("a position is not negative", field="savedSeq", allowed="0 or more")
        row = await info.context.service.verify(
            checked_key(project, "project"), given(saved_seq), checked_hash(saved_hash)
        )
        return JournalCheck(
            ok=row["ok"],
            events=row["events"],
            first_broken=row["first_broken"],
            projection_matches=row["projection_matches"],
            differences=row["differences"],
        )


def build_schema(plans: Plans | None = None) -> ServedSchema:
    """The schema, as often as one is wanted.

    Args:
        plans: Where the plans of its queries are kept; without it no plans are made, and the executor answers all.
    """
    planned = [] if plans is None else [lambda: Planned(plans)]
    return ServedSchema(
        Query,
        Mutation,
        Subscription,
        types=[Edge, Evidence, KnowledgeEvent],
        extensions=[Parsed, Checked, *planned],
        config=StrawberryConfig(scalar_map=SCALARS, info_class=Info, disable_field_suggestions=True),
    )


if __name__ == "__main__":
    Path(__file__).with_suffix(".graphql").write_text(build_schema().as_str() + "\n", "utf-8")
