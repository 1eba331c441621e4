"""The explorer: a page for people at ``/``, made of the files beside this one, which asks the public GraphQL API alone.

Everything comes from here and nothing from elsewhere, and the browser is told to hold the page to that. The files of
one version stand under its digest, so they are kept for ever and never mixed with those of another.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.drawing import Library

PAGE_PATH = "/"
FILES_PATH = "/explorer/"
_PAGE = "index.html"
_LIBRARY = "cytoscape.mjs"
_MEDIA = {".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml"}
_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_SAFETY = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_LASTING = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it is sent: its bytes, the same packed, its media type and its tag."""

    content: bytes
    packed: bytes
    media: str
    tag: str


def _file(content: bytes, media: str) -> _File:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, gzip.compress(content, 6, mtime=0), media, tag)


@cache
def _files() -> Mapping[str, _File]:
    """The page's scripts, styles and pictures by name."""
    folder = files("api") / "explorer"
    named = {each.name: each for each in folder.iterdir() if Path(each.name).suffix in _MEDIA}
    return {name: _file(each.read_bytes(), _MEDIA[Path(name).suffix]) for name, each in sorted(named.items())}


@cache
def _digest() -> str:
    """What this version of the files is known by."""
    return hashlib.sha256("".join(file.tag for file in _files().values()).encode()).hexdigest()[:16]


def _preloads() -> str:
    """Says which scripts there are, so that a browser does not learn of each from the one before."""
    scripts = [name for name in _files() if name.endswith(".js")]
    return "\n".join(f'<link rel="modulepreload" href="@files@/{name}">' for name in scripts)


class Explorer:
    """The routes of the page.

    Args:
        cache: The folder that the jar of the drawing library is kept under.
    """

    def __init__(self, cache: Path) -> None:
        self._library = Library(cache)
        self._pages: dict[str, _File] = {}

    def routes(self) -> list[Route]:
        """Where a browser finds the page, its files and the library."""
        return [
            Route(PAGE_PATH, self._page),
            Route(f"{FILES_PATH}{{digest}}/{_LIBRARY}", self._drawing),
            Route(f"{FILES_PATH}{{digest}}/{{name}}", self._static),
        ]

    async def _page(self, request: Request) -> Response:
        library = f"{FILES_PATH}{self._library.digest}/{_LIBRARY}" if self._library.content() else ""
        if library not in self._pages:
            page = (files("api") / "explorer" / _PAGE).read_text("utf-8")
            made = page.replace("@modules@", _preloads()).replace("@files@", f"{FILES_PATH}{_digest()}")
            made = made.replace("@library@", library)
            self._pages[library] = _file(made.encode(), "text/html")
        return _sent(request, self._pages[library], "no-cache")

    async def _static(self, request: Request) -> Response:
        file = _files().get(request.path_params["name"])
        known = file is not None and request.path_params["digest"] == _digest()
        return _sent(request, file, _LASTING) if file is not None and known else _missing()

    async def _drawing(self, request: Request) -> Response:
        content = self._library.content()
        if content is None or request.path_params["digest"] != self._library.digest:
            return _missing()
        return _sent(request, _packed_library(content), _LASTING)


@cache
def _packed_library(content: bytes) -> _File:
    return _file(content, _MEDIA[".mjs"])


def _missing() -> Response:
    """For a page of another version that is still open: it says so itself."""
    return Response("there is no such file in this version; load the page again\n", 404, _SAFETY, "text/plain")


def _sent(request: Request, file: _File, keep: str) -> Response:
    """The file, packed for those who take it so, or the word that theirs is still right."""
    headers = {"cache-control": keep, "etag": file.tag, "vary": "accept-encoding", **_SAFETY}
    if file.tag in (tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")):
        return Response(None, 304, headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, 200, headers | {"content-encoding": "gzip"}, file.media)
    return Response(file.content, 200, headers, file.media)
