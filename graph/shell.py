"""What the exit code 0 of a shell line says of the commands in it.

A line is read by bash's own grammar. In ``a && b`` both went well, in ``a; b`` only the last is known to have, in
``a | b`` only the last unless ``pipefail`` is set, and in ``a || b`` one of the two. What a loop or a condition went
through is not known. A line that may change what its commands or its exit code mean (functions, traps, background jobs,
``set`` behind the start, a command whose name is expanded) is not understood, and says nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

LEVELS_MAX = 40  # nested groups, strings of `bash -c` among them; deeper is no line that a tool was asked to run
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_ENDS_UNDER_ERREXIT = frozenset({"command", "pipeline", "subshell"})
_MODES = frozenset({"errexit", "pipefail", "nounset", "xtrace"})
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
_LITERAL_NAME = re.compile(r"[\w./@+:~-]+|\[")
_EXIT = re.compile(r"exit ([1-9]\d?|1\d\d|2[0-4]\d|25[0-5])")
# Builtins that change what follows or end the shell, and those through which others are called.
_ALTERING = frozenset(
    {"set", "trap", "alias", "unalias", "exec", "eval", "shopt", "enable", "builtin", "hash", "exit", "return"}
    | {"coproc", "!"}
)
_CALLS_BUILTINS = frozenset({"command", "time"})
_SOURCES = frozenset({"source", "."})
_SOURCED = frozenset({"activate", "env", ".env", "nvm.sh", ".bashrc", ".profile"})  # files that only set variables
_NOT_UNDERSTOOD = frozenset({"&", "function_definition"})
_EXPANDED = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion", "process_substitution"}
    | {"ansi_c_string", "translated_string", "brace_expression"}
)
_OF_HEREDOC = frozenset({"heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor", "file_redirect"})

Words = Sequence[str]
"""A simple command: its name and its arguments, unquoted; what is expanded stands as it is written."""
Wanted = Callable[[Words, Words], bool]
"""Told a simple command and all that the line assigns to variables (``NAME=value``, unquoted)."""


def proves(line: str, wanted: Wanted) -> bool:
    """Whether a wanted command must have run and exited 0 when the line exited 0.

    Args:
        line: As it was given to a POSIX shell or to bash.
        wanted: Told each simple command of which that holds.

    Returns:
        False also for a line that is none, and for one that is not understood.
    """
    return _proves_line(line, wanted, 0, (), _Modes())


@dataclass(frozen=True, slots=True)
class _Modes:
    errexit: bool = False
    pipefail: bool = False


def _proves_line(line: str, wanted: Wanted, level: int, assigned: tuple[str, ...], modes: _Modes) -> bool:
    root = _parser().parse(line.encode()).root_node
    if root.has_error:
        return False
    steps = _steps(root)
    while steps and _words(steps[0])[:1] == ["set"]:
        read = _options(_words(steps[0])[1:], "eux")
        if read is None or read[1] or len(_words(steps[0])) == 1:
            return False
        modes = _Modes(modes.errexit or read[0].errexit, modes.pipefail or read[0].pipefail)
        steps = steps[1:]
    if len(steps) > 1 and _words(steps[-1]) in (["exit"], ["exit", "$?"]):
        steps = steps[:-1]
    if any(child.type in _NOT_UNDERSTOOD for child in root.children) or not all(map(_understood, steps)):
        return False
    assigned = (*assigned, *(_assignment(node) for node in _all(root) if node.type == "variable_assignment"))
    return _Reading(wanted, assigned, level).sequence(steps, modes)


@dataclass(slots=True)
class _Reading:
    wanted: Wanted
    assigned: tuple[str, ...]
    level: int

    def sequence(self, steps: Sequence[Node], modes: _Modes) -> bool:
        """Of commands one after the other the last is known to have gone well, and those that would have ended all."""
        proved = False
        for step in steps:
            found = self._proves(step, modes)
            proved = proved or (found and (step is steps[-1] or _ends_all(step, modes)))
        return proved

    def _proves(self, node: Node, modes: _Modes) -> bool:
        if self.level > LEVELS_MAX:
            return False
        self.level += 1
        try:
            return self._of_kind(_without_redirects(node), modes)
        finally:
            self.level -= 1

    def _of_kind(self, node: Node, modes: _Modes) -> bool:
        asked = replace(modes, errexit=False)  # where the shell asks how a command ended, it is off within that
        match node.type:
            case "command":
                return self._command(node)
            case "list":
                left, right = self._proves(node.children[0], asked), self._proves(node.children[-1], modes)
                if node.children[1].type == "&&":
                    return left or right
                return left and (right or _never_succeeds(node.children[-1]))
            case "pipeline":
                negated = node.children[0].type == "negated_command"  # `!` is said of the whole
                parts = [self._proves(part, asked) for part in node.children if part.is_named]
                return not negated and (any(parts) if modes.pipefail else parts[-1])
            case "subshell" | "compound_statement":
                return self.sequence(_steps(node), modes)
            case _:
                return False

    def _command(self, node: Node) -> bool:
        words = _words(node)
        if not words:
            return False
        if words[0].rpartition("/")[2] in _SHELLS and (read := _options(words[1:], "euxlc")) is not None:
            modes, rest, inline = read
            if inline:
                text = node.children_by_field_name("argument")[-len(rest)] if rest else None
                return (
                    text is not None
                    and _literal(text)
                    and self.level < LEVELS_MAX
                    and _proves_line(rest[0], self.wanted, self.level, self.assigned, modes)
                )
        return self.wanted(words, self.assigned)


def _ends_all(step: Node, modes: _Modes) -> bool:
    """Whether the shell itself would have ended with an error, had the step gone wrong."""
    step = _without_redirects(step)
    if step.type == "list":
        return step.children[1].type == "||" and _exits(step.children[-1])
    return modes.errexit and step.type in _ENDS_UNDER_ERREXIT


def _understood(step: Node) -> bool:
    """Whether nothing in a statement changes what the shell does besides running commands."""
    waiting = [step]
    while waiting:
        node = waiting.pop()
        if node.type in _NOT_UNDERSTOOD or (node.type == "command" and not _plain_command(node)):
            return False
        if node.type == "heredoc_redirect" and any(child.type not in _OF_HEREDOC for child in node.named_children):
            return False  # the rest of the line behind `<<END` stands in it
        children = node.children
        if node.type == "list" and children[1].type == "||" and _exits(children[-1]):
            children = [*children[:-1], *_before_exit(children[-1])]
        waiting += children
    return True


def _plain_command(node: Node) -> bool:
    name = node.child_by_field_name("name")
    if name is None:
        return True
    words = _words(node)
    if not _literal(name) or _LITERAL_NAME.fullmatch(words[0]) is None:
        return False
    if words[0] in _SOURCES:
        return "".join(words[1:]).rpartition("/")[2] in _SOURCED
    return words[0] not in _ALTERING and (words[0] not in _CALLS_BUILTINS or _ALTERING.isdisjoint(words))


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def _all(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def _steps(node: Node) -> list[Node]:
    return [child for child in node.children if child.is_named and child.type != "comment"]


def _without_redirects(node: Node) -> Node:
    body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
    return node if body is None else body


def _never_succeeds(node: Node) -> bool:
    """Whether it cannot exit 0: ``exit 1``, ``false``, and what ends so."""
    return _exits(node) or _words(_last(node)) == ["false"]


def _exits(node: Node) -> bool:
    return _EXIT.fullmatch(" ".join(_words(_last(node)))) is not None


def _before_exit(node: Node) -> list[Node]:
    """What runs before the ``exit`` in which a node ends."""
    before: list[Node] = []
    for _ in range(LEVELS_MAX):
        node = _without_redirects(node)
        if node.type == "command":
            break
        steps = _steps(node)
        before += [child for child in node.children if child != steps[-1]]
        node = steps[-1]
    return before


def _last(node: Node) -> Node:
    for _ in range(LEVELS_MAX):
        node = _without_redirects(node)
        if node.type != "compound_statement" or not _steps(node):
            break
        node = _steps(node)[-1]
    return node


def _words(node: Node) -> list[str]:
    """A simple command's words; none of what is no simple command."""
    name = node.child_by_field_name("name") if node.type == "command" else None
    if name is None:
        return []
    return [_text(name).decode(), *(_text(word).decode() for word in node.children_by_field_name("argument"))]


def _assignment(node: Node) -> str:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    return b"=".join(b"" if part is None else _text(part) for part in (name, value)).decode()


def _literal(node: Node) -> bool:
    return all(part.type not in _EXPANDED for part in _all(node))


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


def _options(words: Words, letters: str) -> tuple[_Modes, Words, bool] | None:
    """The modes that a shell's options ask for, the words behind them, and whether ``-c`` is among them.

    None where another option than these letters stands there.
    """
    flags, modes, rest = "", set[str](), list(words)
    while rest and rest[0].startswith(("-", "+")):
        option = re.fullmatch(f"-([{letters}]*)(o?)", rest.pop(0))
        if option is None or not any(option.groups()):
            return None
        flags += option[1]
        if option[2]:
            if not rest or rest[0] not in _MODES:
                return None
            modes.add(rest.pop(0))
    return _Modes("e" in flags or "errexit" in modes, "pipefail" in modes), rest, "c" in flags
