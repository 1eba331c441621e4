"""Bodies of requests that are looked at before whoever answers them reads them."""

from __future__ import annotations

from starlette.types import Message, Receive

from api.wire import BODY_BYTES_MAX


async def received(receive: Receive) -> tuple[list[Message], bytes]:
    """The messages of a body, up to its end or its cap, and what they hold."""
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= BODY_BYTES_MAX:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)
    return messages, b"".join(message.get("body", b"") for message in messages)


def again(messages: list[Message], receive: Receive) -> Receive:
    """Gives messages that were received once more, and then what comes after them."""
    rest = iter(messages)

    async def given() -> Message:
        return next(rest, None) or await receive()

    return given
