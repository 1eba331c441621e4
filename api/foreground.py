"""``whence up``: Neo4j and the API in the foreground of a terminal, until a signal ends them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from api import drawing, embedders, metrics, presence, tracing
from api.access import Admission
from api.analyst import browser_settings
from api.connect import named
from api.course import watched
from api.interrupt import ends_as_interrupt
from api.metrics import Metrics
from api.owner_token import OwnerToken, owner_token, token_file
from api.presence import Presence
from api.screen import Screen
from api.serving import event_loop, serve
from api.settings import Settings
from api.workers import Workers, listening
from graph import observed
from graph.access_tokens import AccessTokens
from graph.embedded import SERVE, Connection, EmbeddedNeo4j
from graph.embedded.secret import write_private
from graph.embedding.filler import Filler
from graph.embedding.semantic import Semantic
from graph.errors import UnavailableError, ValidationError
from graph.exchange import Terms, import_journal
from graph.ingestion.chat import chatting
from graph.ingestion.choice import chosen
from graph.migration import migrate_in_the_end
from graph.rehearsal import rehearse
from graph.service import Service
from graph.store import Store

READY_SECONDS_MAX = 60.0  # the database answered already; what is left is the server's own start
POLL_SECONDS = 0.1
DEMO = "peps"

log = logging.getLogger("whence.up")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What ``whence up`` was asked for.

    Attributes:
        host: The address to listen on.
        port: The port; 0 takes a free one.
        demo: Whether the sample is to be there.
        ready_file: Where to write how the service is reached.
        workers: How many processes answer; one is this one.
    """

    host: str
    port: int
    demo: bool
    ready_file: Path | None
    workers: int = 1


def up(settings: Settings, wanted: Wanted, screen: Screen) -> int:
    """Run Neo4j (unless one is named) and the API until a signal ends it.

    Returns:
        0 when it was told to end, 130 when it was interrupted.

    Raises:
        ValidationError: the ready file cannot be written, or traces are asked for in a way that is not known.
        UnavailableError: the home or the address is in use, or the database cannot be had.
    """
    signals: list[int] = []
    ends_as_interrupt(signals.append)
    try:
        with (
            tracing.exported(os.environ),
            presence.held(settings.home, embedded=settings.neo4j_uri is None) as mine,
        ):
            wanted = replace(wanted, port=_free_port(wanted))
            _require_ready_file(wanted.ready_file)
            if wanted.workers > 1:
                metrics.share(settings.home / "run" / "metrics")
            with (
                _database(settings, wanted, screen) as (connection, restart),
                asyncio.Runner(loop_factory=event_loop()) as runner,
            ):
                here = replace(mine, bolt=connection.uri, browser=connection.browser)
                here.write(settings.home)
                drawing.fetch_meanwhile(settings.home / "cache")
                runner.run(_serve(settings, wanted, connection, restart, here, screen))
                screen.tell("Stopping.")
    except KeyboardInterrupt:
        pass
    screen.tell("Stopped.")
    return 0 if signal.SIGTERM in signals else 130


def _free_port(wanted: Wanted) -> int:
    """The port that will be listened on; found out before Neo4j is started, which takes its time and is told it."""
    try:
        family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
        with socket.create_server((wanted.host, wanted.port), family=family) as listening:
            return listening.getsockname()[1]
    except OSError as error:
        ours = error.errno in (errno.EADDRINUSE, errno.EACCES)
        cause = (error.strerror or str(error)).partition(" (while")[0]
        raise UnavailableError(
            f"{wanted.host}:{wanted.port} cannot be listened on: {cause}",
            field="--port" if ours else "--host",
            allowed="a port that is free and above 1023; 0 takes one" if ours else "an address of this machine",
        ) from error


def _require_ready_file(path: Path | None) -> None:
    if path is None:
        return
    try:
        path.unlink(missing_ok=True)  # of an earlier run; whoever waits for it must not read that one
        write_private(path, "")
        path.unlink()
    except OSError as error:
        raise ValidationError(
            f"{path} cannot be written: {error.strerror}",
            field="--ready-file",
            allowed="a file in a folder of one's own",
        ) from error


