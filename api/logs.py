"""What the log looks like: lines for people, or one JSON object a line for machines.

Nothing that a caller sends can forge a line or an attribute: in text, control characters and those that turn the
direction of writing are written out; in JSON they are escaped, and no text becomes a name. What the database says of a
failure may hold what was stored, so it is written only where the log is at DEBUG.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, cast

from api.at_hand import REQUEST
from graph.errors import failure_name

TEXT, JSON = "text", "json"
FORMS = (TEXT, JSON)
_WORD = re.compile(r"[A-Za-z0-9_./:@%+,~-]+")
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def set_up(level: int, form: str, worker: int | None = None) -> None:
    """Have the log of this process go to standard error from here on.

    Args:
        level: From which level on what is ours is told; what others log, from WARNING on.
        form: One of ``FORMS``.
        worker: The number of this process among several that answer alike.
    """
    handler = logging.StreamHandler(sys.stderr)
    lines = JsonLines if form == JSON else TextLines
    handler.setFormatter(lines(worker, database_text=level <= logging.DEBUG))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    for name in ("whence", "graph", "api"):
        logging.getLogger(name).setLevel(level)
    if level > logging.DEBUG:  # what the driver meets reaches people as an error of ours
        logging.getLogger("neo4j").setLevel(logging.CRITICAL)


class _Lines(logging.Formatter):
    """What both forms tell of a record.

    Args:
        worker: As in ``set_up``.
        database_text: Whether what the database says of a failure is written.
    """

    def __init__(self, worker: int | None = None, *, database_text: bool = False) -> None:
        super().__init__()
        self._worker = worker
        self._database_text = database_text

    def _facts(self, record: logging.LogRecord) -> dict[str, object]:
        """What is known besides the message: the worker, the request, and what the record itself brings."""
        at_hand = REQUEST.get()
        own = cast("Mapping[str, object]", getattr(record, "facts", {}))
        asked = {} if at_hand is None else {"request": at_hand.id, "trace": at_hand.trace}
        facts = {"worker": self._worker} | asked | dict(own)
        return {name: value for name, value in facts.items() if value is not None}

    def _failure(self, record: logging.LogRecord) -> str | None:
        error = record.exc_info[1] if record.exc_info else None
        return None if error is None else "".join(self._chain(error))

    def _chain(self, error: BaseException) -> Iterator[str]:
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is not None:
            yield from self._chain(cause)
        yield from traceback.format_tb(error.__traceback__)
        kept = self._database_text or not type(error).__module__.startswith("neo4j")
        yield f"{type(error).__qualname__}: {error if kept else failure_name(error)}\n"


class TextLines(_Lines):
    """A line that begins with the time, the level and who speaks; lines of a failure begin with a bar."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it how a failure came about."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
        facts = "".join(f" {name}={_word(str(value))}" for name, value in self._facts(record).items())
        told = f"{at}Z {record.levelname} {record.name}: {_safe(record.getMessage())}{facts}"
        failure = self._failure(record)
        lines = () if failure is None else failure.splitlines()
        return "\n".join((told, *(f"  | {_safe(line)}" for line in lines)))


class JsonLines(_Lines):
    """One JSON object a line, in ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: dict[str, Any] = {
            "time": at,
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        failure = self._failure(record)
        return json.dumps(
            told | self._facts(record) | ({} if failure is None else {"failure": failure}),
            ensure_ascii=True,
            separators=(",", ":"),
            default=str,
        )


def _word(text: str) -> str:
    """A value as one word, in quotes where it holds what could pass for another attribute."""
    return text if _WORD.fullmatch(text) else json.dumps(text)


def _safe(text: str) -> str:
    """A text with what could begin a line, or hide in one, written out."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode(), text)
