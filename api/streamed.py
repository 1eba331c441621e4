"""Bodies that are made while they are sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from starlette.responses import StreamingResponse
from starlette.types import Send


class Streamed(StreamingResponse):
    """A stream that lets go of what it is made from at once when its reader goes away."""

    async def stream_response(self, send: Send) -> None:
        """Send all of it."""
        async with aclosing(cast("AsyncGenerator[bytes, None]", self.body_iterator)):
            await super().stream_response(send)