@contextmanager
def _database(
    settings: Settings, wanted: Wanted, screen: Screen
) -> Generator[tuple[Connection, Callable[[], None] | None]]:
    """The database, and how it is restarted if that is for us to do."""
    connection = named(settings)
    if connection is not None:
        yield connection, None
        return
    first = "" if (settings.home / "cache" / "jars").exists() else "; the first start fetches 121 MB, a minute or two"
    screen.tell(f"Starting Neo4j in {settings.home}{first}.")
    loaded = browser_settings(_url(wanted.host, wanted.port), DEMO if wanted.demo else "default")
    with EmbeddedNeo4j(settings.home, replace(SERVE, settings=(*SERVE.settings, *loaded))) as server:
        connection = server.connection
        assert connection is not None, "a server that was started is connected"
        yield connection, server.restart


async def _serve(
    settings: Settings,
    wanted: Wanted,
    connection: Connection,
    restart: Callable[[], None] | None,
    mine: Presence,
    screen: Screen,
) -> None:
    login = (connection.username, connection.password, connection.database)
    async with (
        Store.open(connection.uri, *login, connection.require_room) as store,
        embedders.opened(settings) as embedder,
        chatting(settings.chat) as chat,
    ):
        owner = await owner_token(AccessTokens(store), settings.home)
        mine = replace(mine, model=None if embedder is None else embedder.profile.model, token=owner.text)
        mine.write(settings.home)
        if wanted.demo:
            await _demo(settings, store, screen)
        filler = None if embedder is None else Filler(store, embedder)
        service = Service(store) if filler is None else Service(store, grown=filler.wake)
        told = Metrics(service, connection.folder)
        reached: asyncio.Future[tuple[str, int]] = asyncio.get_running_loop().create_future()
        if wanted.workers > 1:
            answering = _several(wanted, Workers(connection, embedder, filler), reached)
        else:
            answering = serve(
                service,
                settings,
                Admission.to(store, settings.trust),
                host=wanted.host,
                port=wanted.port,
                semantic=None if filler is None else Semantic(filler.embedder, filler.representations),
                asked=(lambda: None) if filler is None else filler.give_way,
                stages=chosen(service, embedder, settings.stages, chat),
                metrics=told,
                ready=lambda host, port: reached.set_result((host, port)),
            )
        serving = asyncio.ensure_future(answering)
        with observed.by(told):
            async with _beside(service.readiness.watch(restart)), _ended(serving):
                await asyncio.wait((serving, reached), return_when=asyncio.FIRST_COMPLETED)
                if reached.done() and await _answers(service, *reached.result(), serving):
                    mine = replace(mine, url=_url(*reached.result()))
                    with _announced(mine, settings, wanted, screen, owner):
                        async with _beside(_afterwards(store, filler)):
                            await asyncio.shield(serving)


async def _several(wanted: Wanted, workers: Workers, reached: asyncio.Future[tuple[str, int]]) -> None:
    """As ``serve``, with several processes."""
    sockets = listening(wanted.host, wanted.port, wanted.workers)
    host, port = sockets[0].getsockname()[:2]
    await workers.run(sockets, lambda: reached.set_result((host, port)))


async def _afterwards(store: Store, filler: Filler | None) -> None:
    """What is done once the service answers, in its idle time."""
    await rehearse(store)
    await asyncio.gather(migrate_in_the_end(store), *([] if filler is None else [filler.run()]))


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Have work done meanwhile, and give it up at the end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))


@asynccontextmanager
async def _ended(serving: asyncio.Future[None]) -> AsyncGenerator[None]:
    """Leave with the server ended, whatever asked for it; a signal that it caught reaches this task as well."""
    task = asyncio.current_task()
    assert task is not None, "this runs in a task"
    try:
        yield
        await serving
        await asyncio.sleep(0)  # the signal that ended the server arrives here
    except asyncio.CancelledError:
        task.uncancel()
    finally:
        if not serving.done():
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving


async def _answers(service: Service, host: str, port: int, serving: asyncio.Future[None]) -> bool:
    """Whether /readyz says yes; False when the server ended before it did.

    It is asked when the database is ready: each time that it says no stands in the log as a request that failed.
    """
    deadline = time.monotonic() + READY_SECONDS_MAX
    while not serving.done():
        if (await service.readiness.ask()).cause is None and await _says_ready(host, port):
            return True
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"the service was not ready after {READY_SECONDS_MAX:.0f} s",
                allowed="another start, on a quieter machine",
            )
        await asyncio.sleep(POLL_SECONDS)
    return False


async def _says_ready(host: str, port: int) -> bool:
    with contextlib.suppress(OSError):
        reader, writer = await asyncio.open_connection(_near(host), port)
        writer.write(b"GET /readyz HTTP/1.0\r\n\r\n")
        status = (await reader.readline()).split()
        writer.close()
        return status[1:2] == [b"200"]
    return False


