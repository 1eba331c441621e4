"""graphql-core's checks, with facts: which argument is at fault, where in it, and what is allowed there.

A variable is named by the argument that it stands for, so that an error reads the same either way.
"""

# graphql-core leaves the parameters of its generic types open, and strict checking finds them everywhere.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from graphql import (
    SKIP,
    ArgumentNode,
    ASTValidationRule,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    InlineFragmentNode,
    ListValueNode,
    NamedTypeNode,
    Node,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableDefinitionNode,
    VariableNode,
    get_named_type,
    is_enum_type,
    is_input_object_type,
    is_interface_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    is_required_argument,
    is_required_input_field,
    specified_rules,
    type_from_ast,
)
from graphql.execution.get_variable_signature import get_variable_signature
from graphql.utilities.validate_input_value import (
    validate_input_literal,
    validate_input_value,
)
from graphql.validation import (
    FieldsOnCorrectTypeRule,
    KnownArgumentNamesRule,
    KnownTypeNamesRule,
    OverlappingFieldsCanBeMergedRule,
    ProvidedRequiredArgumentsRule,
    ValidationContext,
    ValuesOfCorrectTypeRule,
)

from graph.errors import KnowledgeError

FAULTS_MAX = 50  # told of one document's variables; what lies behind them is more of the same
COMPARISONS_MAX = 50_000  # of fields that may stand for one another: about 0.1 s
ITEMS_MAX = 1_000  # in one list of an argument, as many as any rule of the service lets through
PRINTED_CHARS_MAX = 50_000  # of values in the errors of one document: each prints all of the value that is at fault
_TOLD_CHARS_MAX = 500  # of a text in an error: much of it is the caller's own, and nobody reads on
_NAMES_MAX = 100  # input fields that are looked at to name the one at fault; no input type has as many


@dataclass(frozen=True, slots=True)
class Facts:
    """What a caller is told of an error; texts of any length are told in short."""

    code: str
    message: str
    field: str | None = None
    position: int | None = None
    allowed: str | None = None
    retry_after: int | None = None

    def __post_init__(self) -> None:
        """Cut what is too long to be told."""
        for name in ("message", "field", "allowed"):
            text: str | None = getattr(self, name)
            if text is not None and len(text) > _TOLD_CHARS_MAX:
                object.__setattr__(self, name, text[:_TOLD_CHARS_MAX] + " …")

    @property
    def extensions(self) -> dict[str, Any]:
        """The facts as they stand in an answer; what is not known is left out."""
        known = {"field": self.field, "position": self.position, "allowed": self.allowed}
        known |= {"retryAfter": self.retry_after}
        return {"code": self.code} | {name: fact for name, fact in known.items() if fact is not None}


def _within(type_: Any, path: Sequence[str | int]) -> Any:
    """The type at a path within an input type; where a list is given a lone item, the path has no index."""
    for step in path:
        while is_non_null_type(type_) or is_list_type(type_):
            listed = is_list_type(type_)
            type_ = type_.of_type
            if listed and isinstance(step, int):
                break
        else:
            if is_input_object_type(type_) and step in type_.fields:
                type_ = type_.fields[step].type
    return type_


def expected(type_: Any) -> str:
    """What an input type accepts: the values of an enum, else the type's own name."""
    named = get_named_type(type_)
    return ", ".join(named.values) if is_enum_type(named) else str(type_)


def _spoken(name: str, path: Sequence[str | int]) -> str:
    return name + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _fault(error: GraphQLError, name: str, type_: Any, path: Sequence[str | int], value: object) -> Facts:
    """The facts about a value that an input type refuses."""
    path = [*path, *_missing_or_unknown(error.message, type_, path, value)]
    cause = error.original_error
    allowed = cause.allowed if isinstance(cause, KnowledgeError) else None
    items = [step for step in path if isinstance(step, int)]
    return Facts(
        code="VALIDATION",
        message=cause.message if isinstance(cause, KnowledgeError) else error.message,
        field=_spoken(name, path),
        position=items[-1] if items else None,
        allowed=allowed or expected(_within(type_, path)),
    )


def _missing_or_unknown(message: str, type_: Any, path: Sequence[str | int], value: object) -> list[str]:
    """The input field that graphql-core misses or does not know: it reports those for the whole object."""
    named = get_named_type(_within(type_, path))
    if not is_input_object_type(named):
        return []
    present = _names_at(value, path)
    suspects = [n for n, f in named.fields.items() if is_required_input_field(f) and n not in present]
    suspects += [n for n in present if n not in named.fields]
    return [name for name in suspects if f"field '{name}'" in message][:1]


