"""A graph that was written as GraphML makes the same graph again; what is not ours, damaged or hostile is refused."""

from __future__ import annotations

import asyncio
import json
import re
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import datasets
import pytest
from ledger import HUMAN
from quiet import cpu_seconds

from graph.errors import KnowledgeError, LimitError, ValidationError
from graph.exchange import Report, Terms, import_journal
from graph.graphml_import import USES_MAX, import_graphml
from graph.graphml_reader import DATA_CHARS_MAX, TOKEN_BYTES_MAX, elements
from graph.service import Service

Row = dict[str, Any]
# Of events that a graph does not hold: positions, recorded times and ids.
NOT_CARRIED = {"created_seq", "updated_at", "event_ids"}


def evidence(*keys: str, **more: object) -> Row:
    return {"evidence": [{"key": key, "type": "t", "source": f"s {key}", **more} for key in keys]}


def said(transition: str, key: str, day: int, **more: Any) -> Row:
    return {"transition": transition, "key": key, "time": f"2026-01-{day:02}T00:00:00.5Z", "reason": "so", **more}


def proposed(key: str, day: int, **payload: Any) -> Row:
    return said("proposed", key, day, payload={"proposition": f"says {key}", **payload})


def linked(key: str, relation: str, to: str, day: int, transition: str = "linked", **more: Any) -> Row:
    return said(transition, key, day, payload={"relation": relation, "to": to}, **more)


# Everything that a graph can hold, in an order that its nodes' keys do not follow.
HISTORY: list[Row] = [
    proposed("z", 1, **evidence("e9", "e1", metadata={"a": [1, 1.0, None, {"b": "x"}]})),
    proposed(
        "y <&>\u2028\U0001f600",
        2,
        kind="observation",
        valid_from="2020-01-01T00:00:00Z",
        valid_to="2030-01-01T00:00:00Z",
    ),
    proposed("x", 2, lineage={"sources": ["u", {"type": "resource", "id": "r"}], "method": "m", "confidence": 1.0}),
    linked("x", "depends_on", "z", 3),
    linked("z", "related_to", "x", 3),
    proposed("w", 3),
    linked("w", "depends_on", "x", 4),
    said("confirmed", "w", 5, payload=evidence("e2")),  # before the retirement below: it comes to be at risk
    said("evidenced", "z", 5, payload=evidence("e0")),
    said("confirmed", "z", 5, payload=evidence("e1", metadata={"a": [1, 1.0, None, {"b": "x"}]})),
    said("corrected", "z", 6, payload={"proposition": "says z2", **evidence("e7")}),
    linked("w", "supports", "z", 7),
    linked("x", "supports", "z", 7, generation=1),
    said("invalidated", "z", 8),
    proposed("z", 9, kind="observation"),
    proposed("v", 9),
    linked("v", "depends_on", "x", 9),
    said("confirmed", "v", 10, payload=evidence("e3")),  # behind the retirement: it answers it
    proposed("u", 10),
    said("superseded", "u", 11, payload={"by": "v"}),
    proposed("t", 11),
    proposed("s", 11),
    said("superseded", "t", 12, payload={"by": "s"}),
    said("corrected", "s", 12, payload={"proposition": "says s2"}),
    proposed("r", 12),
    linked("s", "contradicts", "r", 13),
    proposed("q", 13),
    linked("s", "contradicts", "q", 13),
    said("confirmed", "q", 14),
    said("challenged", "v", 14),
    linked("v", "supersedes", "q", 14),
    linked("v", "related_to", "q", 14),
    linked("v", "related_to", "q", 15, "unlinked"),
    said("used", "u", 15),
    said("used", "u", 15),
    said("forgotten", "r", 15),
    said("confirmed", "s", 15),
]


def taken(service: Service, loop: asyncio.Runner, lines: Iterable[Row], project: str = "P") -> None:
    raw = [json.dumps(line).encode() for line in lines]
    report = loop.run(import_journal(service.store, lambda: raw, Terms(project, HUMAN, into=True)))
    assert [(each.line, each.error.message) for each in report.refusals] == []


def exported(service: Service, loop: asyncio.Runner, project: str = "P") -> bytes:
    async def read() -> bytes:
        return b"".join([chunk async for chunk in service.export_graphml(project)])

    return loop.run(read())


def imported(service: Service, loop: asyncio.Runner, document: bytes, project: str | None = "R") -> Report:
    terms = Terms(project or "default", HUMAN, into=project is not None)
    return loop.run(import_graphml(service.store, lambda: iter([document]), terms))


def said_by(document: bytes) -> list[Row]:
    """What the elements say that a graph carries; the project is the one thing that evidence repeats."""
    rows = [dict(element.row) for element in elements([document]) if element.kind != "graph"]
    for row in rows:
        for name in NOT_CARRIED:
            row.pop(name, None)
        if row.get("evidence"):
            row["evidence"] = [record | {"project": None} for record in json.loads(row["evidence"])]
    return rows


