"""A concept as the contract shows it, over the text that its node carries."""

from __future__ import annotations

import strawberry

from api.fields import Info, described, field
from api.loaders import Row, Tense
from graph.concept import Concept as Known
from graph.concept import concept_of
from graph.concept_file import written
from graph.knowledge import State
from graph.recording import contradictions
from graph.rows import id_of


@described
class Concept:
    """What makes a node a concept; how often it was said, and in which sessions."""

    row: strawberry.Private[Row]
    tense: strawberry.Private[Tense]
    known: strawberry.Private[Known]
    name: str
    description: str
    type: str
    body: str
    occurrences: int
    confidence: float
    sources: list[str]

    @classmethod
    def of(cls, row: Row, tense: Tense) -> Concept | None:
        """The concept of a node map that was read in ``tense``; None where the node is none."""
        if row["concept"] is None:
            return None
        known = concept_of(row["key"], row["concept"])
        return cls(
            row=row,
            tense=tense,
            known=known,
            name=known.name,
            description=known.description,
            type=known.type,
            body=known.body,
            occurrences=known.occurrences,
            confidence=known.confidence(State(row["state"])),
            sources=list(known.sources),
        )

    @field
    async def markdown(self, info: Info) -> str:
        """The concept as a markdown file with YAML frontmatter."""
        row, node_id = self.row, id_of(self.row)
        at = await self.tense.at(info.context, row["project"])
        against = await contradictions(info.context.service, row["project"], [node_id], at)
        return written(
            self.known,
            state=State(row["state"]),
            created_at=row["valid_from"],
            updated_at=row["updated_at"],
            contradictions=against[node_id],
        )
