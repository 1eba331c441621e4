"""Operations as streams of what they send, whichever way that goes over the wire.

A query or a mutation sends one answer. A subscription sends one for each event, and what is sent of an event is made
once for all who ask for the same of it: straight from its row where only what stands in the journal is asked for, by
graphql-core otherwise, some events at a time, so that what hangs on them is read together.
"""

# graphql-core leaves the parameters of its generic types open, and strict checking finds them everywhere.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

from graphql import DocumentNode, ExecutionResult, GraphQLError, OperationType
from graphql.execution import Executor, create_source_event_stream, execute_subscription_event
from strawberry.http import process_result
from strawberry.types.execution import PreExecutionError

from api import written
from api.checks import Facts, variable_faults
from api.execution import REQUEST_SECONDS, ServedSchema, told
from api.live import Followed
from api.loaders import Context, Loaders
from api.selections import Asked, OrdinaryError
from api.types import KnowledgeEvent
from api.wire import encoded
from graph import received
from graph.errors import UnavailableError
from graph.feed import PAGE, Batch
from graph.rows import Row

EXECUTED = 64  # events at a time where graphql-core answers: what hangs on them is in memory at once
STREAMS_MAX = 400  # half of all connections: the others are for those who ask once
AWAY_SECONDS = 1.0  # between two questions while the database is away
Write = Callable[[Sequence[Row]], Awaitable[list[bytes]]]
Admitted = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Operation:
    """What somebody asks for."""

    text: str
    variables: Mapping[str, Any]
    name: str | None


class Sent(NamedTuple):
    """One answer: its JSON, ``{"data": …}``, and the position of the event that it is about."""

    body: bytes
    seq: int | None


@dataclass(frozen=True, slots=True)
class Writer:
    """What makes answers of events.

    Attributes:
        key: Those who have the same would make the same.
        write: Makes them.
        together: Of so many events at a time.
        lasting: Whether what is made of an event stays as it is.
    """

    key: Hashable
    write: Write
    together: int
    lasting: bool


