"""Global ids and cursors: opaque texts that name a thing, or a place in a list, and nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, cast

import orjson
from strawberry import UNSET

from graph.errors import LimitError, ValidationError

FIRST_MAX = 1_000  # items in one page: the service's own bound
_CURSOR_CHARS_MAX = 2_000  # a cursor holds a project, two keys and two numbers
_INT_MAX = 2**31 - 1


def packed(kind: str, *parts: object) -> str:
    """A kind and its parts as one opaque text."""
    text = kind.encode() + b":" + orjson.dumps(parts)
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def unpacked(text: str) -> tuple[str, list[Any]]:
    """The kind and the parts; ValueError for anything that ``packed`` does not write."""
    if len(text) > _CURSOR_CHARS_MAX * 2:
        raise ValueError("too long")
    padded = text.translate(str.maketrans("-_", "+/")).rstrip("=")
    plain = base64.b64decode(padded + "=" * (-len(padded) % 4), validate=True).decode()
    kind, _, rest = plain.partition(":")
    parts: object = json.loads(rest)
    json.dumps(parts, ensure_ascii=False).encode()  # half a character is none that was packed
    return kind, cast("list[Any]", parts) if isinstance(parts, list) else []


def fits(parts: Sequence[object], form: Sequence[type]) -> bool:
    """Whether the parts are keys and numbers of the contract's size, in this order."""
    return len(parts) == len(form) and all(
        type(part) is kind and (kind is not int or 0 <= cast(int, part) <= _INT_MAX)
        for part, kind in zip(parts, form, strict=True)
    )


def cursor(*place: object) -> str:
    """An opaque cursor: the list it belongs to (its kind, its project), then the sort key of its item."""
    return packed("after", *place)


def place_after(text: str | None, within: Sequence[object], *form: type) -> tuple[Any, ...] | None:
    """The sort key in a cursor that ``cursor(*within, ...)`` wrote; None when there is no cursor.

    Args:
        text: What the caller gave as ``after``.
        within: The list that is being paged through.
        *form: The types of the sort key's parts.

    Raises:
        ValidationError: a broken cursor, or one of another list or project.
    """
    if text is None or text is UNSET:
        return None
    try:
        kind, parts = unpacked(text)
        known = kind == "after" and parts[: len(within)] == list(within) and fits(parts[len(within) :], form)
    except (ValueError, RecursionError):
        known, parts = False, []
    if not known:
        raise ValidationError(
            "the cursor is broken or belongs to another list",
            field="after",
            allowed="a cursor of this very list",
        )
    return tuple(parts[len(within) :])


def checked_first(first: int | None, otherwise: int) -> int:
    """How many items a page may hold.

    Raises:
        ValidationError: below one.
        LimitError: above the bound.
    """
    count = otherwise if first is None else first
    if count < 1:
        raise ValidationError("a page holds at least one item", field="first", allowed=f"1 to {FIRST_MAX}")
    if count > FIRST_MAX:
        raise LimitError("a page does not hold that many items", field="first", allowed=f"1 to {FIRST_MAX}")
    return count
