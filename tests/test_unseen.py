"""Names of concepts with characters that cannot be seen: taken where a script or an emoji needs them, else refused."""

from __future__ import annotations

import asyncio
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_exchange import taken

from graph.concept import checked_name
from graph.concept_file import read
from graph.errors import ValidationError
from graph.ingestion.wording import PlainForm
from graph.service import Service
from graph.unseen import emoji_length, joins

PERSIAN = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"  # "I want": the non-joiner keeps the prefix apart
HINDI = "\u0915\u094d\u200d\u0937"  # the joiner asks for the half form
SINHALA = "\u0dc1\u0dca\u200d\u0dbb\u0dd3"
MONGOLIAN = "\u1820\u180b\u1828"
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
ROCKET = "\U0001f469\U0001f3fd\u200d\U0001f680"
HEART = "\u2764\ufe0f"
RAINBOW = "\U0001f3f3\ufe0f\u200d\U0001f308"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"

NAMES = (
    *(PERSIAN, f"{PERSIAN}-2", "\u06a9\u062a\u0627\u0628\u200c\u0647\u0627", HINDI, SINHALA, MONGOLIAN),
    *("\U0001f4cf-ma\u00dfe", FAMILY, f"a-{ROCKET}", HEART, RAINBOW, ENGLAND, "1\ufe0f\u20e3", "\U0001f1e9\U0001f1ea"),
    *("\U0001f44d\U0001f3fd", "\U0001f4cf\U0001f4cf", "caf\u00e9", "1.10", "\u8868", "a\u0301\u0323"),
)
NO_NAMES = {
    "na\u200cme": 2,
    "na\u200dme": 2,
    "\u200cname": 0,
    "name\u200d": 4,
    "\u8868\u200c\u8868": 1,
    "\u0645\u200c": 1,
    "\u200c\u0645": 0,
    "\u0627\u200c\u0645": 1,  # the letter before it joins nothing, so that it changes nothing
    "\u0645\u200c\u200c\u06cc": 1,
    "\u0645\u200d\u06cc": 1,
    "\U0001f4cf\u200d\U0001f4cf": 1,  # no emoji is made of these two
    f"{FAMILY}\u200d": 5,
    "\U0001f4cf\ufe0f": 1,  # it looks like that anyway
    "\u2764": 0,
    "a\ufe0f": 0,
    "a\ufe01": 1,
    "a\u034fb": 1,
    "a\u200bb": 1,
    "a\u2060b": 1,
    "a\u00adb": 1,
    "a\u3164b": 1,
    "a\uffa0": 1,
    "\u115f\u1160": 0,
    "a\u202eb": 1,
    "a\u200fb": 1,
    "a\U000e0101": 1,
    "a\U000e0061": 1,
    "\u8868\u180b": 1,
    "a--b": 2,
    "A": 0,
    "a b": 1,
}
"""By what is no name, where the first fault in it stands."""


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_script_and_of_emoji_are_taken_as_they_are(name: str) -> None:
    assert checked_name(name, "name") == unicodedata.normalize("NFC", name)
    data = f"---\nname: {name}\ntype: fact\n---\nIt holds.\n"
    assert read(data.encode()).name == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_makes_a_name_look_like_another_is_refused_where_it_stands(name: str) -> None:
    with pytest.raises(ValidationError, match="is no name") as refused:
        checked_name(name, "name")
    assert (refused.value.field, refused.value.position) == ("name", NO_NAMES[name])


@given(
    st.text(
        st.sampled_from("a1-\u0645\u06cc\u0915\u094d\U0001f469\U0001f680\u2764\u200c\u200d\ufe0f\u034f\u3164"),
        min_size=1,
    )
)
def test_two_names_never_differ_in_what_cannot_be_seen_alone_but_where_it_shows(text: str) -> None:
    """What is left out of a name was between letters that it keeps apart, behind a virama, or within an emoji."""
    try:
        checked_name(text, "name")
    except ValidationError:
        return
    at = 0
    while at < len(text):
        size = emoji_length(text, at) or 1
        assert size > 1 or text[at] not in "\ufe0f\u034f\u3164"
        assert size > 1 or text[at] not in "\u200c\u200d" or joins(text, at)
        at += size


def test_a_link_to_such_a_name_becomes_an_edge_when_it_comes(service: Service, loop: asyncio.Runner) -> None:
    def said(name: str, body: str) -> dict[str, Any]:
        return {"transition": "proposed", "key": name, "payload": {"concept": {"type": "fact", "body": body}}}

    names = (PERSIAN, ROCKET, HINDI)
    assert taken(loop, service, [said("a", " ".join(f"[[{name}]]" for name in names))]).refused == 0
    assert taken(loop, service, [said(name, "It holds.") for name in names]).refused == 0
    found = loop.run(service.relations("P", [("a", 1)]))[("a", 1)]
    assert {edge["to"][0] for edge in found} == set(names)


@pytest.mark.parametrize("text", [PERSIAN, HINDI, f"The {ROCKET} starts", f"{RAINBOW} is a flag"])
def test_a_claim_that_was_ingested_keeps_what_its_script_needs(text: str) -> None:
    assert PlainForm().normalize(f"  {text}\u200b ") == text
    assert PlainForm().normalize("pass\u200cword is \u200d\u200csafe") == "password is safe"