class RefusedError(Exception):
    """An operation that is not executed.

    Attributes:
        errors: Why, as they stand in an answer.
    """

    def __init__(self, errors: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(errors[0]["message"])
        self.errors = errors

    @classmethod
    def of(cls, facts: Facts) -> RefusedError:
        """For one reason, which has no place in the document."""
        return cls([{"message": facts.message, "extensions": facts.extensions}])


class Places:
    """How many streams may be open, whichever way they go over the wire."""

    allowed = f"at most {STREAMS_MAX} streams at a time; the same one later, or several over one websocket"

    def __init__(self) -> None:
        self._taken = 0

    def take(self) -> bool:
        """Take a place, to be given back; False where there is none."""
        if self._taken >= STREAMS_MAX:
            return False
        self._taken += 1
        return True

    def give_back(self) -> None:
        """Let another have it."""
        self._taken -= 1


class EndedError(Exception):
    """The service ends; what was followed can be followed on from where it was, once it is there again."""


Answers = AsyncGenerator[Sequence[Sent] | None, None]


class Streams:
    """Opens operations.

    Args:
        schema: What they are about.
    """

    def __init__(self, schema: ServedSchema) -> None:
        self._schema = schema

    def follows(self, operation: Operation) -> bool:
        """Whether it is a subscription."""
        return self._schema.kind(operation.text, operation.name) is OperationType.SUBSCRIPTION

    async def open(self, operation: Operation, context: Context, admitted: Admitted) -> Answers:
        """What an operation sends.

        Args:
            operation: Which.
            context: What its resolvers share.
            admitted: Returns where the caller may still have answers; it is asked before each of them.

        Returns:
            Answers as they come, several at a time, and None wherever there has been none for some seconds.

        Raises:
            RefusedError: here, or for the first answer; nothing was executed.
            KnowledgeError: with an answer, what ``admitted`` raised.
            EndedError: in place of an answer.
        """
        if not self.follows(operation):
            return self._once(operation, context)
        document = self._schema.admitted(operation.text, operation.variables, operation.name)
        if not isinstance(document, DocumentNode):
            raise RefusedError(_formatted(document))
        executor = self._executor(document, operation, context)
        source = create_source_event_stream(executor)
        source = await source if asyncio.iscoroutine(source) else source
        if isinstance(source, ExecutionResult):
            raise RefusedError(_formatted([told(error) for error in source.errors or ()]))
        return _written(cast(Followed, source), self._writer(document, operation, executor, context), admitted)

    async def _once(self, operation: Operation, context: Context) -> Answers:
        result = await self._schema.execute(
            operation.text,
            variable_values=dict(operation.variables),
            context_value=context,
            operation_name=operation.name,
        )
        if isinstance(result, PreExecutionError):
            raise RefusedError(_formatted(result.errors or ()))
        yield [Sent(encoded(process_result(result)), None)]

    def _executor(self, document: DocumentNode, operation: Operation, context: Context) -> Executor[Context]:
        executor = Executor.build(
            self._schema.core,
            document,
            context_value=context,
            raw_variable_values=dict(operation.variables),
            operation_name=operation.name,
        )
        if isinstance(executor, Executor):
            return executor
        faults = variable_faults(self._schema.core, document, operation.name, operation.variables)
        raise RefusedError(_formatted([told(error) for error in faults or executor]))

    def _writer(
        self, document: DocumentNode, operation: Operation, executor: Executor[Context], context: Context
    ) -> Writer:
        try:
            asked = Asked.of(self._schema.core, document, operation.name, OperationType.SUBSCRIPTION)
            return Writer((operation.text, operation.name), _laid(asked), PAGE, lasting=True)
        except OrdinaryError:
            key = (operation.text, operation.name, encoded(operation.variables), context.scope.sight)
            return Writer(key, _Executed(executor, context).write, EXECUTED, lasting=False)


def misformed(fields: Mapping[str, Any]) -> str | None:
    """What is wrong with the form of a request, if anything is."""
    for name, kind, form in (
        ("query", str, "a string"),
        ("operationName", str, "a string"),
        ("variables", dict, "an object"),
        ("extensions", dict, "an object"),
    ):
        if not isinstance(fields.get(name), (kind, type(None))):
            return f"`{name}` must be {form} or null"
    return None


def _formatted(errors: Iterable[GraphQLError]) -> list[Mapping[str, Any]]:
    return [error.formatted for error in errors]


async def _written(source: Followed, writer: Writer, admitted: Admitted) -> Answers:
    async with aclosing(source):
        async for batch in source.batches:
            if batch is None:
                await _is_known(admitted)
                yield None
                continue
            for at in range(0, len(batch.events), writer.together):
                sent = await _sent(batch, at, writer)
                while not await _is_known(admitted):
                    yield None
                yield sent
    raise EndedError


async def _sent(batch: Batch, at: int, writer: Writer) -> list[Sent]:
    events = batch.events[at : at + writer.together]
    bodies = await batch.shared((writer.key, at), partial(writer.write, events), lasting=writer.lasting)
    return [Sent(body, event["seq"]) for body, event in zip(bodies, events, strict=True)]


async def _is_known(admitted: Admitted) -> bool:
    """Whether the caller may still have answers; False, after a while, where that cannot be found out now."""
    try:
        await admitted()
    except UnavailableError:
        await asyncio.sleep(AWAY_SECONDS)
        return False
    return True


def _laid(asked: Asked) -> Write:
    """Makes answers from rows alone.

    Raises:
        OrdinaryError: more is asked for than stands in them.
    """
    ((name, nodes),) = asked.roots().items()
    lay = written.event(asked, asked.below(nodes, "KnowledgeEvent"))

    async def write(events: Sequence[Row]) -> list[bytes]:
        return [encoded({"data": {name: lay(row)}}) for row in events]

    return write


class _Executed:
    """Makes answers as graphql-core does for any operation, each event being the root of one execution."""

    def __init__(self, executor: Executor[Context], context: Context) -> None:
        self._executor = executor
        self._context = context

    async def write(self, events: Sequence[Row]) -> list[bytes]:
        loaders = Loaders(self._context.service)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                with received.allowed(received.ANSWER_BYTES_MAX):
                    return await asyncio.gather(*(self._one(row, loaders) for row in events))
        except TimeoutError as error:
            raise UnavailableError("events could not be answered in time", allowed="less of each") from error

    async def _one(self, row: Row, loaders: Loaders) -> bytes:
        executor = self._executor.build_per_event_executor(KnowledgeEvent.of(row))
        executor.context_value = replace(self._context, loaders=loaders, objects=0)
        result = execute_subscription_event(executor)
        result = await result if asyncio.iscoroutine(result) else cast(ExecutionResult, result)
        errors = {"errors": _formatted([told(error) for error in result.errors])} if result.errors else {}
        return encoded({"data": result.data, **errors})
