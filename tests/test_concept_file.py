"""Concept files: what is read, what is refused and where, and that what was written is read the same."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from datasets import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger import HUMAN
from quiet import cpu_seconds

from graph.commands import read_command
from graph.concept import BODY_CHARS_MAX, TYPES, Concept, checked_name, distinct
from graph.concept_file import CONTRADICTION, FILE_BYTES_MAX, ConceptFile, concept_in, read, written
from graph.errors import ConceptFileError, ValidationError
from graph.knowledge import State
from graph.links import link_targets

OURS = Path(__file__).parent / "concepts"
GIVEN = SHARED / "concepts"
WHEN = "2026-01-02T03:04:05Z"


def records(folder: Path) -> list[Any]:
    listed = folder / "expected.json"
    return json.loads(listed.read_text("utf-8")) if listed.exists() else []


@pytest.mark.skipif(not GIVEN.exists(), reason="the concept files are not on this machine")
def test_every_file_that_was_given_is_read_as_expected() -> None:
    expected = records(GIVEN)
    assert len(expected) == len(list(GIVEN.glob("s*.md"))) == 16
    for record in expected:
        data = (GIVEN / record["file"]).read_bytes()
        if record["ok"]:
            file = read(data)
            told = (file.frontmatter, file.body, [asdict(link) for link in file.links])
            assert told == (record["frontmatter"], record["body"], record["links"]), record["file"]
            assert [warning.kind for warning in file.warnings] == record.get("warnings", []), record["file"]
        else:
            error = refusal(data)
            assert (error.kind, error.line) == (record["error"], record["line"]), record["file"]
    limits = refusal((GIVEN / "s16-limits.md").read_bytes())
    assert [fault.field for fault in limits.faults] == ["name", "description", "type", "body"]


def test_every_file_of_ours_stands_in_the_list() -> None:
    assert {record["file"] for record in records(OURS)} == {path.name for path in OURS.glob("*.md")}


@pytest.mark.parametrize("record", records(OURS), ids=lambda record: record["file"])
def test_a_file_of_ours_is_read_as_expected(record: Any) -> None:
    data = (OURS / record["file"]).read_bytes()
    if "faults" in record:
        assert [[f.kind, f.line, f.field] for f in refusal(data).faults] == record["faults"]
        return
    file = read(data)
    assert file.frontmatter == record["frontmatter"]
    assert file.body == record["body"]
    assert [asdict(link) for link in file.links] == record["links"]
    assert [[warning.kind, warning.line] for warning in file.warnings] == record["warnings"]


@pytest.mark.parametrize("record", [r for r in records(OURS) if "faults" not in r], ids=lambda record: record["file"])
def test_an_untouched_file_comes_back_byte_for_byte(record: Any) -> None:
    data = (OURS / record["file"]).read_bytes()
    file = read(data)
    assert rewritten(concept_in(file, "import"), file.contradictions).encode() == data


def refusal(data: bytes) -> ConceptFileError:
    with pytest.raises(ConceptFileError) as refused:
        read(data)
    assert refused.value.code == "VALIDATION"
    return refused.value


def rewritten(concept: Concept, contradictions: tuple[str, ...] = (), state: State = State.PROPOSED) -> str:
    return written(concept, state=state, created_at=WHEN, updated_at=WHEN, contradictions=contradictions)


def file_of(fields: str = "", body: str = "It holds.") -> bytes:
    return f"---\nname: a\ndescription: d\ntype: fact\n{fields}---\n\n{body}\n".encode()


# --- Reading ------------------------------------------------------------------------------------------------


def test_the_concept_of_a_file_has_its_claim_its_links_and_what_it_says_of_its_sources() -> None:
    file = read((OURS / "contradiction.md").read_bytes())
    assert (file.claim, file.contradictions) == (
        "Within 30 days.\n\n```\n## Contradiction\n```",
        ("Within 14 days, see [[terms]].", "Never."),
    )
    concept = concept_in(file, "import")
    assert (concept.sources, concept.occurrences, concept.links) == (("a", "b", "c"), 2, ())
    assert concept_in(read(file_of(body="[[b]] [[a]] [[b|x]] [[#y]]")), "import").links == ("b",)


@pytest.mark.parametrize(
    ("fields", "sources", "occurrences"),
    [
        ("", ("import",), 1),
        ("sources: run-1\n", ("run-1",), 1),
        ("sources: [a, b, a]\n", ("a", "b"), 2),
        ("sources: [{id: a, span: [1, 2]}, {note: x}, 7, ~]\noccurrences: 9\n", ("a", "7"), 9),
    ],
)
def test_sources_are_texts_or_maps_with_an_id(fields: str, sources: tuple[str, ...], occurrences: int) -> None:
    concept = concept_in(read(file_of(fields)), "import")
    assert (concept.sources, concept.occurrences) == (sources, occurrences)


def test_types_are_the_projects_own_where_it_has_some() -> None:
    data = file_of().replace(b"type: fact", b"type: rumour")
    assert read(data, ("rumour",)).type == "rumour"
    assert refusal(data).faults[0].allowed == ", ".join(TYPES)


@pytest.mark.parametrize("line", [b"description: a: b", b"tags: [a", b"note: 'x", b"\tname: x", b"--- {}\n"])
def test_what_is_no_yaml_is_told_with_what_is(line: bytes) -> None:
    (fault,) = refusal(b"---\nname: a\ntype: fact\n" + line + b"\n---\nBody\n").faults
    assert (fault.kind, bool(fault.allowed)) == ("invalid_yaml", True)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"---\n---\nBody\n", "name"),
        (b"---\n# nothing\n---\nBody\n", "name"),
        (b"---\nname: [a]\ntype: fact\n---\nBody\n", "name"),
        (b"---\nname:\ntype: fact\n---\nBody\n", "name"),
        (b"---\nname: a\n---\nBody\n", "type"),
        (b"---\nname: a\ntype: fact\n---\n\n  \n", "body"),
        (b"---\nname: a\ntype: fact\ndescription: {b: c}\n---\nBody\n", "description"),
        (file_of("occurrences: many\n"), "occurrences"),
        (file_of("occurrences: true\n"), "occurrences"),
        (file_of(body=f"It holds.\n\n{CONTRADICTION}\n\n{'x' * (BODY_CHARS_MAX + 1)}"), "body"),
        (file_of(body="bell \x07"), "body"),
        (file_of("note: " + "x" * 40_000 + "\n"), "file"),
    ],
)
def test_a_fault_of_a_field_is_told_with_its_name(data: bytes, field: str) -> None:
    error = refusal(data)
    assert (error.kind, field in {fault.field for fault in error.faults}) == ("validation", True)
    assert all(fault.allowed for fault in error.faults)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * (FILE_BYTES_MAX + 1),
        file_of(body="x" * 1_000_000),
        file_of("a: " + "[" * 100_000 + "\n"),
        file_of("a: " + "{a: " * 30_000 + "\n"),
        file_of("- " * 60_000 + "\n"),
        file_of("a: &a [" + "x, " * 1_000 + "]\n" + "".join(f"k{n}: *a\n" for n in range(1_000))),
        file_of("? " * 20_000 + "\n"),
        file_of("a: |\n" + " x\n" * 9_000),
        file_of(body="`" * 1_999),
        file_of(body="[[" * 990),
        file_of(body="> " * 990),
        file_of(body="- " * 990),
        file_of(body="\n".join(["-"] * 990)),
    ],
    ids=range(13),
)
def test_an_enormous_or_a_hostile_file_is_answered_at_once(data: bytes) -> None:
    def answered() -> None:
        try:
            read(data)
        except ConceptFileError as error:
            assert error.faults

    assert cpu_seconds(answered, 2.0) < 2.0


@given(st.binary(max_size=80) | st.text(max_size=80).map(str.encode))
def test_any_bytes_are_a_file_or_refused_with_a_line_of_it(data: bytes) -> None:
    for given_bytes in (
        data,
        b"---\nname: a\ntype: fact\n" + data + b"\n---\nb",
        b"---\nname: a\ntype: fact\n---\n" + data,
    ):
        try:
            assert isinstance(read(given_bytes), ConceptFile)
        except ConceptFileError as error:
            assert all(1 <= fault.line <= given_bytes.count(b"\n") + 1 for fault in error.faults)


# --- Writing ------------------------------------------------------------------------------------------------

BASE = Concept("a", 'It: "is"', "fact", "See [[b]].", ("b",), 2, ("run-1", "run-2"))


def test_a_concept_is_written_in_one_form() -> None:
    assert rewritten(BASE, ("It is not.",), State.CHALLENGED) == (
        '---\nname: "a"\ndescription: "It: \\"is\\""\ntype: "fact"\nprovenance: "observed"\nconfidence: 0.4\n'
        'sources: ["run-1", "run-2"]\noccurrences: 2\n'
        'created_at: "2026-01-02T03:04:05Z"\nupdated_at: "2026-01-02T03:04:05Z"\n---\n\n'
        "See [[b]].\n\n## Contradiction\n\nIt is not.\n"
    )


def test_a_file_is_written_anew_once_more_is_known_and_keeps_what_else_it_said() -> None:
    data = b"\xef\xbb\xbf" + file_of("tags: [007, no]\nlimits: {days: 14, on: 2025-01-02}\n").replace(b"\n", b"\r\n")
    first = concept_in(read(data), "import")
    assert rewritten(first).encode() == data
    for seen in (
        first.seen({"sources": ["run-2"], "occurrences": 1}, counted=True),
        first.seen({"sources": ["run-2"], "occurrences": 1}, counted=False),
        replace(first, body="Else."),
    ):
        again = read(rewritten(seen).encode())
        assert {name: again.frontmatter[name] for name in ("tags", "limits")} == {
            "tags": ["007", "no"],
            "limits": {"days": 14, "on": "2025-01-02"},
        }
        assert replace(concept_in(again, "x"), file=None) == replace(seen, file=None)
    assert read(rewritten(first, ("No.",)).encode()).contradictions == ("No.",)


def test_a_kept_file_that_is_none_any_more_is_written_anew() -> None:
    assert rewritten(replace(BASE, file="[REDACTED]")) == rewritten(BASE)


_KEY = "abcdefghijklmnopqrstuvwxyzABCDEF0123"


@pytest.mark.parametrize(
    "fields",
    [
        "description: >\n  The password:\n  hunter2!x is known",
        f'description: "key ghp\\x5f{_KEY}"',
        'description: "AKIA\\\n  QWERTYUIOPASDFGH is the key"',
        'description: d\nmail: "bob@corp\\x2eexample.org"',
        'description: d\nmore: [{to: ["bob\\u0040corp.example.org"]}]',
        f'description: d\n"ghp\\x5f{_KEY}": 1',
        'description: d\n"pass\\x77ord": hunter2!x',
        "description: d\npassword: # known to all\n  hunter2!x",
        'description: d\nmail: "bob@corp\\x2eexample.org"\nmail: twice',
        f'description: d\ntoken: &a "ghp\\x5f{_KEY}"\nagain: *a',
    ],
)
@pytest.mark.parametrize("part", ["concept", "said"])
def test_a_file_that_says_a_secret_which_its_text_does_not_show_is_not_kept(fields: str, part: str) -> None:
    text = f"---\nname: a\ntype: fact\n{fields}\n---\n\nIt holds.\n"
    said = {"description": "d", "type": "fact", "body": "It holds.", "file": text}
    payload = {"concept": said} if part == "concept" else {"said": said, "verdict": "same"}
    line = {"transition": "proposed" if part == "concept" else "sighted", "key": "a", "payload": payload}
    assert "file" not in read_command(line, actor=HUMAN, project="P").payload[part]
    restored = read_command(line, actor=HUMAN, project="P", redacting=None)
    assert restored.payload[part]["file"] == text, "a written journal keeps its hashes"


def test_a_file_whose_secrets_its_text_shows_is_kept_without_them() -> None:
    text = file_of("mail: bob@corp.example.org\nfolded: >\n  one\n  two\n").decode()
    said = {"description": "d", "type": "fact", "body": "It holds.", "file": text}
    command = read_command(
        {"transition": "proposed", "key": "a", "payload": {"concept": said}}, actor=HUMAN, project="P"
    )
    assert command.payload["concept"]["file"] == text.replace("bob@corp.example.org", "[REDACTED:email]")
    assert command.redacted == {"email": 1}


@pytest.mark.parametrize(
    ("body", "contradictions"),
    [
        (f"a\n\n{CONTRADICTION}\n\nb", ()),
        (f"a\n\n{CONTRADICTION}\n\nb", ("c", f"d\n{CONTRADICTION}\ne")),
        ("```\nnever closed", ("c",)),
        ("    indented", ("    too", "> - ```")),
        (f"```\n{CONTRADICTION}\n```", ("c",)),
        (CONTRADICTION, ("c",)),
    ],
)
def test_headings_that_are_not_ours_are_told_from_those_that_are(body: str, contradictions: tuple[str, ...]) -> None:
    file = read(rewritten(replace(BASE, body=body), contradictions).encode())
    assert (file.claim, file.contradictions) == (body, contradictions)


def _name(text: str) -> bool:
    try:
        return checked_name(text, "name") == text
    except ValidationError:
        return False


# What a file can say: line ends are LF, and none stands at an end of a text.
_CHARS = st.characters(exclude_categories=["Cs", "Cc", "Cn"]) | st.sampled_from(
    "\n\t `[]#|-\\\"':{}&*!%@>\x85\u2028\ufeff"
)
_TEXT = st.text(_CHARS) | st.lists(st.sampled_from(["[[b]]", "```", "---", CONTRADICTION, "\n", "    ", "x"])).map(
    "".join
)
_BODY = _TEXT.map(lambda text: text.strip("\n")).filter(lambda text: bool(text.strip()))
_NAMES = st.text(st.sampled_from("abc019-._éß表ا"), min_size=1, max_size=80).filter(_name)


@st.composite
def concepts(draw: st.DrawFn) -> Concept:
    name, body = draw(_NAMES), draw(_BODY)
    sources = draw(
        st.lists(st.text(_CHARS, min_size=1, max_size=20).filter(lambda t: bool(t.strip())), min_size=1, unique=True)
    )
    return Concept(
        name=name,
        description=draw(_TEXT.filter(lambda text: not text or bool(text.strip()))),
        type=draw(st.sampled_from(TYPES)),
        body=body,
        links=distinct(link_targets(body), name),
        occurrences=draw(st.integers(1, 2**53)),
        sources=tuple(sources),
    )


@settings(max_examples=300)
@given(concepts(), st.lists(_BODY, max_size=3))
def test_what_was_written_is_read_as_the_same_concept_and_written_the_same(
    concept: Concept, contradictions: list[str]
) -> None:
    text = rewritten(concept, tuple(contradictions))
    file = read(text.encode())
    assert replace(concept_in(file, "other"), file=None) == concept
    assert list(file.contradictions) == contradictions
    assert rewritten(replace(concept, file=text), tuple(part.strip() for part in contradictions)) == text
