"""The library that draws the explorer's graph: one jar, fetched once as Neo4j's jars are, and served out of it.

Nobody waits for it. Until it is there, and where it cannot be had, the explorer shows lists and tables alone.
"""

from __future__ import annotations

import logging
import threading
import zipfile
from importlib import resources
from pathlib import Path

from graph.embedded.jars import Jar, Need, fetch, is_right, read_lock
from graph.errors import KnowledgeError

_MEMBER = "META-INF/resources/webjars/cytoscape/{version}/dist/cytoscape.esm.min.mjs"
_NEED = Need("the explorer's pictures", "the explorer's tables, which show the same")

log = logging.getLogger("whence.explorer")


def locked() -> Jar:
    """The jar that this version of the explorer draws with."""
    (jar,) = read_lock(resources.files("api").joinpath("explorer", "cytoscape.lock").read_text("utf-8"))
    return jar


def fetched(cache: Path) -> None:
    """Have the jar in the cache.

    Args:
        cache: The folder that jars are kept under; made if missing.

    Raises:
        UnavailableError: it is neither here nor to be had.
    """
    fetch([locked()], cache / "jars", need=_NEED)


def fetch_meanwhile(cache: Path) -> None:
    """Have the jar fetched while others go on; that it cannot be had is logged."""

    def run() -> None:
        try:
            fetched(cache)
        except KnowledgeError as error:
            log.warning("the explorer shows tables alone: %s", error.sentence())
        except OSError as error:
            log.warning("the explorer shows tables alone: the cache cannot be written: %s", error.strerror)

    threading.Thread(target=run, name="whence-explorer-library", daemon=True).start()


class Library:
    """The module out of the jar, for a browser.

    Args:
        cache: The folder that jars are kept under.
    """

    def __init__(self, cache: Path) -> None:
        self._jar = locked()
        self._path = cache / "jars" / self._jar.path
        self._content: bytes | None = None

    @property
    def digest(self) -> str:
        """What its content is known by: another version has another one."""
        return self._jar.sha256[:16]

    def content(self) -> bytes | None:
        """The module; None while its jar is not there."""
        if self._content is None and is_right(self._path, self._jar):
            with zipfile.ZipFile(self._path) as jar:
                self._content = jar.read(_MEMBER.format(version=self._jar.coordinate[2]))
        return self._content
