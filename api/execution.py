"""What happens to a request between its text and its answer: limits, checks, plans, errors.

The steps of one request, in this order:

1. ``Parsed`` turns the text into a document, counting tokens; short texts are kept.
2. ``Checked`` measures the document (``measure``) and then validates it; what validation found is kept too.
3. ``Planned`` makes a ``Plan`` of the validated query, if one can be made, and answers by it. The plan is kept under
   the query's text, and ``api.direct`` answers the next request of that text without any of these steps.
4. graphql-core executes what has no plan, or what its plan handed back.
5. ``ServedSchema`` gives every error its code (``told``). Of a failure of ours only a reference is told.
"""

# graphql-core leaves the parameters of its generic types open, and strict checking finds them everywhere.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, cast

import strawberry
from cachetools import LRUCache
from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    OperationType,
    get_operation_ast,
    parse,
    validate,
)
from strawberry.extensions import ParserCache, SchemaExtension, ValidationCache
from strawberry.types import ExecutionContext, ExecutionResult
from strawberry.types.execution import PreExecutionError

from api import tracing
from api.at_hand import REQUEST
from api.checks import FAULTS_MAX, RULES, Facts, oversized, variable_faults
from api.limits import CHARS_MAX, LEVELS_MAX, TOKENS_MAX, measure, refuse_long
from api.loaders import Context
from api.plans import Plan
from api.selections import OrdinaryError
from graph import observed
from graph.errors import (
    InDoubtError,
    InternalError,
    KnowledgeError,
    LimitError,
    RateError,
    UnavailableError,
    ValidationError,
)
from graph.service import NODES_MAX

REQUEST_SECONDS = 45.0  # several statements, each with a deadline of its own
KEPT_TEXTS = 256  # parsed and checked documents that are kept
KEPT_CHARS_MAX = 10_000  # longer texts are one-off, and keeping them would be keeping the caller's data

_AGAIN = "the same request with the same eventId"
_LOG = logging.getLogger("whence.api")
_TOO_MUCH = ("nested too deeply", "Validation aborted")  # how graphql-core says that it gave up
_OPERATION = re.compile(r"\b(?:query|mutation|subscription)\b")


class Parsed(ParserCache):
    """Text to document, with at most ``TOKENS_MAX`` tokens; short texts are parsed once."""

    def __init__(self) -> None:
        super().__init__(maxsize=KEPT_TEXTS)

    def on_parse(self) -> Iterator[None]:
        """Parse before strawberry would."""
        self.execution_context.parse_options["max_tokens"] = TOKENS_MAX
        if len(self.execution_context.query or "") > KEPT_CHARS_MAX:
            yield
        else:
            yield from super().on_parse()


class Checked(ValidationCache):
    """Measures a document, then validates it; short documents are validated once.

    Measuring comes first because validation itself is what some documents are built to choke.
    """

    def __init__(self) -> None:
        super().__init__(maxsize=KEPT_TEXTS)

    def on_validate(self) -> Iterator[None]:
        """Measure and validate before strawberry would."""
        context = self.execution_context
        context.validation_rules = RULES
        assert context.graphql_document is not None
        if refused := _too_much(_graphql_schema(context), context.graphql_document, context.variables or {}):
            context.pre_execution_errors = refused
            yield
            return
        if len(context.query or "") > KEPT_CHARS_MAX:
            yield
        else:
            yield from super().on_validate()


def _too_much(schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> list[GraphQLError]:
    """What a document asks for beyond the bounds, if it does."""
    try:
        measure(schema, document, variables)
        return oversized(schema, document, variables)
    except LimitError as error:
        return [GraphQLError(error.message, original_error=error)]


def _graphql_schema(context: ExecutionContext) -> GraphQLSchema:
    return context.schema._schema  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  strawberry has no other way


class Plans:
    """The plans of the queries that were checked, by their text; None for a query that the executor answers.

    The one that was not asked for the longest goes first.
    """

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[str, str | None], Plan | None] = LRUCache(KEPT_TEXTS)

    def known(self, text: str, operation_name: str | None) -> Plan | None:
        """The plan of a query that came before, if it has one."""
        return self._kept.get((text, operation_name))

    def of(self, schema: GraphQLSchema, text: str, document: DocumentNode, operation_name: str | None) -> Plan | None:
        """The plan of a document that has been validated, if one can be made; made once."""
        if (text, operation_name) not in self._kept:
            if len(text) > KEPT_CHARS_MAX:
                return None
            plan = _planned(schema, document, operation_name)
            # The only operation of a document may be named in a request or not.
            names = {operation_name} if len(_operations(document)) > 1 else {None, *_operations(document)}
            for name in names:
                self._kept[text, name] = plan
        return self._kept[text, operation_name]


