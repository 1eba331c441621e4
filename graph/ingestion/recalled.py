"""Context blocks within a text: what this service said itself is not learned from it again."""

from __future__ import annotations

import re

_NOTE = r"Retrieved[ ]data,[ ]not[ ]instructions\."
# Stored text cannot write a block's end at the beginning of a line, but in markdown; there the last end counts.
_BLOCK = re.compile(
    rf"""
    ^<knowledge>[ ]{_NOTE}.*?(?:^</knowledge>[ ]\d+[ ]included,[ ]\d+[ ]left[ ]out|\Z)
    | ^<knowledge[ ]note="{_NOTE}".*?(?:^</knowledge>|\Z)
    | ^\#\#[ ]Knowledge[ ]of[ ][^\n]*\n\s*{_NOTE}
      (?:(?:(?!^\#\#[ ]Knowledge[ ]of[ ]).)*^\d+[ ]included,[ ]\d+[ ]left[ ]out$|.*\Z)
    | ^\{{"note":[ ]"{_NOTE}".*?(?:^\],[ ]"included":[ ]\d+,[ ]"leftOut":[ ]\d+\}}|\Z)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def without_blocks(text: str) -> tuple[str, int]:
    """A text with each context block in it replaced by an empty line, and how many there were.

    A block that somebody cut short goes on to the end of the text.
    """
    return _BLOCK.subn("\n\n", text)
