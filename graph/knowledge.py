"""The nouns of the domain: nodes, edges, evidence and actors, with the bounds that rules.md sets for them.

Values are frozen and checked when they are read from a caller (``commands.read_command``); what comes back from the
database is trusted, because only checked values were written there.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache

from graph.errors import ValidationError, quoted
from graph.instants import instant_in

PROPOSITION_CHARS_MAX = 10_000  # rules.md section 1
KEY_CHARS_MAX = 200  # rules.md section 1; projects and event ids follow the same bound
REASON_CHARS_MAX = 2_000  # journal.md
TEXT_CHARS_MAX = 2_000  # sources, types, references: long enough for any URI that servers accept
METADATA_BYTES_MAX = 65_536  # one evidence record is a pointer, not a document: large data is an artifact
METADATA_DEPTH_MAX = 64  # deeper JSON is a mistake or an attack; also far below Python's recursion limit
EVIDENCE_MAX = 100  # records in one command
RELATIONS_MAX = 1_000  # relations in one proposal
CAUSES_MAX = 100  # events that one event may name as its causes
SOURCES_MAX = 1_000  # sources in one lineage
TIME_AHEAD_MAX = timedelta(minutes=5)  # rules.md section 2
AGING = timedelta(days=90)  # a project's aging time where none was set

# What XML 1.0 cannot carry, lone surrogates included (rules.md section 1).
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_BLANKS = re.compile(r"\s+")


class Kind(StrEnum):
    """What a node is; says nothing of how true it is."""

    CLAIM = "claim"
    OBSERVATION = "observation"


class State(StrEnum):
    """Where a node stands in its lifecycle; the last three are terminal."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    CHALLENGED = "challenged"
    CORRECTED = "corrected"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"

    @property
    def terminal(self) -> bool:
        """True for a retired node, which never changes state again."""
        return self in TERMINAL


TERMINAL = frozenset({State.CORRECTED, State.SUPERSEDED, State.INVALIDATED})


class Relation(StrEnum):
    """How one node stands to another; the upper-case form is the relationship type in Neo4j."""

    DERIVED_FROM = "derived_from"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    DEPENDS_ON = "depends_on"
    SUPERSEDES = "supersedes"
    RELATED_TO = "related_to"

    @property
    def carries_dependence(self) -> bool:
        """True where what happens to the far end puts the near end at risk (rules.md section 4)."""
        return self in DEPENDENCE


DEPENDENCE = frozenset({Relation.DEPENDS_ON, Relation.DERIVED_FROM})


class Transition(StrEnum):
    """What a journal event did; the lower-case name is stored and written to files."""

    PROPOSED = "proposed"
    CONFIRMED = "confirmed"
    CHALLENGED = "challenged"
    CORRECTED = "corrected"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"
    DISPROVED = "disproved"
    USED = "used"
    HINTED = "hinted"
    FORGOTTEN = "forgotten"
    RECALLED = "recalled"
    EVIDENCED = "evidenced"
    LINKED = "linked"
    UNLINKED = "unlinked"
    TRANSFERRED = "transferred"
    SIGHTED = "sighted"


class ActorType(StrEnum):
    """Who acts; only a human's confirmation binds agents (rules.md section 3, Authority)."""

    HUMAN = "human"
    AGENT = "agent"
    SYSTEM = "system"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Actor:
    """An issuer-scoped identity (PROV: Agent)."""

    issuer: str
    subject: str
    type: ActorType


@dataclass(frozen=True, slots=True)
class Evidence:
    """A pointer to what a node rests on; ``metadata`` is canonical JSON text, None where none was given."""

    key: str
    type: str
    source: str
    timestamp: datetime
    hash: str | None = None
    artifact_ref: str | None = None
    metadata: str | None = None


NodeId = tuple[str, int]
"""A node within its project: (key, generation)."""


def named(node_id: NodeId) -> str:
    """A node as a sentence names it: its key, and its generation from the second on."""
    key, generation = node_id
    return key if generation == 1 else f"{key}#{generation}"


@dataclass(frozen=True, slots=True)
class Node:
    """The projected state of one node.

    ``created_at`` is the event time of the proposal or correction that made it, ``updated_at`` the recorded time of
    the newest event about it. The ``*_seq`` fields are positions in the journal; ``risk_seq`` is the newest
    retirement that puts this node at risk, None when nothing does. ``concept`` is the text that ``concept_text``
    writes, of a node that is one; ``dangling`` are those of its links that lead to no node yet.
    """

    project: str
    key: str
    generation: int
    proposition: str
    kind: Kind
    state: State
    valid_from: datetime
    valid_to: datetime | None
    created_at: datetime
    created_seq: int
    updated_at: datetime
    updated_seq: int
    verified_at: datetime | None = None
    verified_seq: int | None = None
    retired_seq: int | None = None
    risk_seq: int | None = None
    uses: int = 0
    helpful: int = 0
    harmful: int = 0
    unsupported: int = 0
    forgotten: bool = False
    confirmed_by: ActorType | None = None
    lineage: str | None = None
    concept: str | None = None
    dangling: tuple[str, ...] = ()

    @property
    def id(self) -> NodeId:
        """(key, generation)."""
        return (self.key, self.generation)

    @property
    def retired(self) -> bool:
        """True once the node is corrected, superseded or invalidated."""
        return self.state.terminal


