"""What a query selects, and the arguments it gives, read once so that a plan can be made of it.

Only plain queries are read: where a document holds what needs the executor (a directive, a type condition that has to
be tried, a value that has to be coerced), ``OrdinaryError`` sends it there, before or while it is answered.
"""

# graphql-core leaves the parameters of its generic types open, and strict checking finds them everywhere.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from graphql import (
    BooleanValueNode,
    DocumentNode,
    EnumValueNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    StringValueNode,
    ValueNode,
    VariableNode,
    is_enum_type,
    is_input_object_type,
    is_list_type,
    is_non_null_type,
    type_from_ast,
)

PLANNED_ITEMS_MAX = 100  # in a list; there are fewer states, kinds and relations, and the executor refuses too many
_INT_MAX = 2**31
Variables = Mapping[str, Any]
Reader = Callable[[Variables], Any]
Selected = dict[str, list[FieldNode]]
"""The fields selected on one object, by response name; several nodes of one name are merged."""


class OrdinaryError(Exception):
    """The executor has to answer this one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One operation of a validated document that only reads, with all that reading it needs."""

    schema: GraphQLSchema
    operation: OperationDefinitionNode
    fragments: Mapping[str, FragmentDefinitionNode]

    @classmethod
    def of(
        cls,
        schema: GraphQLSchema,
        document: DocumentNode,
        operation_name: str | None,
        kind: OperationType = OperationType.QUERY,
    ) -> Asked:
        """The operation that is named, or the only one.

        Raises:
            OrdinaryError: it is of another kind, or there is no such operation.
        """
        operations = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
        named = [node for node in operations if operation_name is None or _name(node) == operation_name]
        if len(named) != 1 or named[0].operation is not kind or named[0].directives:
            raise OrdinaryError
        fragments = {n.name.value: n for n in document.definitions if isinstance(n, FragmentDefinitionNode)}
        return cls(schema, named[0], fragments)

    def roots(self) -> Selected:
        """The root fields."""
        return self._collected([self.operation.selection_set], self.operation.operation.value.capitalize())

    def below(self, nodes: Iterable[FieldNode], on: str) -> Selected:
        """What is selected below fields of one response name, whose type is ``on``."""
        return self._collected([node.selection_set for node in nodes if node.selection_set], on)

    def field(self, on: str, name: str) -> GraphQLField:
        """A field's definition."""
        return cast(Any, self.schema.type_map[on]).fields[name]

    def arguments(self, node: FieldNode, field: GraphQLField) -> Callable[[Variables], dict[str, Any]]:
        """Reads a field's arguments; one that is left out or null is not among them.

        The function raises OrdinaryError for a value that the argument's type does not take as it stands.
        """
        readers: dict[str, Reader] = {}
        for argument in node.arguments or ():
            name = argument.name.value
            readers[name] = _checked(self._value(argument.value), _accepts(field.args[name].type))
        return lambda variables: {
            name: value for name, read in readers.items() if (value := read(variables)) is not None
        }

    def _collected(self, sets: Iterable[SelectionSetNode], on: str) -> Selected:
        found: Selected = {}
        seen: set[str] = set()
        for selection_set in sets:
            self._collect(selection_set, on, found, seen)
        return found

    def _collect(self, selection_set: SelectionSetNode, on: str, found: Selected, seen: set[str]) -> None:
        for selection in selection_set.selections:
            if selection.directives:
                raise OrdinaryError
            if isinstance(selection, FieldNode):
                found.setdefault((selection.alias or selection.name).value, []).append(selection)
            elif isinstance(selection, InlineFragmentNode):
                self._enter(selection.type_condition and selection.type_condition.name.value, on)
                self._collect(selection.selection_set, on, found, seen)
            elif isinstance(selection, FragmentSpreadNode) and selection.name.value not in seen:
                seen.add(selection.name.value)
                fragment = self.fragments[selection.name.value]
                self._enter(fragment.type_condition.name.value, on)
                if fragment.directives:
                    raise OrdinaryError
                self._collect(fragment.selection_set, on, found, seen)

    def _enter(self, condition: str | None, on: str) -> None:
        if condition not in (None, on, "Node"):
            raise OrdinaryError

    def _value(self, node: ValueNode) -> Reader:
        """Reads a literal or a variable as plain JSON; a variable without a value and a default is None."""
        if isinstance(node, VariableNode):
            return self._variable(node.name.value)
        if isinstance(node, IntValueNode):
            return _constant(int(node.value))
        if isinstance(node, (StringValueNode, EnumValueNode, BooleanValueNode)):
            return _constant(node.value)
        if isinstance(node, NullValueNode):
            return _constant(None)
        if isinstance(node, ListValueNode):
            items = [self._value(item) for item in node.values]
            return lambda variables: [read(variables) for read in items]
        if isinstance(node, ObjectValueNode):
            fields = {field.name.value: self._value(field.value) for field in node.fields}
            return lambda variables: {name: read(variables) for name, read in fields.items()}
        raise OrdinaryError

    def _variable(self, name: str) -> Reader:
        (definition,) = (d for d in self.operation.variable_definitions or () if d.variable.name.value == name)
        otherwise = None if definition.default_value is None else self._value(definition.default_value)({})
        # What a variable says of itself may be stricter than what the place says where it stands.
        accepts = _accepts(type_from_ast(self.schema, cast(Any, definition.type)))
        return _checked(lambda variables: variables.get(name, otherwise), accepts)


def _name(node: OperationDefinitionNode) -> str | None:
    return node.name and node.name.value


def _constant(value: object) -> Reader:
    return lambda _variables: value


def _checked(read: Reader, accepts: Callable[[Any], bool]) -> Reader:
    def reader(variables: Variables) -> Any:
        value = read(variables)
        if not accepts(value):
            raise OrdinaryError
        return value

    return reader


def _accepts(type_: Any) -> Callable[[Any], bool]:
    """Whether a value in JSON is of the type as it stands, without coercion."""
    if is_non_null_type(type_):
        inner = _accepts(type_.of_type)
        return lambda value: value is not None and inner(value)
    if is_list_type(type_):
        item = _accepts(type_.of_type)
        return lambda value: value is None or (isinstance(value, list) and _are_some(cast("list[Any]", value), item))
    if is_input_object_type(type_):
        return _accepts_object({name: _accepts(field.type) for name, field in type_.fields.items()})
    names = frozenset[str](type_.values) if is_enum_type(type_) else None
    return lambda value: value is None or _is_leaf(value, type_.name, names)


def _are_some(values: list[Any], accepted: Callable[[Any], bool]) -> bool:
    return len(values) <= PLANNED_ITEMS_MAX and all(map(accepted, values))


def _is_leaf(value: object, type_name: str, names: frozenset[str] | None) -> bool:
    if type_name == "Int":
        return type(value) is int and -_INT_MAX <= value < _INT_MAX
    if type_name == "Boolean":
        return type(value) is bool
    return isinstance(value, str) and (names is None or value in names)


def _accepts_object(fields: Mapping[str, Callable[[Any], bool]]) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        if value is None:
            return True
        if not isinstance(value, dict) or not value.keys() <= fields.keys():
            return False
        return all(accepted(cast("dict[str, Any]", value).get(name)) for name, accepted in fields.items())

    return accepts
