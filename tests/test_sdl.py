"""The schema against the contract, and against the copy of itself that clients generate their code from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from datasets import SHARED
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    find_breaking_changes,
    print_ast,
)
from graphql.type import GraphQLArgument, GraphQLInputField

from api.schema import build_schema as build_ours

schema = build_ours()
CONTRACT = SHARED.parent / "contract" / "schema.graphql"
PRINTED = Path(__file__).parent.parent / "api" / "schema.graphql"

# What later issues bring. Nothing else of the contract may be missing.
LATER_TYPES: set[str] = set()
LATER_FIELDS: set[str] = set()


@pytest.fixture(scope="module")
def contract() -> GraphQLSchema:
    if not CONTRACT.exists():
        pytest.skip("the contract is not on this machine")
    return build_schema(CONTRACT.read_text("utf-8"))


def _inputs(
    place: str, inputs: Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField]
) -> Iterator[tuple[str, str]]:
    for name, given in inputs.items():
        written = given.ast_node
        assert written is not None
        default = None if written.default_value is None else print_ast(written.default_value)
        yield f"{place}.{name}", f"{print_ast(written.type)} = {default}"


def _facts(of: GraphQLSchema) -> Iterator[tuple[str, str]]:
    """Everything that the schema states, each thing by its place."""
    for name, kind in of.type_map.items():
        if name.startswith("__") or name in LATER_TYPES:
            continue
        yield name, type(kind).__name__
        if isinstance(kind, GraphQLEnumType):
            yield from ((f"{name}.{value}", "value") for value in kind.values)
        elif isinstance(kind, GraphQLInputObjectType):
            yield from _inputs(name, kind.fields)
        elif isinstance(kind, (GraphQLObjectType, GraphQLInterfaceType)):
            yield from ((f"{name} implements {one.name}", "") for one in kind.interfaces)
            for field_name, field in kind.fields.items():
                if f"{name}.{field_name}" not in LATER_FIELDS:
                    assert field.ast_node is not None
                    yield f"{name}.{field_name}", print_ast(field.ast_node.type)
                    yield from _inputs(f"{name}.{field_name}", field.args)


def test_everything_of_the_contract_is_there_with_its_type_and_its_default(contract: GraphQLSchema) -> None:
    ours = dict(_facts(build_schema(schema.as_str())))
    theirs = dict(_facts(contract))
    assert theirs == {place: ours.get(place) for place in theirs}
    assert len(theirs) > 200  # the comparison compares something


def test_a_client_of_the_contract_breaks_on_nothing_but_what_comes_later(contract: GraphQLSchema) -> None:
    ours = build_schema(schema.as_str())
    broken = [change.description for change in find_breaking_changes(contract, ours)]
    listed = LATER_TYPES | LATER_FIELDS
    unlisted = [text for text in broken if not any(name in text for name in listed)]
    assert unlisted == []
    assert len(broken) == len(LATER_FIELDS) + len(LATER_TYPES)


def test_the_printed_schema_is_the_schema() -> None:
    assert PRINTED.read_text("utf-8") == schema.as_str() + "\n", "print it: python -m api.schema"


def test_the_schema_can_be_built_again() -> None:
    assert build_ours().as_str() == schema.as_str()
