"""A folder of concept files as a provider: read where it lies, each time anew, and nothing of it is stored."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from graph.concept_file import ConceptFile, concept_in, read
from graph.concept_folder import content, files_in, first_instant
from graph.errors import ConceptFileError, ValidationError
from graph.knowledge import checked_instant
from graph.reading.matching import best
from graph.reading.provider import Basis, Omitted, Piece, Request
from graph.retrieval import OMISSIONS_MAX, Retrieval

FILES_MAX = 2_000  # looked at in one reading; a larger folder is worth importing
BYTES_MAX = 8 * 1024 * 1024  # of them together: more takes longer than who asks will wait
INTENT = 0.8  # what nobody has recorded stands behind what the project holds
_THREADS = ThreadPoolExecutor(4, "whence-folder")  # of its own, since a file system that is away holds threads for ever


@dataclass(slots=True)
class _Looked:
    """The files of a folder, by path, as they are, and what was left out, as (path, reason)."""

    paths: list[str] = field(default_factory=list[str])
    contents: list[bytes] = field(default_factory=list[bytes])
    omitted: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class FolderProvider:
    """Reads the markdown files below a folder; ``Provider`` by its form.

    Args:
        name: By which it is told from the others.
        location: The folder's path.
        retrieval: Not asked.
    """

    def __init__(self, name: str, location: str, retrieval: Retrieval | None = None) -> None:
        del retrieval
        self.name = name
        self._folder = Path(location).expanduser().absolute()

    def intent_match(self, goal: str) -> float:
        """Notes may be about anything."""
        del goal
        return INTENT

    async def stream(self, request: Request) -> AsyncIterator[Piece | Omitted | Basis]:
        """The concepts whose files serve the goal by their words.

        Raises:
            ValidationError: there is no such folder.
        """
        stopped = threading.Event()
        try:
            reading = asyncio.get_running_loop().run_in_executor(_THREADS, self._read, request, stopped)
            pieces, omitted = await reading
        finally:
            stopped.set()  # a thread cannot be cancelled
        for piece in pieces:
            yield piece
        yield omitted

    def _read(self, request: Request, stopped: threading.Event) -> tuple[list[Piece], Omitted]:
        if not self._folder.is_dir():
            raise ValidationError(f"{self._folder} is no folder", field="location", allowed="a folder that can be read")
        looked = self._looked(stopped)
        texts = [data.decode(errors="replace") for data in looked.contents]
        pieces: list[Piece] = []
        for at, score in [] if stopped.is_set() else best(request.goal, texts, request.limit):
            path = looked.paths[at]
            try:
                pieces.append(_piece(read(looked.contents[at]), (self._folder / path).as_uri(), score))
            except ConceptFileError as error:
                # The message may quote the file, cut somewhere within a secret.
                looked.omitted.append((path, f"{error.kind} in line {error.line}"))
        return pieces, Omitted(len(looked.omitted), tuple(looked.omitted[:OMISSIONS_MAX]))

    def _looked(self, stopped: threading.Event) -> _Looked:
        looked, size = _Looked(), 0
        for path in files_in(self._folder, stopped):
            if stopped.is_set():
                break
            name = path.relative_to(self._folder).as_posix()
            if len(looked.paths) == FILES_MAX or size > BYTES_MAX:
                looked.omitted.append((name, f"and all behind it: {FILES_MAX:,} files, {BYTES_MAX:,} bytes are read"))
                break
            if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._folder)):
                looked.omitted.append((name, "a link out of the folder is not followed"))
                continue
            try:
                data = content(path)
            except ConceptFileError as error:
                looked.omitted.append((name, f"{error.kind}: {error.message}"))
                continue
            size += len(data)
            looked.paths.append(name)
            looked.contents.append(data)
        return looked


def _piece(file: ConceptFile, source: str, score: float) -> Piece:
    concept = concept_in(file, source)
    created_at = None if file.created_at is None else checked_instant(first_instant(file.created_at), "created_at")
    against = len(file.contradictions)
    return Piece(
        key=concept.name,
        text=concept.claim,
        score=score,
        source=source,
        source_type="file",
        valid_from=created_at,
        links=concept.links,
        cautions=(f"disputed: the file holds {against} contradicting",) if against else (),
    )
