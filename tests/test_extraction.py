"""What a model answers about conversations: what is kept of it, what is dropped, and when nothing is learned."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from answering import Script, answering

from graph.concept import Concept
from graph.errors import KnowledgeError, UnavailableError, ValidationError
from graph.ingestion.chat import ANSWER_BYTES_MAX, Chat, ChatChoice, Cost
from graph.ingestion.extractor import (
    CONCEPTS_MAX,
    Extracted,
    Extraction,
    Extractor,
    ModelConsolidator,
    ModelDistiller,
    listed,
    prompt,
)

GOOD = {"name": "late-orders", "description": "When orders are late", "type": "policy", "body": "See [[refunds]]."}


def asked(script: Script, work: Callable[[Chat], Any], *, seconds: float = 20.0) -> Any:
    async def run() -> Any:
        with answering(script) as base:
            chat = Chat(ChatChoice(base, "model-1", "key-1"), seconds)
            try:
                return await work(chat)
            finally:
                await chat.close()

    return asyncio.run(run())


def extracted(*answers: str | int | bytes, **more: Any) -> Extraction:
    return asked(Script(list(answers), **more), lambda chat: Extractor(chat).extract("User: it is late"))


def test_a_good_answer_is_kept_with_what_it_cost() -> None:
    script = Script([json.dumps([GOOD])])
    found = asked(script, lambda chat: Extractor(chat).extract("User: it is late"))
    assert found == Extraction([Extracted(**GOOD)], Counter(), Cost(100, 60, 20))
    said = script.asked[0]
    assert (said["model"], said["temperature"], script.keys) == ("model-1", 0, ["Bearer key-1"])
    assert [message["role"] for message in said["messages"]] == ["system", "user"]
    assert said["messages"][0]["content"] == prompt()


def test_a_prompt_of_ones_own_replaces_the_default_whole() -> None:
    script = Script(["[]"])
    found = asked(script, lambda chat: Extractor(chat, "Only birds.", ["bird"]).extract("x"))
    assert found.concepts == []
    assert script.asked[0]["messages"][0]["content"] == "Only birds."


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "  \n```json\n{}```\n"])
def test_a_fence_around_the_answer_is_left_out(fence: str) -> None:
    assert extracted(fence.replace("{}", json.dumps([GOOD]))).concepts == [Extracted(**GOOD)]


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("text", "schema"),
        ({}, "schema"),
        ({**GOOD, "body": 7}, "schema"),
        ({**GOOD, "body": " "}, "schema"),
        ({**GOOD, "name": "Not A Slug"}, "schema"),
        ({**GOOD, "body": "a\u0000b"}, "schema"),
        ({**GOOD, "confidence": 1.0}, "unknown_key"),
        ({**GOOD, "provenance": "policy", "type": 3}, "unknown_key"),
        ({**GOOD, "sources": ["me"]}, "unknown_key"),
        ({**GOOD, "type": "rumour"}, "bad_type"),
        ({**GOOD, "name": "a" * 81}, "oversized"),
        ({**GOOD, "description": "a" * 301}, "oversized"),
        ({**GOOD, "body": "a" * 2_001}, "oversized"),
    ],
)
def test_what_should_not_be_there_is_dropped_whole_and_counted(item: object, why: str) -> None:
    found = extracted(json.dumps([item, GOOD]))
    assert (found.concepts, found.dropped) == ([Extracted(**GOOD)], {why: 1})


def test_duplicates_and_what_is_too_many_are_dropped() -> None:
    many = [{**GOOD, "name": f"n{at}"} for at in range(CONCEPTS_MAX + 2)]
    found = extracted(json.dumps([GOOD, {**GOOD, "body": "see  [[REFUNDS]]."}, *many]))
    assert len(found.concepts) == CONCEPTS_MAX
    assert found.dropped == {"duplicate": 1, "capped": 3}


@pytest.mark.parametrize(
    "bad",
    ["Here you are: []", '{"name": "x"}', "[", "null", "", "[" * 100_000, '[{"name": "a"}] and more', json.dumps(GOOD)],
)
def test_an_answer_that_is_no_list_is_asked_for_again_and_then_reported(bad: str) -> None:
    found = extracted(bad, json.dumps([GOOD]))
    assert (found.concepts, found.cost) == ([Extracted(**GOOD)], Cost(200, 120, 40))
    with pytest.raises(UnavailableError):
        extracted(bad)


def test_an_answer_that_was_cut_off_is_none_even_if_it_can_be_read() -> None:
    with pytest.raises(UnavailableError):
        extracted(json.dumps([GOOD]), finish="length")


@pytest.mark.parametrize(
    "body", [b"<html>", b"{}", b'{"choices": []}', b'{"choices": [{"message": {"content": 7}}]}', b"[]", b"\xff"]
)
def test_an_answer_of_another_form_is_a_model_that_cannot_be_had(body: bytes) -> None:
    with pytest.raises(UnavailableError):
        extracted(body)


def test_an_enormous_answer_is_not_read_to_its_end() -> None:
    with pytest.raises(UnavailableError, match="too large"):
        extracted(b" " * (ANSWER_BYTES_MAX + 1))


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(status: int) -> None:
    assert extracted(status, json.dumps([GOOD])).concepts == [Extracted(**GOOD)]
    with pytest.raises(UnavailableError):
        extracted(status)


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_told_at_once(status: int) -> None:
    script = Script([status])
    with pytest.raises(ValidationError):
        asked(script, lambda chat: Extractor(chat).extract("x"))
    assert len(script.asked) == 1


def test_a_slow_endpoint_costs_no_more_than_its_deadline() -> None:
    began = time.monotonic()
    with pytest.raises(UnavailableError, match="in time"):
        asked(Script(["[]"], pause=3.0), lambda chat: Extractor(chat).extract("x"), seconds=0.5)
    assert time.monotonic() - began < 6


@pytest.mark.parametrize(
    ("choice", "field"),
    [(ChatChoice("http://x", ""), "WHENCE_CHAT_MODEL"), (ChatChoice("ftp://x", "m"), "WHENCE_CHAT")],
)
def test_a_choice_that_cannot_be_asked_is_refused(choice: ChatChoice, field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Chat(choice)
    assert refused.value.field == field


def test_nobody_listens_at_the_address() -> None:
    with pytest.raises(KnowledgeError) as refused:
        asyncio.run(Chat(ChatChoice("http://127.0.0.1:9", "m"), 5.0).asked("a", "b"))
    assert refused.value.code == "UNAVAILABLE"


def test_a_model_distils_in_its_own_words() -> None:
    passages = asked(Script([json.dumps([GOOD])]), lambda chat: ModelDistiller(Extractor(chat)).distil("x"))
    assert [(one.claim, one.summary, one.worded) for one in passages] == [(GOOD["body"], GOOD["description"], True)]


@pytest.mark.parametrize(
    ("answer", "merged"),
    [
        ('{"verdict": "related", "merged_body": "Both hold."}', "Both hold."),
        ('```json\n{"verdict": "related", "merged_body": "Both hold."}\n```', "Both hold."),
        ('{"verdict": "contradicting"}', None),
        ('{"verdict": "related"}', None),
        ('{"verdict": "related", "merged_body": ""}', None),
        ('{"verdict": "related", "merged_body": "x", "confidence": 1}', None),
        (json.dumps({"verdict": "related", "merged_body": "x" * 2_001}), None),
        ('{"verdict": "maybe", "merged_body": "x"}', None),
        ("They agree.", None),
        (401, None),
    ],
)
def test_texts_are_merged_only_on_a_clear_yes(answer: str | int, merged: str | None) -> None:
    known, said = (Concept("late-orders", "d", "policy", body) for body in ("one", "two"))
    assert asked(Script([answer]), lambda chat: ModelConsolidator(chat).merged(known, said)) == merged


def test_only_a_list_is_a_list() -> None:
    assert listed("[1]") == [1]
    assert listed("{}") is None
