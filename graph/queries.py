"""Finds the statements in ``cypher/``, reads their headers and checks one against the other.

A statement is a file: its stem is its name, its leading comments are its contract (what it does, whether it reads or
writes, its parameters, its columns, its bounds). Everything is loaded when the service starts, so a broken file fails
the start and not a request. This is the only place where text becomes a statement; everywhere else pyright refuses a
string that was put together of anything but literals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import LiteralString, cast

from graph.errors import InternalError

_HEADER_LINE = re.compile(r"^// ?(.*)$")
_FIELD = re.compile(r"^(kind|params|returns|bounds):\s*(.*)$")
_NAME = re.compile(r"([a-z_]+):")
_PARAMETER = re.compile(r"\$([a-z_]+)")
_LITERAL_OR_COMMENT = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|//[^\n]*")
_ALL_TYPES = "DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO"
_LABEL = re.compile(r"Model_\w{1,80}", re.ASCII)
_DEPTH_CEILING = re.compile(r"\*1\.\.(\d+)")


@dataclass(frozen=True, slots=True)
class Query:
    """One statement.

    Attributes:
        name: The file's stem.
        text: The file as it stands, header included, so that operators see what runs.
        kind: ``read``, ``write`` or ``schema``; read statements run in sessions that the server lets only read.
        params: Names of the parameters that it takes.
        returns: Names of its columns, in order.
        bounds: What keeps its work finite.
    """

    name: str
    text: LiteralString
    kind: str
    params: frozenset[str]
    returns: tuple[str, ...]
    bounds: str

    def walking(self, depth: int) -> Query:
        """The statement with its depth ceiling, a literal in the file, tightened to ``depth`` hops.

        Cypher takes no parameter there; a caller may only tighten, and only to a whole number.
        """
        ceiling = _DEPTH_CEILING.search(self.text)
        if ceiling is None or not 1 <= depth <= int(ceiling.group(1)):
            raise InternalError(f"{self.name} cannot walk {depth} hops")
        return _tightened(self, depth)

    def giving(self, columns: Mapping[LiteralString, LiteralString], types: LiteralString | None = None) -> Query:
        """The statement with other columns in its slots, and with fewer relationship types in its patterns.

        Args:
            columns: By slot, a list that stands in the file exactly once (``[n.key]``), what it is to be instead.
            types: The alternatives that take the place of all of them, as ``columns.types`` writes them.
        """
        text = self.text
        for slot, given in columns.items():
            if text.count(slot) != 1:
                raise InternalError(f"{self.name} has no slot {slot}, or several")
            text = text.replace(slot, given)
        if types is not None:
            text = text.replace(_ALL_TYPES, types)
        return replace(self, text=text)

    def labelled(self, label: str) -> Query:
        """The statement with the label of an index of vectors in the place of ``Model``, once a file's literal."""
        before, slot, after = self.text.partition(":Model)")
        if not slot or not _LABEL.fullmatch(label):
            raise InternalError(f"{self.name} cannot be had for {label!r}")
        return replace(self, text=cast(LiteralString, f"{before}:{label}){after}"))

    def gathered(self) -> Query:
        """The statement with all its rows in one record, as lists of its columns: the driver takes each record anew."""
        return _gathered(self)

    def collecting(self, columns: LiteralString) -> Query:
        """The statement up to its last RETURN, and then one list of these columns in place of its rows."""
        kept, clause, _ = self.text.rpartition("\nRETURN ")  # those of subqueries are indented
        if not clause:
            raise InternalError(f"{self.name} has no RETURN of its own")
        return replace(self, text=kept + clause + "collect(" + columns + ") AS found", returns=("found",))


@cache
def _tightened(query: Query, depth: int) -> Query:
    return replace(query, text=cast(LiteralString, _DEPTH_CEILING.sub(f"*1..{depth:d}", query.text)))


@cache
def _gathered(query: Query) -> Query:
    columns = ", ".join(f"`{name}`" for name in query.returns)
    text = "\n".join(("CALL () {", query.text, "}", f"RETURN collect([{columns}]) AS rows"))
    return replace(query, text=cast(LiteralString, text), returns=("rows",))


@cache
def load(name: str) -> Query:
    """The statement of that name.

    Raises:
        InternalError: no such file, or its header does not fit its text; says which and where.
    """
    source = _folder() / f"{name}.cypher"
    if not source.is_file():
        raise InternalError(f"cypher/{name}.cypher is missing")
    return parse(name, source.read_text("utf-8"))


def names() -> tuple[str, ...]:
    """The names of all statements, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.cypher")))


@cache
def _folder() -> Path:
    beside = Path(__file__).resolve().parent.parent / "cypher"
    return beside if beside.is_dir() else Path(str(files("cypher")))


def parse(name: str, text: str) -> Query:
    """A statement from the text of its file.

    Raises:
        InternalError: a header field is missing, the declared parameters are not the used ones, or there is more
            than one statement.
    """
    fields = _header(name, text)
    body = _LITERAL_OR_COMMENT.sub("''", text)
    declared = frozenset(_NAME.findall(fields["params"]))
    if used := declared ^ frozenset(_PARAMETER.findall(body)):
        raise InternalError(f"cypher/{name}.cypher declares other parameters than it uses: {', '.join(sorted(used))}")
    if ";" in body:
        raise InternalError(f"cypher/{name}.cypher holds a semicolon: one statement a file, without one")
    return Query(
        name=name,
        text=cast(LiteralString, text),
        kind=fields["kind"],
        params=declared,
        returns=tuple(_NAME.findall(fields["returns"])),
        bounds=fields["bounds"],
    )


def _header(name: str, text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        comment = _HEADER_LINE.match(line)
        if comment is None:
            break
        if field := _FIELD.match(comment.group(1)):
            last = field.group(1)
            fields[last] = field.group(2)
        elif last and comment.group(1).startswith("  "):
            fields[last] += " " + comment.group(1).strip()
        else:
            last = ""
    missing = {"kind", "params", "returns", "bounds"} - fields.keys()
    if missing or not text.startswith(f"// {name}: ") or fields["kind"] not in ("read", "write", "schema"):
        raise InternalError(f"the header of cypher/{name}.cypher is wrong or lacks {', '.join(sorted(missing))}")
    return fields
