"""What GraphQL's types are made with: scalars, enums, and fields that are described by their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NewType, TypeVar, cast, dataclass_transform

import strawberry
from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLResolveInfo,
    InlineFragmentNode,
    IntValueNode,
    SelectionSetNode,
    StringValueNode,
    VariableNode,
)
from strawberry import UNSET
from strawberry.types.scalar import ScalarDefinition

from api.loaders import Context
from graph.concept import Verdict
from graph.errors import ValidationError
from graph.knowledge import (
    ActorType,
    Kind,
    Relation,
    State,
    Transition,
    checked_instant,
    instant_text,
)

_WHOLE_SECONDS, _MICROSECONDS = len("2015-07-01T12:00:00Z"), len("2015-07-01T12:00:00.123456Z")
_INSTANT_ALLOWED = "an instant in ISO 8601 with an offset, such as 2015-07-01T12:00:00Z"


DateTime = NewType("DateTime", str)
"""An instant as the text that stands in an answer: both ways it has been checked and is in UTC."""
JSON = NewType("JSON", object)


def read_instant(value: object) -> DateTime:
    """An instant as a caller wrote it, checked and in UTC; ValidationError for anything else."""
    if not isinstance(value, str):
        raise ValidationError("an instant is written as a text", allowed=_INSTANT_ALLOWED)
    return DateTime(instant_text(checked_instant(value, "the instant")))


def written_instant(text: str) -> str:
    """The one written form: the database leaves the last zeros of a fraction out, the journal does not."""
    if len(text) in (_WHOLE_SECONDS, _MICROSECONDS):
        return text
    whole, _, fraction = text.removesuffix("Z").partition(".")
    return f"{whole}.{fraction:0<6}Z"


SCALARS: Mapping[object, ScalarDefinition] = {
    DateTime: strawberry.scalar(
        name="DateTime",
        description="An instant, ISO 8601 with an offset; stored and returned in UTC.",
        serialize=written_instant,
        parse_value=read_instant,
    ),
    JSON: strawberry.scalar(
        name="JSON", description="Any JSON value; integers of any size and the types of values are kept."
    ),
}


class Direction(StrEnum):
    """Which way a walk goes along the edges."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"


class HintOutcome(StrEnum):
    """How a piece of knowledge turned out when it was used."""

    HELPFUL = "helpful"
    HARMFUL = "harmful"


strawberry.enum(Kind, description="What a node is; says nothing of how true it is.")
strawberry.enum(State, description="Where a node stands; the last three are terminal.")
strawberry.enum(
    Relation, description="Explicit relationships. Stored in Neo4j as relationship types of the same names."
)
strawberry.enum(Transition, description="What a journal event did.")
strawberry.enum(Verdict, description="What the one door made of a concept that was said.")
strawberry.enum(ActorType, description="Who acts.")
strawberry.enum(
    Direction,
    description="UPSTREAM: what it came from or rests on, along its edges; DOWNSTREAM: against those to it.",
)
strawberry.enum(HintOutcome, description="How a piece of knowledge turned out when it was used.")


class Info(strawberry.Info[Context, None]):
    """Strawberry's, with a look ahead at what is asked below the field being resolved.

    Strawberry's own ``selected_fields`` writes every fragment out, which never ends where fragments double;
    here each fragment is entered once for each level.
    """

    def asks(self, *path: str) -> bool:
        """Whether a field is asked at this path of names; `@skip` and `@include` are not looked at."""
        return bool(self._at(path))

    def pages(self, *path: str) -> list[tuple[object, object]]:
        """``first`` and ``after`` of each field that is asked at the path; UNSET where one is not given."""
        return [(self._argument(node, "first"), self._argument(node, "after")) for node in self._at(path)]

    @property
    def _asked(self) -> GraphQLResolveInfo[Any]:
        return cast("GraphQLResolveInfo[Any]", self._raw_info)  # pyright: ignore[reportUnknownMemberType]

    def _at(self, path: Sequence[str]) -> list[FieldNode]:
        nodes = list(self._asked.field_nodes)
        for name in path:
            found: list[FieldNode] = []
            seen: set[str] = set()
            for node in nodes:
                found += [field for field in self._fields(node.selection_set, seen) if field.name.value == name]
            nodes = found
        return nodes

    def _fields(self, selections: SelectionSetNode | None, seen: set[str]) -> Iterator[FieldNode]:
        for selection in selections.selections if selections else ():
            if isinstance(selection, FieldNode):
                yield selection
            elif isinstance(selection, InlineFragmentNode):
                yield from self._fields(selection.selection_set, seen)
            elif isinstance(selection, FragmentSpreadNode) and selection.name.value not in seen:
                seen.add(selection.name.value)
                yield from self._fields(self._asked.fragments[selection.name.value].selection_set, seen)

    def _argument(self, node: FieldNode, name: str) -> object:
        for argument in node.arguments or ():
            value = argument.value
            if argument.name.value != name:
                continue
            if isinstance(value, VariableNode):
                return self.variable_values.get(value.name.value, UNSET)
            if isinstance(value, IntValueNode):
                return int(value.value)
            return value.value if isinstance(value, StringValueNode) else None
        return UNSET


T = TypeVar("T")


@dataclass_transform(kw_only_default=True, field_specifiers=(strawberry.field,))
def described(kind: type[T]) -> type[T]:
    """A GraphQL type whose description is its docstring: one text for the readers of either."""
    return strawberry.type(kind, description=inspect.getdoc(kind))


@dataclass_transform(kw_only_default=True, field_specifiers=(strawberry.field,))
def described_input(kind: type[T]) -> type[T]:
    """An input type whose description is its docstring."""
    return strawberry.input(kind, description=inspect.getdoc(kind))


def field(resolver: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A field whose description is its resolver's docstring."""
    if resolver is None:
        return partial(field, **options)
    return strawberry.field(resolver, description=inspect.getdoc(resolver), **options)
