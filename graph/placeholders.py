"""What stands where a secret would and is none: placeholders, variables, words that explain; and what looks secret."""

from __future__ import annotations

import re

_PLACEHOLDER_WORDS = """
change_me changeme change-me placeholder dummy redacted hidden masked empty none null nil undefined
true false yes no on off str string text bytes int char any bool boolean required mandatory optional invalid
wrong incorrect correct expired missing unset default prompt prompts prompted field input env ask file stdin keyring
vault value password passwords passwd pwd secret secrets token tokens key keys pass apikey clientsecret accesstoken
weak strong short long unknown known secure insecure encrypted hashed salted stored saved sent changed reset done failed
rotated revoked valid verified here below above unchanged disabled enabled blank forgotten lost protected needed wanted
set given generated random shared private confidential see tbd todo n/a notempty
erforderlich falsch ung\u00fcltig ge\u00e4ndert requis incorrecto requerida obrigat\u00f3ria
"""
_PLACEHOLDERS = frozenset(_PLACEHOLDER_WORDS.split())
_PLACEHOLDER = re.compile(
    r"""(?x)
    [x*.\u2022\u2026_-]+ | (?:your|my|the|some|an?)[ _-].* | (?:varchar|optional).*
    | (?:self|this|os|env|process|config|settings|args|options|request|data|secrets|vars)[.\[].* | [a-z_][\w.]*\(.*
    | [a-z_]+(?:\.[a-z_]+)+ | [a-z_]+[_-](?:password|passwd|pwd|secret|token|key) | https?://.* | /[\w./-]*
    | \.{1,2}/.* | \d{4}-\d\d-\d\d.* | [a-z]+\?
    """
)
_OPENED = re.compile(r"[<{$(\[]")
_BRACKETED_CHARS = 60  # before an opening bracket, and between it and the closing one that ends the value
_TAKEN_OUT = re.compile(r"\[redacted:[a-z-]{1,40}\]?.{0,3}")
_MARKED = re.compile(r"<|\{|\$[\w{(]|%[\w({]|[(\[?&|+]|\*+$")  # what begins a variable or a pattern
_OF_OTHERS = re.compile(r"your|here|change|enter|insert|replace|secret|password|token|todo|dummy|sample|value")
_JOINTS = dict.fromkeys(map(ord, "-_./:+=~"))
_TURN = re.compile(r"(?<=\d)(?=\D)|(?<=\D)(?=\d)")
_CASE_TURN = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[a-z])")
_CONSONANTS = re.compile(r"[b-df-hj-np-tv-xz]{5}")
_SIGNS = frozenset("!@#$%^&*+=")
_SHOUTED_MIN = 12  # capitals that no words are, unless their consonants show it before
_DIGITS_MIN = 6  # of a password of digits alone; fewer count something
_NUMBER_MIN = 16  # of a key of digits alone


def explains(value: str) -> bool:
    """Whether it stands in a secret's place and is none; a value of no characters is none."""
    low = value[:100].lower()
    if low[:1] == "[" and low.startswith("[redacted:"):
        return _TAKEN_OUT.fullmatch(low) is not None
    return (
        not low
        or (low[0] in "<{$%([?&|+*" and _MARKED.match(low) is not None)
        or low in _PLACEHOLDERS
        or "example" in low
        or _bracketed(low)
        or _PLACEHOLDER.fullmatch(low) is not None
    )


def _bracketed(low: str) -> bool:
    """Whether a bracket, and something with it, is all that it ends in; each character is looked at once."""
    if low[-1] not in ">})]" or "\n" in low:
        return False
    return (
        _OPENED.search(low, max(0, len(low) - _BRACKETED_CHARS - 2), min(_BRACKETED_CHARS + 1, len(low) - 1))
        is not None
    )


def like_a_password(value: str) -> bool:
    """Whether it is no word: letters among digits or signs, or digits alone where there are enough of them."""
    if value.isdigit():
        return len(value) >= _DIGITS_MIN
    signs = not _SIGNS.isdisjoint(value.rstrip("!?"))
    return any(map(str.isalpha, value)) and (signs or any(map(str.isdigit, value)))


def mixed(value: str) -> bool:
    """Whether it has letters of both cases and digits."""
    return any(map(str.isupper, value)) and any(map(str.islower, value)) and any(map(str.isdigit, value))


def drawn(value: str) -> bool:
    """Whether it looks drawn by lot: letters and digits in turns, both cases and digits, letters of no word."""
    bare = value[:200].translate(_JOINTS)
    if bare.isalpha():
        return bare.isascii() and len(bare) == len(value.rstrip("=")[:200]) and _of_no_word(bare)
    if bare.isdigit():
        return len(bare) >= _NUMBER_MIN
    return any(map(str.isalpha, bare)) and (len(_TURN.findall(bare)) > 1 or mixed(bare))


def _of_no_word(letters: str) -> bool:
    low = letters.lower()
    if _OF_OTHERS.search(low):
        return False
    if letters not in (low, letters.upper()):  # names put together have a capital every few letters
        return len(letters) >= _SHOUTED_MIN and 3 * len(_CASE_TURN.findall(letters)) > len(letters)
    return (letters != low and len(letters) >= _SHOUTED_MIN) or _CONSONANTS.search(low) is not None
