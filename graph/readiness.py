"""Whether requests can be served, asked of the database itself; and a watch that has a broken server restarted.

After a commit that failed on a full disk Neo4j refuses every statement, or every write, until it is restarted. It says
so to whoever asks, but does not end; so somebody has to ask, wait for room, and end it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import LiteralString

import neo4j
from neo4j import AsyncDriver
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from graph import queries, schema
from graph.errors import UnavailableError

ANSWER_SECONDS_MAX = 10.0  # a question is given up then; who asks may wait for less
PROBE_SECONDS = 2.0  # between two questions of the watch
SILENT_SECONDS_MAX = 120.0  # a server that answers nobody for so long is ended; a long pause of the machine is not it
_BROKEN = ("TransactionStartFailed", "TransactionLogError", "TransactionCommitFailed")
_ACCESS: LiteralString = "SHOW DATABASES YIELD name, access WHERE name = $name RETURN DISTINCT access"
_LOG = logging.getLogger("whence.readiness")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a question to the database brought.

    Attributes:
        cause: Why requests cannot be served; None when they can.
        broken: Whether only a restart of the server helps.
        silent: Whether there was no answer at all.
        rebuilding: Projects whose appends are refused for a while; at most 100.
    """

    cause: str | None = None
    broken: bool = False
    silent: bool = False
    rebuilding: tuple[str, ...] = ()


class Readiness:
    """Asks a database whether requests can be served. However many ask, one question is under way at a time.

    Args:
        driver: Where to ask.
        database: Which database.
        require_room: Raises UnavailableError where there is no room to append.
    """

    def __init__(self, driver: AsyncDriver, database: str, require_room: Callable[[], None]) -> None:
        self._driver = driver
        self._database = database
        self._require_room = require_room
        self._asking: asyncio.Task[Finding] | None = None

    async def ask(self) -> Finding:
        """What the database says now; within 10 s. A caller that does not wait so long does not disturb the others."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        return await asyncio.shield(self._asking)

    async def require(self) -> tuple[str, ...]:
        """Return when requests can be served: the projects that are being rebuilt, whose appends are refused.

        Raises:
            UnavailableError: they cannot; the message is the cause.
        """
        found = await self.ask()
        if found.cause is not None:
            raise UnavailableError(found.cause, allowed="the same request later")
        return found.rebuilding

    async def watch(self, restart: Callable[[], None] | None = None) -> None:
        """Ask again and again, note in the log what changes, and restart a server that is broken, for ever.

        That it is not ready is a warning once it was: until then it starts.

        Args:
            restart: Ends a server that comes back by itself; None where the server is another's to restart. Called
                when there is room again, since a start on a full disk hangs.
        """
        clock = asyncio.get_running_loop().time
        answered, cause, started = clock(), None, False
        while True:
            found = await self.ask()
            if found.cause != cause:
                if found.cause:
                    _LOG.log(logging.WARNING if started else logging.INFO, "not ready: %s", found.cause)
                elif started:
                    _LOG.info("ready again")
                cause = found.cause
            started = started or found.cause is None
            if not found.silent:
                answered = clock()
            hangs = clock() - answered > SILENT_SECONDS_MAX
            if restart is not None and (found.broken or hangs) and self._has_room():
                _LOG.warning("the database is restarted")
                restart()
                answered = clock()
            await asyncio.sleep(PROBE_SECONDS)

    def _has_room(self) -> bool:
        try:
            self._require_room()
        except UnavailableError:
            return False
        return True

    async def _ask(self) -> Finding:
        try:
            async with asyncio.timeout(ANSWER_SECONDS_MAX):
                return await self._answer()
        except TimeoutError:
            return Finding(f"the database did not answer within {ANSWER_SECONDS_MAX:g} s", silent=True)
        except AuthError:
            return Finding("the database refuses the credentials")
        except Neo4jError as error:
            if any(word in (error.code or "") for word in _BROKEN):
                return Finding("the database must be restarted", broken=True)
            return Finding("the database cannot be had")
        except DriverError:
            return Finding("the database cannot be had", silent=True)

    async def _answer(self) -> Finding:
        async with self._driver.session(  # pyright: ignore[reportUnknownMemberType]
            database=self._database, default_access_mode=neo4j.READ_ACCESS
        ) as session:
            rows = await (await session.run(queries.load("projects_rebuilding").text)).data()
            access = await (await session.run(_ACCESS, name=self._database)).value()
        if missing := await schema.absent(self._driver, self._database):
            return Finding(f"the database lacks {', '.join(sorted(missing))}")
        if access == ["read-only"]:  # what it becomes when there is no room for its next log file
            return Finding("the database takes no writes until it is restarted", broken=True)
        rebuilding = tuple(row["name"] for row in rows)
        try:
            self._require_room()
        except UnavailableError as error:
            return Finding(error.message, rebuilding=rebuilding)
        return Finding(rebuilding=rebuilding)
