"""How a request is answered that never reaches GraphQL: in the one form of every refusal, and within a cap.

The form is ``{"errors": [{message, extensions: {code, ...}}]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive

from api.checks import Facts
from api.wire import BODY_BYTES_MAX, encoded
from graph import observed

_STATUS = {
    "VALIDATION": 400,
    "UNAUTHENTICATED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "LIMIT": 413,
    "UNAVAILABLE": 503,
}


class Answer(JSONResponse):
    """A JSON answer, written as those of GraphQL are."""

    def render(self, content: Any) -> bytes:
        """The bytes of any value."""
        return encoded(content)


def refusal(facts: Facts, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """The answer that tells facts; its status is that of their code unless given."""
    observed.observer().refused(facts.code)
    body = {"errors": [{"message": facts.message, "extensions": facts.extensions}]}
    return Answer(body, status or _STATUS.get(facts.code, 500), headers)


class TooLargeError(Exception):
    """More bytes came than a request may have."""


def too_large() -> Response:
    """The answer to a request whose body passed the cap."""
    allowed = f"at most {BODY_BYTES_MAX} bytes"
    return refusal(Facts("LIMIT", "the body is too large", "body", BODY_BYTES_MAX, allowed))


def capped(receive: Receive) -> Receive:
    """Count what comes in: a length that is announced, or not, says nothing."""
    count = 0

    async def counted() -> Message:
        nonlocal count
        message = await receive()
        count += len(message.get("body", b""))
        if count > BODY_BYTES_MAX:
            raise TooLargeError
        return message

    return counted
