"""What the machines say, in so few words that what is said meets; and lines that no door may let through."""

# pyright: strict

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from model import RELATIONS

from graph.commands import Command, read_command
from graph.errors import KnowledgeError
from graph.knowledge import Actor, ActorType

Record = dict[str, Any]

START = datetime(2020, 3, 1, 12, tzinfo=UTC)
PROJECTS = ("P", "Q")
KEYS = ("a", "b", "c", "d", "e")
NOBODY = "nobody"  # a key that is never proposed

HUMAN: Record = {"issuer": "here", "subject": "hana", "type": "human"}
AGENT: Record = {"issuer": "here", "subject": "bot-7", "type": "agent"}
SYSTEM: Record = {"issuer": "there", "subject": "nightly", "type": "system"}
ACTORS = (HUMAN, AGENT, SYSTEM)

# The first three are one claim. The last trims to fewer characters than it has.
CLAIMS = ("The gate is shut", " the  GATE is shut", "The gate is shut\n", "The gate stands open", "  Nobody knows ")

YEAR = 365 * 86_400

# A database is slow at first, and what is drawn is large; both are meant.
NESTED_METADATA: dict[str, Any] = {
    "user": {"name": "u-1", "tags": ["a", "b"]},
    "parts": [{"n": 1}, {"n": 2}],
    "empty": {},
    "none": None,
    "mixed": [1, "two", 3.5, True],
    "big": 9007199254740993,
}
"""JSON whose every value must come back as what it was."""
QUIET = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


# --- commands -----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class How:
    """What goes along with a command, whatever it does.

    Attributes:
        actor: Who acts.
        tick: How far the clock moves first, in seconds; it may stand, and be set back.
        ago: How long before the present it happened, in seconds; None leaves the time out, ``AT_BIRTH`` is the very
            instant at which the node was made.
        cause: Names an earlier event of the project, counted round; -1 one that never was; None none.
        run: The run it is part of.
    """

    actor: Record
    tick: float
    ago: float | None
    cause: int | None
    run: str | None

    def __repr__(self) -> str:
        return f"How({self.actor['type']}, tick={self.tick}, ago={self.ago}, cause={self.cause}, run={self.run})"


# Written often where it should be drawn often. 299 seconds ahead is allowed, 301 is not.
TICKS = (1.0, 1.0, 1.0, 1.0, 60.0, 0.0, 0.000_001, -90.0, 86_400.0)
AT_BIRTH = float("inf")
TIMES_AGO = (None, None, None, None, None, None, 0.0, 0.5, 3_600.0, -299.0, AT_BIRTH, AT_BIRTH)

hows = st.builds(
    How,
    actor=st.sampled_from(ACTORS),
    tick=st.sampled_from(TICKS),
    ago=st.sampled_from(TIMES_AGO),
    cause=st.sampled_from((None, None, None, None, 0, 1, 7)),
    run=st.sampled_from((None, None, None, "run-1")),
)

projects = st.sampled_from(("P", "P", "P", "Q"))
keys = st.sampled_from(KEYS)
claims = st.sampled_from(CLAIMS)
relations = st.sampled_from(("depends_on", "depends_on", "depends_on", "derived_from", "contradicts", *RELATIONS))


def _known_evidence(number: int) -> Record:
    """Evidence whose key says all of its content, so that two who name it never disagree."""
    return {
        "key": f"ev-{number}",
        "type": "run",
        "source": f"run:{number}",
        "timestamp": "2020-02-01T00:00:00Z",
        "metadata": {"number": number, "parts": [None, True, 1.5, "x"], "empty": {}},
    }


EVIDENCE: dict[str, Record] = {
    "known 1": _known_evidence(1),
    "known 2": _known_evidence(2),
    "plain": {"type": "run", "source": "run:plain"},
    "dated": {"type": "file", "source": "a:b", "timestamp": "2020-02-02T03:00:00+03:00", "hash": "sha256:00ff"},
    "rich": {"type": "note", "source": "n:1", "artifact_ref": "s3://b/1", "metadata": [1, {"big": 2**53 + 1}]},
}

