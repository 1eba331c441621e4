"""Answers as server-sent events (GraphQL over SSE, distinct connections): for `fetch`, `curl` and proxies.

Each answer is a ``next``; where it is about an event of a journal, its `id` is the position there. What has come to its
end says ``complete``. A subscription has no end of its own: where the service ends, the body just ends, and whoever
comes again with the last position goes on from there. Comments keep the connection open while nothing comes, and say
why where the token has spent all it had.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial

from starlette.types import Receive, Scope, Send

from api.access import Admitting
from api.execution import facts_of
from api.loaders import Context
from api.places import Kind, Place, Places
from api.spending import Spending
from api.streamed import Streamed
from api.streams import Answers, EndedError, Operation, Reader, RefusedError, Sent, Streams
from api.wire import STREAM_MEDIA, encoded
from graph.errors import RateError

_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}  # the second is for proxies that gather
_QUIET = b":\n\n"
_COMPLETE = b"event: complete\ndata:\n\n"


class EventStream(Streamed):
    """The answers of one operation; it gives its place back when its reader goes away.

    Args:
        answers: What is sent.
        place: What was taken for it.
    """

    def __init__(self, answers: Answers, place: Place) -> None:
        super().__init__(_written(answers), 200, _HEADERS, STREAM_MEDIA)
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._place.give_back()


class EventStreams:
    """Answers requests by streams.

    Args:
        streams: Opens operations.
        places: How many may be open.
        admission: Knows callers.
        spending: What they have left.
    """

    def __init__(self, streams: Streams, places: Places, admission: Admitting, spending: Spending) -> None:
        self.streams = streams
        self._places = places
        self._admission = admission
        self._spending = spending

    async def answer(self, operation: Operation, context: Context, credentials: str | None) -> EventStream:
        """The answers of an operation; an error is one of them.

        Args:
            operation: Which.
            context: What its resolvers share.
            credentials: What the caller has shown.

        Raises:
            CrowdedError: there are too many streams of the caller's token.
            UnavailableError: there are too many streams.
        """
        place = self._places.of(context.scope, Kind.SSE)
        reader = Reader(partial(self._admission.scope_of, credentials), self._spending)
        try:
            answers = await self.streams.open(operation, context, reader)
        except RefusedError as error:
            answers = _refused(error)
        except BaseException:
            place.give_back()
            raise
        return EventStream(answers, place)


async def _refused(error: RefusedError) -> Answers:
    yield [Sent(encoded({"errors": error.errors}), None)]


async def _written(answers: Answers) -> AsyncGenerator[bytes, None]:
    yield _QUIET  # the reader learns at once that it is there
    async with aclosing(answers):
        try:
            async for sent in answers:
                yield _quiet(sent) if sent is None or isinstance(sent, RateError) else _events(sent)
        except EndedError:
            return
        except RefusedError as error:
            yield _events([Sent(encoded({"errors": error.errors}), None)])
        except Exception as error:  # noqa: BLE001  whatever it is, it is told in place of answers
            yield _events([Sent(encoded({"errors": RefusedError.of(facts_of(error)).errors}), None)])
    yield _COMPLETE


def _quiet(why: RateError | None) -> bytes:
    return _QUIET if why is None else f": {why.sentence()}; it goes on in {why.retry_after} s\n\n".encode()


def _events(sent: Sequence[Sent]) -> bytes:
    return b"".join(
        b"event: next\ndata: %b\n\n" % body if seq is None else b"event: next\nid: %d\ndata: %b\n\n" % (seq, body)
        for body, seq in sent
    )
