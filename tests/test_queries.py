"""The format of a file in ``cypher/``, by what the loader takes and what it refuses."""

from __future__ import annotations

from typing import Any, cast

import pytest

from graph import queries
from graph.errors import InternalError

NOTHING_WRONG = """\
// node_find: one node by its key.
//
// kind:    read
// params:  project: str, key: str
// returns: key: str, state: str
// bounds:  one node
MATCH (n:Knowledge {project: $project, key: $key})
RETURN n.key AS key, n.state AS state
"""

WALK = """\
// node_walk: what a node rests on.
//
// kind:    read
// params:  key: str
// returns: key: str
// bounds:  8 hops
MATCH (:Knowledge {key: $key})-[:DEPENDS_ON*1..8]->(n:Knowledge)
RETURN DISTINCT n.key AS key
"""


def test_a_statement_is_what_its_file_says() -> None:
    query = queries.parse("node_find", NOTHING_WRONG)
    assert query.name == "node_find"
    assert query.kind == "read"
    assert query.params == {"project", "key"}
    assert query.returns == ("key", "state")
    assert query.bounds == "one node"


def test_the_text_is_sent_as_it_stands_with_its_header() -> None:
    assert queries.parse("node_find", NOTHING_WRONG).text == NOTHING_WRONG


def test_a_header_field_may_go_on_in_the_next_line_when_that_is_indented() -> None:
    text = NOTHING_WRONG.replace("str, key: str\n", "str,\n//          key: str\n")
    assert queries.parse("node_find", text).params == {"project", "key"}


def test_prose_after_the_fields_is_not_read_as_one_of_them() -> None:
    text = NOTHING_WRONG.replace("one node\nMATCH", "one node\n//\n// What $nobody declares: a word of prose.\nMATCH")
    query = queries.parse("node_find", text)
    assert query.bounds == "one node"
    assert query.params == {"project", "key"}


def test_a_statement_without_parameters_or_columns_says_none() -> None:
    header = "// all_gone: empties.\n//\n// kind: write\n// params: none\n// returns: none\n// bounds: all\n"
    text = header + "MATCH (n) DELETE n"
    query = queries.parse("all_gone", text)
    assert query.params == frozenset()
    assert query.returns == ()


def test_what_a_parameter_or_column_holds_is_not_taken_for_another() -> None:
    text = NOTHING_WRONG.replace("key: str\n// bounds", "key: [map]\n// bounds").replace(
        "project: str,", "project: [[key, generation]] or null,"
    )
    assert queries.parse("node_find", text).params == {"project", "key"}


@pytest.mark.parametrize("field", ["kind", "params", "returns", "bounds"])
def test_a_missing_header_field_is_refused_by_name(field: str) -> None:
    lines = [line for line in NOTHING_WRONG.splitlines(keepends=True) if not line.startswith(f"// {field}:")]
    with pytest.raises(InternalError, match=rf"node_find\.cypher .* {field}"):
        queries.parse("node_find", "".join(lines))


def test_a_header_behind_the_first_clause_is_none() -> None:
    header, body = NOTHING_WRONG.split("MATCH")
    with pytest.raises(InternalError, match="header"):
        queries.parse("node_find", f"MATCH{body}{header}")


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(InternalError, match="header"):
        queries.parse("node_find", NOTHING_WRONG.replace("read", "reads"))


@pytest.mark.parametrize("name", ["node_found", "node", "node_find_all"])
def test_a_name_that_is_not_the_files_own_is_refused(name: str) -> None:
    with pytest.raises(InternalError, match=rf"{name}\.cypher"):
        queries.parse(name, NOTHING_WRONG)


def test_a_parameter_that_is_used_and_not_declared_is_refused_by_name() -> None:
    with pytest.raises(InternalError, match=r"node_find\.cypher .*: generation$"):
        queries.parse("node_find", NOTHING_WRONG.replace("key: $key", "key: $key, generation: $generation"))


def test_a_parameter_that_is_declared_and_not_used_is_refused_by_name() -> None:
    with pytest.raises(InternalError, match=r"node_find\.cypher .*: first$"):
        queries.parse("node_find", NOTHING_WRONG.replace("key: str\n// returns", "key: str, first: int\n// returns"))


def test_a_parameter_in_a_text_or_a_comment_is_not_used() -> None:
    quoted = NOTHING_WRONG.replace("n.state AS state", "'$price' + \"$cost\" AS state // not $this either")
    assert queries.parse("node_find", quoted).params == {"project", "key"}


@pytest.mark.parametrize("ending", [";", ";\n", "; MATCH (n) DETACH DELETE n\n"])
def test_a_semicolon_is_refused(ending: str) -> None:
    with pytest.raises(InternalError, match="semicolon"):
        queries.parse("node_find", NOTHING_WRONG.rstrip() + ending)


def test_a_semicolon_in_a_text_or_a_comment_is_no_second_statement() -> None:
    text = NOTHING_WRONG.replace("n.state AS state", "'a;b' AS state // one; two")
    assert queries.parse("node_find", text).text == text


def test_a_text_that_holds_a_quote_or_two_slashes_ends_where_it_ends() -> None:
    text = NOTHING_WRONG.replace("n.state AS state", r"'it\'s // $not;' AS state")
    assert queries.parse("node_find", text).params == {"project", "key"}


def test_a_walk_may_be_tightened() -> None:
    query = queries.parse("node_walk", WALK)
    tightened = query.walking(3)
    assert tightened.text == WALK.replace("*1..8", "*1..3")
    assert (tightened.name, tightened.kind, tightened.params) == (query.name, query.kind, query.params)
    assert query.walking(8).text == WALK


@pytest.mark.parametrize("depth", [9, 100, 0, -1])
def test_a_walk_is_never_widened(depth: int) -> None:
    with pytest.raises(InternalError, match="node_walk"):
        queries.parse("node_walk", WALK).walking(depth)


@pytest.mark.parametrize("depth", ["3", "1]->() DETACH DELETE n //", 2.5, None, [3]])
def test_a_depth_that_is_no_whole_number_never_reaches_a_text(depth: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        queries.parse("node_walk", WALK).walking(cast(Any, depth))


def test_a_statement_that_does_not_walk_cannot_be_tightened() -> None:
    with pytest.raises(InternalError, match="node_find"):
        queries.parse("node_find", NOTHING_WRONG).walking(1)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InternalError, match=r"cypher/no_such_thing\.cypher"):
        queries.load("no_such_thing")


def test_every_file_loads_under_its_name_and_only_once() -> None:
    names = queries.names()
    assert names == tuple(sorted(set(names)))
    for name in names:
        assert queries.load(name).name == name
        assert queries.load(name) is queries.load(name)
