"""One websocket: the protocol graphql-transport-ws, with bounds.

Whoever connects says first who it is (``connection_init``), and then asks. Several operations run at a time, each in a
task of its own; whatever ends the connection, wherever it is found, is raised as ``_ClosedError``.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

import orjson
from starlette.types import Receive, Send
from starlette.types import Scope as Asked

from api.access import Admitting, header, refused
from api.at_hand import REQUEST, AtHand
from api.checks import Facts
from api.execution import facts_of
from api.loaders import Context
from api.places import Kind, Place, Places
from api.spending import Spending
from api.streams import EndedError, Operation, Reader, RefusedError, Streams, misformed
from api.wire import encoded
from graph import received, strict_json
from graph.errors import CrowdedError, KnowledgeError, RateError, UnauthenticatedError, UnavailableError
from graph.scope import Scope

PROTOCOL = "graphql-transport-ws"
INIT_SECONDS = 3.0  # from the connection to its connection_init: clients say it at once
OPERATIONS_MAX = 10  # of one connection, at a time
ID_CHARS_MAX = 128  # of an operation: it is sent with each answer, and clients take 36
_REASON_BYTES_MAX = 123  # of a close frame
_HALF = re.compile("[\ud800-\udfff]")  # of a character, which no answer can name
_TRY_AGAIN_LATER = 1013
_LOG = logging.getLogger("whence.http")
Message = Mapping[str, Any]


class _ClosedError(Exception):
    """The connection is to be closed: with which code, and why."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason.encode()[:_REASON_BYTES_MAX].decode(errors="ignore")


class _GoneError(Exception):
    """The other side has gone, or the service is about to."""


class LiveSockets:
    """The endpoint of all websockets.

    Args:
        streams: Opens operations.
        places: How many may be open.
        admission: Knows callers.
        spending: What they have left.
        context: What the resolvers of one operation share, within a scope.
    """

    def __init__(
        self,
        streams: Streams,
        places: Places,
        admission: Admitting,
        spending: Spending,
        context: Callable[[Scope], Context],
    ) -> None:
        self.streams = streams
        self.admission = admission
        self.spending = spending
        self.context = context
        self.places = places

    async def __call__(self, asked: Asked, receive: Receive, send: Send) -> None:
        """Talk over one connection, or refuse it."""
        try:
            place = self.places.for_stranger()
        except CrowdedError as error:
            await refused(error)(asked, receive, send)
            return
        conversation = _Conversation(self, place, asked, receive, send)
        try:
            await conversation.hold()
        finally:
            conversation.place.give_back()


