"""The default gate and promotion: numbers that let a fact in, and what is confirmed at once (rules.md section 11)."""

from __future__ import annotations

from datetime import timedelta

from graph.ingestion.stages import Fact, Quality

QUALITY_MIN = 0.55
EXTRACTION_MIN = CONSISTENCY_MIN = 0.5
_EXTRACTED, _LONG, _RELATED, _EVIDENCED = 0.5, 0.2, 0.2, 0.1
_LONG_CHARS = 20  # a proposition that is longer says what it is about
_FRESH = ((timedelta(days=1), 1.0), (timedelta(days=7), 0.8), (timedelta(days=30), 0.5))
_OLD = 0.3


class Weighted:
    """Weighs how a fact was extracted, whether it holds together, and how fresh it is; ``Gate`` by its form."""

    def judge(self, fact: Fact, age: timedelta) -> tuple[Quality, str | None]:
        """What is below 0.55 in all, or below 0.5 in extraction or consistency, does not pass."""
        extraction = _EXTRACTED + _LONG * (len(fact.proposition) > _LONG_CHARS)
        extraction = round(extraction + _RELATED * bool(fact.targets) + _EVIDENCED * bool(fact.passage.raw), 2)
        freshness = next((fresh for limit, fresh in _FRESH if age < limit), _OLD)
        quality = Quality(extraction, fact.validity.consistency, freshness)
        return quality, _why_not(fact, quality)


def _why_not(fact: Fact, quality: Quality) -> str | None:
    if quality.consistency < CONSISTENCY_MIN:
        return "; ".join(fact.validity.doubts) or f"consistency below {CONSISTENCY_MIN}"
    if quality.extraction < EXTRACTION_MIN:
        return f"extraction below {EXTRACTION_MIN}"
    return f"quality below {QUALITY_MIN}" if quality.final < QUALITY_MIN else None


class Plain:
    """Confirms what was said without any doubt; what a model worded, nobody has said. ``Promotion`` by its form."""

    def promotes(self, fact: Fact, quality: Quality) -> bool:
        """Whether the words are the text's own and no doubt is about them."""
        return not fact.passage.worded and quality.consistency == 1.0
