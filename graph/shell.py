"""What the exit code 0 of a shell line says of the commands in it.

A line is read by bash's own grammar. In ``a && b`` both went well, in ``a; b`` only the last is known to have, in
``a | b`` only the last unless ``pipefail`` is set, and in ``a || b`` one of the two. What a loop, a condition or a
background job went through is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

LEVELS_MAX = 40  # nested groups, strings of `bash -c` among them; deeper is no line that a tool was asked to run
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_SIMPLE = frozenset({"command", "pipeline", "subshell", "compound_statement"})
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)

Words = Sequence[str]
"""A simple command: its name and its arguments, unquoted; what is expanded stands as it is written."""


def proves(line: str, wanted: Callable[[Words], bool]) -> bool:
    """Whether a wanted command must have run and exited 0 when the line exited 0.

    Args:
        line: As it was given to a POSIX shell or to bash.
        wanted: Told each simple command of which that holds.

    Returns:
        False also for a line that is none.
    """
    return _Reading(wanted, 0).proves(line)


@dataclass(slots=True)
class _Reading:
    wanted: Callable[[Words], bool]
    level: int
    errexit: bool = False
    pipefail: bool = False

    def proves(self, line: str) -> bool:
        root = _parser().parse(line.encode()).root_node
        return not root.has_error and self._sequence(root)

    def _sequence(self, node: Node) -> bool:
        """Of commands one after the other the last is known to have gone well, and those that would have ended all."""
        steps = [child for child in node.children if child.is_named and child.type != "comment"]
        proved = False
        for step in steps:
            found = self._proves(step)
            last = step is steps[-1]
            following = step.next_sibling
            if following is not None and following.type == "&":
                continue
            proved = proved or (found and (last or self._ends_all(step)))
        return proved

    def _ends_all(self, step: Node) -> bool:
        """Whether the shell itself would have ended with an error, had the step gone wrong."""
        step = _without_redirects(step)
        if step.type == "list":
            return step.children[1].type == "||" and _exits(step.children[-1])
        return self.errexit and step.type in _SIMPLE

    def _proves(self, node: Node) -> bool:
        if self.level > LEVELS_MAX:
            return False
        self.level += 1
        try:
            return self._of_kind(_without_redirects(node))
        finally:
            self.level -= 1

    def _of_kind(self, node: Node) -> bool:
        match node.type:
            case "command":
                return self._command(_words(node))
            case "list":
                left, right = self._proves(node.children[0]), self._proves(node.children[-1])
                if node.children[1].type == "&&":
                    return left or right
                return left and (right or _never_succeeds(node.children[-1]))
            case "pipeline":
                parts = [self._proves(part) for part in node.children if part.is_named]
                return any(parts) if self.pipefail else parts[-1]
            case "subshell" | "compound_statement":
                return self._sequence(node)
            case _:
                return False

    def _command(self, words: Words) -> bool:
        if not words:
            return False
        name = words[0].rpartition("/")[2]
        if name == "set":
            self._set(words[1:])
            return False
        if name in _SHELLS and (inner := _text_of_c(words)) is not None:
            reading = _Reading(self.wanted, self.level)
            reading._set(words[1:])
            return self.level < LEVELS_MAX and reading.proves(inner)
        return self.wanted(words)

    def _set(self, words: Words) -> None:
        flags = "".join(word[1:] for word in words if re.fullmatch("-[a-z]+", word))
        self.errexit = self.errexit or "e" in flags or "errexit" in words
        self.pipefail = self.pipefail or "pipefail" in words


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _without_redirects(node: Node) -> Node:
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return node if body is None else body


def _never_succeeds(node: Node) -> bool:
    """Whether it cannot exit 0: ``exit 1``, ``false``, and what ends so."""
    return _exits(node) or _last_words(node) == ["false"]


def _exits(node: Node) -> bool:
    words = _last_words(node)
    return len(words) > 1 and words[0] in ("exit", "return") and words[1].strip("0") != ""


def _last_words(node: Node) -> Words:
    for _ in range(LEVELS_MAX):
        node = _without_redirects(node)
        if node.type == "command":
            return _words(node)
        if node.type != "compound_statement" or not node.named_children:
            return []
        node = node.named_children[-1]
    return []


def _words(command: Node) -> list[str]:
    name = command.child_by_field_name("name")
    if name is None:
        return []
    return [_text(name).decode(), *(_text(word).decode() for word in command.children_by_field_name("argument"))]


def _text(node: Node) -> bytes:
    written = node.text or b""
    match node.type:
        case "command_name" | "concatenation":
            return b"".join(map(_text, node.children))
        case "word":
            return _ESCAPED.sub(rb"\1", written)
        case "raw_string":
            return written[1:-1]
        case "string":
            return re.sub(rb'\\(["\\$`])', rb"\1", written[1:-1])
        case _:
            return written


def _text_of_c(words: Words) -> str | None:
    """What ``bash -c`` is given to run; None where it runs a file, or reads."""
    for at, word in enumerate(words[1:], start=1):
        if re.fullmatch("-[a-z]*c[a-z]*", word):
            return next((text for text in words[at + 1 :] if not text.startswith("-")), None)
        if not word.startswith("-") and words[at - 1] not in ("-o", "-eo", "-euo", "-uo", "-O"):
            return None
    return None