def _names_at(value: object, path: Sequence[str | int]) -> list[str]:
    for step in path:
        if isinstance(value, ObjectValueNode):
            value = next((field.value for field in value.fields if field.name.value == step), None)
        elif isinstance(value, ListValueNode) and isinstance(step, int):
            value = value.values[step]
        elif isinstance(value, dict):
            value = cast("dict[object, object]", value).get(step)
        elif isinstance(value, list) and isinstance(step, int):
            value = cast("list[object]", value)[step]
    if isinstance(value, ObjectValueNode):
        return [field.name.value for field in value.fields[:_NAMES_MAX]]
    if not isinstance(value, dict):
        return []
    return [str(name) for name in islice(cast("dict[object, object]", value), _NAMES_MAX)]


class _EnoughError(Exception):
    """As many faults were found as are told."""


class _ValuesAsExpected(ValuesOfCorrectTypeRule):
    """graphql-core's rule; its errors say which argument, where in it, and what is allowed."""

    named = ""
    printed = 0

    def enter_argument(self, node: ArgumentNode, *_args: Any) -> None:
        self.named = node.name.value

    def enter_variable_definition(self, node: VariableDefinitionNode, *_args: Any) -> None:
        self.named = f"${node.variable.name.value}"

    def is_valid_value_node(self, node: ValueNode, input_type: Any) -> Any:
        def on_error(error: GraphQLError, path: list[str | int]) -> None:
            assert input_type is not None
            facts = _fault(error, self.named, input_type, path, node)
            self.report_error(GraphQLError(facts.message, error.nodes or node, extensions=facts.extensions))
            self.printed += len(error.message)
            if self.printed > PRINTED_CHARS_MAX:
                raise _EnoughError

        if input_type is not None and self.printed <= PRINTED_CHARS_MAX:
            with suppress(_EnoughError):
                validate_input_literal(node, input_type, on_error, None, None, True)  # noqa: FBT003  no suggestions
        return SKIP


class _RequiredArguments(ProvidedRequiredArgumentsRule):
    """graphql-core's rule; its errors name the argument and its type."""

    def leave_field(self, field_node: FieldNode, *_args: Any) -> Any:
        field = self.context.get_field_def()
        present = {argument.name.value for argument in field_node.arguments or ()}
        for name, argument in field.args.items() if field else ():
            if is_required_argument(argument) and name not in present:
                facts = Facts(
                    "VALIDATION", f"{field_node.name.value} needs {name}", name, None, expected(argument.type)
                )
                self.report_error(GraphQLError(facts.message, field_node, extensions=facts.extensions))


class _KnownArguments(KnownArgumentNamesRule):
    """graphql-core's rule; its errors name the argument and those that there are."""

    def enter_argument(self, arg_node: ArgumentNode, *_args: Any) -> None:
        field, name = self.context.get_field_def(), arg_node.name.value
        if field is not None and name not in field.args and not self.context.get_argument():
            facts = Facts("VALIDATION", f"there is no argument {name}", name, None, ", ".join(field.args) or "none")
            self.report_error(GraphQLError(facts.message, arg_node, extensions=facts.extensions))


class _KnownFields(FieldsOnCorrectTypeRule):
    """graphql-core's rule; its errors name the field and those that there are."""

    def enter_field(self, node: FieldNode, *_args: Any) -> None:
        parent, name = self.context.get_parent_type(), node.name.value
        if parent is None or self.context.get_field_def() is not None:
            return
        fields = ", ".join(parent.fields) if is_object_type(parent) or is_interface_type(parent) else "__typename"
        facts = Facts("VALIDATION", f"{parent.name} has no field {name}", name, None, fields)
        self.report_error(GraphQLError(facts.message, node, extensions=facts.extensions))


class _KnownTypes(KnownTypeNamesRule):
    """graphql-core's rule, without a look for names that are alike: that takes a millisecond each."""

    def enter_named_type(  # its arguments are graphql-core's
        self,
        node: NamedTypeNode,
        _key: Any,
        parent: Node,  # noqa: ARG002
        _path: Any,
        ancestors: list[Node],  # noqa: ARG002
    ) -> None:
        name = node.name.value
        if name not in self.existing_types_map:
            self.report_error(GraphQLError(f"Unknown type '{name}'.", node))


class _Mergeable(OverlappingFieldsCanBeMergedRule):
    """graphql-core's rule; it gives up after a bounded number of comparisons, and validation with it."""

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self.rule_context.remaining_complexity_budget = COMPARISONS_MAX


