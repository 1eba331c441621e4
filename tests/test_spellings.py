"""Keys are stored as they are given and compared after NFC: no door knows two that look the same."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import AsyncIterator
from typing import Any

import pytest
from conftest import wipe
from hypothesis import given
from hypothesis import strategies as st
from ledger import HUMAN
from test_api import Api
from test_exchange import claimed, taken

from graph.errors import NotFoundError, PropositionConflictError
from graph.exchange import Terms, import_journal
from graph.filters import Filter
from graph.knowledge import spellings
from graph.service import Service

ONE, TWO = "caf\u00e9", "cafe\u0301"
SIGN, LETTER = "\u212bngstr\u00f6m", "\u00c5ngstr\u00f6m"  # a unit, which NFC makes a letter


@given(
    st.text(
        st.sampled_from("eE\u0301\u0323\u00e9K\u212a\u00c5\u212b\u0958\uac00\u1100\u1161;\u037e"),
        min_size=1,
        max_size=6,
    )
)
def test_every_spelling_finds_what_is_stored_in_either_form_and_each_finds_itself(key: str) -> None:
    forms = {unicodedata.normalize(form, key) for form in ("NFC", "NFD")}
    for each in forms | {key}:
        assert {each} | forms == set(spellings(each))


@pytest.fixture
def api(service: Service, loop: asyncio.Runner) -> Api:
    return Api(service, loop)


@pytest.mark.parametrize(("stored", "other"), [(ONE, TWO), (TWO, ONE), (LETTER, SIGN)])
def test_a_node_is_found_by_each_spelling_of_its_key_and_keeps_its_own(api: Api, stored: str, other: str) -> None:
    api.propose(stored)
    api.propose("b")
    api.link("b", "DEPENDS_ON", other)
    query = 'query($k: String!) { knowledge(project: "P", key: $k) { key generation } }'
    for _ in range(3):  # by the executor, and by the plan that it made
        assert api.ask(query, k=other) == {"knowledge": {"key": stored, "generation": 1}}
    walk = (
        'query($k: String!) { provenance(project: "P", key: $k, direction: DOWNSTREAM) { root { key } nodes { key } } }'
    )
    impact = 'query($k: String!) { impact(project: "P", key: $k) { count } }'
    for _ in range(3):
        found = api.ask(walk, k=other)["provenance"]
        assert found["root"] == {"key": stored}
        assert {"key": "b"} in found["nodes"]
        assert api.ask(impact, k=other)["impact"] == {"count": 1}
    used = api.ask('mutation($k: String!) { use(project: "P", key: $k) { knowledge { key uses } } }', k=other)
    assert used["use"]["knowledge"] == {"key": stored, "uses": 1}
    assert api.ask(query, k=stored)["knowledge"]["key"] == stored
    assert api.ask('{ knowledge(project: "P", key: "cafe") { key } }') == {"knowledge": None}


def test_a_key_in_neither_form_is_read_back_as_it_was_given(api: Api) -> None:
    query = 'query($k: String!) { knowledge(project: "P", key: $k) { key } }'
    for key in (SIGN, "\u0958", "\u212a"):
        api.propose(key)
        assert api.ask(query, k=key) == {"knowledge": {"key": key}}


def keys(service: Service, loop: asyncio.Runner) -> list[str]:
    async def all_of() -> list[str]:
        return [row["key"] for row in (await service.page("P", Filter(), 100)).items]

    return loop.run(all_of())


@pytest.mark.parametrize("at_once", [True, False])
def test_there_are_never_two_keys_that_look_the_same(service: Service, loop: asyncio.Runner, at_once: bool) -> None:  # noqa: FBT001
    same = {**claimed(ONE), "key": TWO}
    lines: list[dict[str, Any]] = [
        claimed(ONE),
        same,
        claimed("b"),
        {"transition": "linked", "key": "b", "payload": {"relation": "depends_on", "to": TWO}},
        {"transition": "confirmed", "key": TWO, "payload": {"evidence": [{"type": "t", "source": "s"}]}},
        {"transition": "linked", "key": TWO, "payload": {"relation": "supports", "to": "b"}},
        {"transition": "corrected", "key": TWO, "reason": "r", "payload": {"proposition": "better"}},
        {"transition": "superseded", "key": "b", "payload": {"by": TWO}},
    ]
    for part in [lines] if at_once else [[line] for line in lines]:
        assert taken(loop, service, part).refused == 0
    assert set(keys(service, loop)) == {"b", ONE}
    refused = taken(loop, service, [claimed(TWO, payload={"proposition": "another"})])
    assert [type(each.error) for each in refused.refusals] == [PropositionConflictError]
    assert loop.run(service.verify("P"))["ok"]


def test_a_ring_of_supersession_is_seen_in_any_spelling(service: Service, loop: asyncio.Runner) -> None:
    taken(loop, service, [claimed(ONE), claimed("b"), {"transition": "superseded", "key": TWO, "payload": {"by": "b"}}])
    ring = {"transition": "linked", "key": TWO, "payload": {"relation": "supersedes", "to": "b"}}
    assert [each.error.code for each in taken(loop, service, [ring]).refusals] == ["RELATION_REFUSED"]


def test_a_transfer_meets_the_key_that_is_the_same(service: Service, loop: asyncio.Runner) -> None:
    taken(loop, service, [claimed(ONE, project="Q")])
    moved = {"transition": "transferred", "key": ONE, "payload": {"to_project": "Q"}, "event_id": "t"}
    taken(loop, service, [{**claimed(TWO), "payload": {"proposition": f"claim {ONE}"}}])
    assert taken(loop, service, [moved]).refused == 0
    node = loop.run(service.knowledge("Q", TWO))
    assert node is not None
    assert node["key"] == ONE


def test_a_restored_journal_keeps_keys_of_before_apart_and_each_is_found_as_it_is(
    service: Service, loop: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("graph.slices.spellings", lambda key: (key,))
        taken(loop, service, [claimed(ONE), claimed(TWO), claimed(SIGN)])

    async def written(chunks: AsyncIterator[bytes]) -> list[bytes]:
        return b"".join([chunk async for chunk in chunks]).splitlines(keepends=True)

    journal = loop.run(written(service.export_journal("P")))
    loop.run(wipe(service.store))
    assert loop.run(import_journal(service.store, lambda: journal, Terms("P", HUMAN, restore=True))).refused == 0
    assert loop.run(written(service.export_journal("P"))) == journal
    assert set(keys(service, loop)) == {ONE, TWO, SIGN}
    for key in (ONE, TWO, SIGN):
        node = loop.run(service.knowledge("P", key))
        assert node is not None
        assert node["proposition"] == f"claim {key}"
    with pytest.raises(NotFoundError):
        loop.run(service.impact("P", "none"))
