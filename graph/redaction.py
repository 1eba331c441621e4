"""Takes secrets and personal data out of texts before anything else sees them: hashes, journal, indexes.

What is found becomes ``[REDACTED:kind]``, the whole of it, and is counted. A text that went through stays as it is when
it goes through again. The time is linear in the length of the text, whatever it holds. Patterns tell forms, not
meaning: what names no form is not found. No library does this that is kept and light, so the forms are told here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

from graph import identity_numbers, secret_forms
from graph.errors import ValidationError
from graph.scanning import Seen, Span

ROUNDS_MAX = 4  # what a marker lays bare beside itself is found in the next one; two have always been enough
PERSONAL = identity_numbers.KINDS
"""Kinds that a project may switch off; secrets it may not."""
_NEAR_CHARS = 21
_CLEAN_CHARS = 200
_CLEAN_MAX = 10_000  # texts that hold nothing and come again and again: types, sources, names in metadata
_MARKER = re.compile(r"\[REDACTED:[a-z-]{1,40}\]")
_ENDS_BEFORE, _ENDS_BEHIND = frozenset(" \t\n=:\"'`(>"), frozenset(" \t\n\"'`,;)<")
# A number in groups, or with letters, may begin or end there, which stands alone once its neighbour is taken out.
_GROUP_BEHIND = re.compile(r" (?:[A-Z]{1,6}-?[0-9]|[A-Z]{2} [0-9]{2}(?![0-9])|[0-9](?![0-9]{8,18}(?![\w.+/-])))")
_GROUP_BEFORE = re.compile(r"[0-9](?:[ -]?[A-Z])? \Z")
_GROUP_CHARS = 4
# What stands behind the host of a mail address may be part of its name, or a place on it, so that it is none.
_HOST_BEFORE = re.compile(r"\.(?:[^\W\d_]{2,24}|xn--[a-z0-9-]{2,59}):?\Z")
_HOST_CHARS = 66
_OPTION_BEFORE = re.compile(r"\s-[A-Za-z]{1,3}\Z")  # that the next word is attached to
_RUN_BEFORE = re.compile(r"(?<![\w.+/-])[0-9]{9,19} \Z")
Counts = Counter[str]
_clean = set[tuple[str, frozenset[str]]]()


def personal_kinds(kinds: Iterable[str], field: str) -> frozenset[str]:
    """Kinds of personal data as somebody names them.

    Raises:
        ValidationError: there is no such kind, or it is one of secrets.
    """
    named = list(kinds)
    for at, kind in enumerate(named):
        if kind not in PERSONAL:
            allowed = ", ".join(sorted(PERSONAL))
            raise ValidationError(f"{kind!r} is no kind of personal data", field=field, position=at, allowed=allowed)
    return frozenset(named)


def redact(text: str, kinds: frozenset[str] = PERSONAL) -> tuple[str, Counts]:
    """The text without secrets and without personal data of some kinds, and how many of which kind there were.

    Args:
        text: Any.
        kinds: Of ``PERSONAL``; what other kinds find stays.
    """
    counts = Counts()
    if (text, kinds) in _clean:
        return text, counts
    checked = identity_numbers.Checked()
    for _ in range(ROUNDS_MAX):
        seen = Seen.of(text)
        found = _apart(_found(seen, kinds, checked), text)
        if not found:
            break
        parts, last = list[str](), 0
        for start, end, kind in found:
            parts += (text[last:start], f"[REDACTED:{kind}]")
            last = end
        counts.update(kind for _, _, kind in found)
        settled = _settles(seen, found)
        text = "".join((*parts, text[last:]))
        if settled:
            break
    if not counts and len(text) <= _CLEAN_CHARS:
        _keep_clean(text, kinds)
    return text, counts


def _keep_clean(text: str, kinds: frozenset[str]) -> None:
    """Know the text again; only what holds nothing is kept, so no secret is."""
    if len(_clean) >= _CLEAN_MAX:
        _clean.clear()
    _clean.add((text, kinds))


def _found(seen: Seen, kinds: frozenset[str], checked: identity_numbers.Checked) -> list[Span]:
    spans = [*secret_forms.secrets(seen)]
    if kinds:
        spans += (span for span in identity_numbers.personal(seen, checked) if span[2] in kinds)
    spans.sort(key=itemgetter(0))
    return spans


def _apart(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans without overlaps, one that reaches into another joined to it; what is a marker already is left out."""
    apart: list[Span] = []
    for start, end, kind in spans:
        if text[start] == "[" and _MARKER.fullmatch(text, start, end):
            continue
        if apart and start < apart[-1][1]:
            first, last, name = apart[-1]
            apart[-1] = (first, max(end, last), kind if start == first and end > last else name)
        else:
            apart.append((start, end, kind))
    return apart


