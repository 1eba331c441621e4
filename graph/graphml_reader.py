"""Reads GraphML that ``graphml`` wrote, element by element, and refuses everything else.

What is read is bounded however large the file is: one element, and no more than a bound of any of its parts. A
document type, and with it every entity, is refused before anything of it is looked at. Each element is written out
again from what was read of it: one that does not come out as it stands is damaged, or is not ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from xml.parsers import expat

from graph import strict_json
from graph.errors import KnowledgeError, LimitError, ValidationError
from graph.graphml import (
    ALL_KEYS,
    EDGE_KEYS,
    NAMESPACE,
    NODE_KEYS,
    PROJECT_KEYS,
    REPLACED,
    Key,
    edge_content,
    edge_ids,
    node_content,
    parse_node_id,
)

TOKEN_BYTES_MAX = 256 * 1024  # a tag with all its attributes; ours are far shorter
DATA_CHARS_MAX = 64 * 1024 * 1024  # the content of one element: the evidence of one node
_CHUNK_BYTES = 64 * 1024
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_LEVELS = (("graphml",), ("key", "graph"), ("data", "node", "edge"), ("data",))
_ATTRIBUTES: dict[str, frozenset[str]] = {
    "graphml": frozenset({"http://www.w3.org/2001/XMLSchema-instance schemaLocation"}),
    "key": frozenset({"id", "for", "attr.name", "attr.type"}),
    "graph": frozenset(
        {"id", "edgedefault", "parse.nodeids", "parse.edgeids", "parse.order", "parse.nodes", "parse.edges"}
    ),
    "node": frozenset({"id"}),
    "edge": frozenset({"id", "source", "target"}),
    "data": frozenset({"key"}),
}
_OURS = "GraphML as `whence export graphml` writes it"


@dataclass(frozen=True, slots=True)
class Element:
    """One element of the document.

    Attributes:
        kind: ``graph`` (its facts, before any node), ``node`` or ``edge``.
        row: What it says, in the columns that ``graphml.document`` takes.
        line: Where it begins in the file, counted from 1.
    """

    kind: Literal["graph", "node", "edge"]
    row: dict[str, Any]
    line: int


@dataclass(slots=True)
class _Open:
    """An element that has begun."""

    name: str
    attributes: dict[str, str]
    line: int
    data: dict[str, str] = field(default_factory=dict[str, str])


def elements(chunks: Iterable[bytes]) -> Iterator[Element]:
    """The elements of a document in their order: the graph's facts, then nodes, then edges.

    Raises:
        ValidationError: the document is not ours, is damaged or is cut; with the element and the line where.
        LimitError: a part of it is longer than any of ours.
    """
    reader = _Reader()
    for chunk in chunks:
        for start in range(0, len(chunk), _CHUNK_BYTES):
            yield from reader.feed(chunk[start : start + _CHUNK_BYTES])
    yield from reader.end()


class _Reader:
    def __init__(self) -> None:
        self._parser = expat.ParserCreate("UTF-8", " ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.ProcessingInstructionHandler = self._instruction
        self._fed = 0
        self._open: list[_Open] = []
        self._content: list[str] = []
        self._chars = 0
        self._keys: dict[str, tuple[str, str, str]] = {}
        self._facts: dict[str, Any] = {}
        self._counts = {"node": 0, "edge": 0}
        self._found: list[Element] = []

    def feed(self, chunk: bytes) -> list[Element]:
        self._parse(chunk, final=False)
        self._fed += len(chunk)
        if self._fed - self._parser.CurrentByteIndex > TOKEN_BYTES_MAX:
            raise LimitError(
                "a tag is longer than any of ours",
                field="graphml",
                position=self._parser.CurrentLineNumber,
                allowed=f"{TOKEN_BYTES_MAX} bytes",
            )
        found, self._found = self._found, []
        return found

    def end(self) -> list[Element]:
        self._parse(b"", final=True)
        for kind, promised in (("node", "node_count"), ("edge", "edge_count")):
            if self._counts[kind] != self._facts[promised]:
                raise self._wrong(f"{self._counts[kind]} {kind}s came instead of {self._facts[promised]}", "graph")
        return self._found

    def _parse(self, chunk: bytes, *, final: bool) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            raise ValidationError(
                f"the document is not well-formed: {expat.errors.messages.get(error.code, 'an unknown fault')}",
                field=self._open[-1].name if self._open else "graphml",
                position=error.lineno,
                allowed=_OURS,
            ) from None

    def _wrong(self, what: str, where: str | None = None) -> ValidationError:
        named = [f"{each.name} {each.attributes.get('id', '')!r}".removesuffix(" ''") for each in self._open[-2:]]
        line = self._open[-1].line if self._open else self._parser.CurrentLineNumber
        return ValidationError(what, field=where or " > ".join(named)[:400] or None, position=line, allowed=_OURS)

    def _doctype(self, *_: object) -> None:
        raise self._wrong("the document has a document type", "DOCTYPE")

    def _instruction(self, *_: object) -> None:
        raise self._wrong("the document has a processing instruction")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition(" ")
        level = len(self._open)
        opened = _Open(name, attributes, self._parser.CurrentLineNumber)
        inside = self._open[-1].name if self._open else ""
        if namespace != NAMESPACE or level >= len(_LEVELS) or name not in _LEVELS[level]:
            raise self._wrong("there is an element where none of ours stands", name[:80])
        if inside in ("key", "data") or (level == len(_LEVELS) - 1 and inside not in ("node", "edge")):
            raise self._wrong("there is an element where none of ours stands", name[:80])
        self._open.append(opened)
        if attributes.keys() != _ATTRIBUTES[name]:
            raise self._wrong(f"the attributes of {name} are not those that ours have")
        if name == "graph":
            self._check_keys()
        elif name in ("node", "edge"):
            self._tell_graph()
        self._content, self._chars = [], 0

    def _text(self, text: str) -> None:
        if self._open and self._open[-1].name == "data":
            self._content.append(text)
            self._chars += len(text)
            if self._chars > DATA_CHARS_MAX:
                raise LimitError(
                    "the content of an element is longer than any of ours",
                    field="data",
                    position=self._open[-1].line,
                    allowed=f"{DATA_CHARS_MAX} characters",
                )
        elif text.strip():
            raise self._wrong("there is text where none of ours stands")

    def _end(self, _tag: str) -> None:
        ended = self._open[-1]
        if ended.name == "data":
            holder, key = self._open[-2], ended.attributes["key"]
            if key not in self._keys:
                raise self._wrong(f"there are data of the key {key[:80]!r}, which is not declared")
            if key in holder.data:
                raise self._wrong(f"there are two data of the key {key[:80]!r}")
            holder.data[key] = "".join(self._content)
        elif ended.name == "key":
            told = ended.attributes
            self._keys[told["id"]] = (told["for"], told["attr.name"], told["attr.type"])
        elif ended.name in ("node", "edge"):
            self._found.append(self._node(ended) if ended.name == "node" else self._edge(ended))
        elif ended.name == "graph":
            self._tell_graph()
            if ended.data.keys() - {key.id for key in (*PROJECT_KEYS, REPLACED)}:
                raise self._wrong("the graph has data that ours has not")
        self._open.pop()

    def _check_keys(self) -> None:
        declared = {key.id: (key.domain, key.name, "string" if key.type == "json" else key.type) for key in ALL_KEYS}
        other = {*self._keys.items()} ^ {*declared.items()}
        other -= {(key.id, declared[key.id]) for key in ALL_KEYS if key.optional and key.id not in self._keys}
        if other:
            raise self._wrong(f"the key {min(other)[0][:80]!r} is missing, or is not declared as ours is")

    def _tell_graph(self) -> None:
        graph = next(each for each in self._open if each.name == "graph")
        if not self._facts:
            self._facts = self._columns(PROJECT_KEYS, graph.data)
            if any(self._facts[key.name] is None for key in PROJECT_KEYS if key.name != "recorded_at"):
                raise self._wrong("the graph lacks what ours says of itself", "graph")
            self._found.append(Element("graph", self._facts, graph.line))

    def _node(self, ended: _Open) -> Element:
        if self._counts["edge"]:
            raise self._wrong("a node stands behind an edge")
        row = self._columns(NODE_KEYS, ended.data)
        self._check_same(node_content, row, ended.data)
        if self._name(ended.attributes["id"]) != (row["key"], row["generation"]):
            raise self._wrong("the id of the node is not that of its key and generation")
        self._counts["node"] += 1
        return Element("node", row, ended.line)

    def _edge(self, ended: _Open) -> Element:
        source, target = self._name(ended.attributes["source"]), self._name(ended.attributes["target"])
        row = self._columns(EDGE_KEYS, ended.data) | {"relation": ended.data.get("label", "").lower()}
        row |= {"from_key": source[0], "from_generation": source[1], "to_key": target[0], "to_generation": target[1]}
        self._check_same(edge_content, row, ended.data)
        if edge_ids(row)[3] != ended.attributes["id"]:
            raise self._wrong("the id of the edge is not that of its ends and its type")
        self._counts["edge"] += 1
        return Element("edge", row, ended.line)

    def _name(self, text: str) -> tuple[str, int]:
        try:
            return parse_node_id(text)
        except ValidationError as error:
            raise self._wrong(error.message) from None

    def _check_same(self, content: Any, row: Mapping[str, object], data: Mapping[str, str]) -> None:
        try:
            expected: dict[str, str] = content(row)
        except KnowledgeError as error:
            raise self._wrong(error.message.replace("a row for the export", "the element")) from None
        for key in sorted(expected.keys() | data.keys()):
            if expected.get(key) != data.get(key):
                raise self._wrong(f"the data of the key {key[:80]!r} are not what the rest of the element makes them")

    def _columns(self, keys: tuple[Key, ...], data: Mapping[str, str]) -> dict[str, Any]:
        return {key.name: self._value(key, data.get(key.id)) for key in keys}

    def _value(self, key: Key, text: str | None) -> object:
        if text is None or key.type == "string":
            return text
        if key.type == "long" and _NUMBER.fullmatch(text):
            return int(text)
        if key.type == "boolean" and text in ("true", "false"):
            return text == "true"
        if key.type == "json":
            try:
                strict_json.loads(text)
            except KnowledgeError as error:
                raise self._wrong(f"in the data of the key {key.id!r}, {error.field}: {error.message}") from None
            except (ValueError, RecursionError):
                raise self._wrong(f"the data of the key {key.id!r} are no JSON") from None
            return text
        raise self._wrong(f"the data of the key {key.id!r} are no {key.type}")
