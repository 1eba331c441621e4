"""How much of a disk must stay free: Neo4j breaks off in the middle of a commit when there is nothing left.

After that it refuses reads as well, does not heal when room is made, and does not start on a full disk. So appends are
refused in time, while reading goes on, and a start waits for room.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from graph.errors import UnavailableError

FLOOR_BYTES = 500_000_000  # appends are refused below it, or below this share of a disk on which that is less
FLOOR_SHARE = 0.05
START_BYTES = 200_000_000  # a young store's files are made at full size at the first start; a start without hangs
START_SHARE = 0.10


def floor_bytes(total: int) -> int:
    """The least that must be free for appends, on a disk of so many bytes; never less than a start takes."""
    return max(start_bytes(total), min(FLOOR_BYTES, int(total * FLOOR_SHARE)))


def start_bytes(total: int) -> int:
    """The least that must be free for a start, on a disk of so many bytes."""
    return min(START_BYTES, int(total * START_SHARE))


def require_room_for_start(folder: Path) -> None:
    """Find out before a start, which would hang.

    Raises:
        UnavailableError: the disk under the folder is almost full, or the folder is gone.
    """
    total, free = disk_of(folder)
    _require(folder, free, start_bytes(total), "a start of Neo4j wants more")


def require_room_for_appends(folder: Path) -> None:
    """Find out before a write; takes microseconds.

    Raises:
        UnavailableError: less than the floor is free on the disk under the folder, or the folder is gone.
    """
    total, free = disk_of(folder)
    _require(folder, free, floor_bytes(total), "nothing can be appended; reading goes on")


def disk_of(folder: Path) -> tuple[int, int]:
    """The bytes of the disk under a folder, and those that are free."""
    try:
        disk = shutil.disk_usage(folder)
    except OSError as error:
        raise UnavailableError(
            f"the folder {folder} cannot be looked at", field="WHENCE_HOME", allowed="a folder that is there"
        ) from error
    return disk.total, disk.free


def _require(folder: Path, free: int, least: int, so: str) -> None:
    if free < least:
        raise UnavailableError(
            f"the disk of {folder} has {free / 1e6:.0f} MB free: {so}",
            field="WHENCE_HOME",
            allowed=f"{least / 1e6:.0f} MB free or more",
        )
