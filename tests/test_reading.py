"""The read loop: who is asked, what is taken, how it is linked and folded, and what a block may never be."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_context import HOSTILE, bodies, exactly

from graph.commands import read_command
from graph.context import Format, block, visible
from graph.errors import LimitError, NotFoundError, UnavailableError, ValidationError
from graph.knowledge import Actor, ActorType
from graph.reading import loading
from graph.reading.linking import EVIDENCE, LINKERS, LINKS_MAX, RELATED, SAME_NAME, SHARED_MAX, Link, linked
from graph.reading.loading import Loaded, loaded
from graph.reading.planning import Outcome, Plan, Reading, planned
from graph.reading.provider import Omitted, Piece, Provider, Request
from graph.reading.providers import SOURCES_MAX
from graph.reading.runtime import Answer, Runtime, compiled
from graph.reading.store_provider import StoreProvider
from graph.retrieval import WANTED_MAX, Asked, Retrieval
from graph.service import Service

READER = Actor("tests", "reader", ActorType.AGENT)
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2  # of the form of a secret
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1, max_size=400))


@dataclass
class Given:
    """A provider that gives what a test says; ``Provider`` by its form."""

    name: str
    pieces: Sequence[Any] = ()
    weight: Any = 1.0
    failure: BaseException | None = None
    pause: float = 0.0
    ends: bool = True

    def intent_match(self, _goal: str) -> float:
        if isinstance(self.weight, Exception):
            raise self.weight
        return self.weight

    async def stream(self, _request: Request) -> AsyncIterator[Any]:
        for one in self.pieces:
            yield one
        while self.pause:
            try:
                await asyncio.sleep(self.pause)
                break
            except asyncio.CancelledError:
                if self.ends:
                    raise
        if self.failure is not None:
            raise self.failure


def piece(key: str, text: str = "", **more: Any) -> Piece:
    fields: dict[str, Any] = {"score": 1.0, "source": f"x:{key}", "source_type": "file", **more}
    return Piece(key, text or f"What {key} says", **fields)


def load(*given: Given, seconds: float = 5.0, **reading: Any) -> tuple[Plan, list[Loaded]]:
    plan = planned(Reading("P", "a goal", **reading), cast("list[Provider]", given))
    return plan, asyncio.run(loaded(plan, seconds))


def keys(results: Sequence[Loaded]) -> list[list[str]]:
    return [[one.key for one in result.pieces] for result in results]


def made(*given: Given, **reading: Any) -> Any:
    asked = Reading("P", "a goal", **reading)
    return compiled(asked, load(*given, **reading)[1], LINKERS)


# --- who is asked -------------------------------------------------------------------------------------------


def test_a_provider_whose_matter_the_goal_is_not_is_not_asked() -> None:
    plan, results = load(Given("a", [piece("k")]), Given("b", [piece("k")], weight=0.0))
    assert keys(results) == [["k"]]
    assert [(report.name, report.outcome) for report in plan.reports] == [
        ("a", Outcome.ANSWERED),
        ("b", Outcome.NOT_ASKED),
    ]


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), float("inf"), "much", RuntimeError("no")])
def test_a_provider_that_cannot_say_how_much_it_is_concerned_is_reported_and_not_asked(weight: Any) -> None:
    plan, results = load(Given("a", [piece("k")]), Given("b", [piece("k")], weight=weight))
    assert keys(results) == [["k"]]
    assert plan.reports[1].outcome is Outcome.FAILED
    assert "intent_match" in str(plan.reports[1].reason)


@pytest.mark.parametrize(
    ("reading", "field"),
    [
        ({"goal": " "}, "goal"),
        ({"goal": "x" * 10_001}, "goal"),
        ({"project": ""}, "project"),
        ({"budget": -1}, "budget"),
        ({"budget": 1_000_001}, "budget"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": 61}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
    ],
)
def test_a_reading_keeps_to_its_bounds(reading: dict[str, Any], field: str) -> None:
    with pytest.raises((ValidationError, LimitError)) as refused:
        planned(Reading(**cast("Any", {"project": "P", "goal": "g", **reading})), [])
    assert refused.value.field == field
    assert refused.value.allowed


def test_every_provider_has_a_name_of_its_own_and_there_are_not_too_many() -> None:
    for names in (["a", "a"], [""], ["x" * 41]):
        with pytest.raises(ValidationError):
            load(*map(Given, names))
    with pytest.raises(LimitError):
        load(*(Given(str(at)) for at in range(SOURCES_MAX + 1)))


# --- loading ------------------------------------------------------------------------------------------------


def test_a_slow_provider_is_reported_and_what_it_gave_until_then_counts() -> None:
    begun = time.monotonic()
    plan, results = load(Given("slow", [piece("early")], pause=60.0), Given("quick", [piece("k")]), seconds=0.2)
    assert time.monotonic() - begun < 10
    assert keys(results) == [["early"], ["k"]]
    assert [report.outcome for report in plan.reports] == [Outcome.TOO_SLOW, Outcome.ANSWERED]
    assert plan.reports[0].reason == "no answer within 0.2 s"


def test_a_provider_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "GRACE_SECONDS", 0.1)
    plan, results = load(Given("stubborn", [piece("early")], pause=1.0, ends=False), Given("b"), seconds=0.1)
    assert keys(results) == [["early"], []]
    assert [report.outcome for report in plan.reports] == [Outcome.TOO_SLOW, Outcome.ANSWERED]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (NotFoundError("there is no such place", field="x", allowed="y"), "NOT_FOUND: there is no such place"),
        (KeyError("internals that nobody is told"), "it raised KeyError"),
        (TimeoutError(), "it raised TimeoutError"),
        (asyncio.CancelledError(), "it cancelled itself"),
    ],
)
def test_a_provider_that_fails_is_reported_and_the_rest_answer(failure: BaseException, reason: str) -> None:
    plan, results = load(Given("bad", [piece("early")], failure=failure), Given("good", [piece("k")]))
    assert keys(results) == [["early"], ["k"]]
    assert [report.outcome for report in plan.reports] == [Outcome.FAILED, Outcome.ANSWERED]
    assert plan.reports[0].reason == reason


@pytest.mark.parametrize(
    "garbage",
    [
        None,
        "a text",
        piece("k", "x" * 10_001),
        piece("k", "\x00"),
        piece("k", " "),
        piece("k" * 201),
        piece("k", score=0.0),
        piece("k", score=float("nan")),
        piece("k", score=float("inf")),
        piece("k", score="much"),
        piece("k", source=""),
        piece("k", kind="guess"),
        piece("k", valid_from="yesterday"),
        piece("k", links=("",)),
        piece("k", cautions=None),
        piece("k", "\x00", stored="by somebody"),
        Piece(cast("Any", None), "text", 1.0, "x:y", "file"),
    ],
)
def test_what_is_no_piece_is_left_out_with_a_reason_and_the_others_are_taken(garbage: Any) -> None:
    plan, results = load(Given("a", [garbage, piece("good")]))
    assert keys(results) == [["good"]]
    assert (plan.reports[0].outcome, plan.reports[0].omitted) == (Outcome.ANSWERED, 1)
    assert plan.reports[0].omissions[0][1]


@pytest.mark.parametrize("message", [Omitted(1, cast("Any", ["no pair"])), Omitted(cast("Any", "many"))])
def test_a_provider_that_counts_in_no_way_that_is_known_is_reported(message: Omitted) -> None:
    plan, results = load(Given("bad", [piece("early"), message]), Given("good", [piece("k")]))
    assert keys(results) == [["early"], ["k"]]
    assert plan.reports[0].outcome is Outcome.FAILED


def test_a_provider_that_gives_anything_but_pieces_without_end_is_not_listened_to_for_ever() -> None:
    plan, results = load(Given("endless", cast("Any", itertools.repeat(Omitted(1)))), Given("good", [piece("k")]))
    assert keys(results) == [[], ["k"]]
    assert plan.reports[0].omitted < 1_000


def test_no_more_is_taken_of_a_provider_than_the_budget_has_use_for() -> None:
    plan, results = load(Given("a", [piece(f"k{at}") for at in range(500)]), budget=1_200)
    assert len(results[0].pieces) == plan.request.limit == 80


def test_what_comes_from_elsewhere_is_redacted_before_anything_sees_it() -> None:
    secret = piece("k", f"the token is {TOKEN}", source=f"https://x.example/?t={TOKEN}", cautions=(f"see {TOKEN}",))
    refused = piece("b", "\x00")
    given = Given("a", [secret, refused, Omitted(1, ((TOKEN, f"{'x ' * 240}{TOKEN}"),))], failure=NotFoundError(TOKEN))
    plan, results = load(given)
    assert TOKEN[:20] not in repr((results[0].pieces, plan.reports))
    assert sum(plan.reports[0].redacted.values()) == 3
    assert "[REDACTED:" in results[0].pieces[0].text


# --- linking ------------------------------------------------------------------------------------------------


def test_pieces_are_linked_by_name_by_links_and_by_what_they_come_from() -> None:
    pieces = [
        piece("returns", links=("receipts", "gone", "returns")),
        piece("receipts", source="x:same"),
        piece("returns", source="x:other"),
        piece("third", source="x:same"),
    ]
    assert linked(pieces) == [Link(0, 1, RELATED), Link(0, 2, SAME_NAME), Link(1, 3, EVIDENCE)]


def test_names_are_compared_as_people_see_them() -> None:
    assert linked([piece("caf\u00e9"), piece("cafe\u0301")]) == [Link(0, 1, SAME_NAME)]


def test_what_everything_comes_from_connects_nothing_and_links_are_bounded() -> None:
    hub = [piece(f"k{at}", source="x:hub") for at in range(SHARED_MAX + 2)]
    assert linked(hub) == []
    assert len(linked(hub[:-1])) == SHARED_MAX
    dense = [piece(f"k{at}", links=tuple(f"k{to}" for to in range(150))) for at in range(150)]
    assert len(linked(dense)) <= LINKS_MAX


# --- reducing and compiling ---------------------------------------------------------------------------------


def test_a_claim_of_two_providers_stands_once_and_the_other_is_named() -> None:
    left, written, _ = made(
        Given("a", [piece("one", "Goods go back within 30 days.")]),
        Given("b", [piece("two", "goods go back within 30 days"), piece("other", "Goods go back within 14 days.")]),
    )
    assert [item.node["key"] for item in left.found.items] == ["a:one", "b:other"]
    assert ("b:two", "says nearly what a:one says") in written.omissions


def test_what_says_otherwise_under_the_same_name_is_told_of_both() -> None:
    left, _, edges = made(
        Given("a", [piece("returns", "Goods go back within 30 days.")]),
        Given("b", [piece("returns", "Nothing ever goes back.", source="x:b")]),
    )
    cautions = {item.node["key"]: item.cautions for item in left.found.items}
    assert "disputed: otherwise b:returns" in cautions["a:returns"]
    assert "disputed: otherwise a:returns" in cautions["b:returns"]
    assert edges == 1


def test_who_stands_for_another_is_told_of_what_says_otherwise() -> None:
    left, _, _ = made(
        Given("a", [piece("returns", "Goods go back within 30 days.", score=0.5), piece("x", "Another matter")]),
        Given("b", [piece("returns", "goods go back within 30 days", source="x:b")]),
        Given("c", [piece("returns", "Nothing ever goes back.", source="x:c")]),
    )
    cautions = {item.node["key"]: item.cautions for item in left.found.items}
    (kept,) = {"a:returns", "b:returns"} & cautions.keys()
    assert "disputed: otherwise c:returns" in cautions[kept]
    assert f"disputed: otherwise {kept}" in cautions["c:returns"]


def test_what_says_otherwise_cannot_crowd_out_what_it_is_against() -> None:
    many = [piece("returns", f"{chr(107 + at)}xx {chr(107 + at)}yy", source=f"x:{at}") for at in range(10)]
    left, _, _ = made(Given("a", [piece("returns")]), Given("b", many))
    caution = left.found.items[0].cautions[-1]
    assert caution == "disputed: otherwise b:returns"
    several = [Given(name, [one]) for name, one in zip("bcdefg", many, strict=False)]
    left, _, _ = made(Given("a", [piece("returns")]), *several)
    caution = left.found.items[0].cautions[-1]
    assert caution == "disputed: otherwise b:returns, c:returns, d:returns and 3 more"


def test_what_nobody_recorded_says_so() -> None:
    left, _, _ = made(Given("notes", [piece("k", valid_from=None, cautions=("handle with care",))]))
    (item,) = left.found.items
    assert item.cautions == ("unconfirmed", "not recorded in the project: read from notes", "handle with care")
    assert (item.node["state"], item.node["valid_from"]) == ("proposed", None)


def test_each_provider_counts_as_much_as_the_goal_is_its_matter_whatever_its_scores_are() -> None:
    left, _, _ = made(
        Given("loud", [piece("alder", score=9_000.0), piece("birch", score=1.0)], weight=0.5),
        Given("apt", [piece("cedar", score=0.02), piece("dogwood", score=0.012)]),
    )
    assert [item.node["key"] for item in left.found.items] == ["apt:cedar", "apt:dogwood", "loud:alder", "loud:birch"]


def test_a_link_draws_a_piece_towards_a_better_one_of_another_provider() -> None:
    given = [piece("best", score=9.0), piece("middle", score=4.0), piece("far", "Another matter", score=1.0)]
    alone, _, _ = made(Given("a", given), Given("b", [piece("hub")]))
    drawn, _, _ = made(Given("a", given), Given("b", [piece("hub", links=("far",))]))
    assert [item.node["key"] for item in alone.found.items] == ["a:best", "b:hub", "a:middle", "a:far"]
    assert [item.node["key"] for item in drawn.found.items] == ["a:best", "b:hub", "a:far", "a:middle"]
    assert drawn.found.items[2].via == ("related_to", "b:hub")


def test_more_than_a_block_looks_at_is_counted_and_named() -> None:
    words = [f"{'abcdefghij'[at // 26]}{chr(97 + at % 26)}x" for at in range(260)]
    several = [
        Given(str(at), [piece(w, f"{w} {w}y {w}z") for w in words[at * 130 : at * 130 + 130]]) for at in range(2)
    ]
    left, written, _ = made(*several, budget=3_000)
    assert len(left.found.items) == WANTED_MAX
    assert len(written.items) + written.omitted == 260
    assert written.omissions


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.sampled_from(["a", "b", "c\u0301"]), TEXTS), max_size=4), max_size=3),
    st.integers(0, 900),
    st.sampled_from(Format),
    TEXTS,
)
def test_no_block_is_over_its_budget_and_the_same_pieces_give_the_same_bytes(
    given_texts: list[list[tuple[str, str]]], budget: int, form: Format, source: str
) -> None:
    given = [
        Given(f"p{at}", [piece(key, text, source=source, links=("a", "b")) for key, text in texts])
        for at, texts in enumerate(given_texts)
    ]
    _, written, _ = made(*given, budget=budget, form=form)
    assert len(exactly.encode_ordinary(written.text)) <= written.tokens <= budget
    assert made(*given, budget=budget, form=form)[1].text == written.text
    assert len(written.items) + written.omitted == sum(map(len, given_texts))


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("text", HOSTILE)
def test_what_was_read_elsewhere_cannot_be_seen_as_anything_else(form: Format, text: str) -> None:
    given = [piece("k0", text, source=text, cautions=(text,)), piece("k1", "an honest claim", score=0.5)]
    if "\x1b" in text or "\x85" in text:
        return  # such a text is refused as a whole
    _, written, _ = made(Given("p", given), budget=5_000, form=form)
    shown = written.text.replace('["p:k', '["k')
    assert bodies(shown, form) == [visible(text.strip()), "an honest claim"]


# --- over a real project ------------------------------------------------------------------------------------

LINES: list[dict[str, Any]] = [
    {
        "transition": "proposed",
        "key": "return-window",
        "payload": {
            "concept": {
                "description": "How long goods may go back",
                "type": "policy",
                "body": "Unopened goods go back within 30 days, see [[receipt-rule]].",
                "sources": ["run-1"],
            }
        },
    },
    {
        "transition": "proposed",
        "key": "opened-goods",
        "payload": {
            "proposition": "Opened goods do not go back",
            "evidence": [{"type": "file", "source": "x:receipt-rule"}],
        },
    },
    {"transition": "confirmed", "key": "opened-goods", "payload": {}},
    {"transition": "proposed", "key": "depot", "payload": {"proposition": "The depot closes at six"}},
    {"transition": "proposed", "key": "gone", "payload": {"proposition": "Goods go back within 90 days"}},
    {"transition": "invalidated", "key": "gone", "reason": "no more", "payload": {}},
]
GOAL = "Do goods go back, and until when?"
ELSEWHERE = [piece("receipt-rule", "Goods go back with a receipt", links=("return-window",))]


class World:
    """A project with some claims, read in plain calls."""

    def __init__(self, service: Service, loop: asyncio.Runner) -> None:
        self.service = service
        self.run: Any = loop.run
        self.retrieval = Retrieval(service)
        commands = [read_command(line, actor=READER, project="P") for line in LINES]
        assert not [answer for answer in self.run(service.run_many(commands)) if isinstance(answer, Exception)]

    def read(self, *more: Given, actor: Actor = READER, **reading: Any) -> Answer:
        found = [StoreProvider("store", "", self.retrieval), *cast("list[Provider]", more)]
        asked = Reading(**cast("Any", {"project": "P", "goal": GOAL, **reading}))
        return self.run(Runtime(self.service, found, actor).read(asked))

    def events(self) -> list[dict[str, Any]]:
        return self.run(self.service.journal("P", 0, 1_000)).items


@pytest.fixture
def world(service: Service, loop: asyncio.Runner) -> World:
    return World(service, loop)


@pytest.mark.parametrize("form", Format)
def test_the_store_alone_gives_the_very_block_that_context_gives(world: World, form: Format) -> None:
    for budget in (0, 100, 200, 1_000):
        expected = world.run(block(world.retrieval, Asked("P", GOAL), budget, form))
        answer = world.read(budget=budget, form=form)
        assert answer.block.text == expected.text
        assert (answer.block.omitted, answer.block.omissions) == (expected.omitted, expected.omissions)
        assert [item.node["key"] for item, _ in answer.block.items] == [i.node["key"] for i, _ in expected.items]


def test_pieces_from_elsewhere_stand_beside_what_the_project_holds(world: World) -> None:
    answer = world.read(Given("notes", ELSEWHERE))
    shown = [item.node["key"] for item, _ in answer.block.items]
    assert set(shown) == {"return-window", "opened-goods", "notes:receipt-rule"}
    assert ("gone", "retired") in answer.block.omissions
    assert answer.edges == 3  # the concept's link there and the piece's back, and the evidence that both stand on
    assert 'caution: "not recorded in the project: read from notes"' in answer.block.text
    assert answer.block.seq == len(LINES)


def test_what_the_project_holds_stands_for_what_says_the_same_elsewhere(world: World) -> None:
    same = piece("copy", "opened goods do not go back!", score=9.0)
    answer = world.read(Given("notes", [same]))
    assert "notes:copy" not in [item.node["key"] for item, _ in answer.block.items]
    assert ("notes:copy", "says nearly what opened-goods says") in answer.block.omissions


def test_a_reading_leaves_an_insight_that_names_what_was_used(world: World) -> None:
    answer = world.read(Given("notes", ELSEWHERE), budget=400)
    assert answer.insight is not None
    assert answer.insight.applied
    evidence = world.run(world.service.evidence_by_key("P", [answer.insight.evidence]))[answer.insight.evidence]
    told = json.loads(evidence["metadata"])
    assert evidence["type"] == "insight"
    assert (told["goal"], told["budget"], told["nodes"], told["edges"]) == (GOAL, 400, answer.nodes, answer.edges)
    assert [item["key"] for item in told["items"]] == [
        item.node["key"].removeprefix("notes:") for item, _ in answer.block.items
    ]
    by_key = {item["key"]: item for item in told["items"]}
    assert by_key["return-window"] == {"key": "return-window", "generation": 1}
    assert by_key["receipt-rule"] | {"hash": ""} == {
        "provider": "notes",
        "key": "receipt-rule",
        "source": "x:receipt-rule",
        "hash": "",
    }
    node = world.run(world.service.knowledge("P", answer.insight.node))
    assert (node["kind"], node["forgotten"]) == ("observation", True)


def test_the_same_reading_again_changes_nothing(world: World) -> None:
    first, before = world.read(Given("notes", ELSEWHERE)), world.events()
    again = world.read(Given("notes", ELSEWHERE))
    assert world.events() == before
    assert again.insight is not None
    assert not again.insight.applied
    assert first.insight is not None
    assert again.insight.evidence == first.insight.evidence
    other = world.read(Given("notes", ELSEWHERE), budget=300)
    assert other.insight is not None
    assert other.insight.evidence != first.insight.evidence


def test_each_reader_leaves_an_insight_of_its_own(world: World) -> None:
    for subject in ("ada", "grace"):
        answer = world.read(actor=Actor("tests", subject, ActorType.HUMAN))
        assert answer.insight is not None
        assert answer.insight.applied


def test_insights_are_found_by_no_search_and_quoted_in_no_block(world: World) -> None:
    for goal in ("insights of readings", "Do goods go back?", "insights part", GOAL):
        answer = world.read(goal=goal, budget=5_000)
        assert not [item for item, _ in answer.block.items if item.node["key"].startswith("insights_")]
    assert world.run(world.retrieval.search(Asked("P", "Insights of readings, part"), 50)).items == []


def test_a_goal_is_redacted_before_it_is_kept(world: World) -> None:
    answer = world.read(goal=f"goods for {TOKEN}")
    assert answer.insight is not None
    assert TOKEN not in repr(world.events())
    assert "[REDACTED:" in repr(world.events())


def test_an_insight_keeps_to_its_bounds_whatever_was_read(world: World) -> None:
    many = [piece("\u6f22" * 150 + str(at), f"{at} {at}x goods", source="x:" + "\u6f22" * 1_900) for at in range(200)]
    answer = world.read(Given("notes", many), goal="\u6f22" * 10_000, budget=1_000_000)
    assert answer.refusal is None
    assert answer.insight is not None
    evidence = world.run(world.service.evidence_by_key("P", [answer.insight.evidence]))[answer.insight.evidence]
    assert 0 < len(json.loads(evidence["metadata"])["items"]) < json.loads(evidence["metadata"])["used"]


def test_a_block_is_given_although_the_insight_is_not_taken(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(_commands: object) -> object:
        raise UnavailableError("the database is away", allowed="later")

    monkeypatch.setattr(world.service, "run_many", away)
    answer = world.read()
    assert answer.block.items
    assert answer.insight is None
    assert isinstance(answer.refusal, UnavailableError)


def test_a_project_without_a_journal_is_read_from_elsewhere(world: World) -> None:
    answer = world.read(Given("notes", ELSEWHERE), project="new")
    assert [item.node["key"] for item, _ in answer.block.items] == ["notes:receipt-rule"]
    assert world.run(world.service.head("new")).seq == 3
