"""Links in markdown: ``[[target]]`` outside code, as notes and concept files write them.

What is code is told by a CommonMark parser, of which only what makes blocks, code spans and escapes is in use: links
and HTML of markdown itself are text here.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

LEVELS_MAX = 100  # of quotes and lists, one in the other; what lies deeper is not read
_BLOCKS = ("blockquote", "code", "fence", "heading", "hr", "lheading", "list", "paragraph")
_SEPARATOR = re.compile(r"\\?\|")  # in a table the bar is escaped
_KIND = "concept_link"


@dataclass(frozen=True, slots=True)
class Link:
    """One link, as ``[[target#heading|alias]]`` says it; NFC where it names something.

    Attributes:
        target: The name that it leads to; None within the note itself.
        heading: A heading there.
        block: The id of a block there.
        alias: What is shown in its place; for a picture its size.
        embed: Whether the target is to be shown in its place.
    """

    target: str | None
    heading: str | None = None
    block: str | None = None
    alias: str | None = None
    embed: bool = False


def links_in(body: str) -> list[Link]:
    """The links of a text, in order, repeats kept.

    Args:
        body: Markdown; line ends are LF.
    """
    if "[[" not in body:
        return []
    inlines = [token.children or [] for token in _parser().parse(body) if token.type == "inline"]
    return [_link(child) for children in inlines for child in children if child.type == _KIND]


def link_targets(body: str) -> list[str]:
    """The distinct targets of the links of a text, in order; links within the note itself are none."""
    return list(dict.fromkeys(link.target for link in links_in(body) if link.target is not None))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"maxNesting": LEVELS_MAX}).enable([*_BLOCKS, "backticks", "escape", "newline"])
    parser.inline.ruler.after("backticks", _KIND, _read)
    return parser


def _read(state: StateInline, silent: bool) -> bool:  # noqa: FBT001  the parser's form
    """Read a link where one stands; code spans and escapes in it are stepped over as the parser does."""
    start = state.pos
    inner = start + (3 if state.src.startswith("!", start) else 2)
    if not state.src.startswith("[[", inner - 2):
        return False
    state.pos = inner
    while state.pos < state.posMax and state.src[state.pos] not in "[\n" and not state.src.startswith("]]", state.pos):
        state.md.inline.skipToken(state)
    end = state.pos
    content = state.src[inner:end]
    state.pos = start
    if not state.src.startswith("]]", end) or "\n" in content or _parsed(content, embed=False) is None:
        return False
    if not silent:
        token = state.push(_KIND, "", 0)
        token.content = content
        token.markup = state.src[start:inner]
    state.pos = end + 2
    return True


def _link(token: Token) -> Link:
    link = _parsed(token.content, embed=token.markup.startswith("!"))
    assert link is not None, "what is no link makes no token"
    return link


def _parsed(content: str, *, embed: bool) -> Link | None:
    """What stands between the brackets; None where it leads nowhere."""
    place, alias = [*_SEPARATOR.split(content, maxsplit=1), ""][:2]
    name, part = [*place.split("#", maxsplit=1), ""][:2]
    heading, block = ("", part[1:]) if part.startswith("^") else (part, "")
    target, heading, block = (_named(text) for text in (name, heading, block))
    if target is None and heading is None and block is None:
        return None
    return Link(target, heading, block, alias.strip() or None, embed)


def _named(text: str) -> str | None:
    return unicodedata.normalize("NFC", text.strip()) or None
