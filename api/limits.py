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
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
    is_interface_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
)

from graph.errors import LimitError

CHARS_MAX = 100_000  # of a document: reading one takes 0.2 microseconds a character, and long values are variables
TOKENS_MAX = 5_000  # a page of queries; parsing is linear, so this is about 50 ms at worst
FIELDS_MAX = 1_000  # fields written in one document: checks compare fields of one name with each other
ROOTS_MAX = 50  # fields of the operation itself: each is at least one statement of its own
SEARCHES_MAX = 5  # fields that search: each ranks hundreds of nodes, and a block's tokens are counted besides
LEVELS_MAX = 15  # a page of nodes, the ends of their edges and the evidence of those ends have 9
ALIASES_MAX = 100  # one root field many times over is a batch; larger ones are an import
NAME_CHARS_MAX = 200  # a field's name in the answer stands there once for each object
DIRECTIVES_MAX = 100  # each is looked up, checked and executed by itself
OBJECTS_MAX = 1_000_000  # a walk and the events of its nodes, both by default size, stay below
LIST_GUESS = 5  # how many items a list without `first` is taken to have
INTROSPECTION_GUESS = 20  # and one that tells of the schema, whose lists are longer
_DIGITS_MAX = 12  # more than any number that GraphQL's Int can be
_PAGE_ARGUMENTS = ("first", "maxNodes")
_SEARCHING = frozenset({"search", "context"})
_INTROSPECTION = {"__schema": "__Schema", "__type": "__Type"}


@dataclass(frozen=True, slots=True)
class Size:
    """How large a selection is when its fragments are written out.

    Attributes:
        wide: Fields that stand directly in it.
        depth: Levels below it.
        aliases: Fields under another name, in all.
        objects: Objects in the answer, by the sizes of its pages.
    """

    wide: int = 0
    depth: int = 0
    aliases: int = 0
    objects: int = 0


class _Scale:
    """Weighs one document in a single pass: each fragment once, however often it is spread.

    Unknown fields, unknown fragments and rings of fragments weigh nothing: validation refuses them later.

    Attributes:
        written: Fields in the text, fragments counted once.
        searches: Fields in the text that search.
        directives: Directives in the text.
        name_chars: Of the longest name that a field would have in the answer.
    """

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> None:
        self.schema = schema
        self.variables = _defaults(document) | dict(variables)
        self.written = self.searches = self.directives = self.name_chars = 0
        self.fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self.known: dict[str, Size] = {}

    def of(self, selections: SelectionSetNode | None, parent: object) -> Size:
        wide = depth = aliases = objects = 0
        for selection in selections.selections if selections else ():
            self.directives += len(selection.directives or ())
            size = self._one(selection, parent)
            wide, depth = wide + size.wide, max(depth, size.depth)
            aliases, objects = aliases + size.aliases, objects + size.objects
        return Size(wide, depth, aliases, objects)

    def _one(self, selection: SelectionNode, parent: object) -> Size:
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
        name, aliased = node.name.value, node.alias is not None
        self.name_chars = max(self.name_chars, len((node.alias or node.name).value))
        if name in _INTROSPECTION:
            inner = self.of(node.selection_set, self.schema.type_map.get(_INTROSPECTION[name]))
            # Its depth is left to a rule of graphql-core, which knows where it goes in circles.
            return Size(1, 0, inner.aliases + aliased, 1 + inner.objects)
        self.searches += name in _SEARCHING and parent is self.schema.query_type
        field = parent.fields.get(name) if is_object_type(parent) or is_interface_type(parent) else None
        inner = self.of(node.selection_set, get_named_type(field.type) if field else None)
        many = 0 if field is None or node.selection_set is None else self._many(node, field, parent)
        return Size(1, 1 + inner.depth, inner.aliases + aliased, many * (1 + inner.objects))

    def _many(self, node: FieldNode, field: GraphQLField, parent: object) -> int:
        for name in _PAGE_ARGUMENTS:
            if name in field.args:
                return self._asked(node, name, field.args[name])
        of: Any = field.type
        of = of.of_type if is_non_null_type(of) else of
        # A page's own lists are as long as the page, and the field that gave the page has been multiplied.
        within = getattr(parent, "name", "")
        if not is_list_type(of) or within.endswith("Connection") or within == "Provenance":
            return 1
        return INTROSPECTION_GUESS if within.startswith("__") else LIST_GUESS

    def _asked(self, node: FieldNode, name: str, argument: GraphQLArgument) -> int:
        value: object = argument.default_value
        for given in node.arguments or ():
            if given.name.value == name and isinstance(given.value, IntValueNode):
                # Digits without end are no number here, and validation refuses them.
                value = int(given.value.value) if len(given.value.value) < _DIGITS_MAX else 0
            elif given.name.value == name and isinstance(given.value, VariableNode):
                value = self.variables.get(given.value.name.value, value)
        return max(value, 1) if isinstance(value, int) else 1


def _defaults(document: DocumentNode) -> dict[str, Any]:
    """What variables are where the caller leaves them out, for those that can be the size of a page."""
    return {
        definition.variable.name.value: int(definition.default_value.value)
        for node in document.definitions
        if isinstance(node, OperationDefinitionNode)
        for definition in node.variable_definitions or ()
        if isinstance(definition.default_value, IntValueNode) and len(definition.default_value.value) < _DIGITS_MAX
    }


def refuse_long(query: str) -> None:
    """Refuse a text that is too long to be read.

    Raises:
        LimitError: with the bound.
    """
    if len(query) > CHARS_MAX:
        raise LimitError(
            "the document is too long",
            field="query",
            allowed=f"at most {CHARS_MAX} characters; values of any length may be variables",
        )


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
    operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    try:
        sizes = [scale.of(node.selection_set, roots[node.operation.value]) for node in operations]
        for name in scale.fragments:
            scale.fragment(name)  # those that nothing uses count as written
    except RecursionError:
        sizes = [Size(depth=LEVELS_MAX + 1)]
    definitions = [*operations, *scale.fragments.values()]
    scale.directives += sum(len(node.directives or ()) for node in definitions)
    bounds = (
        (scale.written, FIELDS_MAX, "fields written"),
        (scale.searches, SEARCHES_MAX, "fields that search"),
        (scale.name_chars, NAME_CHARS_MAX, "characters in a name"),
        (scale.directives, DIRECTIVES_MAX, "directives"),
        (max((size.wide for size in sizes), default=0), ROOTS_MAX, "fields of the operation itself"),
        (max((size.depth for size in sizes), default=0), LEVELS_MAX, "levels"),
        (sum(size.aliases for size in sizes), ALIASES_MAX, "aliases"),
        (sum(size.objects for size in sizes), OBJECTS_MAX, "objects, by the sizes of its pages"),
    )
    for found, most, what in bounds:
        if found > most:
            raise LimitError(f"the document asks for too many {what}", field="query", allowed=f"at most {most} {what}")
