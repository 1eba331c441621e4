"""Frontmatter: the YAML between two lines of dashes before a text, read into JSON, with the lines where things stand.

YAML is read as version 1.2 has it, and dates beside: ``no``, ``010`` and ``12:30`` are no booleans, octals or minutes.
In fields that are text every scalar is the characters as written. Nothing is built but texts, numbers, lists and maps;
what refers to something else (tags of programs, aliases) is refused, so that a file is as large as it looks.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from typing import NoReturn, cast

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from graph.errors import ConceptFileError, Fault
from graph.knowledge import instant_text

LEVELS_MAX = 64  # lists and maps, one in the other
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same grammar; the one in C is twenty times as fast
_PLAIN = 'lines of `field: value`; a value with ": ", or that begins with a mark such as [ or @, in quotation marks'
_OPENED = re.compile(r"---[ \t]*")
_CLOSED = re.compile(r"(---|\.\.\.)[ \t]*")
_CORE = "tag:yaml.org,2002:"
_SAFE_TAGS = frozenset(
    {"!", *(_CORE + name for name in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map"))}
)
_NOTHING = re.compile(r"null|Null|NULL|~|")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?[0-9]{1,4000}|0o[0-7]{1,4000}|0x[0-9a-fA-F]{1,3000}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DATE = re.compile(r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
_INSTANT = re.compile(
    _DATE.pattern + r"(?:[Tt]|[ \t]+)([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]*))?"
    r"(?:[ \t]*(Z|([-+])([0-9]{1,2})(?::?([0-9]{2}))?))?"
)
_HOUR_MINUTES = 60


@dataclass(slots=True)
class Frontmatter:
    """What a frontmatter says.

    Attributes:
        values: By field, as JSON: dates as YYYY-MM-DD, instants in UTC with Z.
        lines: Where each field stands, counted from 1 in the file.
        warnings: What is allowed, but was hardly meant.
        body_line: The first line behind it.
    """

    values: dict[str, object] = field(default_factory=dict[str, object])
    lines: dict[str, int] = field(default_factory=dict[str, int])
    warnings: list[Fault] = field(default_factory=list[Fault])
    body_line: int = 1


def separated(text: str) -> tuple[str, str]:
    """A file's frontmatter, every line of it ended, and what stands behind the dashes; line ends are LF.

    Raises:
        ConceptFileError: missing_frontmatter, unclosed_frontmatter.
    """
    lines = text.split("\n")
    if not _OPENED.fullmatch(lines[0]):
        raise ConceptFileError(
            Fault("missing_frontmatter", 1, "the file has no frontmatter", allowed="--- as the first line")
        )
    for at, line in enumerate(lines[1:], start=1):
        if _CLOSED.fullmatch(line):
            return "".join(f"{line}\n" for line in lines[1:at]), "\n".join(lines[at + 1 :])
    raise ConceptFileError(
        Fault("unclosed_frontmatter", 1, "the frontmatter does not end", allowed="a later line that is --- or ...")
    )


def said(text: str) -> Iterator[str]:
    """Every text in a frontmatter as it is understood, behind the name that it stands under, and each other name.

    Args:
        text: As for ``read``.

    Raises:
        ConceptFileError: as ``read`` does, but for dates.
    """
    return _said("", read(text, texts=None, dates=frozenset()).values)


def _said(name: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield name
        for inner, item in cast("dict[str, object]", value).items():
            yield from _said(inner, item)
    elif isinstance(value, list):
        yield name
        for item in cast("list[object]", value):
            yield from _said(name, item)
    else:
        yield f"{name}: {value}"


def read(text: str, *, texts: frozenset[str] | None, dates: frozenset[str]) -> Frontmatter:
    """Read what stands between the lines of dashes.

    Args:
        text: From the second line of the file on; every line is ended by LF.
        texts: Fields that are text, or lists of texts; None for all of them.
        dates: Fields that are a date or an instant.

    Raises:
        ConceptFileError: invalid_yaml, duplicate_key, invalid_date, unsafe_tag, aliases_refused, validation.
    """
    reading = _Reading(text, texts, dates)
    try:
        reading.document()
    except yaml.MarkedYAMLError as error:
        reading.fail("invalid_yaml", _marked(error, len(text)), str(error.problem or error.context), _PLAIN)
    except yaml.reader.ReaderError as error:
        reading.fail("invalid_yaml", _unreadable(text), "a character that YAML forbids", str(error.reason))
    return reading.found


def _marked(error: yaml.MarkedYAMLError, end: int) -> int:
    """Where the fault lies; of what is not closed until the end, where it was opened."""
    marks = [mark.index for mark in (error.problem_mark, error.context_mark) if mark is not None]
    return next((index for index in marks if index < end), 0)


def _unreadable(text: str) -> int:
    """Where the first character stands that YAML forbids."""
    bad = re.search("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
    return bad.start() if bad else 0


class _Reading:
    def __init__(self, text: str, texts: frozenset[str] | None, dates: frozenset[str]) -> None:
        self.found = Frontmatter(body_line=text.count("\n") + 3)  # behind the dashes before and after
        self._text = text
        self._texts = texts
        self._dates = dates
        self._events = cast("Iterator[Event]", yaml.parse(text, _LOADER))  # pyright: ignore[reportUnknownMemberType]

    def fail(self, kind: str, index: int, message: str, allowed: str | None = None) -> NoReturn:
        raise ConceptFileError(Fault(kind, self._line(index), message, allowed=allowed))

    def document(self) -> None:
        """Read the one map that a frontmatter is; an empty one is empty."""
        next(self._events)  # the stream's start
        if not isinstance(next(self._events), DocumentStartEvent):
            return
        top = next(self._events)
        self._refuse(top)
        if isinstance(top, ScalarEvent) and top.value == "" and top.implicit[0]:
            pass  # nothing but comments
        elif not isinstance(top, MappingStartEvent):
            self.fail("validation", top.start_mark.index, "the frontmatter is no map", "lines of `field: value`")
        else:
            self._fields()
        next(self._events)  # the document's end
        if isinstance(more := next(self._events), DocumentStartEvent):
            self.fail(
                "invalid_yaml",
                more.start_mark.index,
                "the frontmatter is more than one document",
                "one map between two lines of ---",
            )

    def _fields(self) -> None:
        for name, event, index in self._entries():
            self.found.lines[name] = self._line(index)
            as_text = self._texts is None or name in self._texts
            self.found.values[name] = self._value(event, 1, as_text=as_text, as_date=name in self._dates)

    def _entries(self) -> Iterator[tuple[str, Event, int]]:
        """The keys of a map with the events that begin their values, each to be read before the next."""
        seen: set[str] = set()
        while not isinstance(key := next(self._events), MappingEndEvent):
            self._refuse(key)
            if not isinstance(key, ScalarEvent):
                self.fail("validation", key.start_mark.index, "the name of a field is a list or a map", "a text")
            name = unicodedata.normalize("NFC", key.value)
            if name in seen:
                self.fail("duplicate_key", key.start_mark.index, f"{name[:80]!r} stands twice", "each name once")
            seen.add(name)
            yield name, next(self._events), key.start_mark.index

    def _value(self, event: Event, level: int, *, as_text: bool, as_date: bool = False) -> object:
        self._refuse(event)
        if level > LEVELS_MAX:
            allowed = f"{LEVELS_MAX} levels"
            self.fail("validation", event.start_mark.index, "lists and maps are nested too deep", allowed)
        if isinstance(event, MappingStartEvent):
            return {name: self._value(value, level + 1, as_text=as_text) for name, value, _ in self._entries()}
        if isinstance(event, SequenceStartEvent):
            return self._items(event, level, as_text=as_text)
        assert isinstance(event, ScalarEvent), "a value is a scalar, a list or a map"
        if as_date and not as_text:
            return self._dated(event, event.value.strip()) or self._no_date(event)
        return event.value if as_text else self._guessed(event)

    def _items(self, start: SequenceStartEvent, level: int, *, as_text: bool) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self._events), SequenceEndEvent):
            if isinstance(event, SequenceStartEvent) and event.start_mark.index == start.start_mark.index + 1:
                self._warn_of_brackets(start)
            items.append(self._value(event, level + 1, as_text=as_text))
        return items

    def _warn_of_brackets(self, start: SequenceStartEvent) -> None:
        if start.flow_style:
            self.found.warnings.append(
                Fault(
                    "bare_wikilink_in_yaml",
                    self._line(start.start_mark.index),
                    "[[ ]] without quotes is a list in a list, and no link",
                    allowed="links in the body; quotes around them in the frontmatter",
                )
            )

    def _guessed(self, event: ScalarEvent) -> object:
        """A scalar as YAML 1.2 has it, and dates; what is quoted is text."""
        text: str = event.value
        guessed: object = text
        quoted = not event.implicit[0] and event.tag is None
        if quoted or event.tag in ("!", f"{_CORE}str"):
            pass
        elif _NOTHING.fullmatch(text):
            guessed = None
        elif _BOOLEAN.fullmatch(text):
            guessed = text.lower() == "true"
        elif _INTEGER.fullmatch(text):
            guessed = int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        elif _FLOAT.fullmatch(text):
            guessed = self._number(event)
        else:
            guessed = self._dated(event, text) or text
        return guessed

    def _number(self, event: ScalarEvent) -> float:
        number = float(event.value.lower().replace(".inf", "inf").replace(".nan", "nan"))
        if not math.isfinite(number):
            self.fail("validation", event.start_mark.index, "a number that JSON cannot carry", "a finite number")
        return number

    def _dated(self, event: ScalarEvent, text: str) -> str | None:
        """A date or an instant in its one form; None for a text that is neither."""
        try:
            if found := _DATE.fullmatch(text):
                return date(*map(int, found.groups())).isoformat()
            if found := _INSTANT.fullmatch(text):
                return instant_text(_instant(found))
        except (ValueError, OverflowError):
            self._no_date(event)
        return None

    def _no_date(self, event: ScalarEvent) -> NoReturn:
        allowed = "a date, such as 2025-02-28, or an instant, such as 2025-02-28T12:00:00Z"
        self.fail("invalid_date", event.start_mark.index, f"{event.value[:80]!r} is no date", allowed)

    def _refuse(self, event: Event) -> None:
        if isinstance(event, AliasEvent):
            self.fail(
                "aliases_refused", event.start_mark.index, "an alias stands for another value", "the value itself"
            )
        tag = cast("str | None", getattr(event, "tag", None))
        if tag is not None and tag not in _SAFE_TAGS:
            self.fail("unsafe_tag", event.start_mark.index, f"the tag {tag[:80]!r} makes something", "no tags")

    def _line(self, index: int) -> int:
        """The line in the file: the dashes are its first."""
        return min(self._text.count("\n", 0, index) + 2, self.found.body_line - 1)


def _instant(found: re.Match[str]) -> datetime:
    """YAML's timestamp; without an offset it is UTC."""
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, zone, sign, hours, minutes = found.groups()[6:]
    micros = int(f"{fraction or '0':0<6}"[:6])
    offset = UTC
    if zone not in (None, "Z"):
        if int(minutes or 0) >= _HOUR_MINUTES:
            raise ValueError(minutes)
        behind = timedelta(hours=int(hours), minutes=int(minutes or 0))
        offset = timezone(-behind if sign == "-" else behind)
    return datetime(year, month, day, hour, minute, second, micros, offset).astimezone(UTC)
