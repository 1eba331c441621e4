"""Every request to end becomes a KeyboardInterrupt, so that what is open is closed on the way out.

Without this a SIGTERM, or a terminal that is closed, would end the program at once and leave its Neo4j behind.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP", "SIGBREAK")  # not every system has each of them


def ends_as_interrupt(noted: Callable[[int], None] = lambda _number: None) -> None:
    """Let the signals that ask a program to end do what Ctrl-C does; only for the main thread.

    Ctrl-C works from then on also where a shell started the program in the background, with SIGINT ignored. What the
    caller of ``nohup`` had ignored stays ignored.

    Args:
        noted: Told the signal's number before it takes effect.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        noted(number)
        signal.raise_signal(signal.SIGINT)

    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in _NAMES:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
