"""How much a document may ask for, weighed before anything else is done with it.

The limiters that strawberry brings write fragments out, and where fragments double that never ends.
"""

# graphql-core leaves the parameters of its generic types open, and strict checking finds them everywhere.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLArgument,
    GraphQLField,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
    is_interface_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
)

from graph.errors import LimitError

TOKENS_MAX = 5_000  # a page of queries; parsing is linear, so this is about 50 ms at worst
FIELDS_MAX = 1_000  # fields written in one document: checks compare fields of one name with each other
DEPTH_MAX = 15  # a page of nodes, the ends of their edges and the evidence of those ends have 9
ALIASES_MAX = 100  # one root field many times over is a batch; larger ones are an import
OBJECTS_MAX = 1_000_000  # a walk and the events of its nodes, both by default size, stay below
LIST_GUESS = 5  # how many items a list without `first` is taken to have
_DIGITS_MAX = 12  # more than any number that GraphQL's Int can be
_PAGE_ARGUMENTS = ("first", "maxNodes")


@dataclass(frozen=True, slots=True)
class Size:
    """How large a selection is when its fragments are written out."""

    depth: int = 0
    aliases: int = 0
    objects: int = 0


class _Scale:
    """Weighs one document in a single pass: each fragment once, however often it is spread.

    Unknown fields, unknown fragments and rings of fragments weigh nothing: validation refuses them later.
    """

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> None:
        self.schema = schema
        self.variables = variables
        self.written = 0
        self.fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self.known: dict[str, Size] = {}

    def of(self, selections: SelectionSetNode | None, parent: object) -> Size:
        depth = aliases = objects = 0
        for selection in selections.selections if selections else ():
            size = self._one(selection, parent)
            depth, aliases, objects = max(depth, size.depth), aliases + size.aliases, objects + size.objects
        return Size(depth, aliases, objects)

    def _one(self, selection: Node, parent: object) -> Size:
        if isinstance(selection, FieldNode):
            return self._field(selection, parent)
        if isinstance(selection, InlineFragmentNode):
            condition = selection.type_condition
            on = self.schema.type_map.get(condition.name.value) if condition else parent
            return self.of(selection.selection_set, on)
        if isinstance(selection, FragmentSpreadNode):
            return self.fragment(selection.name.value)
        return Size()

    def fragment(self, name: str) -> Size:
        if name not in self.known:
            self.known[name] = Size()  # what a ring of fragments meets when it comes round
            if fragment := self.fragments.get(name):
                on = self.schema.type_map.get(fragment.type_condition.name.value)
                self.known[name] = self.of(fragment.selection_set, on)
        return self.known[name]

    def _field(self, node: FieldNode, parent: object) -> Size:
        self.written += 1
        field = parent.fields.get(node.name.value) if is_object_type(parent) or is_interface_type(parent) else None
        inner = self.of(node.selection_set, get_named_type(field.type) if field else None)
        if node.name.value.startswith("__"):
            return Size()  # introspection: graphql-core has a rule of its own for its depth
        many = 0 if field is None or node.selection_set is None else self._many(node, field, parent)
        return Size(1 + inner.depth, inner.aliases + (node.alias is not None), many * (1 + inner.objects))

    def _many(self, node: FieldNode, field: GraphQLField, parent: object) -> int:
        for name in _PAGE_ARGUMENTS:
            if name in field.args:
                return self._asked(node, name, field.args[name])
        of: Any = field.type
        of = of.of_type if is_non_null_type(of) else of
        # A page's own lists are as long as the page, and the field that gave the page has been multiplied.
        paged = getattr(parent, "name", "").endswith("Connection") or getattr(parent, "name", "") == "Provenance"
        return LIST_GUESS if is_list_type(of) and not paged else 1

    def _asked(self, node: FieldNode, name: str, argument: GraphQLArgument) -> int:
        value: object = argument.default_value
        for given in node.arguments or ():
            if given.name.value == name and isinstance(given.value, IntValueNode):
                # Digits without end are no number here, and validation refuses them.
                value = int(given.value.value) if len(given.value.value) < _DIGITS_MAX else 0
            elif given.name.value == name and isinstance(given.value, VariableNode):
                value = self.variables.get(given.value.name.value, value)
        return max(value, 1) if isinstance(value, int) else 1


def measure(schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> None:
    """Refuse a document that asks for too much, in time linear in its length.

    Args:
        schema: The schema that it is about.
        document: Parsed, not yet validated.
        variables: As the caller gave them.

    Raises:
        LimitError: with the bound.
    """
    scale = _Scale(schema, document, variables)
    roots = {
        "query": schema.query_type,
        "mutation": schema.mutation_type,
        "subscription": schema.subscription_type,
    }
    try:
        sizes = [
            scale.of(node.selection_set, roots[node.operation.value])
            for node in document.definitions
            if isinstance(node, OperationDefinitionNode)
        ]
        for name in scale.fragments:
            scale.fragment(name)  # those that nothing uses count as written
    except RecursionError:
        sizes = [Size(depth=DEPTH_MAX + 1)]
    bounds = (
        (scale.written, FIELDS_MAX, "fields written"),
        (max((size.depth for size in sizes), default=0), DEPTH_MAX, "levels"),
        (sum(size.aliases for size in sizes), ALIASES_MAX, "aliases"),
        (sum(size.objects for size in sizes), OBJECTS_MAX, "objects, by the sizes of its pages"),
    )
    for found, most, what in bounds:
        if found > most:
            raise LimitError(f"the document asks for too many {what}", field="query", allowed=f"at most {most} {what}")
