"""How texts are looked through: in plain characters, place for place, from a fixed part to the form around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[int, int, str]
"""Where something starts and ends in a text, and its kind."""

_BLANKS = "\u00a0\u1680\u2000-\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff"
_PLAIN_OF = {
    " ": _BLANKS,
    "-": "\u00ad\u2010-\u2015\u2212\ufe58\ufe63",
    ":": "\u02d0\u0589\u2236\u2192\ua789\ufe13\ufe55",
    "=": "\ufe66",
    ".": "\u00b7\u2024\u2027\u3002\uff61",
    ",": "\u3001\uff64",
    '"': "\u00ab\u00bb\u201c-\u201f\u300c-\u300f\u301d-\u301f",
    "'": "\u02bc\u2018-\u201b\u2032\u2039\u203a",
}


_MARKER = re.compile(r"\[REDACTED:([a-z-]{1,40})\]")


def _each(chars: str) -> Iterator[int]:
    for first, last in re.findall(r"(.)(?:-(.))?", chars, re.DOTALL):
        yield from range(ord(first), ord(last or first) + 1)


_FULL_WIDTH = {0xFEE0 + code: chr(code) for code in range(0x21, 0x7F)}  # forms of ASCII
_PLAIN: dict[int, str] = {code: plain for plain, chars in _PLAIN_OF.items() for code in _each(chars)} | _FULL_WIDTH
_RELATIVES = frozenset(map(chr, _PLAIN))
_FEW = 16  # parts that are replaced one after the other faster than all of a text is gone through


def _plain(text: str, chars: frozenset[str]) -> str:
    """The text with ASCII's characters for their relatives, and with markers that say nothing."""
    odd = chars & _RELATIVES
    if len(odd) > _FEW:
        text = text.translate(_PLAIN)
    else:
        for char in odd:
            text = text.replace(char, _PLAIN[ord(char)])
    if "[REDACTED:" not in text:
        return text
    kinds = set(_MARKER.findall(text))
    if len(kinds) > _FEW:
        return _MARKER.sub(lambda found: f"[REDACTED:{'x' * len(found[1])}]", text)
    for kind in kinds:
        text = text.replace(f"[REDACTED:{kind}]", f"[REDACTED:{'x' * len(kind)}]")
    return text


@dataclass(frozen=True, slots=True)
class Seen:
    """A text as it is looked through, place for place.

    Attributes:
        text: With ASCII's blanks, dashes, quotation marks, signs and letters for their relatives.
        low: The same in lower case.
        chars: What the two are made of, and perhaps some more.
    """

    text: str
    low: str
    chars: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Seen:
        """A text as it is looked through."""
        chars = frozenset(text)
        plain = _plain(text, chars)
        low = plain.lower()
        if len(low) != len(plain):  # a few letters become two
            low = "".join(char.lower() if char.isascii() else char for char in plain)
        kinds = "".join(chars).translate(_PLAIN)
        # Markers are made of x, and at its end a word has a small sigma of its own.
        return cls(plain, low, frozenset(kinds + kinds.lower() + "x\u03c2"))

    def holds(self, part: str) -> bool:
        """Whether a part stands somewhere, as it is or in lower case; cheap where a character of it does not."""
        return self.chars.issuperset(part) and (part in self.text or part in self.low)

    def matches(self, start: str, form: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Where a form is that begins with a fixed part in lower case; what a match takes is not looked at again."""
        if not self.chars.issuperset(start):
            return
        at = self.low.find(start)
        while at >= 0:
            found = form.match(self.text, at)
            if found is not None:
                yield found
            at = self.low.find(start, at + 1 if found is None else max(at + 1, found.end()))


def begins(text: str, at: int) -> bool:
    """Whether a token may begin there: not in the middle of a word."""
    return at == 0 or not (text[at - 1].isascii() and text[at - 1].isalnum())
