"""Characters that cannot be seen: where a script or an emoji needs one, and where it only makes two texts look alike.

A non-joiner is part of Persian words, a joiner of Indic ones and of emoji made of several. Anywhere else two texts that
differ in them look the same.
"""

from __future__ import annotations

from functools import cache

import regex

EMOJI_CHARS_MAX = 12  # the longest has ten
_AROUND = 40  # of a joiner: marks between it and the letters that it joins are fewer
_JOINERS = "\u200c\u200d"
_UNSEEN = regex.compile(r"\p{Default_Ignorable_Code_Point}")
_VARIED = regex.compile(r"(?<=\p{Mongolian})[\u180b-\u180d\u180f]")  # forms of the letters of that script
_BETWEEN_EMOJI = regex.compile(
    r"(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})"
)


def unseen(char: str) -> bool:
    """Whether a character cannot be seen by itself."""
    return not char.isascii() and _UNSEEN.match(char) is not None


def needed(text: str, at: int) -> bool:
    """Whether the script around a character that cannot be seen needs it to be written.

    Of joiners it is told as for names of hosts (RFC 5892, appendix A): behind a virama, or between letters that join.
    """
    if text[at] not in _JOINERS:
        return _VARIED.match(text, at) is not None
    from idna.core import valid_contextj  # noqa: PLC0415  its tables take a while to load

    start = max(0, at - _AROUND)
    try:
        return valid_contextj(text[start : at + _AROUND], at - start)
    except ValueError:  # a character beside it that Unicode does not know
        return False


def joins(text: str, at: int) -> bool:
    """Whether the script around it needs a character that cannot be seen, or it stands between two emoji."""
    return needed(text, at) or _BETWEEN_EMOJI.match(text, at) is not None


def emoji_length(text: str, at: int) -> int:
    """How many characters the emoji at a place has, in the full form that Unicode recommends; 0 where none stands."""
    return next((size for size in range(EMOJI_CHARS_MAX, 0, -1) if text[at : at + size] in _emoji()), 0)


@cache
def _emoji() -> frozenset[str]:
    from emoji import EMOJI_DATA, STATUS  # noqa: PLC0415  its tables take a while to load

    return frozenset(each for each, facts in EMOJI_DATA.items() if facts["status"] == STATUS["fully_qualified"])
