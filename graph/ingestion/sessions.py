"""Stored sessions: conversations in files as programs leave them, read as text of turns.

A file is one session, named by its path within the folder. JSON is a list of turns or an object that holds one, JSON
lines are a turn each, and anything else is text as it stands. What a turn is made of goes by several names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from graph import strict_json
from graph.errors import LimitError, ValidationError

FILE_BYTES_MAX = 16 * 1024 * 1024
SUFFIXES = (".json", ".jsonl", ".ndjson", ".md", ".txt")
_LISTS = ("messages", "turns", "conversation", "events", "items")
_SPEAKERS = ("role", "speaker", "author", "from", "name", "type")
_TEXTS = ("content", "text", "message", "value", "body")


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: its name, and what was said, a line or more for each turn."""

    name: str
    text: str


def files(folder: Path) -> list[Path]:
    """The files of a folder that may be sessions, in the order of their paths; hidden ones are left out.

    Raises:
        ValidationError: there is no such folder.
    """
    if not folder.is_dir():
        raise ValidationError(f"{folder} is no folder", field="DIR", allowed="a folder of sessions")
    found = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def read(path: Path, folder: Path) -> Session:
    """A session from its file.

    Raises:
        LimitError: the file is too large.
        ValidationError: it is not UTF-8, or no JSON where its name says so, or holds no turns.
    """
    name = path.relative_to(folder).with_suffix("").as_posix()
    if (size := path.stat().st_size) > FILE_BYTES_MAX:
        raise LimitError(f"the file is {size} bytes long", field="DIR", allowed=f"at most {FILE_BYTES_MAX} bytes")
    try:
        text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValidationError("the file is not UTF-8", field="DIR", position=error.start, allowed="UTF-8") from None
    suffix = path.suffix.lower()
    if suffix == ".json":
        return Session(name, "\n".join(_said(_turns(_parsed(text)))))
    if suffix in (".jsonl", ".ndjson"):
        return Session(name, "\n".join(_said(_parsed(line) for line in text.splitlines() if line.strip())))
    return Session(name, text)


def _parsed(text: str) -> object:
    try:
        return strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        position = error.pos if isinstance(error, json.JSONDecodeError) else None
        raise ValidationError("the file is no JSON", field="DIR", position=position, allowed="JSON") from None


def _turns(found: object) -> list[object]:
    if isinstance(found, dict):
        held = cast("Mapping[str, object]", found)
        found = next((held[name] for name in _LISTS if isinstance(held.get(name), list)), None)
    if not isinstance(found, list):
        raise ValidationError(
            "the file holds no turns", field="DIR", allowed=f"a list, or an object with one as {', '.join(_LISTS)}"
        )
    return cast("list[object]", found)


def _said(turns: Iterable[object]) -> Iterator[str]:
    """What turns say, who speaks in front; what says nothing is left out."""
    for turn in turns:
        if isinstance(turn, str):
            yield turn
        elif isinstance(turn, dict):
            held = cast("Mapping[str, Any]", turn)
            text = next((said for name in _TEXTS if (said := _text(held.get(name)).strip())), "")
            speaker = next((held[name] for name in _SPEAKERS if isinstance(held.get(name), str)), "")
            if text:
                yield f"{speaker.strip()}: {text}" if speaker.strip() else text


def _text(value: object) -> str:
    """The text of a turn: itself, or the parts that are text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, cast("list[object]", value))))
    return _text(cast("Mapping[str, object]", value).get("text")) if isinstance(value, dict) else ""
