"""A lock between processes that the system itself releases when its holder dies, however it dies."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> bool:
        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # a byte past the text, which others must still be able to read
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class FileLock:
    """An exclusive lock on a path; two of them on one path exclude each other within a process, too.

    The file stays after release: to remove it would let two holders lock two files of one name.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def take(self, *, wait_seconds: float = 0.0) -> bool:
        """Take the lock, waiting up to that many seconds for it; False if another holds it."""
        assert self._descriptor is None, "the lock is already held by this object"
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + wait_seconds
        try:
            while not _take(descriptor):
                if time.monotonic() >= deadline:
                    os.close(descriptor)
                    return False
                time.sleep(0.1)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def note(self, text: str) -> None:
        """Write who holds the lock into the file, for others to read."""
        assert self._descriptor is not None, "only the holder may leave a note"
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        os.write(self._descriptor, text.encode())

    def release(self) -> None:
        """Let the lock go; without effect when it is not held."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)  # closing releases it, on every system
            self._descriptor = None