# Names of evidence, so that what is drawn reads well.
evidence_lists = st.lists(st.sampled_from(sorted(EVIDENCE)), max_size=2, unique=True)
some_evidence = st.lists(st.sampled_from(sorted(EVIDENCE)), min_size=1, max_size=2, unique=True)
ends = st.sampled_from((*KEYS, *KEYS, NOBODY))
relation_lists = st.lists(st.tuples(relations, ends), max_size=3)
LINEAGE: Record = {
    "sources": ["plain", {"id": "x"}, {"type": "lost"}, {"type": "page", "id": "y"}],
    "method": "by hand",
}


@dataclasses.dataclass(frozen=True)
class Claim:
    """A proposal's own part. `since` and `until` are seconds before the present, as in `How.ago`."""

    proposition: str
    kind: str | None
    since: float | None
    until: float | None
    relations: list[tuple[str, str]]
    evidence: list[str]
    lineage: bool


proposals = st.builds(
    Claim,
    proposition=claims,
    kind=st.sampled_from((None, "claim", "observation")),
    since=st.sampled_from((None, None, 3_600.0, YEAR * 2.0, -YEAR * 1.0)),
    until=st.sampled_from((None, None, None, -3_600.0, YEAR * 2.0, YEAR * 3.0)),
    relations=relation_lists,
    evidence=evidence_lists,
    lineage=st.sampled_from((False, False, True)),
)


# --- commands in plain words --------------------------------------------------------------------------------

ENVELOPE = ("event_id", "time", "reason", "caused_by", "execution", "generation", "actor")
IMPORTER = Actor("here", "importer", ActorType.SYSTEM)


def said(transition: str, key: str | None = None, project: str = "P", **parts: Any) -> Command:
    """A command: what of its parts is not the event's own is its payload."""
    line: Record = {"transition": transition, "key": key, "project": project}
    line |= {name: value for name, value in parts.items() if name in ENVELOPE}
    line["payload"] = {name: value for name, value in parts.items() if name not in ENVELOPE}
    return read_command(line, actor=IMPORTER)


# --- what comes to the door ---------------------------------------------------------------------------------

PAYLOADS: dict[str, Record] = {
    "proposed": {
        "proposition": "The gate is shut",
        "kind": "observation",
        "valid_from": "2020-01-01T00:00:00Z",
        "valid_to": "2030-01-01T00:00:00+02:00",
        "lineage": {
            "sources": [{"type": "page", "id": "x"}, "bare"],
            "method": "by hand",
            "confidence": 0.5,
            "created_at": "2020-01-01T00:00:00Z",
        },
        "evidence": [EVIDENCE["known 1"], EVIDENCE["dated"]],
        "relations": [{"relation": "supports", "to": "b"}],
    },
    "confirmed": {"evidence": [EVIDENCE["rich"]]},
    "challenged": {},
    "corrected": {"proposition": "The gate stands open", "evidence": [EVIDENCE["plain"]]},
    "superseded": {"by": "b"},
    "invalidated": {"evidence": []},
    "disproved": {"evidence": [EVIDENCE["known 2"]]},
    "used": {},
    "hinted": {"outcome": "harmful", "supported": True},
    "forgotten": {},
    "recalled": {},
    "evidenced": {"evidence": [EVIDENCE["plain"]]},
    "linked": {"relation": "depends_on", "to": "b"},
    "unlinked": {"relation": "depends_on", "to": "b"},
    "transferred": {"to_project": "Q"},
}


def whole_line(transition: str) -> Record:
    """A line of that transition in which every field stands."""
    return {
        "event_id": "e1",
        "project": "P",
        "transition": transition,
        "key": "a",
        "generation": 1,
        "actor": dict(HUMAN),
        "time": "2020-03-01T12:00:00.5Z",
        "reason": "a reason",
        "caused_by": ["e0"],
        "execution": {"run": "r", "frame": "f", "task": "t", "parent_run": "pr", "parent_frame": "pf"},
        "payload": PAYLOADS[transition],
        "seq": 1,
        "recorded_at": "2020-03-01T12:00:01Z",
        "state_after": "proposed",
        "prev_hash": "0" * 64,
        "hash": "f" * 64,
    }


