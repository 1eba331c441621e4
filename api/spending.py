"""How fast a token may spend: a unit for each request, and one more for each 10 kB that the database sent for it.

So a batch under many aliases, or one large walk, costs what it takes, and not what it looks like. A stream pays as it
goes, for what it is sent as well: much of that was read once for all who follow. A token that has spent more than it
had is refused, or its streams wait, until it has earned that back; ten seconds' worth may be saved up. Each process
counts for itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from cachetools import LRUCache

from graph.errors import RateError
from graph.scope import Scope

RATE = 5_000  # units a second of a token that says nothing else: more than one process answers
SAVED_SECONDS = 10
UNIT_BYTES = 10_000
PURSES_MAX = 10_000  # tokens whose spending is remembered; who was not seen for the longest begins anew


@dataclass(slots=True)
class _Purse:
    units: float
    at: float


class Spending:
    """What tokens have left.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._purses: LRUCache[str, _Purse] = LRUCache(PURSES_MAX)
        self._clock = clock

    def require(self, scope: Scope) -> None:
        """Take the unit of a request, where its caller may ask.

        Raises:
            RateError: it has spent all it had; says when to come again.
        """
        if (spent := self.spent(scope)) is not None:
            raise spent
        if scope.rate is not None:
            self._filled(scope, scope.rate).units -= 1

    def spent(self, scope: Scope) -> RateError | None:
        """What is said to a caller who has to wait; None to one who has not."""
        if scope.rate is None or (units := self._filled(scope, scope.rate).units) >= 1:
            return None
        return RateError(
            "the token spends faster than it may",
            allowed=f"{scope.rate:,} units a second: one for a request, and one for each 10 kB that it reads",
            retry_after=math.ceil((1 - units) / scope.rate),
        )

    def spend(self, scope: Scope, bytes_moved: int) -> None:
        """Take what a request has cost beside its unit, as soon as it is known."""
        if scope.rate is not None:
            self._filled(scope, scope.rate).units -= bytes_moved / UNIT_BYTES

    def _filled(self, scope: Scope, rate: int) -> _Purse:
        now = self._clock()
        purse = self._purses.get(scope.id)
        if purse is None:
            purse = self._purses[scope.id] = _Purse(float(rate * SAVED_SECONDS), now)
        purse.units = min(float(rate * SAVED_SECONDS), purse.units + rate * (now - purse.at))
        purse.at = now
        return purse
