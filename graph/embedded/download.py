"""The way over the network for jars: jgo asks, several at a time, and what it wrote is nothing until its hash is right.

jgo brings the registry's address and honours the trust and the proxy of the user; it neither retries nor removes what
a broken transfer left, so that is done here.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

import requests
from jgo.maven import MavenContext, PythonResolver
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from graph.embedded.jars import Jar, Need, is_right
from graph.embedded.maven import Repository
from graph.errors import UnavailableError

PARALLEL = 8  # measured: 205 jars in about half a minute; more gained nothing
ATTEMPTS = 3  # a refused or torn transfer is often right at once the second time
SILENCE_SECONDS_MAX = 20  # without a byte for so long, a transfer is given up

log = logging.getLogger(__name__)


class _WrongContentError(Exception):
    """What arrived is not what the lock says."""


class _InterruptedError(Exception):
    """Another jar failed, or the user asked to stop."""


def download(
    missing: Sequence[Jar],
    cache: Path,
    arrived: Callable[[Jar], None],
    repository: Repository,
    need: Need,
    console: Console | None = None,
) -> None:
    """Fetch jars into the cache. The caller holds the cache's lock.

    Args:
        missing: What to fetch.
        cache: Where each goes, under its path in the repository.
        arrived: Told of each jar that lies in the cache, in this thread.
        repository: Where from.
        need: What they are wanted for.
        console: Where the progress bar goes; stderr by default, and nothing when that is no terminal.

    Raises:
        UnavailableError: a jar is not to be had; the message says which and why. What arrived before it stays.
    """
    console = console or Console(stderr=True)
    incoming = cache / ".incoming"  # ours alone while the lock is held; what lies there was torn by a kill
    shutil.rmtree(incoming, ignore_errors=True)
    size = sum(jar.size for jar in missing)
    log.info("fetching %d jars, %.0f MB", len(missing), size / 1e6)
    logging.getLogger("jgo").setLevel(logging.INFO)  # below that it writes addresses, which may carry a password
    stop = threading.Event()
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal)
    with bar, _variables(repository.environment), ThreadPoolExecutor(PARALLEL) as pool:
        task = bar.add_task(f"Fetching {need.name} (once)", total=size)

        def advance(count: int) -> None:
            if stop.is_set():
                raise _InterruptedError
            bar.advance(task, count)

        waiting = {
            pool.submit(_transfer, jar, incoming, cache, repository, need, advance, stop): jar for jar in missing
        }
        try:
            for each in as_completed(waiting):
                each.result()
                arrived(waiting[each])
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    shutil.rmtree(incoming, ignore_errors=True)


def _transfer(
    jar: Jar,
    incoming: Path,
    cache: Path,
    repository: Repository,
    need: Need,
    advance: Callable[[int], None],
    stop: threading.Event,
) -> None:
    """Fetch one jar, check it, and move it into the cache."""
    failure: Exception | None = None
    for attempt in range(ATTEMPTS):
        if stop.wait(attempt):
            raise _InterruptedError
        try:
            arrived = _ask(jar, incoming, repository, advance)
        except (requests.RequestException, OSError, RuntimeError, _WrongContentError) as caught:
            failure = caught
            continue
        target = cache / jar.path
        target.parent.mkdir(parents=True, exist_ok=True)
        arrived.replace(target)
        return
    raise UnavailableError(
        f"cannot fetch {jar.path.rpartition('/')[2]} for {need.name}: {_cause(failure)}",
        allowed="a way to a Maven repository (a mirror in ~/.m2/settings.xml and the usual proxy and certificate "
        f"variables are honoured), or {need.otherwise}; a retry goes on where this stopped",
    ) from failure


def _ask(jar: Jar, incoming: Path, repository: Repository, advance: Callable[[int], None]) -> Path:
    group, artifact, version, classifier = jar.coordinate
    (incoming / jar.path).unlink(missing_ok=True)  # of an attempt before; jgo would take it as the answer
    seen = 0

    @contextmanager
    def watch(_name: str, _size: int) -> Generator[Callable[[int], None]]:
        def update(count: int) -> None:
            nonlocal seen
            seen += count
            advance(count)

        yield update

    context = MavenContext(
        resolver=PythonResolver(progress_callback=watch),
        repo_cache=incoming,
        remote_repos={"central": repository.url} if repository.url else None,
        timeout=SILENCE_SECONDS_MAX,
    )
    try:
        arrived = context.project(group, artifact).at_version(version).artifact(classifier).resolve()
        _require_right(arrived, jar)
    except BaseException:
        if seen:
            advance(-seen)
        raise
    advance(jar.size - seen)
    return arrived


def _require_right(arrived: Path, jar: Jar) -> None:
    if not is_right(arrived, jar):
        raise _WrongContentError


def _cause(failure: Exception | None) -> str:
    """What went wrong, in words that carry no password: jgo's own message would show the mirror's address."""
    match failure:
        case _WrongContentError():
            return "what arrived has another sha256 than the lock says"
        case requests.exceptions.SSLError():
            return "the repository's certificate is not trusted here (SSL_CERT_FILE names the trusted ones)"
        case requests.Timeout():
            return f"the repository was silent for {SILENCE_SECONDS_MAX} seconds"
        case requests.ConnectionError():
            return "the repository cannot be reached"
        case RuntimeError():
            return "the repository answered, but did not give it"
        case _:
            return f"{type(failure).__name__}: {failure}"


@contextmanager
def _variables(wanted: Mapping[str, str]) -> Generator[None]:
    """Set variables for a while; the HTTP client reads its trust and its proxy from nowhere else."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