def nest(depth: int, kind: str) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value] if kind == "list" else {"a": value}
    return value


anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.sampled_from(("\ud83d", "\x00", "\x1e", "\ufffe", "`$x{}", "", " ", "#hint")),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def _monsters() -> Iterator[Any]:
    """What is too big, too deep, too much, of the wrong type, or no instant."""
    yield from (None, True, False, 0, -1, 0.5, -0.0, 1e308, float("nan"), float("inf"), [], {}, [None], {"": ""})
    yield from (2**31, 2**63, 2**64, 10**300)
    yield from ("x" * size for size in (199, 200, 201, 300, 2_000, 2_001, 10_001))
    yield from (nest(depth, kind) for depth in (1, 63, 64, 65, 66, 500) for kind in ("list", "map"))
    yield from (["e"] * size for size in (100, 101, 1_001))
    yield from ([{"type": "run", "source": "run:1"}] * size for size in (100, 101))
    # Alone, forbidden by XML, a control character, bidi, a quote of ours.
    yield from ("", " ", "\ud83d", "\udce6\ud83d", "\x00", "\x1e", "\ufffe", "\x85", "\u202e", "`$x{}", "#hint", "a\nb")
    yield from ({"\ud83d": 1}, {"metadata": "\udce6"}, {"a": [float("inf")]}, {"issuer": {}, "id": 10**300, "type": 1})
    yield from (
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-23:59",
        "2020-02-30T00:00:00Z",
        "2020-01-01",
        "2020-01-01T00:00:00",
        "2020-01-01T00:00:00+99:00",
        "2020-W01-1T00:00:00Z",
        "\u0662\u0660\u0662\u0660-01-01T00:00:00Z",
        "20200101T000000Z",
        "2020-01-01T24:00:00Z",
        "2020-01-01T00:00:00.123456789Z",
        "now",
    )


MONSTERS = tuple(_monsters())

# Each is beyond a limit of Python's own: of floats, of digits in a number's text, of calls in one another.
BEYOND_PYTHON: tuple[tuple[str, tuple[Any, ...], Any], ...] = (
    ("proposed", ("payload", "lineage", "confidence"), 10**400),
    ("proposed", ("payload", "lineage", "sources", 0, "id"), 10**5_000),
    ("proposed", ("payload", "evidence", 0, "metadata", "number"), 10**5_000),
    ("proposed", ("payload", "valid_from"), nest(5_000, "list")),
    ("evidenced", ("payload", "evidence", 0, "timestamp"), nest(5_000, "map")),
    ("used", ("time",), nest(5_000, "list")),
    ("used", ("generation",), 10**5_000),
    ("used", ("execution", "run"), nest(5_000, "list")),
    ("evidenced", ("payload", "evidence", 0, "metadata"), nest(5_000, "map")),
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a nest, as deep as lines go."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = cast("Record", value).items()
    elif isinstance(value, list):
        parts = enumerate(cast("list[Any]", value))
    found: list[tuple[Any, ...]] = []
    for name, part in parts if len(at) < 6 else ():
        found += [(*at, name), *places(part, (*at, name))]
    return found


def put(line: Record, place: tuple[Any, ...], value: Any) -> Record:
    """A copy of the line with something else in that place."""
    whole: Record = copy.deepcopy(line)
    inner: Any = whole
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    return whole


@st.composite
def _malformed(draw: st.DrawFn) -> Record:
    """A whole line in which one to three places hold something else, are gone, or have a stranger beside them."""
    line: Record = copy.deepcopy(whole_line(draw(st.sampled_from(sorted(PAYLOADS)))))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(places(line)))
        inner: Any = line
        for name in way:
            inner = inner[name]
        change = draw(st.sampled_from(("other", "other", "other", "gone", "stranger")))
        if change == "other":
            other = draw(st.one_of(st.sampled_from(MONSTERS), anything))
            inner[last] = json.loads(json.dumps(other))  # a copy of its own, since it may be changed next
        elif change == "gone":
            del inner[last]
        elif isinstance(inner, dict):
            inner[draw(st.text(max_size=250))] = draw(anything)
        if not line:
            break
    return line