EdgeId = tuple[NodeId, Relation, NodeId]
"""An edge within its project: (from, relation, to)."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge, however many events state it.

    ``turns`` are the journal positions at which it began and ended, alternating: it lives at seq S when an odd number
    of them is at most S. ``times`` are the event times of the same turns, ``event_ids`` the events that stated it.
    """

    source: NodeId
    relation: Relation
    target: NodeId
    turns: tuple[int, ...]
    times: tuple[datetime, ...]
    event_ids: tuple[str, ...]

    @property
    def id(self) -> EdgeId:
        """(from, relation, to)."""
        return (self.source, self.relation, self.target)

    @property
    def live(self) -> bool:
        """True until it is unlinked."""
        return len(self.turns) % 2 == 1


def checked_text(value: object, field: str, *, chars_max: int = TEXT_CHARS_MAX, blank: bool = False) -> str:
    """A text of 1 to ``chars_max`` characters without any that XML 1.0 forbids, returned as it was given.

    Args:
        value: What the caller gave.
        field: Its name, for the error.
        chars_max: The longest text allowed, in characters (code points).
        blank: Whether white space alone is a text.

    Raises:
        ValidationError: not a text, too long, blank, or a forbidden character, with its position.
    """
    if not isinstance(value, str):
        raise ValidationError(f"{field} must be a text", field=field, allowed="a text")
    if bad := _FORBIDDEN.search(value):
        raise ValidationError(
            f"{field} holds a character that XML 1.0 forbids (U+{ord(bad.group()):04X})",
            field=field,
            position=bad.start(),
            allowed="any Unicode text without control characters (tab and line ends may stand) and lone surrogates",
        )
    if not value or (not blank and not value.strip()):
        raise ValidationError(f"{field} is empty", field=field, allowed=f"1 to {chars_max} characters")
    if len(value) > chars_max:
        raise ValidationError(
            f"{field} is {len(value)} characters long",
            field=field,
            position=chars_max,
            allowed=f"1 to {chars_max} characters",
        )
    return value


def without_forbidden(text: str) -> str:
    """A text with the sign for an unreadable character in the place of each that XML 1.0 forbids."""
    return _FORBIDDEN.sub("\ufffd", text)


def checked_key(value: object, field: str) -> str:
    """A key, project or event id: 1 to 200 characters, no control characters, kept exactly (rules.md section 1).

    Raises:
        ValidationError: not such a text, with the position of the first fault.
    """
    key = checked_text(value, field, chars_max=KEY_CHARS_MAX, blank=True)
    if control := _CONTROL.search(key):
        raise ValidationError(
            f"{field} holds a control character (U+{ord(control.group()):04X})",
            field=field,
            position=control.start(),
            allowed="1 to 200 characters without control characters",
        )
    return key


def spellings(key: str) -> tuple[str, ...]:
    """The key as it is given, and what else a key that is the same after NFC may be stored as: in NFC, and in NFD.

    Keys are stored as they are given (rules.md section 1), so one that is in neither form is found by itself alone.
    """
    if key.isascii():
        return (key,)
    return tuple(dict.fromkeys((key, unicodedata.normalize("NFC", key), unicodedata.normalize("NFD", key))))


def checked_proposition(value: object, field: str) -> str:
    """A proposition, trimmed: 1 to 10,000 characters (rules.md section 1).

    Raises:
        ValidationError: not such a text; positions count in the text as it was given.
    """
    if isinstance(value, str) and len(value.strip()) <= PROPOSITION_CHARS_MAX < len(value):
        checked_text(value, field, chars_max=len(value))
        return value.strip()
    return checked_text(value, field, chars_max=PROPOSITION_CHARS_MAX).strip()


def same_claim(left: str, right: str) -> bool:
    """True when two propositions say the same: equal after NFC, trim, case fold and collapsed blanks."""
    return claim_form(left) == claim_form(right)


def claim_form(text: str) -> str:
    """What two propositions have in common exactly when they are the same claim."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    return _BLANKS.sub(" ", folded.strip())


def checked_instant(value: object, field: str) -> datetime:
    """An instant in UTC from ISO 8601 text with an offset, read by ``instants``.

    Raises:
        ValidationError: not such a text, no offset, or out of the years 1 to 9999 in UTC.
    """
    allowed = "an instant in ISO 8601 with an offset, such as 2015-07-01T12:00:00Z"
    try:
        instant = value if isinstance(value, datetime) else instant_in(checked_text(value, field))
        if instant.tzinfo is None:
            raise ValidationError(f"{quoted(str(value))} has no offset", field=field, allowed=allowed)
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValidationError(f"{quoted(str(value))} is not an instant", field=field, allowed=allowed) from None


@lru_cache(1_024)  # one event's instants are written into its hash, its row, its node and its edges
def instant_text(instant: datetime) -> str:
    """The one written form of an instant: UTC, ``Z``, as much of a fraction as there is; Neo4j writes it so too."""
    text = instant.astimezone(UTC).replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"
