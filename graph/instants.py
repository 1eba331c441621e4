"""Instants as ISO 8601 writes them, and nothing that only resembles them.

What the standard has is taken: calendar, week and ordinal dates, with or without separators but not mixed, a point or a
comma before a fraction of a second, and 24:00 as the end of a day. Leap seconds have no place in a journal.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

_DAY = timedelta(days=1)


def _form(dash: str, colon: str) -> re.Pattern[str]:
    day = rf"[0-9]{{2}}{dash}[0-9]{{2}}|W[0-9]{{2}}{dash}[1-7]|(?P<ordinal>[0-9]{{3}})"
    time = rf"[0-9]{{2}}(?:{colon}[0-9]{{2}}(?:{colon}[0-9]{{2}}(?:[.,][0-9]+)?)?)?"
    end_of_day = rf"24(?:{colon}00(?:{colon}00(?:[.,]0+)?)?)?"
    offset = rf"Z|(?!-00(?:{colon}00)?\Z)[+-][0-9]{{2}}(?:{colon}[0-5][0-9])?"
    return re.compile(rf"(?P<year>[0-9]{{4}}){dash}(?:{day})T(?:(?P<ended>{end_of_day})|{time})(?:{offset})")


_EXTENDED, _BASIC = _form("-", ":"), _form("", "")


def instant_in(text: str) -> datetime:
    """The instant that a text says, with the offset that it gives; what is finer than a microsecond is cut off.

    Raises:
        ValueError: the text is none in ISO 8601 with an offset, there is no such day or time, or it lies out of the
            years 1 to 9999.
        OverflowError: the same, by the end of a last day.
    """
    found = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if found is None:
        raise ValueError(text)
    if found["ordinal"]:
        text = f"{_of_year(int(found['year']), int(found['ordinal']))}{text[found.end('ordinal') :]}"
        text = text if found.re is _EXTENDED else text.replace("-", "", 2)
        found = found.re.fullmatch(text) or found
    if found["ended"]:
        begun = f"{text[: found.start('ended')]}00{text[found.start('ended') + 2 :]}"
        return datetime.fromisoformat(begun) + _DAY
    return datetime.fromisoformat(text)


def _of_year(year: int, day: int) -> date:
    found = date(year, 1, 1) + (day - 1) * _DAY
    if found.year != year:
        raise ValueError(day)
    return found
