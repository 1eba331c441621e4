"""Every error that can reach a caller, as one tree.

Each class carries one code of the contract (rules.md section 12). An error names the field it is about, the position
of the offending value (a character, an item or a line, counted from 0 unless ``field`` says otherwise) and what is
allowed there, so that a caller can mend the request without reading prose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

QUOTED_CHARS_MAX = 60  # of what a caller wrote, in a sentence about it


def quoted(text: str) -> str:
    """What a caller wrote as it stands in a sentence: by its beginning, and without what cannot be seen."""
    return repr(text[:QUOTED_CHARS_MAX]) + ("…" if len(text) > QUOTED_CHARS_MAX else "")


def failure_name(error: BaseException) -> str:
    """What the log and the metrics call a failure: the last word of the database's code for it, else its class."""
    code = getattr(error, "code", None)
    return code.rpartition(".")[2] if isinstance(code, str) and code else type(error).__name__


class KnowledgeError(Exception):
    """A refusal or a failure that the caller is told of.

    Args:
        message: One sentence for people; never database text.
        field: The argument at fault as the caller wrote it (``event.reason``, ``evidence[0].source``), if one is.
        position: Where in the value the fault lies: the index of a character in a text or of an item in a list.
        allowed: What would be accepted instead.
    """

    code: ClassVar[str] = "INTERNAL"

    def __init__(
        self, message: str, *, field: str | None = None, position: int | None = None, allowed: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.position = position
        self.allowed = allowed

    def sentence(self) -> str:
        """What is wrong, with the code, the field, the position and what is allowed, for people and agents."""
        about = ", ".join(filter(None, (self.code, self.field)))
        at = "" if self.position is None else f" at position {self.position}"
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{self.message} ({about}{at}{allowed})"

    def facts(self) -> dict[str, object]:
        """The error as a map: code, message, and field, position and allowed where they are known."""
        facts: dict[str, object] = {"code": self.code, "message": self.message}
        for name in ("field", "position", "allowed"):
            if (value := getattr(self, name)) is not None:
                facts[name] = value
        return facts


class ValidationError(KnowledgeError):
    """The request is not of the form that the contract asks for; nothing was looked up."""

    code = "VALIDATION"


class NotFoundError(KnowledgeError):
    """No such thing in this project; also the answer for what another project holds."""

    code = "NOT_FOUND"


def missing_node(key: object, field: str = "key") -> NotFoundError:
    """The refusal of a key that no node of the project has, and of one in a project that the caller does not see."""
    return NotFoundError(f"there is no node {key!r}", field=field, allowed="a key of this project")


class UnauthenticatedError(KnowledgeError):
    """Nobody is known to ask: no token, or one that is unknown, expired or revoked."""

    code = "UNAUTHENTICATED"


class ForbiddenError(KnowledgeError):
    """Whoever asks is known, and may not do this."""

    code = "FORBIDDEN"


class AuthorityError(KnowledgeError):
    """An agent may challenge, but not retire, what a human confirmed last."""

    code = "AUTHORITY"


class TerminalStateError(KnowledgeError):
    """The node is retired, and retired nodes never come back."""

    code = "TERMINAL_STATE"


class PropositionConflictError(KnowledgeError):
    """The key already holds another claim that is still alive."""

    code = "PROPOSITION_CONFLICT"


class EventConflictError(KnowledgeError):
    """The event id was taken before, with other content."""

    code = "EVENT_CONFLICT"


class RelationRefusedError(KnowledgeError):
    """The edge may not exist: a node related to itself, or a ring of SUPERSEDES."""

    code = "RELATION_REFUSED"


class LimitError(KnowledgeError):
    """A stated bound was passed; ``allowed`` says which bound."""

    code = "LIMIT"


class RateError(LimitError):
    """A token spends faster than it may.

    Args:
        message: As every error's.
        allowed: As every error's.
        retry_after: Seconds until the same request may be made.
    """

    def __init__(self, message: str, *, allowed: str, retry_after: int) -> None:
        super().__init__(message, allowed=allowed)
        self.retry_after = retry_after


class CrowdedError(LimitError):
    """As many are open at once as may be; one of them has to end first."""


class UnavailableError(KnowledgeError):
    """The database cannot be had now; the same request may succeed later."""

    code = "UNAVAILABLE"


class TooSlowError(UnavailableError):
    """The database did not answer in time; what was asked for may be the cause."""


class DatabaseFailedError(UnavailableError):
    """The database is there, and failed at a statement; what it was given may be the cause."""


class MergeOutdatedError(UnavailableError):
    """What a consolidator merged was changed before the merged text was taken; it has to be asked again."""


class InDoubtError(KnowledgeError):
    """The answer to a commit was lost: ask again with the same event id to learn what became of it."""

    code = "IN_DOUBT"


class InternalError(KnowledgeError):
    """A fault of ours. The caller gets a reference number, the log gets the rest."""

    code = "INTERNAL"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a concept file.

    Attributes:
        kind: invalid_yaml, unclosed_frontmatter, missing_frontmatter, duplicate_key, invalid_date, unsafe_tag,
            aliases_refused, not_utf8 or validation.
        line: Where, counted from 1.
        message: One sentence for people.
        field: The field of the frontmatter, or ``body``, if one is at fault.
        allowed: What would be accepted instead.
    """

    kind: str
    line: int
    message: str
    field: str | None = None
    allowed: str | None = None


class ConceptFileError(ValidationError):
    """A concept file that cannot be taken, with all that is wrong with it as far as it could be read."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = tuple(sorted(faults, key=lambda fault: fault.line))
        first = self.faults[0]
        super().__init__(first.message, field=first.field, allowed=first.allowed)
        self.kind = first.kind
        self.line = first.line
