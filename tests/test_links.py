"""Which links a text holds, form by form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quiet import cpu_seconds

from graph.links import LEVELS_MAX, Link, link_targets, links_in

FORMS = [
    ("[[a]]", [Link("a")]),
    ("[[ a ]]", [Link("a")]),
    ("[[a|the a]]", [Link("a", alias="the a")]),
    ("| [[a\\|the a]] | x |", [Link("a", alias="the a")]),
    ("[[a|b|c]]", [Link("a", alias="b|c")]),
    ("[[a|]]", [Link("a")]),
    ("[[a#Part 2]]", [Link("a", heading="Part 2")]),
    ("[[a # Part 2 | b ]]", [Link("a", heading="Part 2", alias="b")]),
    ("[[a#One#Two]]", [Link("a", heading="One#Two")]),
    ("[[a#^b1]]", [Link("a", block="b1")]),
    ("[[#Later]]", [Link(None, heading="Later")]),
    ("[[#^b1]]", [Link(None, block="b1")]),
    ("[[a#]]", [Link("a")]),
    ("![[a]]", [Link("a", embed=True)]),
    ("![[a#Part|300]]", [Link("a", heading="Part", alias="300", embed=True)]),
    ("\\![[a]]", [Link("a")]),
    ("!x [[a]]", [Link("a")]),
    ("[[[a]]]", [Link("a")]),
    ("[[open [[a]]", [Link("a")]),
    ("[[a]][[b]] [[a]]", [Link("a"), Link("b"), Link("a")]),
    ("*[[a]]* **[[b]]**", [Link("a"), Link("b")]),
    ("# Heading [[a]]\n\n- item [[b]]\n  1. [[c]]\n\n> quoted [[d]]", [Link("a"), Link("b"), Link("c"), Link("d")]),
    ("Title [[a]]\n---\n\n***", [Link("a")]),
    ("[x [[a]] y](b.md) [c](<[[d]]>)", [Link("a"), Link("d")]),
    ("<div>[[a]]</div>\n\n<!-- [[b]] -->", [Link("a"), Link("b")]),
    ("[ref]: x '[[a]]'", [Link("a")]),
    ("[[a `b` c]]", [Link("a `b` c")]),
    ("`[[a]]` [[b]]", [Link("b")]),
    ("`` [[a]] ` [[b]] `` [[c]]", [Link("c")]),
    ("a ` b [[c]]", [Link("c")]),
    ("\\`[[a]]\\`", [Link("a")]),
    ("[[サイズ表|表]] [[gro\u0308ße]]", [Link("サイズ表", alias="表"), Link("größe")]),
    ("a\t[[b]]", [Link("b")]),
]
NONE = [
    "",
    "[[]]",
    "[[ ]]",
    "[[|a]]",
    "[[#]]",
    "[[#^]]",
    "[[a]",
    "[a]]",
    "[[a] ]",
    "[[two\nlines]]",
    "[[a|two\nlines]]",
    "\\[[a]]",
    "\\[\\[a\\]\\]",
    "[[a\\]]",
    "[a](b.md)",
    "`[[a]]`",
    "`two\n[[a]]\nlines`",
    "[[a `b]]` c",
    "```\n[[a]]\n```",
    "```markdown\n[[a]]",
    "~~~\n[[a]]\n```\n[[b]]\n~~~",
    "````\n```\n[[a]]\n```\n[[b]]\n````",
    "- item\n\n  ```\n  [[a]]\n  ```",
    "> ```\n> [[a]]\n> ```",
    "    [[a]]",
    "\t[[a]]",
    "para\n\n    [[a]]\n\n    [[b]]",
]


@pytest.mark.parametrize(("body", "links"), FORMS)
def test_a_link_is_read(body: str, links: list[Link]) -> None:
    assert links_in(body) == links


@pytest.mark.parametrize("body", NONE)
def test_what_is_no_link_is_none(body: str) -> None:
    assert links_in(body) == []


def test_a_fence_ends_and_links_count_again() -> None:
    assert link_targets("```\n[[a]]\n```\n[[b]]\n\n    [[c]]\n\n[[d]]") == ["b", "d"]


def test_targets_are_distinct_and_the_note_itself_is_none() -> None:
    assert link_targets("[[b]] [[a|x]] [[#Here]] [[b#Part]] ![[a]]") == ["b", "a"]


def test_what_lies_deeper_than_a_person_quotes_is_not_read() -> None:
    assert link_targets("> " * 90 + "[[a]]") == ["a"]
    assert link_targets("> " * (LEVELS_MAX + 10) + "[[a]]") == []


@pytest.mark.parametrize("piece", ["[[", "[[a", "]]", "![[", "[[`", "`", "\\", "[[a|", "> ", "- ", "[[a]]", "[[[]"])
def test_a_hostile_text_takes_time_in_proportion(piece: str) -> None:
    text = "[[x]] " + piece * (16_000 // len(piece))
    assert cpu_seconds(lambda: links_in(text), 2.0) < 2.0


@given(st.lists(st.sampled_from([*"[]|#^!`\\\n ", "a", "b", "```", "> ", "    "])).map("".join))
def test_any_text_is_read_and_every_link_stands_in_it(text: str) -> None:
    for link in links_in(text):
        assert link.target is None or link.target in text
        assert link.target or link.heading or link.block