malformed_lines = _malformed()


def _is_refused(line: Record) -> bool:
    try:
        read_command(line, actor=IMPORTER, project="P")
    except KnowledgeError:
        return True
    return False


def _as_json(line: Record) -> bytes | None:
    """The line as a file holds it; None for what JSON cannot say, which no file holds."""
    try:
        return json.dumps(line, ensure_ascii=True).encode()
    except (ValueError, RecursionError):
        return None


raw_lines: st.SearchStrategy[bytes] = st.one_of(
    malformed_lines.filter(_is_refused).map(_as_json).filter(lambda raw: raw is not None).map(lambda raw: raw or b""),
    st.sampled_from(
        (
            b"null",
            b"[]",
            b"3",
            b'"a line"',
            b"{",
            b'{"transition": "used" "key": "a"}',
            b"{'transition': 'used'}",
            b'{"transition": "used", "key": "a", "reason": "\\ud83d"}',
            b'{"transition": "used", "key": "\xff"}',
            b'{"transition": "used", "key": "a", "generation": NaN}',
            b'{"transition": "used", "key": "a", "generation": 1e999}',
            b'{"transition": "used", "key": "a", "generation": ' + b"9" * 5_000 + b"}",
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b"\xef\xbb\xbf\xef\xbb\xbf{}",
            b"\x00",
            b'{"transition": "used", "key": "a"} {}',
            b'{"transition": "used", "key": "a", "reason": "' + b"x" * (4 * 1024 * 1024) + b'"}',
        )
    ),
)


# Whatever may stand in a line, up to the bounds.
_FORBIDDEN = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF)))
_letters = st.characters(codec="utf-8", exclude_characters=_FORBIDDEN)
_names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters=_FORBIDDEN))
names = _names.map(lambda text: text[:200]).filter(bool)
texts = st.text(_letters, min_size=1, max_size=300).filter(lambda text: bool(text.strip()))


def _in_minutes(instant: datetime) -> timezone:
    """The offset that its place had then, in whole minutes as ISO 8601 writes it: clocks once went by the sun."""
    return timezone(timedelta(minutes=(instant.utcoffset() or timedelta()) // timedelta(minutes=1)))


instants = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001 (Hypothesis wants bounds without a zone)
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.timezones(),
).map(lambda instant: instant.astimezone(_in_minutes(instant)).isoformat())
json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from((2**53 + 1, 2**63, -(2**64), 10**30)),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="utf-8"), max_size=20),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4),
    ),
    max_leaves=12,
)
_records = st.fixed_dictionaries(
    {"type": texts, "source": texts},
    optional={
        "key": names,
        "timestamp": instants,
        "hash": st.sampled_from(("sha256:00ff", "md5:AB")),
        "artifact_ref": texts,
        "metadata": json_values.filter(lambda value: value is not None),
    },
)
letin_lines: st.SearchStrategy[Record] = st.fixed_dictionaries(
    {
        "transition": st.just("proposed"),
        "payload": st.fixed_dictionaries(
            {"proposition": texts},
            optional={
                "kind": st.sampled_from(("claim", "observation")),
                "valid_from": instants,
                "evidence": st.lists(_records, max_size=3, unique_by=lambda record: record.get("key", id(record))),
                "lineage": st.fixed_dictionaries(
                    {
                        "sources": st.lists(
                            st.one_of(texts, st.fixed_dictionaries({"type": texts, "id": texts})), max_size=3
                        )
                    },
                    optional={"method": texts, "confidence": st.floats(allow_nan=False, allow_infinity=False)},
                ),
            },
        ),
    },
    optional={
        "key": names,
        "event_id": names,
        "reason": texts,
        "time": st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(2019, 1, 1)).map(  # noqa: DTZ001
            lambda instant: instant.isoformat() + "Z"
        ),
        "execution": st.fixed_dictionaries({"run": texts}, optional={"frame": texts, "task": texts}),
    },
)
