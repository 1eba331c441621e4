"""Writes a project's nodes and edges as one GraphML document, row by row.

The document is strictly valid by the official schema (1.0 namespace) and is read without loss by networkx and
igraph; Gephi, Cytoscape and APOC find captions, types and labels where they look for them. This module only
turns rows into bytes: it asks no database, opens no file, and holds one chunk of the document and nothing
else, however large the graph is.

Where each thing stands:

- Keys are a fixed list with a fixed type each, never discovered from the rows. Their ids are ``g_``, ``n_``
  or ``e_`` and the property's name, but for ``labels`` (node) and ``label`` (edge): APOC knows these by id.
- All nodes come before all edges. An edge's first ``data`` is its ``label``: APOC looks no further for it.
- Null is absent. Lists and maps are JSON text. Times are the texts that the rows hold. Longs are counts and
  journal positions, far below the 2**53 at which igraph would round them.
- A character that XML 1.0 forbids is escaped as in JSON where the text is JSON, and so is reversible.
  Elsewhere it becomes U+FFFD, and the graph's ``replaced_characters`` says how many did. That number is known
  only at the end, so its element stands after the edges, where the schema allows it; and only when it is not
  0, because APOC gives graph data that follows an edge to that edge. A key loses nothing by this: its node id
  spells it out.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal, TypeVar
from xml.sax.saxutils import escape

from graph.errors import InternalError, ValidationError
from graph.knowledge import TERMINAL, Kind, Relation, State

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Mapping

CHUNK_BYTES = 64 * 1024  # a chunk costs the server little, and one for each reader can be held
CAPTION_CHARS_MAX = 60  # about what Gephi and Cytoscape can draw beside a node

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_ROOT = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    f'<graphml xmlns="{NAMESPACE}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    f' xsi:schemaLocation="{NAMESPACE} {NAMESPACE}/1.0/graphml.xsd">\n'
)

# ASCII only: which other letters a name may hold differs between the editions of XML, and so between readers.
_NOT_IN_A_NAME = re.compile("[^A-Za-z0-9.-]")
_NODE_ID = re.compile("((?:[A-Za-z0-9.-]|_[0-9A-F]{2,6}_)+)(?::([1-9][0-9]{0,18}))?")
_ESCAPED = re.compile("_([0-9A-F]+)_")
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = re.compile("[&<>\r]")
_BLANKS = re.compile(r"\s+")
# Sorted, because the order of a map's entries carries no meaning and the driver promises none.
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))

_T = TypeVar("_T")


@dataclass(frozen=True)
class GraphHeader:
    """What the document says of itself, at one position of the journal.

    Args:
        project: The project that is exported.
        at_seq: The journal position that the rows reflect; 0 for an empty journal.
        head_hash: The hash of the event at that position.
        node_count: How many node rows will come, exactly.
        edge_count: How many edge rows will come, exactly.
        recorded_at: When that event was taken, ISO 8601 with zone; None for an empty journal.
    """

    project: str
    at_seq: int
    head_hash: str
    node_count: int
    edge_count: int
    recorded_at: str | None


@dataclass(frozen=True, slots=True)
class Key:
    """One declared attribute; ``json`` is text in the file and any value in a row.

    One that is ``optional`` may be missing in a document, which then says nothing of it: it was written before there
    was such a thing.
    """

    id: str
    domain: Literal["graph", "node", "edge"]
    name: str
    type: Literal["string", "long", "boolean", "json"]
    optional: bool = False

    @property
    def declaration(self) -> str:
        """The element that declares it."""
        attr_type = "string" if self.type == "json" else self.type
        return f'<key id="{self.id}" for="{self.domain}" attr.name="{self.name}" attr.type="{attr_type}"/>\n'


PROJECT_KEYS: Final = (
    Key("g_project", "graph", "project", "string"),
    Key("g_at_seq", "graph", "at_seq", "long"),
    Key("g_head_hash", "graph", "head_hash", "string"),
    Key("g_node_count", "graph", "node_count", "long"),
    Key("g_edge_count", "graph", "edge_count", "long"),
    Key("g_recorded_at", "graph", "recorded_at", "string"),
)
REPLACED: Final = Key("g_replaced_characters", "graph", "replaced_characters", "long")
_LABELS: Final = Key("labels", "node", "labels", "string")
_CAPTION: Final = Key("n_label", "node", "label", "string")  # Gephi's caption
_NAME: Final = Key("n_name", "node", "name", "string")  # Cytoscape's caption
NODE_KEYS: Final = (
    Key("n_key", "node", "key", "string"),
    Key("n_generation", "node", "generation", "long"),
    Key("n_kind", "node", "kind", "string"),
    Key("n_proposition", "node", "proposition", "string"),
    Key("n_state", "node", "state", "string"),
    Key("n_at_risk", "node", "at_risk", "boolean"),
    Key("n_forgotten", "node", "forgotten", "boolean"),
    Key("n_valid_from", "node", "valid_from", "string"),
    Key("n_valid_to", "node", "valid_to", "string", optional=True),
    Key("n_created_at", "node", "created_at", "string"),
    Key("n_updated_at", "node", "updated_at", "string"),
    Key("n_verified_at", "node", "verified_at", "string", optional=True),
    Key("n_uses", "node", "uses", "long"),
    Key("n_created_seq", "node", "created_seq", "long"),
    Key("n_lineage", "node", "lineage", "json", optional=True),
    Key("n_concept", "node", "concept", "json", optional=True),
    Key("n_evidence", "node", "evidence", "json"),
)
_TYPE: Final = Key("label", "edge", "label", "string")  # Gephi's caption, and APOC's relationship type
_INTERACTION: Final = Key("e_interaction", "edge", "interaction", "string")  # Cytoscape's edge type
EDGE_KEYS: Final = (
    Key("e_since", "edge", "since", "string"),
    Key("e_until", "edge", "until", "string", optional=True),
    Key("e_event_ids", "edge", "event_ids", "json"),
)
_EDGE_ID: Final = Key("e_edge_id", "edge", "edge_id", "string")  # igraph 1.0.0 loses the element's own id
ALL_KEYS: Final = (
    *(*PROJECT_KEYS, REPLACED),
    *(_LABELS, _CAPTION, _NAME, *NODE_KEYS),
    *(_TYPE, _INTERACTION, *EDGE_KEYS, _EDGE_ID),
)

_KIND_LABELS: Final[dict[str, str]] = {kind: f":Knowledge:{kind.capitalize()}" for kind in Kind}
_STATE_LABELS: Final[dict[str, str]] = {
    state: f":{state.capitalize()}" + (":Retired" if state in TERMINAL else "") for state in State
}
_EDGE_TYPES: Final[dict[str, str]] = {relation: relation.upper() for relation in Relation}


def node_id(key: str, generation: int) -> str:
    """The node's id within a document: readable, an NMTOKEN, and never that of another node.

    Args:
        key: The node's key, 1 to 200 characters of any kind.
        generation: 1 or more.

    Returns:
        The key, with each character but ASCII letters, digits, ``-`` and ``.`` written as its code point in
        hex between underscores, and with ``:`` and the generation after it from the second on.

    >>> node_id("PEP-0484", 1), node_id("PEP-0484", 2), node_id("a_b c:2", 1)
    ('PEP-0484', 'PEP-0484:2', 'a_5F_b_20_c_3A_2')
    """
    name = _NOT_IN_A_NAME.sub(lambda char: f"_{ord(char.group()):02X}_", key)
    return name if generation == 1 else f"{name}:{generation}"


def parse_node_id(text: str) -> tuple[str, int]:
    """The key and generation that ``node_id`` wrote.

    Raises:
        ValidationError: ``node_id`` writes no such text.

    >>> parse_node_id("a_5F_b:2")
    ('a_b', 2)
    """
    found = _NODE_ID.fullmatch(text)
    if found and all(int(point, 16) <= sys.maxunicode for point in _ESCAPED.findall(found[1])):
        key = _ESCAPED.sub(lambda point: chr(int(point[1], 16)), found[1])
        generation = int(found[2] or 1)
        if node_id(key, generation) == text:
            return key, generation
    raise ValidationError(
        "this is not the id of a node in an export",
        field="id",
        allowed="ids such as PEP-0484, PEP-0484:2 and a_5F_b",
    )


async def document(
    header: GraphHeader,
    nodes: AsyncIterable[Mapping[str, object]],
    edges: AsyncIterable[Mapping[str, object]],
) -> AsyncIterator[bytes]:
    """The GraphML document in chunks; equal input gives equal bytes.

    Args:
        header: What is exported, with the exact number of rows to come.
        nodes: Rows by key, then generation: key, generation, proposition, kind, state, at_risk, forgotten,
            valid_from, valid_to, created_at, updated_at, verified_at, uses, created_seq, lineage and
            concept (JSON text or null), evidence (a list of maps, or JSON text). Further columns are left out.
        edges: Rows by from, relation, to: from_key, from_generation, relation, to_key, to_generation, since,
            until, event_ids (a list of texts). Both ends are among the nodes, and no edge comes twice;
            neither is checked, because that would need the whole graph in memory.

    Returns:
        Chunks of CHUNK_BYTES and at most one element more; only the last may be shorter. The rows keep their
        order and are taken as the chunks are. The caller closes their sources.

    Raises:
        InternalError: more or fewer rows than the header says, a column that is missing or of a wrong type,
            or an unknown kind, state or relation.
        Exception: whatever a source of rows raises. After any error the document stays without its end, so
            that no reader can take it for a whole one.
    """
    text = _Text()
    pending = bytearray(_opening(header, text).encode())
    parts = ((nodes, _node, header.node_count, "nodes"), (edges, _edge, header.edge_count, "edges"))
    for rows, written, promised, noun in parts:
        seen = 0
        async for row in rows:
            seen += 1
            if seen > promised:
                raise InternalError(f"more {noun} came than the {promised} that the header says")
            pending += written(row, text).encode()
            if len(pending) >= CHUNK_BYTES:
                yield bytes(pending)
                pending.clear()
        if seen < promised:
            raise InternalError(f"{seen} {noun} came instead of the {promised} that the header says")
    pending += _closing(text).encode()
    yield bytes(pending)


class _Text:
    """Writes the values of one document, and counts the characters that could not be kept."""

    def __init__(self) -> None:
        self.replaced = 0

    def element(self, key: Key, value: object) -> str:
        """One ``data`` element, or nothing for null."""
        return "" if value is None else f'<data key="{key.id}">{_escaped(self.content(key, value))}</data>'

    def columns(self, keys: tuple[Key, ...], row: Mapping[str, object]) -> str:
        """The elements of these keys, in their order, from the columns of the same names."""
        try:
            return "".join([self.element(key, row[key.name]) for key in keys])
        except KeyError as missing:
            raise InternalError(f"a row for the export lacks the column {missing}") from missing

    def content(self, key: Key, value: object) -> str:
        """What a reader finds in the element."""
        if key.type == "string" and isinstance(value, str):
            kept, lost = _FORBIDDEN.subn("\N{REPLACEMENT CHARACTER}", value)
            self.replaced += lost
            return kept
        if key.type == "long" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if key.type == "boolean" and isinstance(value, bool):
            return "true" if value else "false"
        if key.type == "json":
            return _json_text(value)
        raise InternalError(f"{key.domain} {key.name} is a {type(value).__name__}, not a {key.type}")


def _escaped(text: str) -> str:
    # A bare carriage return would be read back as a line feed (XML 1.0, 2.11).
    return escape(text, {"\r": "&#13;"}) if _MARKUP.search(text) else text


def _json_text(value: object) -> str:
    try:
        text = value if isinstance(value, str) else _JSON.encode(value)
    except (TypeError, ValueError) as fault:
        raise InternalError(f"a row for the export holds what JSON cannot say: {fault}") from fault
    return _FORBIDDEN.sub(lambda char: f"\\u{ord(char.group()):04x}", text)


def _opening(header: GraphHeader, text: _Text) -> str:
    facts = {field.name: getattr(header, field.name) for field in fields(header)}
    return (
        _ROOT
        + "".join([key.declaration for key in ALL_KEYS])
        + '<graph id="G" edgedefault="directed" parse.nodeids="free" parse.edgeids="free"'
        + f' parse.order="nodesfirst" parse.nodes="{header.node_count}" parse.edges="{header.edge_count}">\n'
        + f"{text.columns(PROJECT_KEYS, facts)}\n"
    )


def _node(row: Mapping[str, object], text: _Text) -> str:
    own_id = node_id(_column(row, "key", str), _column(row, "generation", int))
    return (
        f'<node id="{own_id}">'
        + "".join([text.element(key, value) for key, value in _node_facts(row)])
        + text.columns(NODE_KEYS, row)
        + "</node>\n"
    )


def _node_facts(row: Mapping[str, object]) -> tuple[tuple[Key, str], ...]:
    # The caption repeats the proposition, where what cannot be kept is counted: once is enough.
    caption = _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", _caption(_column(row, "proposition", str)))
    return ((_LABELS, _labels(row)), (_CAPTION, caption), (_NAME, caption))


def node_content(row: Mapping[str, object]) -> dict[str, str]:
    """What a reader finds in the element of a node row: the text by the key's id; null is absent.

    Raises:
        InternalError: a column is missing or of a wrong type, or an unknown kind or state.
    """
    return {key.id: value for key, value in _node_facts(row)} | _column_content(NODE_KEYS, row)


def edge_ids(row: Mapping[str, object]) -> tuple[str, str, str, str]:
    """The ids of an edge row's ends, its type, and its own id."""
    source = node_id(_column(row, "from_key", str), _column(row, "from_generation", int))
    target = node_id(_column(row, "to_key", str), _column(row, "to_generation", int))
    edge_type = _known(_EDGE_TYPES, row, "relation")
    # No node id holds "::", so that no two edges can get one id.
    return source, target, edge_type, f"{source}::{edge_type}::{target}"


