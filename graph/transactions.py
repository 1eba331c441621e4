"""Work in a transaction: its deadline, what of it is repeated, and what became of a commit whose answer was lost.

The driver repeats what failed for a passing reason. Here stands what it must not repeat, and the one table from its
errors to ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

import neo4j
from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncManagedTransaction, AsyncSession
from neo4j.exceptions import (
    AuthError,
    ClientError,
    DatabaseError,
    DriverError,
    IncompleteCommit,
    Neo4jError,
    TransientError,
)

from graph import observed, received
from graph.errors import (
    DatabaseFailedError,
    InDoubtError,
    InternalError,
    KnowledgeError,
    LimitError,
    TooSlowError,
    UnavailableError,
    failure_name,
)
from graph.untold import untold

TRANSACTIONS_MAX = 64  # at once; more of them finish none sooner, and all have to fit into the driver's hundred
SLACK_SECONDS = 0.5  # the server is given the deadline, the client this much more to hear of it
_PAUSE_SECONDS = 0.5  # between two questions after a lost commit: a server that restarts needs seconds
_OUT_OF_MEMORY = ("MemoryPoolOutOfMemory", "OutOfMemory", "StackOverFlow")
_OUT_OF_TIME = ("TransactionTimedOut", "LockClient", "BookmarkTimeout")
_LOG = logging.getLogger("whence.store")
T = TypeVar("T")
Work = Callable[[AsyncManagedTransaction], Awaitable[T]]


@dataclass(slots=True)
class _Course:
    """How a transaction goes.

    Attributes:
        committing: Whether its work is done, so that only its commit can be under way.
        failure: What its last attempt met; empty before the first.
    """

    committing: bool = False
    failure: str = ""


class Transactions:
    """Runs work on one database. All transactions share their bookmarks, so that what was written is read.

    Args:
        driver: Anything that behaves as the driver does; what may go wrong is what its sessions raise.
        database: The database's name.
    """

    def __init__(self, driver: AsyncDriver, database: str) -> None:
        self._driver = driver
        self._database = database
        self._bookmarks = AsyncGraphDatabase.bookmark_manager()
        self._free = asyncio.Semaphore(TRANSACTIONS_MAX)
        self._under_way: set[asyncio.Future[Any]] = set()  # the event loop itself holds tasks weakly

    async def read(self, work: Work[T], seconds: float) -> T:
        """What the work returns.

        Args:
            work: Repeatable.
            seconds: The deadline.

        Raises:
            LimitError: it takes more memory than the database grants one transaction, or brings more than is allowed
                here (``received.allowed``).
            TooSlowError: the database did not answer in time.
            UnavailableError: the database cannot be had.
        """
        return await self._run(work, neo4j.READ_ACCESS, seconds)

    async def read_single(self, text: LiteralString, params: dict[str, Any], seconds: float) -> list[Any] | None:
        """The columns of the one record of a read statement that commits itself; None when it gives none.

        It takes half the rounds of a transaction, and is not tried again.

        Raises:
            LimitError, TooSlowError, UnavailableError: as for ``read``.
        """

        async def asked(session: AsyncSession, left: float) -> list[Any] | None:
            record = await (await session.run(neo4j.Query(text, timeout=left), untold(params))).single()
            return None if record is None else record.values()

        return await self._begun(lambda left: self._asked(asked, left), seconds)

    async def read_repeated(self, text: LiteralString, params: dict[str, Any], seconds: float) -> list[Any] | None:
        """As ``read_single``; where that fails for a passing reason, once more in a transaction, which is repeated.

        A connection that was lost while it lay idle is found out by whoever uses it first.

        Raises:
            LimitError, TooSlowError, UnavailableError: as for ``read``.
        """
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        try:
            return await self.read_single(text, params, seconds)
        except UnavailableError as error:
            if not _passes(error.__cause__):
                raise

        async def work(tx: AsyncManagedTransaction) -> list[Any] | None:
            record = await (await tx.run(text, untold(params))).single()
            return None if record is None else record.values()

        return await self.read(work, max(deadline - clock(), SLACK_SECONDS))

    async def version(self, seconds: float) -> str:
        """The newest transaction that the database had committed, as it names it, whoever committed it.

        What is read from here on has seen that one and all before it: the server lets a reader that shows a bookmark
        wait for them. So an answer that was read after a version was had is whole for as long as the version is
        the same.

        Raises:
            LimitError, TooSlowError, UnavailableError: as for ``read``.
        """

        async def asked(session: AsyncSession, left: float) -> str:
            await (await session.run(neo4j.Query("RETURN 1", timeout=left))).consume()
            return " ".join(sorted((await session.last_bookmarks()).raw_values))

        return await self._begun(lambda left: self._asked(asked, left), seconds)

    async def write(self, work: Work[T], seconds: float) -> T:
        """What the work returns, once it is committed.

        Raises:
            InDoubtError: the answer to the commit was lost.
            LimitError, TooSlowError, UnavailableError: as for ``read``; nothing was committed.
        """
        return await self._run(work, neo4j.WRITE_ACCESS, seconds)

    async def write_once(self, work: Work[T], seconds: float) -> T:
        """What the work returns, once it is committed; a lost commit is settled by running the work again.

        Args:
            work: Finds what an earlier run of it committed, and then changes nothing; it must first take a lock that
                the lost transaction holds, so that it looks after that one has ended.
            seconds: The deadline.

        Raises:
            InDoubtError: the answer to the commit was lost, and the database could not be asked in time.
            LimitError, TooSlowError, UnavailableError: as for ``read``; nothing was committed.
        """
        clock = asyncio.get_running_loop().time
        deadline, doubt = clock() + seconds, None
        while True:
            try:
                return await self._run(work, neo4j.WRITE_ACCESS, deadline - clock())
            except KnowledgeError as error:
                if doubt is None and not isinstance(error, InDoubtError):
                    raise
                doubt = doubt or error
                if clock() + _PAUSE_SECONDS >= deadline:
                    raise doubt from error
            await asyncio.sleep(_PAUSE_SECONDS)

    def session(self, access: str) -> AsyncSession:
        """A session of the driver with read or write access, which shares the bookmarks; the caller closes it."""
        return self._driver.session(  # pyright: ignore[reportUnknownMemberType]
            database=self._database, default_access_mode=access, bookmark_manager=self._bookmarks
        )

    async def _run(self, work: Work[T], access: str, seconds: float) -> T:
        # A writer needs all of what it decides on, and how much that may be is bounded where commands wait.
        with received.allowed(None) if access == neo4j.WRITE_ACCESS else contextlib.nullcontext():
            return await self._begun(lambda left: self._transact(work, access, left), seconds)

    async def _asked(self, ask: Callable[[AsyncSession, float], Awaitable[T]], seconds: float) -> T:
        """What a read statement that commits itself comes to; it is given the time that is left."""
        try:
            async with asyncio.timeout(seconds + SLACK_SECONDS), self.session(neo4j.READ_ACCESS) as session:
                with received.counted():
                    return await ask(session, seconds)
        except TimeoutError as error:
            raise _too_slow() from error
        except (Neo4jError, DriverError) as error:
            raise ours(error) from error

    async def _begun(self, transact: Callable[[float], Coroutine[Any, Any, T]], seconds: float) -> T:
        """A transaction that, once begun, ends by itself and within its deadline, also when nobody waits for it.

        It is given the time that is left. Of the fields of a document that are read at once, one that is refused lets
        the others be cancelled. The driver would then give up the connection, and the socket of one that was about to
        be opened would never be closed.
        """
        if most := received.passed():
            raise _too_large(most)
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        try:
            async with asyncio.timeout_at(deadline):
                await self._free.acquire()
        except TimeoutError as error:
            raise _too_slow() from error
        under_way = asyncio.ensure_future(transact(max(deadline - clock(), SLACK_SECONDS)))
        self._under_way.add(under_way)
        under_way.add_done_callback(self._ended)
        return await asyncio.shield(under_way)

    def _ended(self, transaction: asyncio.Future[Any]) -> None:
        """Let go of a transaction; what it failed of was told to whoever waited for it, if anybody did."""
        self._free.release()
        self._under_way.discard(transaction)
        if not transaction.cancelled():
            transaction.exception()

    async def _transact(self, work: Work[T], access: str, seconds: float) -> T:
        course = _Course()
        bounded = neo4j.unit_of_work(timeout=seconds)(_bounded(work, course))
        try:
            async with asyncio.timeout(seconds + SLACK_SECONDS):
                async with self.session(access) as session:
                    if access == neo4j.READ_ACCESS:
                        return await session.execute_read(bounded)
                    return await session.execute_write(bounded)
        except TimeoutError as error:
            if course.committing and access == neo4j.WRITE_ACCESS:
                raise _in_doubt() from error
            raise _too_slow() from error
        except (Neo4jError, DriverError) as error:
            if course.committing and access == neo4j.WRITE_ACCESS and _leaves_doubt(error):
                _tell("a commit is in doubt", error)
                raise _in_doubt() from error
            raise ours(error) from error


def _bounded(work: Work[T], course: _Course) -> Work[T]:
    """The work, in which errors that the driver would repeat in vain are ours already, so that it lets them pass."""

    async def bounded(tx: AsyncManagedTransaction) -> T:
        if course.failure:
            observed.observer().retried(course.failure)
        course.committing, course.failure = False, "Commit"
        try:
            with received.counted():
                result = await work(tx)
        except (TransientError, DriverError) as error:
            course.failure = failure_name(error)
            if received.passed() or _names(error, *_OUT_OF_MEMORY, *_OUT_OF_TIME):
                raise ours(error) from error
            raise
        course.committing = True
        return result

    return bounded


def _passes(cause: BaseException | None) -> bool:
    """Whether what failed so may go well when it is tried again."""
    return isinstance(cause, Neo4jError | DriverError) and cause.is_retryable() and not _names(cause, *_OUT_OF_TIME)


def _leaves_doubt(error: Neo4jError | DriverError) -> bool:
    """Whether a commit that failed so may have happened: all but those that the server itself undid.

    On a full disk the server reports a failed commit that is there after the restart.
    """
    return isinstance(error, IncompleteCommit) or not isinstance(error, ClientError | TransientError)


def _names(error: Exception, *words: str) -> bool:
    code = getattr(error, "code", None) or ""
    return any(word in code for word in words)


def ours(error: Neo4jError | DriverError) -> KnowledgeError:
    """The one table from the driver's errors to ours; database text goes to the log only."""
    _tell("the database failed", error)
    if _names(error, *_OUT_OF_TIME):
        return _too_slow()
    if received.passed() or _names(error, *_OUT_OF_MEMORY):
        return _too_large(received.passed())
    if _names(error, "LockAcquisitionTimeout"):
        return UnavailableError("another writer holds the project for long", allowed="the same request later")
    if isinstance(error, AuthError):
        return UnavailableError(
            "the database refuses the credentials", field="NEO4J_PASSWORD", allowed="the password of NEO4J_USERNAME"
        )
    if isinstance(error, ClientError):
        return InternalError("the database refused a statement")
    kind = DatabaseFailedError if isinstance(error, DatabaseError) else UnavailableError
    return kind("the database cannot be had", allowed="the same request later")


def _tell(what: str, error: Exception) -> None:
    """Note a failure by its name; what the database says of it may hold what was stored."""
    _LOG.warning("%s: %s", what, failure_name(error))
    _LOG.debug("%s: %s", what, error)


def _too_slow() -> TooSlowError:
    return TooSlowError("the database did not answer in time", allowed="the same request later, or a smaller one")


def _too_large(passed: int | None) -> LimitError:
    if passed is None:
        return LimitError("the request needs more memory than the database grants one", allowed="a smaller request")
    return LimitError("the answer is too large", allowed=f"at most {passed} bytes from the database: ask for less")


def _in_doubt() -> InDoubtError:
    return InDoubtError("the answer to the commit was lost", allowed="the same request with the same event id")
