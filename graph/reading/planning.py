"""The plan of a reading: who is asked, how much what it gives weighs, and by when it has to be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from graph.context import Format, items_for
from graph.errors import LimitError, ValidationError
from graph.knowledge import checked_key, checked_text
from graph.reading.provider import NAME_CHARS_MAX, Provider, Request
from graph.reading.providers import SOURCES_MAX
from graph.retrieval import TEXT_CHARS_MAX

SECONDS = 5.0  # for all providers, which are asked at the same time: as long as an agent's turn may wait
SECONDS_MIN, SECONDS_MAX = 0.05, 60.0


class Outcome(StrEnum):
    """What became of asking a provider."""

    ANSWERED = "answered"
    NOT_ASKED = "not asked"
    FAILED = "failed"
    TOO_SLOW = "too slow"


@dataclass(frozen=True, slots=True)
class Reading:
    """What is to be read.

    Attributes:
        project: Whose knowledge it is, and where the insight is left.
        goal: What for: 1 to 10,000 characters.
        budget: Tokens of ``graph.tokens.TOKENIZER`` that the block may take, 0 to 1,000,000.
        form: How it is written.
        seconds: Until when the providers must have answered, 0.05 to 60.
    """

    project: str
    goal: str
    budget: int = 1_200
    form: Format = Format.PROMPT
    seconds: float = SECONDS


@dataclass(slots=True)
class Report:
    """What became of one provider.

    Attributes:
        name: Its name.
        outcome: Whether it answered; of one that was too slow or failed, what it gave until then counts.
        pieces: How many it gave that could be taken.
        omitted: How many it left out, or gave and could not be taken.
        omissions: The first of them, as (key, reason).
        redacted: How many secrets and personal data of which kind were taken out of its pieces.
        reason: Why it was not asked or did not answer; None for one that answered.
    """

    name: str
    outcome: Outcome = Outcome.ANSWERED
    pieces: int = 0
    omitted: int = 0
    omissions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    redacted: Counter[str] = field(default_factory=Counter[str])
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """A provider that is asked, its weight (above 0, at most 1), and the report on it."""

    provider: Provider
    weight: float
    report: Report


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of whom; ``reports`` are on all providers, in their order."""

    request: Request
    asked: list[Planned]
    reports: list[Report]


def planned(reading: Reading, providers: Sequence[Provider]) -> Plan:
    """The plan of a reading.

    Raises:
        LimitError: more than 8 providers, or a larger budget than any reader has.
        ValidationError: a field of the reading or the name of a provider is not of its form, or two have the same.
    """
    checked_key(reading.project, "project")
    checked_text(reading.goal, "goal", chars_max=TEXT_CHARS_MAX)
    if not SECONDS_MIN <= reading.seconds <= SECONDS_MAX:
        allowed = f"{SECONDS_MIN} to {SECONDS_MAX:.0f}"
        raise ValidationError(f"seconds is {reading.seconds}", field="seconds", allowed=allowed)
    request = Request(reading.project, reading.goal, items_for(reading.budget))
    _check_names(providers)
    plan = Plan(request, [], [])
    for provider in providers:
        report = Report(provider.name)
        plan.reports.append(report)
        weight = _weight(provider, reading.goal, report)
        if weight > 0:
            plan.asked.append(Planned(provider, weight, report))
    return plan


def _weight(provider: Provider, goal: str, report: Report) -> float:
    try:
        weight = provider.intent_match(goal)
        fits = 0 <= weight <= 1
    except Exception as error:  # noqa: BLE001  whatever somebody else's provider does
        report.outcome, report.reason = Outcome.FAILED, f"intent_match: {type(error).__name__}"
        return 0.0
    if not fits:
        report.outcome, report.reason = Outcome.FAILED, f"intent_match is {weight}, not from 0 to 1"
        return 0.0
    if weight == 0:
        report.outcome, report.reason = Outcome.NOT_ASKED, "the goal is not its matter"
    return weight


def _check_names(providers: Sequence[Provider]) -> None:
    if len(providers) > SOURCES_MAX:
        raise LimitError(f"{len(providers)} providers", field="providers", allowed=f"at most {SOURCES_MAX}")
    seen: set[str] = set()
    for at, provider in enumerate(providers):
        name = checked_text(provider.name, f"providers[{at}].name", chars_max=NAME_CHARS_MAX)
        if name in seen:
            message = f"two providers are called {name!r}"
            raise ValidationError(message, field=f"providers[{at}].name", position=at, allowed="a name for each")
        seen.add(name)