def edge_content(row: Mapping[str, object]) -> dict[str, str]:
    """What a reader finds in the element of an edge row; otherwise like ``node_content``."""
    _, _, edge_type, own_id = edge_ids(row)
    own = {_TYPE.id: edge_type, _INTERACTION.id: edge_type, _EDGE_ID.id: own_id}
    return own | _column_content(EDGE_KEYS, row)


def _column_content(keys: tuple[Key, ...], row: Mapping[str, object]) -> dict[str, str]:
    text = _Text()
    return {key.id: text.content(key, row[key.name]) for key in keys if row[key.name] is not None}


def _edge(row: Mapping[str, object], text: _Text) -> str:
    source, target, edge_type, own_id = edge_ids(row)
    return (
        f'<edge id="{own_id}" source="{source}" target="{target}">'
        + text.element(_TYPE, edge_type)
        + text.element(_INTERACTION, edge_type)
        + text.columns(EDGE_KEYS, row)
        + text.element(_EDGE_ID, own_id)
        + "</edge>\n"
    )


def _closing(text: _Text) -> str:
    replaced = text.element(REPLACED, text.replaced or None)
    return f"{replaced}</graph>\n</graphml>\n"


def _labels(row: Mapping[str, object]) -> str:
    return (
        _known(_KIND_LABELS, row, "kind")
        + _known(_STATE_LABELS, row, "state")
        + (":AtRisk" if _column(row, "at_risk", bool) else "")
        + (":Forgotten" if _column(row, "forgotten", bool) else "")
    )


def _caption(proposition: str) -> str:
    """The proposition on one line, cut before the word that does not fit."""
    line = _BLANKS.sub(" ", proposition).strip()
    if len(line) <= CAPTION_CHARS_MAX:
        return line
    fitting = line[:CAPTION_CHARS_MAX]  # one more than stays: a blank there ends a whole word
    words = fitting.rpartition(" ")[0] or fitting[:-1]  # a single long word has to be cut within
    return f"{words}…"


def _known(words: Mapping[str, str], row: Mapping[str, object], name: str) -> str:
    word = _column(row, name, str)
    if word not in words:
        raise InternalError(f"a row for the export has an unknown {name}")
    return words[word]


def _column(row: Mapping[str, object], name: str, kind: type[_T]) -> _T:
    value = row.get(name)
    if not isinstance(value, kind):
        raise InternalError(f"a row for the export has no {name} of type {kind.__name__}")
    return value