@pytest.mark.parametrize(
    "told", [lambda: HISTORY, pytest.param(datasets.peps, marks=pytest.mark.slow)], ids=["everything", "peps"]
)
def test_the_graph_comes_out_as_it_stood_in_the_file(
    told: Callable[[], Iterable[Row]], service: Service, loop: asyncio.Runner
) -> None:
    if told is datasets.peps and not datasets.SHARED.is_dir():
        pytest.skip("the shared data are not there")
    taken(service, loop, told())
    document = exported(service, loop)
    report = imported(service, loop, document)
    assert (report.refused, report.repeated) == (0, 0)
    again = exported(service, loop, "R")
    assert said_by(again) == said_by(document)
    assert loop.run(service.verify("R"))["ok"]
    assert imported(service, loop, document).taken == 0, "the same file again is a repeat"
    assert exported(service, loop, "R") == again


def test_without_a_project_the_documents_own_is_meant(service: Service, loop: asyncio.Runner) -> None:
    taken(service, loop, HISTORY[:3])
    document = exported(service, loop).replace(b">P</data>", b">Q</data>", 1)
    imported(service, loop, document, None)
    assert loop.run(service.projects()) == ["P", "Q"]
    event = loop.run(service.journal("Q", 0, 1)).items[0]
    assert (event["actor"]["subject"], event["reason"]) == ("ada", "imported from the graph of 'Q' at position 3")


def test_a_project_that_holds_something_else_is_refused(service: Service, loop: asyncio.Runner) -> None:
    taken(service, loop, HISTORY[:3])
    with pytest.raises(ValidationError, match="holds something else"):
        imported(service, loop, exported(service, loop), "P")


def small(service: Service, loop: asyncio.Runner) -> bytes:
    taken(service, loop, [*HISTORY[:4], *HISTORY[9:11]])
    return exported(service, loop)


DAMAGES: dict[str, tuple[bytes, bytes, str]] = {
    "a value": (b">says z<", b">says zz<", "node 'z'"),
    "a state": (b">proposed<", b">confirmed<", "node"),
    "an unknown state": (b">corrected<", b">correct<", "node 'z'"),
    "an id": (b'<node id="x">', b'<node id="xx">', "node 'xx'"),
    "an end": (b'target="z"', b'target="zz"', "edge"),
    "a count": (b'"n_uses">0<', b'"n_uses">00<', "node 'x'"),
    "a number": (b'"n_created_seq">1<', b'"n_created_seq">one<', "node"),
    "a position": (b'"n_created_seq">1<', b'"n_created_seq">0<', "node 'z'"),
    "evidence": (b'"n_evidence">[', b'"n_evidence">[5', "node 'x'"),
    "no JSON": (b'"n_evidence">[', b'"n_evidence">[{', "node 'x'"),
    "a name twice": (b'"type":"t"', b'"type":"t","type":"t"', "node 'z'"),
    "a name twice in metadata": (rb"{\"a\":", rb"{\"a\":0,\"a\":", "node 'z'"),
    "a key": (b'attr.name="uses" attr.type="long"', b'attr.name="uses" attr.type="int"', "graphml"),
    "a key of ours that is not declared": (
        b'<key id="n_uses" for="node" attr.name="uses" attr.type="long"/>',
        b"",
        "graphml",
    ),
    "a data of nobody's": (b'<data key="n_uses">', b'<data key="n_used">', "node"),
    "an element of nobody's": (b"<node id", b"<port/><node id", "port"),
    "a text between": (b"<node id", b"text<node id", "graph"),
    "an attribute": (b'<node id="x"', b'<node colour="red" id="x"', "node 'x'"),
    "a namespace": (b"graphml.graphdrawing.org/xmlns", b"graphml.example.org/xmlns", "graphml"),
    "an unclosed element": (b"</graph>", b"", "graph"),
    "a node count": (b'"g_node_count">', b'"g_node_count">1', "graph"),
    "a time ahead": (b'"n_created_at">2026-01-02', b'"n_created_at">2926-01-02', "node"),
    "no instant": (b'"n_created_at">2026-01-02', b'"n_created_at">soon-01-02', "node"),
    "what corrected it": (b'"n_valid_from">2026-01-06', b'"n_valid_from">2026-01-07', "node 'z' (generation 2)"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_document_is_refused_by_element_and_line(name: str, service: Service, loop: asyncio.Runner) -> None:
    document, (there, instead, where) = small(service, loop), DAMAGES[name]
    assert there in document
    with pytest.raises(ValidationError) as refused:
        imported(service, loop, document.replace(there, instead, 1))
    assert where in (refused.value.field or ""), refused.value.facts()
    assert refused.value.position, refused.value.facts()
    assert loop.run(service.projects()) == ["P"], "nothing was taken"


def test_a_document_from_before_there_were_concepts_is_read_and_nothing_is_said_without_its_key(
    service: Service, loop: asyncio.Runner
) -> None:
    document = small(service, loop)
    key = re.search(rb'<key id="n_concept"[^>]*/>\n', document)
    assert key is not None
    before = document.replace(key[0], b"")
    assert imported(service, loop, before).refused == 0
    assert said_by(exported(service, loop, "R")) == said_by(document)
    unnamed = before.replace(b"</node>", b'<data key="n_concept">{}</data></node>', 1)
    unknown = document.replace(key[0], key[0] + key[0].replace(b"concept", b"mood"))
    other = document.replace(key[0], key[0].replace(b"string", b"long"))
    needed = re.sub(rb'<key id="n_uses"[^>]*/>\n', b"", document)
    for wrong in (unnamed, unknown, other, needed):
        with pytest.raises(ValidationError):
            imported(service, loop, wrong, "S")
    assert loop.run(service.head("S")) is None


def test_a_document_that_was_cut_anywhere_is_refused(service: Service, loop: asyncio.Runner) -> None:
    document = small(service, loop)
    for end in range(0, len(document) - 1, 97):
        with pytest.raises(ValidationError):
            list(elements([document[:end]]))
    for start in (1, 100):
        with pytest.raises(ValidationError):
            list(elements([document[start:]]))


def test_nodes_and_edges_stand_once_and_both_ends_are_there(service: Service, loop: asyncio.Runner) -> None:
    document = small(service, loop)
    for kind, count in ((b"node", b"g_node_count"), (b"edge", b"g_edge_count")):
        start, end = document.index(b"<%s " % kind), document.index(b"</%s>\n" % kind) + len(b"</%s>\n" % kind)
        at = document.index(count + b'">') + len(count) + 2
        number = document[at : document.index(b"<", at)]
        doubled = document[:end] + document[start:end] + document[end:]
        doubled = doubled.replace(count + b'">' + number, count + b'">%d' % (int(number) + 1))
        with pytest.raises(ValidationError, match="there are two of this"):
            imported(service, loop, doubled)


def test_a_number_of_uses_is_bounded(service: Service, loop: asyncio.Runner) -> None:
    document = small(service, loop).replace(b'"n_uses">0', b'"n_uses">%d' % (USES_MAX + 1), 1)
    with pytest.raises(LimitError):
        imported(service, loop, document)


LAUGHS = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 20))


