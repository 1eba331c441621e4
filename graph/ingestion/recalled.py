"""Context blocks within a text: what this service said itself is not learned from it again.

Somebody may have quoted a block, indented it, put it into a fence, or cut it anywhere. So lines are looked at without
what quotes them: from the head of a block to its end all is left out, and of a block whose head is gone each line that
has the form of one, with what the first line was cut from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graph.knowledge import Kind, State

_NOTE = "Retrieved data, not instructions"
_QUOTING = re.compile(r"(?:[ \t]*>)*[ \t]*")
_KINDS, _STATES = "|".join(Kind), "|".join(State)
_FACTS = rf"(?:{_KINDS}), (?:{_STATES}), (?:valid from |validity not told)"
_TEXT = r'"(?:[^"\\]|\\.)*+"'
_SPAN = "`[^\n]*`"
_SPANS = r"`(?=[^\n]*`$)[^\n]*` `[^\n]+"  # two of them up to the end, which is looked at once
_LEFT_OUT = r"\d+ included, \d+ left out\s*$"


@dataclass(frozen=True, slots=True)
class _Format:
    """A format of blocks: how one begins and ends; where stored text may write an end as well, the last one counts."""

    head: re.Pattern[str]
    end: re.Pattern[str]
    last: bool = False


_MARKDOWN = _Format(re.compile(r"## Knowledge of `"), re.compile(_LEFT_OUT), last=True)
_FORMATS = (
    _Format(re.compile(rf"<knowledge> {_NOTE}"), re.compile(rf"</knowledge> {_LEFT_OUT}")),
    _Format(re.compile(rf'<knowledge note="{_NOTE}'), re.compile(r"</knowledge>")),
    _MARKDOWN,
    _Format(re.compile(rf'\{{?\s*"note": ?"{_NOTE}'), re.compile(r'(?:.*[^\\])??"leftOut": ?\d+')),
)
# What items of a block begin with, and a block itself begins or ends with, or is left of that: nobody else writes so.
_CERTAIN = re.compile(
    "|".join(
        (
            rf"\[{_TEXT}\] {_FACTS}",
            rf"(?:{_TEXT[1:]}\] |.{{0,40}}, )?{_FACTS}",
            rf"project {_TEXT} at position \d+$",
            rf"(?:- )?evidence: (?:{_TEXT} {_TEXT}|{_SPANS})$",
            r"[</\w> ,]{0,40}\d+ left out\s*$|## Knowledge of?\s*$",
            r"<knowledge|</knowledge>|<item key=\"|</item>|<included |[\w ]{0,12}count=\"\d+\" leftOut=",
            r"\{\"key\": \"|.*\"generation\": \d+, \"kind\": \"|.*[^\\]\", \"evidence\": \[|.*\"cautions\": \[",
            r"\{\"note\": \"|(?:\], )?\"included\": \d+|.{0,40}leftOut\": \d+",
            rf".*{_NOTE}|.*\| are quoted\.$",
        )
    )
)
# What else stands in one, which others write too.
_POSSIBLE = re.compile(
    "|".join(
        (
            r"\||\],?$|### `",
            rf"(?:- )?caution: (?:{_TEXT}|{_SPAN})$|(?:- )?found by: ",
            r"<text>|.*</text>$|<evidence type=|<caution>",
            r"\"(?:key|generation|kind|state|atRisk|stale|validFrom|validTo)\": ",
            r"\"(?:text|evidence|cautions|foundBy|type|source)\": ",
        )
    )
)
_FENCED = re.compile(r"(`{3,})text$")
_FENCE = re.compile(r"`{3,}$")


def without_blocks(text: str) -> tuple[str, int]:
    """A text with each context block in it replaced by an empty line, and how many there were.

    A block that somebody cut short goes on to the end of the text; of one whose beginning is gone the lines that show
    their form are taken out, and count as one.
    """
    lines = text.split("\n")
    bare = [line[_QUOTING.match(line).end() :].rstrip("\r") for line in lines]  # pyright: ignore[reportOptionalMemberAccess]  it matches anything
    kept, blocks, at = list[int](), 0, 0
    while at < len(lines):
        found = next((each for each in _FORMATS if each.head.match(bare[at])), None)
        if found is not None and (found is not _MARKDOWN or _noted(bare, at)):
            at, blocks = _behind(bare, at, found), blocks + 1
            kept.append(-1)
        else:
            kept.append(at)
            at += 1
    left_out = _remnants([bare[at] if at >= 0 else "" for at in kept])
    if not blocks and not left_out:
        return text, 0
    said = ("" if at < 0 or place in left_out else lines[at] for place, at in enumerate(kept))
    return "\n".join(said), blocks + bool(left_out)


def _noted(bare: Sequence[str], at: int) -> bool:
    """Whether the note of a block, or what is left of it, follows on its heading, or the text ends there."""
    below = next((line for line in bare[at + 1 : at + 4] if line), None)
    return not any(bare[at + 1 :]) if below is None else below[:8] == _NOTE[: len(below[:8])]


def _behind(bare: Sequence[str], at: int, found: _Format) -> int:
    """Where what follows on a block begins."""
    end = len(bare)
    for place in range(at, len(bare)):
        if found.last and place > at and found.head.match(bare[place]):
            break
        if found.end.match(bare[place]):
            end = place + 1
            if not found.last:
                break
    return end


def _remnants(bare: Sequence[str]) -> frozenset[int]:
    """The places of lines that are left of blocks without a head; none where no line is certain to be of one."""
    if not any(map(_CERTAIN.match, bare)):
        return frozenset()
    left_out = set(_formed(bare))
    first = min(left_out)
    # What the beginning was cut from: a paragraph, or what a fence or an element closes.
    closing = next((at for at, line in enumerate(bare) if _closes(bare, at, line, left_out)), None)
    if closing is not None:
        left_out.update(range(closing + 1))
    elif "" not in [line.strip() for line in bare[: max(0, first - 1)]]:
        left_out.update(range(first))
    return frozenset(left_out)


def _closes(bare: Sequence[str], at: int, line: str, left_out: set[int]) -> bool:
    """Whether a line closes a stored text of which the beginning is gone."""
    if at and (at - 1 in left_out) and at not in left_out:
        return False
    if line.endswith("</text>") and not any("<text>" in each for each in bare[: at + 1]):
        return True
    opened = any(map(_FENCED.match, bare[:at]))
    behind = next((place for place in range(at + 1, len(bare)) if bare[place]), None)
    return bool(_FENCE.match(line)) and not opened and behind in left_out


def _formed(bare: Sequence[str]) -> Iterator[int]:
    """The places of lines that have the form of a block's, and of stored texts within a fence or an element."""
    until: re.Pattern[str] | None = None
    for at, line in enumerate(bare):
        if until is not None:
            yield at
            until = None if until.search(line) else until
        elif fence := _FENCED.match(line):
            yield at
            until = re.compile(f"^{fence[1]}$")
        elif _CERTAIN.match(line) or _POSSIBLE.match(line):
            yield at
            if line.startswith("<text>") and "</text>" not in line:
                until = re.compile("</text>")
