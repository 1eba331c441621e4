"""Search and context blocks: their output types, and the fields that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import strawberry
from strawberry import UNSET

from api.fields import DateTime, Info, described, field
from api.inputs import KnowledgeFilter, filter_of, instant
from api.loaders import NOW, Tense
from api.records import Actor
from api.types import Knowledge
from graph import context, strict_json, tokens
from graph.context import Block, Format
from graph.errors import ValidationError
from graph.filters import Filter
from graph.knowledge import checked_instant
from graph.retrieval import Asked, Item, Retrieval, question
from graph.scope import Scope

BUDGET = 1_200  # tokens where nobody says
BLOCK_MEDIA: Mapping[Format, str] = {
    Format.PROMPT: "text/plain",
    Format.MARKDOWN: "text/markdown",
    Format.JSON: "application/json",
    Format.XML: "application/xml",
}
_FIELDS: Mapping[str, type] = {
    "project": str,
    "goal": str,
    "budget": int,
    "format": str,
    "asOf": str,
    "validAt": str,
    "includeRetired": bool,
}
_TYPES: Mapping[type, str] = {str: "text", int: "number", bool: "true or false"}

strawberry.enum(Format, name="ContextFormat", description="How a context block is written.")


@described
class ContextItem:
    """A node that answers, and how well; comparable within one answer."""

    knowledge: Knowledge
    score: float
    tier: str = strawberry.field(description="LEXICAL or SEMANTIC.")
    tokens: int
    cautions: list[str] = strawberry.field(description="What to bear in mind, with the keys that it is because of.")
    via: str | None = strawberry.field(
        description="The link by which it came in, as a relation or `evidence` and a key; null for a match by itself."
    )

    @classmethod
    def of(cls, item: Item, size: int, tense: Tense) -> ContextItem:
        """The face of a found item that takes so many tokens."""
        via = None if item.via is None else " ".join(item.via)
        node = Knowledge.of(item.node, tense)
        return cls(knowledge=node, score=item.score, tier=item.tier, tokens=size, cautions=list(item.cautions), via=via)


@described
class Omission:
    """A match that was left out."""

    key: str
    reason: str


@described
class Authorization:
    """Why a caller was given an answer."""

    allowed: bool = strawberry.field(description="False where the caller may see no such project.")
    actor: Actor
    project: str
    rule: str = strawberry.field(description="By what the caller is known, and its role in the project.")

    @classmethod
    def of(cls, scope: Scope, project: str) -> Authorization:
        """The decision about a caller who reads a project."""
        actor, role = scope.actor, scope.role(project)
        return cls(
            allowed=role is not None,
            actor=Actor(issuer=actor.issuer, subject=actor.subject, type=actor.type),
            project=project,
            rule=scope.rule(project),
        )


@described
class ContextBlock:
    """What of a project's knowledge serves a goal and fits a budget."""

    block: strawberry.Private[Block]
    tense: strawberry.Private[Tense]
    text: str = strawberry.field(description="The block itself, for a prompt: at most `budget` tokens.")
    tokens: int
    budget: int
    omitted: int = strawberry.field(description="Matches that were left out, and why.")
    tokenizer: str
    embedder: str | None = strawberry.field(
        description="The model behind the semantic tier; null where words alone answered."
    )
    at_seq: int = strawberry.field(description="The journal position that the answer reflects.")
    authorization: Authorization

    @field
    def items(self) -> list[ContextItem]:
        """What is in the block, in its order."""
        return [ContextItem.of(item, size, self.tense) for item, size in self.block.items]

    @field
    def omissions(self) -> list[Omission]:
        """The first hundred of what was left out."""
        return [Omission(key=key, reason=reason) for key, reason in self.block.omissions]


@described
class Retrieving:
    """What is asked by what it is about."""

    @field
    async def search(
        self,
        info: Info,
        project: str,
        text: str,
        first: int | None = 20,
        filter: KnowledgeFilter | None = UNSET,  # noqa: A002  the contract's name
        as_of: DateTime | None = UNSET,
        include_retired: bool | None = False,  # noqa: FBT001, FBT002  the contract's form
    ) -> list[ContextItem]:
        """What answers a text, best first; forgotten nodes never, retired ones only where they are asked for."""
        asked = await question(
            info.context.service,
            project,
            text,
            filter_of(filter),
            instant(as_of),
            include_retired=bool(include_retired),
        )
        found = await info.context.retrieval.search(asked, 20 if first is None else first)
        tense = _tense(asked)
        return [ContextItem.of(item, tokens.count(item.node["proposition"]), tense) for item in found.items]

    @field
    async def context(
        self,
        info: Info,
        project: str,
        goal: str,
        budget: int | None = BUDGET,
        format: Format | None = Format.PROMPT,  # noqa: A002  the contract's name
        as_of: DateTime | None = UNSET,
        valid_at: DateTime | None = UNSET,
        include_retired: bool | None = False,  # noqa: FBT001, FBT002  the contract's form
    ) -> ContextBlock:
        """What serves a goal and fits; `budget` in tokens of the tokenizer that the answer names."""
        asked = await question(
            info.context.service,
            project,
            goal,
            Filter(valid_at=instant(valid_at)),
            instant(as_of),
            include_retired=bool(include_retired),
        )
        room = BUDGET if budget is None else budget
        block = await context.block(info.context.retrieval, asked, room, format or Format.PROMPT)
        return ContextBlock(
            block=block,
            tense=_tense(asked),
            text=block.text,
            tokens=block.tokens,
            budget=room,
            omitted=block.omitted,
            tokenizer=tokens.TOKENIZER,
            embedder=block.embedder,
            at_seq=block.seq,
            authorization=Authorization.of(info.context.scope, project),
        )


def _tense(asked: Asked) -> Tense:
    """When the answer to a question is about."""
    return NOW if asked.at is None else Tense(moment=asked.at)


async def asked_block(retrieval: Retrieval, body: bytes) -> tuple[Block, Format, str]:
    """The block that a JSON body asks for, by the names of the field ``context``, how it is written, and its project.

    Raises:
        KnowledgeError: as the field.
        ValidationError: no JSON object, a name that is none of them, or a value of another type.
    """
    try:
        fields = strict_json.loads(body.decode())
    except (ValueError, RecursionError):
        raise ValidationError("the body is no JSON", field="body", allowed="one JSON object") from None
    if not isinstance(fields, dict):
        raise ValidationError("the body is no JSON object", field="body", allowed="one JSON object")
    asked = cast("dict[str, Any]", fields)
    for name, value in asked.items():
        if (
            name not in _FIELDS
            or not isinstance(value, _FIELDS[name])
            or isinstance(value, bool) != (_FIELDS[name] is bool)
        ):
            allowed = ", ".join(f"{each} ({_TYPES[of]})" for each, of in _FIELDS.items())
            raise ValidationError(
                f"{name[:200]} is none of the fields, or of another type", field="body", allowed=allowed
            )
    form = asked.get("format", "PROMPT").upper()
    if form not in Format.__members__:
        raise ValidationError("there is no such format", field="format", allowed=", ".join(Format))
    moments = {n: None if n not in asked else checked_instant(asked[n], n) for n in ("asOf", "validAt")}
    project = asked.get("project", "default")
    wanted = await question(
        retrieval.service,
        project,
        asked.get("goal", ""),
        Filter(valid_at=moments["validAt"]),
        moments["asOf"],
        include_retired=asked.get("includeRetired", False),
    )
    block = await context.block(retrieval, wanted, asked.get("budget", BUDGET), Format(form))
    return block, Format(form), project