def _operations(document: DocumentNode) -> list[str | None]:
    operations = (node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    return [node.name and node.name.value for node in operations]


def _planned(schema: GraphQLSchema, document: DocumentNode, operation_name: str | None) -> Plan | None:
    try:
        plan = Plan(schema, document, operation_name)
        # Variables may set the sizes of pages, and a plan's later requests are not measured.
        largest = {d.variable.name.value: NODES_MAX for d in plan.variables}
        measure(schema, document, largest)
    except (OrdinaryError, LimitError):
        return None
    return plan


class Planned(SchemaExtension):
    """Answers by plan where there is one: between the validated query and its execution."""

    def __init__(self, plans: Plans) -> None:
        self.plans = plans

    async def on_execute(self) -> AsyncIterator[None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Answer before the executor would."""
        asked = self.execution_context
        assert asked.graphql_document is not None
        operation = get_operation_ast(asked.graphql_document, asked.operation_name)
        if (at_hand := REQUEST.get()) is not None and operation is not None:
            at_hand.runs(operation.operation.value, operation.name and operation.name.value)
        plan = self.plans.of(_graphql_schema(asked), asked.query or "", asked.graphql_document, asked.operation_name)
        if plan is not None:
            data = await plan.answer(cast(Context, asked.context).reads, asked.variables or {})
            if data is not None:
                asked.result = ExecutionResult(data, None)
        yield


def camel(name: str) -> str:
    """A field name of the service (``evidence[0].artifact_ref``) as GraphQL spells it."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def facts_of(error: Exception) -> Facts:
    """What a caller may be told of an error; what only we may know is logged under a reference number."""
    if isinstance(error, KnowledgeError) and not isinstance(error, InternalError):
        field = None if error.field is None else camel(error.field)
        retry_after = error.retry_after if isinstance(error, RateError) else None
        return Facts(error.code, error.message, field, error.position, error.allowed, retry_after)
    reference = secrets.token_hex(4)
    _LOG.error("internal error, reference %s", reference, exc_info=error)
    return Facts("INTERNAL", f"Internal error, reference {reference}")


def told(error: GraphQLError) -> GraphQLError:
    """The error as it stands in an answer: with ``extensions`` {code, field, position, allowed}."""
    cause: Exception = error
    while isinstance(cause, GraphQLError) and cause.original_error is not None:
        cause = cause.original_error
    if isinstance(cause, GraphQLError):
        if "code" in (cause.extensions or {}):
            return cause
        # An error with a path and no cause is graphql-core's own, met while executing: a fault in what the
        # service gave, but for arguments, which it reads only then.
        ours = error.path is not None and not error.message.startswith("Argument ")
        facts = facts_of(error) if ours else _document_facts(cause)
    else:
        facts = facts_of(cause)
    return GraphQLError(
        facts.message, error.nodes, error.source, error.positions, error.path, extensions=facts.extensions
    )


def _document_facts(error: GraphQLError) -> Facts:
    at = next(iter(error.positions or ()), None)
    if isinstance(error, GraphQLSyntaxError) and "tokens" in error.message:
        return Facts("LIMIT", "the document is too long", "query", at, f"at most {TOKENS_MAX} tokens")
    if any(sign in error.message for sign in _TOO_MUCH):
        allowed = f"at most {LEVELS_MAX} levels, and a field once in one place"
        return Facts("LIMIT", "the document is too much to check", "query", at, allowed)
    return Facts("VALIDATION", error.message, "query", at)


def _refuse_unnamed(query: str) -> None:
    """Refuse a document of several operations; strawberry would run the first where none is named.

    Raises:
        ValidationError: there are several.
    """
    if len(_OPERATION.findall(query)) <= 1:  # most documents hold one, and need no second parsing
        return
    try:
        document = parse(query, max_tokens=TOKENS_MAX)
    except GraphQLError:
        return
    if sum(isinstance(node, OperationDefinitionNode) for node in document.definitions) > 1:
        raise ValidationError(
            "the document holds several operations", field="operationName", allowed="the name of one of them"
        )


def _kind(query: str, operation_name: str | None) -> OperationType | None:
    try:
        document = parse(query, max_tokens=TOKENS_MAX)
    except GraphQLError:
        return None
    operation = get_operation_ast(document, operation_name)
    return operation and operation.operation


def _is_mutation(query: str, operation_name: str | None) -> bool:
    return _kind(query, operation_name) is OperationType.MUTATION


def _too_slow(*, mutation: bool) -> GraphQLError:
    late = f"the answer was not there within {REQUEST_SECONDS:.0f} s"
    refusal = InDoubtError(late, allowed=_AGAIN) if mutation else UnavailableError(late, allowed="a smaller request")
    return GraphQLError(refusal.message, original_error=refusal)


def _behind_event(error: GraphQLError) -> GraphQLError:
    """What fails below a mutation's field fails while its answer is read: the event stays taken."""
    if not isinstance(error.original_error, UnavailableError) or len(error.path or ()) <= 1:
        return error
    refusal = InDoubtError("the answer could not be read after the event was taken", allowed=_AGAIN)
    return GraphQLError(refusal.message, error.nodes, error.source, error.positions, error.path, refusal)


def _count(errors: Sequence[GraphQLError]) -> None:
    """Tell of what a caller is refused."""
    for error in errors:
        observed.observer().refused(str((error.extensions or {}).get("code")))


class ServedSchema(strawberry.Schema):
    """A schema whose errors all carry a code, and whose failures stay in the log."""

    async def execute(self, query: str | None, *args: Any, **kwargs: Any) -> ExecutionResult:
        """Strawberry's ``execute``; the errors in its result are ``told``."""
        try:
            self._require_answer(query or "", kwargs.get("operation_name"))
        except KnowledgeError as error:
            refusal = told(GraphQLError(error.message, original_error=error))
            _count([refusal])
            return PreExecutionError(data=None, errors=[refusal])
        try:
            with tracing.operation():
                async with asyncio.timeout(REQUEST_SECONDS):
                    result = await super().execute(query, *args, **kwargs)
        except TimeoutError:
            slow = told(_too_slow(mutation=_is_mutation(query or "", kwargs.get("operation_name"))))
            _count([slow])
            return ExecutionResult(data=None, errors=[slow])
        if not result.errors:
            return result
        # One branch that ran into a bound says it for all its siblings.
        del result.errors[FAULTS_MAX:]
        lost = any(isinstance(error.original_error, UnavailableError) for error in result.errors)
        if lost and _is_mutation(query or "", kwargs.get("operation_name")):
            result.errors = [_behind_event(error) for error in result.errors]
        if result.data is None and not isinstance(result, PreExecutionError):
            variables: Mapping[str, Any] = kwargs.get("variable_values") or {}
            result.errors = self._coercion_errors(query, kwargs.get("operation_name"), variables) or result.errors
        result.errors = [told(error) for error in result.errors]
        _count(result.errors)
        return result

    def _require_answer(self, query: str, operation_name: str | None) -> None:
        """Return where a text may have one answer; raises LimitError or ValidationError where it may not."""
        refuse_long(query)
        if operation_name is None:
            _refuse_unnamed(query)
        if self.kind(query, operation_name) is OperationType.SUBSCRIPTION:
            raise ValidationError(
                "a subscription is answered by a stream",
                field="accept",
                allowed="the header `accept: text/event-stream`, or a websocket",
            )

    @property
    def core(self) -> GraphQLSchema:
        """graphql-core's own schema."""
        return self._schema

    def kind(self, query: str, operation_name: str | None) -> OperationType | None:
        """What an operation is, so far as its text can be read; None where it cannot."""
        # Most texts hold the word nowhere, and need no parsing before they are executed.
        may_follow = len(query) <= CHARS_MAX and OperationType.SUBSCRIPTION.value in query
        return _kind(query, operation_name) if may_follow else None

    def admitted(
        self, query: str, variables: Mapping[str, Any], operation_name: str | None
    ) -> DocumentNode | list[GraphQLError]:
        """A document that may be executed, or why it may not, ``told``."""
        document = None
        try:
            refuse_long(query)
            if operation_name is None:
                _refuse_unnamed(query)
            document = parse(query, max_tokens=TOKENS_MAX)
            faults = _too_much(self._schema, document, variables) or validate(self._schema, document, RULES)
        except GraphQLError as error:
            faults = [error]
        except KnowledgeError as error:
            faults = [GraphQLError(error.message, original_error=error)]
        refused = [told(error) for error in faults[:FAULTS_MAX]]
        _count(refused)
        return document if document is not None and not refused else refused

    def admits(self, query: str) -> bool:
        """Whether a text would be executed, with some variables or none."""
        try:
            refuse_long(query)
            document = parse(query, max_tokens=TOKENS_MAX)
            measure(self._schema, document, {})
        except (GraphQLError, LimitError):
            return False
        return not validate(self._schema, document, RULES)

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Log nothing here: most errors are refusals, and ``told`` logs the others."""

    def _coercion_errors(
        self, query: str | None, operation_name: str | None, variables: Mapping[str, Any]
    ) -> list[GraphQLError]:
        try:
            document = parse(query or "", max_tokens=TOKENS_MAX)
        except GraphQLError:
            return []
        return variable_faults(self._schema, document, operation_name, variables)
