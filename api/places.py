"""How many streams may be open at a time: in all, of one token, and of those who have not said yet who they are.

Who follows shows a token, and takes a place of that token's. A websocket shows it only once it stands, so it has a
place among the strangers until then: few, and not for long. Each process counts for itself.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from graph.errors import CrowdedError, UnavailableError
from graph.observed import observer
from graph.scope import Scope

STREAMS_MAX = 400  # half of all connections: the others are for those who ask once
TOKEN_STREAMS_MAX = 100  # so one token never keeps the others out
STRANGERS_MAX = 100  # beside them, so that whoever says nothing takes no place from those who are known


class Kind(StrEnum):
    """Which way a stream goes over the wire; a stranger's may come to be one."""

    STRANGER = "stranger"
    WEBSOCKET = "websocket"
    SSE = "sse"


class Places:
    """The places of one process."""

    def __init__(self) -> None:
        self._open: Counter[Kind] = Counter()
        self._of_token: Counter[str] = Counter()

    def for_stranger(self) -> Place:
        """A place for a websocket, to be given back.

        Raises:
            CrowdedError: as many wait already.
        """
        if self._open[Kind.STRANGER] >= STRANGERS_MAX:
            raise CrowdedError(
                "there are too many websockets that have not said who they are",
                field="connection_init",
                allowed=f"at most {STRANGERS_MAX} at a time; the same one later",
            )
        return Place(self, Kind.STRANGER, None)

    def of(self, scope: Scope, kind: Kind) -> Place:
        """A place for a caller's stream, to be given back.

        Raises:
            CrowdedError: as many of the caller's are open.
            UnavailableError: as many are open in all.
        """
        if self._of_token[scope.id] >= TOKEN_STREAMS_MAX:
            raise CrowdedError(
                "the token has too many streams",
                field="streams",
                allowed=f"at most {TOKEN_STREAMS_MAX} of a token at a time",
            )
        if self._open[Kind.WEBSOCKET] + self._open[Kind.SSE] >= STREAMS_MAX:
            raise UnavailableError(
                "there are too many streams",
                field="streams",
                allowed=f"at most {STREAMS_MAX} at a time; the same one later",
            )
        return Place(self, kind, scope.id)

    def count(self, kind: Kind, token: str | None, change: int) -> None:
        """Note that a place was taken (1) or given back (-1)."""
        self._open[kind] += change
        observer().streams(kind, change)
        if token is not None:
            self._of_token[token] += change
            if not self._of_token[token]:
                del self._of_token[token]


class Place:
    """A place that is taken, until it is given back.

    Args:
        places: Where.
        kind: Whose stream it is.
        token: The token's id; None for a stranger's.
    """

    def __init__(self, places: Places, kind: Kind, token: str | None) -> None:
        self._places = places
        self._kind = kind
        self._token = token
        self._taken = True
        places.count(kind, token, 1)

    def give_back(self) -> None:
        """Let another have it; once."""
        if self._taken:
            self._taken = False
            self._places.count(self._kind, self._token, -1)
