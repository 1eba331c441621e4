"""JSON in which each name stands once in its object, and numbers are JSON's own: all else is read in two ways."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from graph.errors import ValidationError, quoted

PATH_CHARS_MAX = 200  # of where a name stands, in an error
_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*")([ \t\n\r]*:)?|[\[\]{},]')


def loads(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValidationError: a name stands twice in one object; with the path to it, and its position in the text.
        ValueError: the text is no JSON.
        RecursionError: it is nested too deep.
    """
    try:
        return _DECODER.decode(text)
    except _TwiceError:
        path, position = _twice(text)
        raise ValidationError(
            f"the name {quoted(str(path[-1]))} stands twice in one object",
            field=_written(path),
            position=position,
            allowed="each name once",
        ) from None


class _TwiceError(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant)


@dataclass(slots=True)
class _Open:
    """An object or a list that has begun, and where in it the next value stands."""

    names: set[str] | None
    at: str | int = 0


def _twice(text: str) -> tuple[list[str | int], int]:
    """The first name that stands twice in its object: the path to it, and its position."""
    levels: list[_Open] = []
    for token in _TOKENS.finditer(text):
        written, colon = token.groups()
        sign = token.group()[0]
        if sign in "{[":
            levels.append(_Open(set() if sign == "{" else None))
        elif sign in "}]":
            levels.pop()
        elif sign == "," and isinstance(levels[-1].at, int):
            levels[-1].at += 1
        elif colon and (names := levels[-1].names) is not None:
            levels[-1].at = name = cast("str", json.loads(written))
            if name in names:
                return [level.at for level in levels], token.start()
            names.add(name)
    raise AssertionError("no name stands twice")


def _written(path: list[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")[:PATH_CHARS_MAX].encode(errors="replace").decode()