_OURS: Mapping[type[ASTValidationRule], type[ASTValidationRule]] = {
    ValuesOfCorrectTypeRule: _ValuesAsExpected,
    ProvidedRequiredArgumentsRule: _RequiredArguments,
    KnownArgumentNamesRule: _KnownArguments,
    FieldsOnCorrectTypeRule: _KnownFields,
    KnownTypeNamesRule: _KnownTypes,
    OverlappingFieldsCanBeMergedRule: _Mergeable,
}
RULES = tuple(_OURS.get(rule, rule) for rule in specified_rules)


def variable_faults(
    schema: GraphQLSchema, document: DocumentNode, operation_name: str | None, values: Mapping[str, Any]
) -> list[GraphQLError]:
    """What is wrong with the values of variables, each under the argument that the variable stands for.

    Returns:
        The first ``FAULTS_MAX`` faults, in the order of the variables.
    """
    places = {name: place for node in document.definitions for name, place in _uses(node)}
    faults: list[GraphQLError] = []
    for operation in document.definitions:
        if not isinstance(operation, OperationDefinitionNode) or (
            operation_name is not None and (operation.name is None or operation.name.value != operation_name)
        ):
            continue
        for definition in operation.variable_definitions or ():
            signature = get_variable_signature(schema, definition)
            if isinstance(signature, GraphQLError):
                continue
            faults += _value_faults(
                definition, signature.type, places.get(signature.name, f"${signature.name}"), values
            )
    return faults[:FAULTS_MAX]


def oversized(schema: GraphQLSchema, document: DocumentNode, values: Mapping[str, Any]) -> list[GraphQLError]:
    """The first variable whose lists or objects are larger than any that is taken, before they are looked through."""
    for node in document.definitions:
        for definition in node.variable_definitions or () if isinstance(node, OperationDefinitionNode) else ():
            name = definition.variable.name.value
            if name in values and _is_oversized(values[name], type_from_ast(schema, definition.type)):
                places = dict(_uses(node))
                allowed = f"at most {ITEMS_MAX} items in a list, and the fields of the input's type in an object"
                facts = Facts("LIMIT", "the value is too large", places.get(name, f"${name}"), None, allowed)
                return [GraphQLError(facts.message, definition, extensions=facts.extensions)]
    return []


def _is_oversized(value: object, type_: Any) -> bool:
    """Whether a list in the value has too many items, or an object too many fields; free JSON is not looked into."""
    stack: list[tuple[object, Any]] = [(value, type_)]
    while stack:
        value, type_ = stack.pop()
        type_ = type_.of_type if is_non_null_type(type_) else type_
        if is_list_type(type_) and isinstance(value, list):
            items = cast("list[object]", value)
            if len(items) > ITEMS_MAX:
                return True
            stack.extend((item, type_.of_type) for item in items)
        elif is_list_type(type_):
            stack.append((value, type_.of_type))
        elif is_input_object_type(type_) and isinstance(value, dict):
            named = cast("dict[object, object]", value)
            if len(named) > _NAMES_MAX:
                return True
            stack.extend((named[name], field.type) for name, field in type_.fields.items() if name in named)
    return False


def _value_faults(
    definition: VariableDefinitionNode, type_: Any, place: str, values: Mapping[str, Any]
) -> list[GraphQLError]:
    name = definition.variable.name.value
    if name not in values and (definition.default_value is not None or not is_non_null_type(type_)):
        return []
    faults: list[GraphQLError] = []

    def on_error(error: GraphQLError, path: list[str | int]) -> None:
        facts = _fault(error, place, type_, path, values.get(name))
        faults.append(GraphQLError(facts.message, definition, extensions=facts.extensions))
        if len(faults) >= FAULTS_MAX:
            raise _EnoughError

    with suppress(_EnoughError):
        validate_input_value(values.get(name), type_, on_error, True)  # noqa: FBT003  no suggestions
    return faults


def _uses(node: object) -> Iterator[tuple[str, str]]:
    """Each variable and the argument, or the place in one, that it stands for."""
    if isinstance(node, (OperationDefinitionNode, FragmentDefinitionNode, InlineFragmentNode)):
        yield from _uses(node.selection_set)
    elif isinstance(node, SelectionSetNode):
        for selection in node.selections:
            yield from _uses(selection)
    elif isinstance(node, FieldNode):
        for argument in node.arguments or ():
            yield from _uses_in_value(argument.value, argument.name.value)
        yield from _uses(node.selection_set)


def _uses_in_value(value: ValueNode, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, VariableNode):
        yield value.name.value, place
    elif isinstance(value, ObjectValueNode):
        for field in value.fields:
            yield from _uses_in_value(field.value, f"{place}.{field.name.value}")
    elif isinstance(value, ListValueNode):
        for index, item in enumerate(value.values):
            yield from _uses_in_value(item, f"{place}[{index}]")
