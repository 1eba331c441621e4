"""The defaults for how a claim is worded and what is to be thought of it: normalizer, summarizer and validator."""

from __future__ import annotations

import re
import unicodedata

from graph.ingestion.orders import gives_orders
from graph.ingestion.stages import Validity
from graph.ingestion.talk import is_talk
from graph.unseen import joins
from graph.words import words

SUMMARY_CHARS_MAX = 200
CLAIM_CHARS_MAX = 2_000  # what is longer says many things, which a distiller should have told apart
_WORDS_MIN = 2  # that say something
_LETTERS_MIN = 4  # of scripts that put no blanks between words
_MARKS = re.compile(r"(\*\*|__|~~)(?=\S)(.{1,400}?)(?<=\S)\1")  # linear in any text
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_HEDGED = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|might|could be|not sure|i think|i guess|i believe|apparently"
    r"|allegedly|supposedly|rumou?r)\b|[也或]许|可能",
    re.IGNORECASE,
)
_CLOSING = "\"')] \u201d\u2019"
_ASKING = ("?", "\uff1f", "\u061f")


class PlainForm:
    """NFC, one blank between words, no emphasis and nothing that cannot be seen; ``Normalizer`` by its form."""

    def normalize(self, claim: str) -> str:
        """The claim in plain form."""
        text = unicodedata.normalize("NFC", claim)
        seen = _HIDDEN.sub(lambda found: found.group() if joins(text, found.start()) else "", text)
        return " ".join(_MARKS.sub(r"\2", seen).split())


class Beginning:
    """A claim's beginning, cut between words; ``Summarizer`` by its form."""

    def summarize(self, proposition: str) -> str:
        """At most 200 characters."""
        if len(proposition) <= SUMMARY_CHARS_MAX:
            return proposition
        cut = proposition[: SUMMARY_CHARS_MAX - 1]
        at = cut.rfind(" ")
        return (cut[:at] if at > SUMMARY_CHARS_MAX // 2 else cut).rstrip(" ,;:") + "…"


class Statements:
    """Tells statements from questions, scraps, talk and doubt; ``Validator`` by its form."""

    def validate(self, proposition: str) -> Validity:
        """What states nothing has no consistency; what is hedged, or tells a reader what to do, has less."""
        if why := _states_nothing(proposition):
            return Validity(0.0, (why,))
        doubts = tuple(
            doubt
            for doubted, doubt in (
                (_HEDGED.search(proposition), "said with doubt"),
                (gives_orders(proposition), "reads like an instruction to a model"),
            )
            if doubted
        )
        return Validity(0.7 if doubts else 1.0, doubts)


def _states_nothing(proposition: str) -> str | None:
    if len(proposition) > CLAIM_CHARS_MAX:
        return f"longer than {CLAIM_CHARS_MAX} characters"
    if proposition.rstrip(_CLOSING).endswith(_ASKING):
        return "a question"
    said = words(proposition)
    if is_talk(proposition):
        return "nothing but talk"
    if not said:
        return "no words"
    if len(said) < _WORDS_MIN and len(_UNSPACED.findall(proposition)) < _LETTERS_MIN:
        return "too short to say anything"
    return None
