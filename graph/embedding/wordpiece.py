"""Texts as the ids of a BERT vocabulary: WordPiece, uncased, as the models of that family were trained with.

Words that stand for steps of the model itself ([CLS], [SEP], [MASK]) are never read out of a text: a stored text that
holds one is split like any other.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

WORD_CHARS_MAX = 100  # a longer word is unknown as a whole, as in training
CHARS_A_TOKEN_MAX = 120  # a text is cut behind so many characters for each token that may come of it
WORDS_KEPT = 50_000

# Each of these scripts' characters is a word of its own.
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPiece:
    """A vocabulary that splits texts.

    Args:
        vocabulary: Ids by piece; a piece that goes on a word begins with ``##``.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ids = vocabulary
        self._unknown = vocabulary["[UNK]"]
        self._start = vocabulary["[CLS]"]
        self._end = vocabulary["[SEP]"]
        self._longest = max(map(len, vocabulary))
        self._kept = lru_cache(WORDS_KEPT)(self._pieces)

    @classmethod
    def read(cls, path: Path) -> WordPiece:
        """From a ``tokenizer.json``, or from a ``vocab.txt`` that holds a piece a line.

        Raises:
            ValueError, KeyError, OSError: no such file, or another kind of vocabulary.
        """
        text = path.read_text("utf-8")
        if path.suffix != ".json":
            return cls({piece: at for at, piece in enumerate(text.rstrip("\n").split("\n"))})
        given: Any = json.loads(text)
        if given["model"]["type"] != "WordPiece":
            raise ValueError("the vocabulary is not for WordPiece")
        return cls(given["model"]["vocab"])

    def ids(self, text: str, tokens_max: int) -> list[int]:
        """The ids of a text, between those that mark its start and its end; at most ``tokens_max`` in all."""
        found: list[int] = []
        for word in _words(text[: tokens_max * CHARS_A_TOKEN_MAX]):
            found += self._kept(word)
            if len(found) >= tokens_max - 2:
                break
        return [self._start, *found[: tokens_max - 2], self._end]

    def _pieces(self, word: str) -> tuple[int, ...]:
        """The longest pieces from the left; of a word that has none somewhere, one unknown."""
        if len(word) > WORD_CHARS_MAX:
            return (self._unknown,)
        found: list[int] = []
        at = 0
        while at < len(word):
            lead = "##" if at else ""
            for end in range(min(len(word), at + self._longest), at, -1):
                piece = self._ids.get(lead + word[at:end])
                if piece is not None:
                    found.append(piece)
                    at = end
                    break
            else:
                return (self._unknown,)
        return tuple(found)


def _words(text: str) -> Iterator[str]:
    spaced = text if text.isascii() and text.isprintable() else "".join(map(_cleaned, text))
    if not spaced.isascii():
        apart = unicodedata.normalize("NFD", spaced)
        # One by one: a sigma at the end of a word was no exception in training.
        spaced = "".join(char.lower() for char in apart if unicodedata.category(char) != "Mn")
    for word in spaced.lower().split():
        yield from [word] if word.isalnum() else _parted(word)


def _parted(word: str) -> Iterator[str]:
    """A word, and each sign of punctuation in it by itself."""
    begin = 0
    for at, char in enumerate(word):
        if _is_punctuation(char):
            if begin < at:
                yield word[begin:at]
            yield char
            begin = at + 1
    if begin < len(word):
        yield word[begin:]


@lru_cache(10_000)
def _cleaned(char: str) -> str:
    """A character as training had it: controls gone, every blank a space, an ideograph between spaces."""
    code = ord(char)
    if char in "\t\n\r":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(char) in ("Cc", "Cf", "Co"):
        return ""
    if unicodedata.category(char) == "Zs":
        return " "
    return f" {char} " if any(first <= code <= last for first, last in _IDEOGRAPHS) else char


@lru_cache(10_000)
def _is_punctuation(char: str) -> bool:
    ascii_sign = char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    return ascii_sign or unicodedata.category(char).startswith("P")