@contextmanager
def _announced(
    mine: Presence, settings: Settings, wanted: Wanted, screen: Screen, owner: OwnerToken
) -> Generator[None]:
    """Say where the service is, to everyone who may want to know; unsay it at the end."""
    addresses = mine.addresses()
    mine.write(settings.home)
    if wanted.ready_file is not None:
        write_private(wanted.ready_file, json.dumps(addresses) + "\n")
    if not _is_loopback(wanted.host):  # also where a machine reads the rest
        log.warning("there is no TLS: what goes to %s goes in the clear, tokens too; put a proxy in front", wanted.host)
    try:
        if screen.machine:
            # Output is often kept in logs, so that it has the token once and the file's name ever after.
            shown = {} if owner.made else {"token": None}
            screen.document(addresses | shown | {"token_file": str(token_file(settings.home))}, indent=None)
        else:
            sys.stdout.write(f"ready {mine.url}\n")
            sys.stdout.flush()
        for line in _welcome(mine, settings, wanted, owner):
            screen.tell(line)
        yield
    finally:
        if wanted.ready_file is not None:
            wanted.ready_file.unlink(missing_ok=True)


def _welcome(mine: Presence, settings: Settings, wanted: Wanted, owner: OwnerToken) -> Iterator[str]:
    if owner.made:
        yield f"  Explorer       {mine.url}/#token={owner.text}"
        yield f"  Token          {owner.text}"
        yield f"                 It opens everything, and lies in {token_file(settings.home)}."
        yield "                 `whence token create` makes others, for people and agents."
    else:
        yield f"  Explorer       {mine.url}/  (token in {token_file(settings.home)})"
    yield f"  GraphiQL       {mine.url}/graphql"
    if mine.browser:
        password = settings.home / "neo4j" / "password"
        yield f"  Neo4j Browser  {mine.browser}  (user neo4j, password in {password})"
    elif mine.embedded:
        yield "  Neo4j Browser  is not served: it needs a WHENCE_HOME whose path is plain ASCII"
    yield f"  Bolt           {mine.bolt}"
    whence, home = _typed(os.environ, settings.home)
    if wanted.demo:
        yield f"Ask it, in another terminal{home}:"
        yield f"  {whence} trace PEP-0241 --direction downstream --project {DEMO}   what took its place, step by step"
        yield f"  {whence} show PEP-0703 --project {DEMO}                           what retiring it would put at risk"
        yield f"  {whence} show PEP-0345 --project {DEMO} --as-of 2015-01-01        how it stood in 2015"
    yield f"Ctrl-C, or `{whence} down`{home if not wanted.demo else ''}, ends it."


def _typed(environment: Mapping[str, str], home: Path) -> tuple[str, str]:
    """How the command is called in another terminal, and what must be set there so that it finds this service."""
    whence = "uv run whence" if "UV_RUN_RECURSION_DEPTH" in environment else "whence"
    return whence, f" where WHENCE_HOME is {home.absolute()}, as here" if environment.get("WHENCE_HOME") else ""


async def _demo(settings: Settings, store: Store, screen: Screen) -> None:
    """Have the sample in its project; taken once, and left alone afterwards."""
    sample = files("api").joinpath("sample", "peps.jsonl").read_bytes().splitlines(keepends=True)
    last = json.loads(sample[-1])
    there = (await Service(store).events_at(DEMO, [last["seq"]])).get(last["seq"])
    if there is not None and there["hash"] == last["hash"]:
        screen.tell(f"The sample is there already: project {DEMO}.")
        return
    terms = Terms(DEMO, settings.actor, restore=True)
    with watched(screen, len(sample), lambda lines: lines) as progress:
        report = await import_journal(store, lambda: sample, terms, progress)
    if report.refused:
        first = report.refusals[0]
        screen.tell(
            f"The sample was not taken, since project {DEMO} holds something else "
            f"(line {first.line}: {first.error.message})."
        )
        return
    screen.tell(f"The sample is there: {report.taken:,} events in project {DEMO}.")


def _url(host: str, port: int) -> str:
    near = _near(host)
    return f"http://[{near}]:{port}" if ":" in near else f"http://{near}:{port}"


def _near(host: str) -> str:
    """The address at which this machine reaches what listens there: that of a server on all of them is none."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  looked up, not listened on


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
