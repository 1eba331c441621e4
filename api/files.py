"""Files as the command takes and gives them: lines that can be read twice, and files that are whole or not there."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from graph.errors import ValidationError
from graph.exchange import lines_of

_GZIP = b"\x1f\x8b"
_CHUNK_BYTES = 64 * 1024
_READABLE = "a file that can be read, or - for standard input"
_WRITABLE = "a file that can be written, or - for standard output"


class Source:
    """A file of lines, plain or packed by gzip, that can be read from its start as often as is asked for.

    Attributes:
        size: Of the file as it lies there, in bytes.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self.size = file.seek(0, os.SEEK_END)

    @property
    def position(self) -> int:
        """How far into the file the reading is, in bytes."""
        return self._file.tell()

    def starts(self, with_: bytes) -> bool:
        """Whether the content begins with these bytes."""
        return next(self.chunks(), b"").startswith(with_)

    def chunks(self) -> Iterator[bytes]:
        """The content from the start, in pieces of at most 64 KiB.

        Raises:
            ValidationError: the file cannot be read to its end.
        """
        with self._unpacked() as unpacked:
            while chunk := unpacked.read(_CHUNK_BYTES):
                yield chunk

    @contextmanager
    def _unpacked(self) -> Generator[BinaryIO]:
        self._file.seek(0)
        packed = self._file.read(len(_GZIP)) == _GZIP
        self._file.seek(0)
        try:
            yield cast("BinaryIO", gzip.GzipFile(fileobj=self._file)) if packed else self._file
        except (OSError, EOFError, zlib.error) as error:
            raise ValidationError(
                f"{self._name} cannot be read to its end: {error}",
                field="FILE",
                allowed="a whole file, plain or packed by gzip",
            ) from error

    def lines(self) -> Iterator[bytes]:
        """The lines from the start. Of one that is too long to be an event, its start alone.

        Raises:
            ValidationError: the file cannot be read to its end.
        """
        with self._unpacked() as unpacked:
            yield from lines_of(unpacked)


@contextmanager
def source(name: str) -> Generator[Source]:
    """Open a file of lines; ``-`` is standard input. What can be read only once is copied to a temporary file first.

    Raises:
        ValidationError: it cannot be opened.
    """
    try:
        given = sys.stdin.buffer if name == "-" else Path(name).open("rb")  # noqa: SIM115  closed below
    except (OSError, ValueError) as error:
        raise _unusable(name, error, _READABLE) from error
    with given, tempfile.TemporaryFile() as spool:
        if name != "-" and Path(name).is_file():
            yield Source(cast("BinaryIO", given), name)
            return
        shutil.copyfileobj(given, spool)
        yield Source(cast("BinaryIO", spool), "standard input" if name == "-" else name)


@contextmanager
def target(name: str) -> Generator[BinaryIO]:
    """Open what is to be written; ``-`` is standard output.

    A file appears under its name when all of it is there; until then, and when something fails, what was there
    before stays. A device or a pipe is written to as it is.

    Raises:
        ValidationError: it cannot be written.
    """
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        real = Path(name).resolve()
        special = real.exists() and not real.is_file()
        part = real if special else real.with_name(f".{real.name}.{os.getpid()}.part")
        file = part.open("wb" if special else "xb")
    except (OSError, ValueError) as error:
        raise _unusable(name, error, _WRITABLE) from error
    try:
        with file:
            yield file
            file.flush()
            if not special:
                os.fsync(file.fileno())
        part.replace(real)
    except OSError as error:
        raise _unusable(name, error, _WRITABLE) from error
    finally:
        if not special:
            part.unlink(missing_ok=True)


def _unusable(name: str, error: Exception, allowed: str) -> ValidationError:
    cause = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ValidationError(f"{name}: {cause}", field="FILE", allowed=allowed)
