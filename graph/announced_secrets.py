"""Secrets that a name before them gives away: settings, fields, tables, sentences, and what stands on the next line.

A full-width colon, or a blank that does not break, is one like any (``scanning.Seen``).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graph.placeholders import drawn, explains, like_a_password
from graph.scanning import Seen, Span

_KEY_CHARS_MIN = 8  # a shorter one would be no secret for long
_SAID_CHARS_MIN = 4  # of a word in a sentence
_PHRASE_BLANKS_MAX = 11  # word lists make phrases of up to twelve words
_NAMES_BEFORE = 48  # characters before a name that may belong to its line
_ENGLISH = "(?:is|was|are|remains|has[ ]been|will[ ]be)(?:[ ](?:now|still))?(?:[ ](?:set|reset|changed))?(?:[ ]to)?|to"
# Words for a password, and the words between one and its value in a sentence.
_PASSWORDS: Mapping[str, str] = {
    "password passwd passphrase passcode pwd": _ENGLISH,
    "passwort kennwort": "ist|war|lautet|auf",
    "senha palavra-passe": "\u00e9|era|para",
    "contrase": "es|era|a",  # and an n with its tilde
    "mot_de_passe": "est|\u00e9tait",
    "wachtwoord": "is|was|naar",
    "parola": "\u00e8|era|este",
    "l\u00f6senord passord adgangskode": "\u00e4r|er|var",
    "salasana": "on|oli",
    "has\u0142o heslo geslo lozinka zaporka": "to|je|jest",
    "jelsz\u00f3": "az?",
    "\u015fifre": "ise",
    "\u043f\u0430\u0440\u043e\u043b": "-",  # Russian, and what is near it
    "\u03c3\u03c5\u03bd\u03b8\u03b7\u03bc\u03b1\u03c4\u03b9\u03ba\u03cc": "\u03b5\u03af\u03bd\u03b1\u03b9",
    "m\u1eadt_kh\u1ea9u": "l\u00e0",
    "kata_sandi": "adalah",
    "\u0643\u0644\u0645\u0629_\u0627\u0644\u0645\u0631\u0648\u0631": "\u0647\u064a",
    "\u05e1\u05d9\u05e1\u05de\u05d4": "\u05d4\u05d9\u05d0",
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921": "\u0939\u0948",
}
# The same in scripts that put no blanks between words.
_UNSPACED = (
    "\u5bc6\u7801",
    "\u5bc6\u78bc",
    "\u53e3\u4ee4",
    "\u30d1\u30b9\u30ef\u30fc\u30c9",
    "\u6697\u8a3c\u756a\u53f7",
    "\ube44\ubc00\ubc88\ud638",
    "\uc554\ud638",
    "\ud328\uc2a4\uc6cc\ub4dc",
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
)
_KEYS = ("secret", "token", "credential", "key")
_OF_KEYS = re.compile(
    r"(?:api|access|auth|private|secret|signing|encryption|master|account|shared|client|service|storage|webhook"
    r"|consumer|session|deploy|licen[cs]e|subscription)[ _.-]?$"
)
# What may end a name, markup that closes behind it or behind its sign, and the value itself.
_TAIL = "(?:[a-z\u00e0-\u024f\u0300-\u036f\u0430-\u044f]{0,3}|[A-Z\u00c0-\u00d6\u0300-\u036f]{1,3}(?![a-z]))"
_CLOSED = r"""(?:\\?["'\]*_~`]|</?(?!t?[dhr]>|dd>)[a-z][a-z0-9]{0,9}>|</t?d>|</dt>|[ ]\([^()\n]{1,30}\)){0,4}+"""
_CLOSED_BEHIND = r"(?:[*_~]{1,3}|</[a-z][a-z0-9]{0,9}>){0,2}+"
_VALUE = r"""
    (?: \\?"(?P<double>(?:[^"\\\n]|\\(?!")[^\n])++)\\?" | \\?'(?P<single>(?:[^'\\\n]|\\(?!')[^\n])++)\\?'
      | `(?P<tick>[^`\n]++)` | ["'`]?(?P<bare>[^\s"'`,;]{3,}+) )
"""
_ASSIGNED = re.compile(
    rf"""(?x) {_TAIL} {_CLOSED} (?P<before>[ \t]{{0,4}})
    (?P<sign>:=|[=-]>|==?|:(?!:)|\||(?<=[ ])--?(?=[ ])|<(?:td|dd)>) {_CLOSED_BEHIND} (?P<after>[ \t]{{0,4}}) {_VALUE}
    """
)
_BELOW = re.compile(
    rf"""(?x) {_TAIL} {_CLOSED} [ \t]{{0,4}} (?:[:=]?[=:]|=>) {_CLOSED_BEHIND} [ \t]{{0,4}} (?P<goes_on>[(\\|>]?-?)
    [ \t]{{0,4}} (?:\r?\n[ \t]{{0,40}}){{1,2}} (?P<fence>```\w{{0,12}}\r?\n)? (?<=\n)(?P<indent>[ \t]{{0,40}})
    (?:[-*][ ])? {_VALUE} [ \t]{{0,8}}[,;)]?[ \t]{{0,8}} (?=\r?\n|\Z)
    """
)
_OF_WHAT = r"(?:[ ](?:for|of|on|from|at|f\u00fcr|von|de|del|pour|para)(?:[ ][\w.@/'-]{1,40}){1,4}?)?"
_LINE_BEFORE = re.compile(r"(?:^|\n)[ \t>*+#|-]*[\w.\" '*_`<>/-]{0,40}$")
_LINE_CHARS = 80  # behind a value, in which its line is to end
_CLOSES_LINE = ' \t*_`|.,;)"'
_SAID_UNSPACED = re.compile(
    "(?:(?:\u662f|\u4e3a|\u70ba|\u306f|\uc740|\ub294|\uc774|\u0e04\u0e37\u0e2d))?[ ]{0,2}[:=]?[ ]{0,2}[\"'`]?"
    "(?P<said>[!#-&(-+\\--_a-~]{4,}+)"
)


def _said(name: str, verbs: str) -> re.Pattern[str]:
    return re.compile(
        rf"""(?ix) .{{{len(name)}}} {_TAIL} {_CLOSED} {_OF_WHAT} [ ]+(?:{verbs}|is)(?![\w'])
        [ ]*(?P<colon>:?)[ ]* (?:[*_]{{1,3}})? {_VALUE}
        """
    )


def _names(words: str) -> Iterator[str]:
    """Each word as it may be written: with its blanks, and with its marks apart from the letters."""
    for word in words.replace("_", "\0").split():
        spaced = word.replace("\0", " ")
        yield from {spaced, unicodedata.normalize("NFD", spaced)}


@dataclass(frozen=True, slots=True)
class _Name:
    """What a secret is called.

    Attributes:
        word: In lower case.
        said: The form of a sentence that says it, from the name on.
        of_key: Whether its secrets are drawn by lot, so that a word behind it is none.
    """

    word: str
    said: re.Pattern[str]
    of_key: bool = False

    def holds(self, value: str) -> bool:
        """Whether a value that stands alone, or in quotation marks, may be one by its words."""
        if self.of_key:
            return len(value) >= _KEY_CHARS_MIN and drawn(value)
        # More than two words are a password only where a phrase is asked for.
        blanks = _PHRASE_BLANKS_MAX if self.word == "passphrase" else 1
        return value.strip().count(" ") <= blanks and "assword" not in value

    def shows(self, value: str) -> bool:
        """Whether a value among other words is one by its characters."""
        if self.of_key:
            return self.holds(value)
        return like_a_password(value) and self.holds(value)


_ANNOUNCING = (
    *(_Name(name, _said(name, verbs)) for words, verbs in _PASSWORDS.items() for name in _names(words)),
    *(_Name(name, _said(name, _ENGLISH), of_key=True) for name in _KEYS),
)


def announced(seen: Seen) -> Iterator[Span]:
    """The secrets that are called so, in no order."""
    for name in _ANNOUNCING:
        if seen.holds(name.word):
            kind = "secret" if name.of_key else "password"
            for start, end in _behind(seen.text, seen.low, name):
                yield start, end, kind
    for word in _UNSPACED:
        for at in _places(seen.low, word):
            found = _SAID_UNSPACED.match(seen.text, at + len(word))
            if found is not None and not explains(found["said"]) and like_a_password(found["said"]):
                yield *found.span("said"), "password"


def _places(low: str, word: str) -> Iterator[int]:
    at = low.find(word)
    while at >= 0:
        yield at
        at = low.find(word, at + 1)


def _behind(text: str, low: str, name: _Name) -> Iterator[tuple[int, int]]:
    """Where the values of one name start and end; what a value takes is not looked at again."""
    size, at = len(name.word), low.find(name.word)
    while at >= 0:
        found = None
        if name.word != "key" or _OF_KEYS.search(low, max(0, at - 16), at):
            found = _ASSIGNED.match(text, at + size)
            judge = _assigned
            if found is None:
                found, judge = _BELOW.match(text, at + size), _below
            if found is None:
                found, judge = name.said.match(text, at), _in_sentence
            if found is not None:
                start, end = _value(found)
                value = text[start:end]
                if value and not explains(value) and judge(text, at, found, end, name, value):
                    yield start, end
        at = low.find(name.word, at + 1 if found is None else found.end())


def _value(found: re.Match[str]) -> tuple[int, int]:
    group = found.lastgroup or "bare"
    start, end = found.span(group)
    if group != "bare":
        return start, end
    value = found[group]
    closing = value.find("</")
    return start, start + len((value[:closing] if closing > 0 else value).rstrip(")]}>.:"))


def _assigned(text: str, at: int, found: re.Match[str], end: int, name: _Name, value: str) -> bool:
    sign = found["sign"]
    if sign == "|" and not text.startswith("|", text.rfind("\n", 0, at) + 1):  # of a pipe, and of no table
        return False
    quoted = found.lastgroup != "bare"
    sure = quoted or _is_setting(found) or (sign not in ("|", "-", "--") and _alone_in_line(text, at, end))
    return name.holds(value) if sure else name.shows(value)


def _is_setting(found: re.Match[str]) -> bool:
    """Whether it stands as in a setting or on a command line; code sets blanks, and what stands there is a variable."""
    return found["sign"] == "=" and not found["before"] and not found["after"]


def _below(text: str, at: int, found: re.Match[str], _: int, name: _Name, value: str) -> bool:
    if found["bare"] is not None and found["bare"].endswith((":", "?")):
        return False
    first = text.rfind("\n", 0, at) + 1
    deeper = len(found["indent"]) > len(text[first:at]) - len(text[first:at].lstrip(" \t"))
    sure = deeper or found.lastgroup != "bare" or found["fence"] is not None
    empty = "=" in found[0].partition("\n")[0] and not found["goes_on"]  # a setting without a value, and the next line
    return not empty and (name.holds(value) if sure else name.shows(value))


def _in_sentence(text: str, at: int, found: re.Match[str], end: int, name: _Name, value: str) -> bool:
    if len(value) < _SAID_CHARS_MIN:
        return False
    quoted = found.lastgroup != "bare"
    sure = (quoted and " " not in value) or (found["colon"] and _alone_in_line(text, at, end))
    return name.holds(value) if sure or (quoted and name.word == "passphrase") else name.shows(value)


def _alone_in_line(text: str, start: int, end: int) -> bool:
    first = max(0, start - _NAMES_BEFORE)
    before = ("" if first else "\n") + text[first:start]
    rest = text[end : end + _LINE_CHARS].partition("\n")[0]
    return not rest.strip(_CLOSES_LINE) and _LINE_BEFORE.search(before) is not None
