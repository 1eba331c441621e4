"""What every file in ``cypher/`` keeps to, as far as it can be seen without a server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from graph import queries, schema

ROOT = Path(__file__).parent.parent
NAMES = queries.names()
LINE_CHARS_MAX = 120  # as in the Python files
HOPS_MAX = 100_000  # a walk that may be longer says "any depth" and stands on a rule

TEXT_OR_COMMENT = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|//[^\n]*")
WRITING = re.compile(r"\b(CREATE|MERGE|SET|REMOVE|DELETE|FOREACH)\b")
HOPS = re.compile(r"\*(?:(\d+)?(\.\.)(\d+)?|(\d+))?(?=\s*[\]{])")
QUANTIFIED = re.compile(r"\)(?:[+*](?=\s*\()|\{\d*,\})")
ANY_DEPTH = re.compile(r"any depth, as rules\.md section \d+ asks")
RELATIONSHIP = re.compile(r"\[\w*:\s*([A-Z_]+(?:\|[A-Z_]+)*)")
LABEL = re.compile(r"(?<=[\w(]):([A-Z]\w*(?:[:|&]!?[A-Z]\w*)*)")
PROPERTY = re.compile(r"(?:\b([a-z_]\w*))?(?<!\.)\.([a-z_]\w*)")
PATTERN_MAP = re.compile(r"\(\w*:\w+ \{([^}]*)\}\)")
MAPS = frozenset({"wanted", "filters", "row", "event", "edge"})  # variables that hold no node and no relationship
WITH_DYNAMIC_NAMES = frozenset(
    {"nodes_create", "nodes_put", "edges_create", "repair_nodes", "repair_evidence", "repair_project"}
    | {"representations_put", "representations_apart"}
)
KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        MATCH OPTIONAL WHERE RETURN WITH UNWIND CALL CREATE MERGE SET REMOVE DELETE DETACH FOREACH UNION DISTINCT
        ORDER BY SKIP LIMIT ASC DESC AS AND OR XOR NOT IN IS NULL CASE WHEN THEN ELSE END STARTS ENDS CONTAINS ON FOR
        REQUIRE UNIQUE INDEX CONSTRAINT IF USING
        """,
    )
)
CORE = re.compile(
    r"\bdb\.(index\.(vector|fulltext)\.queryNodes|create\.setNodeVectorProperty)\("
)  # not to be said in Cypher
CLAUSE = re.compile(r"\b(OPTIONAL MATCH|(?<!OPTIONAL )MATCH|UNWIND|RETURN|ORDER BY|LIMIT|UNION)\b")


def text(name: str) -> str:
    return (ROOT / "cypher" / f"{name}.cypher").read_text("utf-8")


def body(name: str) -> str:
    """The statement with its texts emptied and its comments gone."""
    return TEXT_OR_COMMENT.sub(lambda found: "" if found[0].startswith("//") else "''", text(name))


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_first_line_says_in_one_sentence_what_it_is(name: str) -> None:
    first, second = text(name).splitlines()[:2]
    assert re.fullmatch(rf"// {name}: [a-z]\w*['\w]* .*\.", first), first
    assert ". " not in first
    assert second == "//"


def test_the_fields_stand_in_one_order_and_column(name: str) -> None:
    lines = text(name).splitlines()[2:]
    header = lines[: next(at for at, line in enumerate(lines) if not line.startswith("//"))]
    labels = [line[:12] for line in header if re.match(r"// (kind|params|returns|bounds):", line)]
    assert labels == ["// kind:    ", "// params:  ", "// returns: ", "// bounds:  "]


def test_the_kind_is_what_the_clauses_do(name: str) -> None:
    kind, words = queries.load(name).kind, body(name)
    if kind == "schema":
        assert re.match(r"\s*CREATE (FULLTEXT INDEX|INDEX|CONSTRAINT|VECTOR INDEX) \$?\w+ IF NOT EXISTS\n", words)
    else:
        assert bool(WRITING.search(words)) == (kind == "write")


def test_a_schema_file_is_named_after_what_it_makes(name: str) -> None:
    made = re.search(r"CREATE (?:FULLTEXT INDEX|INDEX|CONSTRAINT) (\w+)", body(name))
    fixed = queries.load(name).kind == "schema" and name != "representation_index"  # one for each model
    assert (f"schema_{made[1]}" if made else None) == (name if fixed else None)


def test_the_bounds_name_parameters_of_the_statement(name: str) -> None:
    query = queries.load(name)
    assert query.bounds
    assert set(re.findall(r"\$(\w+)", query.bounds)) <= query.params


def test_every_walk_has_a_literal_ceiling_or_stands_on_a_rule(name: str) -> None:
    bounds, words = queries.load(name).bounds, body(name)
    ceilings = [found[3] or found[4] for found in HOPS.finditer(words)]
    assert all(ceiling is not None and int(ceiling) <= HOPS_MAX for ceiling in ceilings)
    assert bool(QUANTIFIED.search(words)) == bool(ANY_DEPTH.search(bounds))


