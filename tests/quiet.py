"""What a piece of work costs on a quiet core, told on one that others share."""

from __future__ import annotations

import time
from collections.abc import Callable

COUNTED = 200_000
COUNTED_SECONDS = 0.006  # of a quiet core, to count so far
MORE = 20  # times at most, where none was within the bound yet


def slower() -> float:
    """How many times what a quiet core takes this one takes right now; 1 at least."""
    began = time.process_time()
    sum(1 for _ in range(COUNTED))
    return max(1.0, (time.process_time() - began) / COUNTED_SECONDS)


def cpu_seconds(
    work: Callable[[], object],
    bound: float,
    used: Callable[[], float] = time.process_time,
    times: int = 1,
    more: int = MORE,
) -> float:
    """Seconds of a quiet core's CPU that the work takes.

    How slow this core is, is looked at right before and behind each time. What others do only adds to what is used:
    the least of some times is taken, and of more where that is beyond the bound.

    Args:
        work: What is done; over and over, so it must be the same each time.
        bound: Seconds that it should stay below.
        used: Tells the seconds of CPU that the process which does it has used so far.
        times: How often it is done at least.
        more: How often it is done again at most; 0 for what may be remembered and cost less the second time.
    """
    taken = list[float]()
    while len(taken) < times or (min(taken) >= bound and len(taken) < times + more):
        before, began = slower(), used()
        work()
        spent = used() - began
        taken.append(spent / max(before, slower()))
    return min(taken)