def _settles(seen: Seen, spans: Sequence[Span]) -> bool:
    """Whether nothing beside spans is seen differently when their markers stand there, so that nothing more is found.

    Forms look at what is next to them, numbers in groups at the group before and behind, and some a few hundred
    characters far, which a shorter text brings nearer. Letters of other scripts are part of names of hosts alone.
    """
    hosts, last = "@" in seen.chars, len(seen.text)
    for at, (start, end, kind) in enumerate(spans):
        if end - start > len(kind) + len("[REDACTED:]"):
            return False
        # What is taken out as well says nothing to its neighbours.
        taken_before = at > 0 and spans[at - 1][1] == start - 1
        taken_behind = at + 1 < len(spans) and spans[at + 1][0] == end + 1
        if end < last and not _ends_behind(seen.text, end, taken=taken_behind):
            return False
        if start > 0 and not _ends_before(seen.text, start, taken=taken_before, hosts=hosts):
            return False
    return True


def _ends_behind(text: str, end: int, *, taken: bool) -> bool:
    sign = text[end]
    return sign in _ENDS_BEHIND and (taken or sign != " " or _GROUP_BEHIND.match(text, end) is None)


def _ends_before(text: str, start: int, *, taken: bool, hosts: bool) -> bool:
    sign = text[start - 1]
    if sign == " ":
        if taken or not _GROUP_BEFORE.search(text[max(0, start - _GROUP_CHARS) : start]):
            return True
        return _RUN_BEFORE.search(text[max(0, start - _NEAR_CHARS) : start]) is not None
    if hosts and (sign == ":" or not sign.isascii()) and _HOST_BEFORE.search(text[max(0, start - _HOST_CHARS) : start]):
        return False
    if sign in _ENDS_BEFORE or not sign.isascii() or (sign == "," and not text[start].isdecimal()):
        return True
    return _OPTION_BEFORE.search(text[max(0, start - _GROUP_CHARS - 1) : start]) is not None


class Redactor:
    """Redacts what somebody says in an event, field by field, and counts what it finds.

    Keys, ids, hashes, instants and the names of actors stay: they are what things are known by.

    Args:
        kinds: Of ``PERSONAL``; secrets are always found.

    Attributes:
        counts: How many matches of which kind there were so far.
        changed: Whether something is no longer as it was given.
    """

    def __init__(self, kinds: frozenset[str] = PERSONAL) -> None:
        self._kinds = kinds
        self.counts = Counts()
        self.changed = False

    def text(self, text: str) -> str:
        """A text without what it may not hold."""
        redacted, counts = redact(text, self._kinds)
        if counts:
            self.counts += counts
            self.changed = True
        return redacted

    def json(self, value: object) -> object:
        """A JSON value with its texts redacted, the names in its objects among them.

        Raises:
            ValidationError: two names of one object become the same.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(item) for item in cast("list[object]", value)]
        if not isinstance(value, dict):
            return value
        items = cast("dict[str, object]", value)
        redacted = {self.text(name): self.json(item) for name, item in items.items()}
        if len(redacted) < len(items):
            raise ValidationError(
                "names in metadata become the same when they are redacted", allowed="no secrets as names"
            )
        return redacted

    def payload(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """A payload in normal form with all that it says redacted."""
        redacted = dict(payload)
        if "concept" in redacted:  # whose claim it is
            redacted.pop("proposition", None)
        if "proposition" in redacted:
            redacted["proposition"] = self.text(redacted["proposition"])
        if "evidence" in redacted:
            redacted["evidence"] = [self._fields(record, _OF_EVIDENCE) for record in redacted["evidence"]]
        if "lineage" in redacted:
            redacted["lineage"] = self._lineage(redacted["lineage"])
        for name in ("concept", "said"):
            if name in redacted:
                redacted[name] = self._fields(redacted[name], _OF_CONCEPT)
        return redacted

    def _lineage(self, lineage: Mapping[str, Any]) -> dict[str, Any]:
        sources = [self._fields(source, ("type",)) for source in lineage["sources"]]
        return {**self._fields(lineage, ("method",)), "sources": sources}

    def _fields(self, record: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        return {**record, **{name: self.json(record[name]) for name in names if name in record}}


_OF_EVIDENCE = ("type", "source", "artifact_ref", "metadata")
_OF_CONCEPT = ("description", "type", "body", "file", "links")