def long(begin: bytes, piece: bytes = b"x" * 65_536) -> Iterator[bytes]:
    """So much of one thing that it is not read to its end."""
    yield begin
    yield from (piece for _ in range(2_000))


ATTRIBUTES = b" ".join(b'a%d="1"' % at for at in range(5_000)) + b" "
HOSTILE: dict[str, Callable[[], Iterable[bytes]]] = {
    "entities in entities": lambda: [b'<!DOCTYPE g [<!ENTITY l0 "ha">', LAUGHS, b"]><graphml>&l19;</graphml>"],
    "an external entity": lambda: [b'<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml>&x;</graphml>'],
    "an external document type": lambda: [b'<!DOCTYPE g SYSTEM "http://example.org/g.dtd"><graphml/>'],
    "elements in elements": lambda: long(b"<graphml>", b"<graphml>" * 1_000),
    "a long attribute": lambda: long(b'<graphml a="'),
    "a long name": lambda: long(b"<"),
    "a long comment": lambda: long(b"<!--"),
    "many attributes": lambda: long(b"<graphml ", ATTRIBUTES),
    "another encoding": lambda: [b'<?xml version="1.0" encoding="no-such"?><graphml/>'],
    "no XML": lambda: [b"\x00\xff<graphml/>"],
    "nothing": lambda: [b""],
    "a processing instruction": lambda: [b"<?php evil?><graphml/>"],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_xml_is_refused_in_bounded_time_and_memory(name: str) -> None:
    def refused() -> None:
        with pytest.raises(KnowledgeError) as told:
            list(elements(HOSTILE[name]()))
        assert told.value.code in ("VALIDATION", "LIMIT")

    assert cpu_seconds(refused, 2.0) < 2.0
    tracemalloc.start()
    refused()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * TOKEN_BYTES_MAX


def test_a_long_content_is_refused_at_its_bound(service: Service, loop: asyncio.Runner) -> None:
    document = small(service, loop)
    at = document.index(b'<data key="n_proposition">') + len(b'<data key="n_proposition">')
    piece = b"x" * 1_000_000
    pieces = [document[:at], *(piece for _ in range(DATA_CHARS_MAX // len(piece) + 2)), document[at:]]
    with pytest.raises(LimitError):
        list(elements(pieces))