def test_nothing_stands_on_ids_of_the_database_or_on_plug_ins(name: str) -> None:
    assert not re.search(r"\b(elementId|id)\s*\(|\bapoc\.|\bgds\.|\bdb(ms)?\.|\bLOAD\b", CORE.sub("", body(name)))


def test_a_type_or_label_that_comes_as_a_value_is_written_by_few_statements(name: str) -> None:
    dynamic = re.findall(r":\s*\$\(?[\w.]*", body(name))
    assert bool(re.search(r"[(\[]?\w+:\$\(", body(name))) == (name in WITH_DYNAMIC_NAMES), dynamic


def test_keywords_are_upper_case(name: str) -> None:
    words = re.sub(r"\.\w+|\$\w+|\w+(?=:)|\w+(?=\()", "", body(name))
    found = {word for word in re.findall(r"[A-Za-z_]+", words) if word.upper() in KEYWORDS}
    assert {word for word in found if not word.isupper()} == set()


def test_a_clause_begins_a_line(name: str) -> None:
    for line in body(name).splitlines():
        found = CLAUSE.search(re.sub(r"\b(STARTS|ENDS) WITH\b", "", line))
        assert found is None or line.lstrip().startswith(found[1]) or "EXISTS { " in line, line


def test_every_returned_value_has_a_name(name: str) -> None:
    query = queries.load(name)
    last = body(name).rsplit("\nRETURN ", 1)[-1]
    for column in query.returns:
        assert re.search(rf"\b{column}\b", last), column


def test_lines_are_short_and_hold_no_tabs_or_blanks_at_their_ends(name: str) -> None:
    content = text(name)
    assert content.endswith("\n") and not content.endswith("\n\n")
    for line in content.splitlines():
        assert len(line) <= LINE_CHARS_MAX, line
        assert line == line.rstrip()
        assert "\t" not in line


def python_files() -> dict[str, str]:
    return {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in sorted((ROOT / "graph").rglob("*.py"))}


def test_every_file_is_used() -> None:
    code = "\n".join(python_files().values())
    code += (
        '"provenance_upstream" "provenance_downstream" "provenance_both"' if 'f"provenance_{direction}"' in code else ""
    )
    asked = [name for name in NAMES if queries.load(name).kind != "schema"]
    assert [name for name in asked if not re.search(rf"[\"']{name}[\"']", code)] == []


def test_every_statement_that_the_code_names_is_a_file() -> None:
    calls = re.compile(r"(?:\b_run\(\s*tx,|\.read\(|\.stream\(|project_write\(|queries\.load\()\s*\"(\w+)\"")
    asked = {found for code in python_files().values() for found in calls.findall(code)}
    assert asked
    assert asked <= set(NAMES)


def test_only_the_loader_turns_text_into_a_statement() -> None:
    casts = [file for file, code in python_files().items() if re.search(r"cast\(\s*[\"']?LiteralString", code)]
    assert casts == ["graph/queries.py"]


def test_nothing_is_put_together_with_a_statements_text() -> None:
    for file, code in python_files().items():
        assert not re.search(r"query\.text\s*[+%]|[+%]\s*query\.text|\.text\.(format|replace)|\{query\.text", code), (
            file
        )


def model_names() -> tuple[set[str], set[str], set[str]]:
    """Labels, relationship types and properties that the classes of ``graph.schema`` declare."""
    labels, types, properties = set[str](), set[str](), set[str]()
    for model in schema.MODELS:
        declared: Any = model
        labels |= {*declared.inherited_labels(), *declared.inherited_optional_labels()}
        properties |= set(declared.defined_properties(rels=False, aliases=False))
        for relationship in declared.defined_properties(properties=False, aliases=False).values():
            types.add(relationship.definition["relation_type"])
            if relationship.definition["model"] is not None:
                properties |= set(relationship.definition["model"].defined_properties(rels=False, aliases=False))
    return labels, types, properties


LABELS, TYPES, PROPERTIES = model_names()


def test_labels_are_those_of_the_model(name: str) -> None:
    words = re.sub(r"\[\w*:[^\]]*\]", "[]", body(name))
    used = {label for found in LABEL.findall(words) for label in re.split(r"[:|&!]+", found)}
    assert used - LABELS == set()


def test_relationship_types_are_those_of_the_model(name: str) -> None:
    assert {word for found in RELATIONSHIP.findall(body(name)) for word in found.split("|")} - TYPES == set()


def properties_used(name: str) -> set[str]:
    words = re.sub(r"\d\.\.|`[^`]*`|[\w.]+\(", "", body(name))  # nor what is called by a name with dots in it
    used = {found for variable, found in PROPERTY.findall(words) if variable not in MAPS}
    return used | {key for found in PATTERN_MAP.findall(words) for key in re.findall(r"(\w+):", found)}


def test_properties_are_those_of_the_model(name: str) -> None:
    # What takes the lock is removed by the statement that sets it.
    assert properties_used(name) - PROPERTIES == ({"_lock"} if name == "project_lock" else set())


def test_the_model_declares_nothing_that_no_statement_knows() -> None:
    assert {used for name in NAMES for used in properties_used(name)} - {"_lock"} == PROPERTIES
    assert {word for name in NAMES for found in RELATIONSHIP.findall(body(name)) for word in found.split("|")} == TYPES