class _Conversation:
    """What is said over one connection.

    Attributes:
        place: What is taken for it: a stranger's, and then its token's.
    """

    def __init__(self, sockets: LiveSockets, place: Place, asked: Asked, receive: Receive, send: Send) -> None:
        self.place = place
        self._sockets = sockets
        self._asked = asked
        self._receive = receive
        self._give = send
        self._credentials = header(asked, b"authorization")
        self._scope: Scope | None = None
        self._init_until = asyncio.get_running_loop().time() + INIT_SECONDS
        self._operations: dict[str, asyncio.Task[None]] = {}
        self._group = asyncio.TaskGroup()

    async def hold(self) -> None:
        """Talk until one side has enough."""
        REQUEST.set(AtHand.of(self._asked["headers"]))
        started, closed = time.perf_counter(), _ClosedError(1000, "")
        try:
            async with self._group:
                await self._talk()
        except* _ClosedError as several:
            closed = cast(_ClosedError, several.exceptions[0])
            await self._close(closed)
        except* _GoneError:
            pass
        facts = {
            "method": "websocket",
            "path": "/graphql",
            "status": closed.code,
            "ms": round(1000 * (time.perf_counter() - started), 1),
            "token": self._scope and self._scope.id,
        }
        _LOG.info("closed", extra={"facts": facts})

    async def _close(self, closed: _ClosedError) -> None:
        try:
            await self._send({"type": "websocket.close", "code": closed.code, "reason": closed.reason})
        except _GoneError:
            return

    async def _talk(self) -> None:
        await self._next()  # the connection itself
        spoken = PROTOCOL in self._asked["subprotocols"]
        await self._send({"type": "websocket.accept", "subprotocol": PROTOCOL if spoken else None})
        if not spoken:
            raise _ClosedError(4406, f"Subprotocol not acceptable: {PROTOCOL} is spoken here")
        while True:
            message = _read(await self._next())
            match message["type"]:
                case "connection_init":
                    await self._begin(message)
                case "ping":
                    await self._tell({"type": "pong"})
                case "pong":
                    pass
                case "subscribe":
                    await self._subscribe(message)
                case "complete":
                    self._complete(_id(message))
                case _:
                    raise _ClosedError(4400, "Unknown message type")

    async def _next(self) -> dict[str, Any]:
        try:
            async with asyncio.timeout_at(self._init_until if self._scope is None else None):
                message = await self._receive()
        except TimeoutError:
            raise _ClosedError(4408, "Connection initialisation timeout") from None
        if message["type"] == "websocket.disconnect":
            raise _GoneError
        return cast("dict[str, Any]", message)

    async def _begin(self, message: Message) -> None:
        if self._scope is not None:
            raise _ClosedError(4429, "Too many initialisation requests")
        payload = message.get("payload")
        if not isinstance(payload, dict | None):
            raise _ClosedError(4400, "The payload of connection_init must be an object or null")
        self._credentials = _credentials(cast(Message, payload or {})) or self._credentials
        try:
            known = self._sockets.places.of(await self._admitted(), Kind.WEBSOCKET)
        except CrowdedError as error:
            raise _ClosedError(4429, error.sentence()) from error
        except UnavailableError as error:
            raise _ClosedError(_TRY_AGAIN_LATER, error.sentence()) from error
        self.place.give_back()
        self.place = known
        await self._tell({"type": "connection_ack"})

    async def _admitted(self) -> Scope:
        """The scope of the caller, while it is known.

        Raises:
            _ClosedError: it is not.
            UnavailableError: it cannot be found out now.
        """
        try:
            scope = await self._sockets.admission.scope_of(self._credentials)
        except UnauthenticatedError as error:
            if self._credentials is None:
                raise _ClosedError(4401, "Unauthorized: connection_init needs {authorization: 'Bearer …'}") from error
            raise _ClosedError(4403, f"Forbidden: {error.message}") from error
        self._scope = scope
        return scope

    async def _subscribe(self, message: Message) -> None:
        name = _id(message)
        if self._scope is None:
            raise _ClosedError(4401, "Unauthorized: connection_init comes first")
        if name in self._operations:
            raise _ClosedError(4409, f"Subscriber for {name} already exists")
        operation = _operation(message)
        if len(self._operations) == OPERATIONS_MAX:
            allowed = f"at most {OPERATIONS_MAX} operations of a connection at a time"
            await self._refuse(name, RefusedError.of(Facts("LIMIT", "there are too many", "operations", None, allowed)))
            return
        self._operations[name] = self._group.create_task(self._operate(name, operation))

    def _complete(self, name: str) -> None:
        task = self._operations.pop(name, None)
        if task is not None:
            task.cancel()

    async def _operate(self, name: str, operation: Operation) -> None:
        REQUEST.set(AtHand.of(self._asked["headers"]))
        refused: RefusedError | None = None
        try:
            await self._answer(name, operation)
        except (_ClosedError, _GoneError):
            raise
        except EndedError:
            raise _GoneError from None
        except RefusedError as error:
            refused = error
        except Exception as error:  # noqa: BLE001  whatever it is, it is told in place of answers
            refused = RefusedError.of(facts_of(error))
        # The other side may use the name again as soon as it hears that this is over.
        del self._operations[name]
        await (self._tell({"id": name, "type": "complete"}) if refused is None else self._refuse(name, refused))

    async def _answer(self, name: str, operation: Operation) -> None:
        before = f'{{"id":{orjson.dumps(name).decode()},"type":"next","payload":'
        scope = await self._admitted()  # of a subscription again and again, of anything else this once
        spending = self._sockets.spending
        spending.require(scope)
        with received.allowed(received.ANSWER_BYTES_MAX):
            try:
                reader = Reader(self._admitted, spending)
                answers = await self._sockets.streams.open(operation, self._sockets.context(scope), reader)
                async with aclosing(answers):
                    async for sent in answers:
                        if isinstance(sent, RateError):
                            await self._hold_back(name, sent)
                            continue
                        for body, _ in sent or ():
                            await self._send({"type": "websocket.send", "text": f"{before}{body.decode()}}}"})
            finally:
                spending.spend(scope, received.untold())

    async def _hold_back(self, name: str, why: RateError) -> None:
        """Say why an operation sends nothing for now, in a message that every client takes."""
        facts = facts_of(why)
        payload = {"id": name, "message": facts.message, "extensions": facts.extensions}
        await self._tell({"type": "ping", "payload": payload})

    async def _refuse(self, name: str, refused: RefusedError) -> None:
        await self._tell({"id": name, "type": "error", "payload": refused.errors})

    async def _tell(self, message: Message) -> None:
        await self._send({"type": "websocket.send", "text": encoded(message).decode()})

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            await self._give(message)
        except OSError:
            raise _GoneError from None


def _read(received: Mapping[str, Any]) -> Message:
    """A message of the protocol; ``_ClosedError`` for anything else."""
    text = received.get("text")
    if not isinstance(text, str):
        raise _ClosedError(4400, "Messages are texts")
    try:
        message = strict_json.loads(text)
    except KnowledgeError as error:
        raise _ClosedError(4400, error.sentence()) from None
    except (ValueError, RecursionError):
        raise _ClosedError(4400, "Messages are JSON") from None
    if not isinstance(message, dict) or not isinstance(cast(Message, message).get("type"), str):
        raise _ClosedError(4400, "Messages are objects with a type")
    return cast(Message, message)


def _id(message: Message) -> str:
    name = message.get("id")
    if not isinstance(name, str) or not 0 < len(name) <= ID_CHARS_MAX or _HALF.search(name):
        raise _ClosedError(4400, f"The id of an operation must be a string of 1 to {ID_CHARS_MAX} characters")
    return name


def _operation(message: Message) -> Operation:
    payload = message.get("payload")
    if not isinstance(payload, dict):
        raise _ClosedError(4400, "The payload of subscribe must be an object")
    asked = cast("dict[str, Any]", payload)
    if fault := misformed(asked):
        raise _ClosedError(4400, fault)
    if not asked.get("query"):
        raise _ClosedError(4400, "The payload of subscribe needs a `query`")
    return Operation(asked["query"], asked.get("variables") or {}, asked.get("operationName"))


def _credentials(payload: Message) -> str | None:
    """What a caller shows, as the header would have it."""
    shown = next((payload[name] for name in ("authorization", "Authorization", "token") if name in payload), None)
    if not isinstance(shown, str):
        return None
    return shown if " " in shown.strip() else f"Bearer {shown.strip()}"
