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
from strawberry.schema.exceptions import CannotGetOperationTypeError
from strawberry.types.execution import PreExecutionError

from api import written
from api.checks import Facts, variable_faults
from api.execution import REQUEST_SECONDS, ServedSchema, told
from api.live import Followed
from api.loaders import Context, Loaders
from api.selections import Asked, OrdinaryError
from api.spending import Spending
from api.types import KnowledgeEvent
from api.wire import encoded
from graph import received
from graph.errors import RateError, UnavailableError
from graph.feed import PAGE, Batch, Made
from graph.rows import Row
from graph.scope import Scope

EXECUTED = 64  # events at a time where graphql-core answers: what hangs on them is in memory at once
AWAY_SECONDS = 1.0  # between two questions while the database is away
QUIET_SECONDS = 5.0  # one who waits until its token may spend again is told so this often
Write = Callable[[Sequence[Row]], Awaitable[Made]]


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


@dataclass(frozen=True, slots=True)
class Reader:
    """Who has the answers of a stream, and pays for them.

    Attributes:
        admitted: Its scope, while it may still have answers; it is asked before each of them.
        spending: What it has left.
    """

    admitted: Callable[[], Awaitable[Scope]]
    spending: Spending


class EndedError(Exception):
    """The service ends; what was followed can be followed on from where it was, once it is there again."""


Answers = AsyncGenerator[Sequence[Sent] | RateError | None, None]


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

    async def open(self, operation: Operation, context: Context, reader: Reader) -> Answers:
        """What an operation sends.

        Args:
            operation: Which.
            context: What its resolvers share.
            reader: Who has the answers.

        Returns:
            Answers as they come, several at a time; None wherever there has been none for some seconds, and the error
            that says why where there is none until the reader's token may spend again.

        Raises:
            RefusedError: here, or for the first answer; nothing was executed.
            KnowledgeError: with an answer, what asking for the reader's scope raised.
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
        following = _Following(
            reader, self._writer(document, operation, executor, context), context.service.feed.ending
        )
        return following.answers(cast(Followed, source))

    async def _once(self, operation: Operation, context: Context) -> Answers:
        try:
            result = await self._schema.execute(
                operation.text,
                variable_values=dict(operation.variables),
                context_value=context,
                operation_name=operation.name,
            )
        except CannotGetOperationTypeError:
            allowed = "the name of an operation of the document"
            facts = Facts("VALIDATION", "there is no such operation", "operationName", None, allowed)
            raise RefusedError.of(facts) from None
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


@dataclass(frozen=True, slots=True)
class _Following:
    """One reader of events.

    Attributes:
        reader: Who has the answers.
        writer: Makes them.
        ending: Set when the service ends.
    """

    reader: Reader
    writer: Writer
    ending: asyncio.Event

    async def answers(self, source: Followed) -> Answers:
        """What is sent of all events, while the reader is known, and as fast as it may spend."""
        async with aclosing(source):
            async for batch in source.batches:
                if batch is None:
                    await self._scope()
                    yield None
                    continue
                for at in range(0, len(batch.events), self.writer.together):
                    sent, bytes_read = await self._made(batch, at)
                    # What waits is this much at most; all else is read when it goes on.
                    while not isinstance(found := await self._scope(), Scope):
                        yield found
                        await self._rest(AWAY_SECONDS if found is None else min(found.retry_after, QUIET_SECONDS))
                    moved = bytes_read + received.untold() + sum(len(each.body) for each in sent)
                    self.reader.spending.spend(found, moved)
                    yield sent
        raise EndedError

    async def _made(self, batch: Batch, at: int) -> tuple[list[Sent], int]:
        events, writer = batch.events[at : at + self.writer.together], self.writer
        made = await batch.shared((writer.key, at), partial(writer.write, events), lasting=writer.lasting)
        sent = [Sent(body, event["seq"]) for body, event in zip(made.bodies, events, strict=True)]
        return sent, made.bytes_read

    async def _scope(self) -> Scope | RateError | None:
        """The reader's, where it may have answers now; why not, and None where that cannot be found out now."""
        try:
            scope = await self.reader.admitted()
        except UnavailableError:
            return None
        return self.reader.spending.spent(scope) or scope

    async def _rest(self, seconds: float) -> None:
        """Wait, unless the service ends."""
        try:
            async with asyncio.timeout(seconds):
                await self.ending.wait()
        except TimeoutError:
            return
        raise EndedError


def _laid(asked: Asked) -> Write:
    """Makes answers from rows alone.

    Raises:
        OrdinaryError: more is asked for than stands in them.
    """
    ((name, nodes),) = asked.roots().items()
    lay = written.event(asked, asked.below(nodes, "KnowledgeEvent"))

    async def write(events: Sequence[Row]) -> Made:
        return Made([encoded({"data": {name: lay(row)}}) for row in events], 0)

    return write


class _Executed:
    """Makes answers as graphql-core does for any operation, each event being the root of one execution."""

    def __init__(self, executor: Executor[Context], context: Context) -> None:
        self._executor = executor
        self._context = context

    async def write(self, events: Sequence[Row]) -> Made:
        loaders = Loaders(self._context.service)
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                with received.allowed(received.ANSWER_BYTES_MAX):
                    bodies = await asyncio.gather(*(self._one(row, loaders) for row in events))
                    return Made(bodies, received.untold())
        except TimeoutError as error:
            raise UnavailableError("events could not be answered in time", allowed="less of each") from error

    async def _one(self, row: Row, loaders: Loaders) -> bytes:
        executor = self._executor.build_per_event_executor(KnowledgeEvent.of(row))
        executor.context_value = replace(self._context, loaders=loaders, objects=0)
        result = execute_subscription_event(executor)
        result = await result if asyncio.iscoroutine(result) else cast(ExecutionResult, result)
        errors = {"errors": _formatted([told(error) for error in result.errors])} if result.errors else {}
        return encoded({"data": result.data, **errors})
