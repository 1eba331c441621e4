"""What is known of the request at hand, for the log, the metrics and the traces; found out as the request goes on."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass

_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TRACEPARENT = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(slots=True)
class AtHand:
    """A request on its way to its answer.

    Attributes:
        id: The caller's own where it has a safe form, else one of ours.
        trace: The trace that it belongs to, as 32 hex digits.
        kind: ``query``, ``mutation`` or ``subscription`` once it is known to be one of GraphQL.
        operation: The operation's name, where it has one.
    """

    id: str
    trace: str | None = None
    kind: str | None = None
    operation: str | None = None

    @classmethod
    def of(cls, headers: Iterable[tuple[bytes, bytes]]) -> AtHand:
        """The request of these headers.

        What a caller sends stands in the log and in its answer's headers: an ``x-request-id`` counts only where it is
        1 to 64 letters, digits, dots, underscores and dashes, a ``traceparent`` only in the form of its standard.
        """
        found = {name: value for name, value in headers if name in (b"x-request-id", b"traceparent")}
        if not found:
            return cls(secrets.token_hex(6))
        given, parent = found.get(b"x-request-id"), _TRACEPARENT.fullmatch(found.get(b"traceparent", b""))
        named = given is not None and _ID.fullmatch(given) is not None
        traced = parent is not None and all(part.strip(b"0") for part in parent.groups())
        return cls(
            given.decode() if given is not None and named else secrets.token_hex(6),
            parent[1].decode() if parent is not None and traced else None,
        )

    def runs(self, kind: str, operation: str | None) -> None:
        """Note which operation of GraphQL it is; a name that GraphQL does not know, or a long one, is none."""
        self.kind = kind
        self.operation = operation if operation is not None and _NAME.fullmatch(operation) else None


REQUEST: ContextVar[AtHand | None] = ContextVar("request", default=None)
"""The request at hand; None outside of any."""
