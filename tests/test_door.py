"""The one door of concepts: new, same, related, contradicting; links that wait; one history of several writers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import wipe
from ledger import AGENT, HUMAN, Ledger

from graph import concept_folder
from graph.commands import Command, read_command
from graph.concept import Concept, Merge, Verdict, concept_of, contradicting_keys, verdict_of
from graph.errors import EventConflictError, KnowledgeError, PropositionConflictError, ValidationError
from graph.exchange import Terms, import_journal
from graph.filters import Filter
from graph.graphml_import import import_graphml
from graph.journal import Event
from graph.knowledge import Actor, Node, Relation, State, Transition
from graph.lifecycle import decide
from graph.projection import evolve
from graph.recording import Consolidator, Saying, contradictions, record, recording
from graph.rows import Row
from graph.service import Moment, Service
from graph.store import Store, Taken

NAME = "return-window"
CLAIM = "Unopened goods go back within 30 days: see [[receipt-rule]]."
OTHER = "Unopened goods go back within 14 days."


def said(body: str = CLAIM, session: str = "s1", name: str = NAME, **fields: Any) -> Saying:
    return Saying(
        **{"project": "P", "name": name, "description": "d", "type": "fact", "body": body} | fields, session=session
    )


class Book(Ledger):
    """A project in which concepts are recorded."""

    def say(self, saying: Saying, actor: Actor = AGENT, event: dict[str, Any] | None = None) -> list[Event]:
        return self.run(recording(saying, actor, event))

    def run(self, command: Command) -> list[Event]:
        self.now += timedelta(seconds=1)
        decision = decide({"P": self.here}, command, self.now)
        for made in decision.events:
            evolve(self.here, made)
            self.events.append(made)
        return list(decision.events)

    def concept(self, name: str = NAME) -> Concept:
        text = self.node(name).concept
        assert text is not None
        return concept_of(name, text)


def _transitions(events: list[Event]) -> list[str]:
    return [f"{event.transition.value} {event.key}" for event in events]


def test_a_name_that_is_not_known_is_proposed_and_its_body_is_the_claim() -> None:
    book = Book()
    (event,) = book.say(said(), event={"event_id": "e"})
    assert (event.event_id, event.key, event.transition, verdict_of(event.transition, event.payload)) == (
        *("e", NAME, Transition.PROPOSED),
        Verdict.NEW,
    )
    node, concept = book.node(NAME), book.concept()
    assert (node.proposition, node.state, node.dangling) == (CLAIM, State.PROPOSED, ("receipt-rule",))
    assert (concept.description, concept.type, concept.body, concept.links) == ("d", "fact", CLAIM, ("receipt-rule",))
    assert (concept.occurrences, concept.sources, concept.confidence(node.state)) == (1, ("s1",), 0.6)


def test_the_same_claim_is_counted_and_a_second_source_confirms_what_was_only_proposed() -> None:
    book = Book()
    book.say(said())
    assert _transitions(book.say(said("  UNOPENED goods go back within 30 days: see [[receipt-rule]]."))) == [
        f"sighted {NAME}"
    ]
    assert (book.concept().occurrences, book.concept().sources, book.node(NAME).state) == (2, ("s1",), State.PROPOSED)
    again = book.say(said(session="s2"), event={"event_id": "e"})
    assert [event.event_id for event in again] == ["e", "e#sighting"]
    assert _transitions(again) == [f"sighted {NAME}", f"confirmed {NAME}"]
    assert (again[1].caused_by, again[1].payload) == (("e",), {})
    assert (book.concept().occurrences, book.concept().sources, book.concept().body) == (3, ("s1", "s2"), CLAIM)
    assert book.node(NAME).state is State.CONFIRMED
    assert book.node(NAME).verified_at is None, "that it was said twice is no evidence"
    assert _transitions(book.say(said(session="s3"))) == [f"sighted {NAME}"]


def test_another_claim_becomes_a_node_of_its_own_that_contradicts_the_concept() -> None:
    book = Book()
    book.say(said())
    events = book.say(said(OTHER, "s2"), event={"event_id": "e"})
    key = contradicting_keys(NAME, OTHER)[0]
    assert [event.event_id for event in events] == ["e", "e#claim", "e#contradiction"]
    assert _transitions(events) == [f"sighted {NAME}", f"proposed {key}", f"challenged {NAME}"]
    assert events[2].caused_by == ("e#claim",), "the link's event"
    assert book.node(key).proposition == OTHER
    assert book.here.live_edge((key, 1), Relation.CONTRADICTS, NAME) is not None
    node, concept = book.node(NAME), book.concept()
    assert (node.state, concept.body, concept.occurrences, concept.sources) == (
        State.CHALLENGED,
        CLAIM,
        1,
        ("s1", "s2"),
    )
    assert concept.confidence(node.state) == 0.4


def test_what_contradicts_again_makes_no_second_node_and_challenges_only_what_is_not_challenged() -> None:
    book = Book()
    book.say(said())
    book.say(said(OTHER, "s2"))
    assert _transitions(book.say(said(OTHER, "s3"))) == [f"sighted {NAME}"]
    book.take("confirmed", NAME)
    assert _transitions(book.say(said(OTHER, "s4"))) == [f"sighted {NAME}", f"challenged {NAME}"]
    key = contradicting_keys(NAME, OTHER)[0]
    book.take("unlinked", key, payload={"relation": "contradicts", "to": NAME})
    assert _transitions(book.say(said(OTHER, "s5"))) == [f"sighted {NAME}", f"linked {key}"]
    book.take("invalidated", key, reason="it is 30")
    assert _transitions(book.say(said(OTHER, "s6"))) == [f"sighted {NAME}", f"proposed {key}"]
    assert book.node(key).generation == 2
    assert book.concept().sources == ("s1", "s2", "s3", "s4", "s5", "s6")


def test_what_contradicts_is_said_by_a_live_node_whatever_its_key_says_by_now() -> None:
    book = Book()
    first, second, third = contradicting_keys(NAME, OTHER)
    book.say(said())
    book.say(said(OTHER, "s2"))
    book.take("corrected", first, reason="r", payload={"proposition": "Something else."})
    assert _transitions(book.say(said(OTHER, "s3"))) == [f"sighted {NAME}", f"proposed {second}"]
    assert book.node(second).proposition == OTHER
    assert book.here.live_edge((second, 1), Relation.CONTRADICTS, NAME) is not None
    assert _transitions(book.say(said(OTHER, "s4"))) == [f"sighted {NAME}"]
    book.take("invalidated", first, reason="r")
    assert _transitions(book.say(said(OTHER, "s5"))) == [f"sighted {NAME}"], "it is said already"
    book.take("corrected", second, reason="r", payload={"proposition": "Another."})
    assert _transitions(book.say(said(OTHER, "s6"))) == [f"sighted {NAME}", f"proposed {first}"]
    book.take("corrected", first, reason="r", payload={"proposition": "Something else."})
    book.take("proposed", third, payload={"proposition": "Taken."})
    with pytest.raises(PropositionConflictError):
        book.say(said(OTHER, "s7"))


@pytest.mark.parametrize("verdict", ["same", "contradicting"])
@pytest.mark.parametrize(("body", "told"), [(CLAIM, Verdict.SAME), (OTHER, Verdict.CONTRADICTING)])
def test_the_door_tells_what_a_sighting_from_elsewhere_comes_to_and_counts_it_once(
    verdict: str, body: str, told: Verdict
) -> None:
    book = Book()
    book.say(said())
    concept = {"description": "d", "type": "fact", "body": body, "sources": ["s1"], "occurrences": 5_000}
    payload = {"verdict": verdict, "said": concept}
    events = book.take("sighted", NAME, event_id="e", payload=payload).events
    assert verdict_of(events[0].transition, events[0].payload) is told
    same = told is Verdict.SAME
    assert _transitions(list(events))[1:] == (
        [] if same else [f"proposed {contradicting_keys(NAME, OTHER)[0]}", f"challenged {NAME}"]
    )
    assert (book.concept().occurrences, book.concept().body) == (1 + same, CLAIM)
    again = book.take("sighted", NAME, event_id="e", payload=payload)
    assert again.standing == events[0].seq, "the same line again is a repeat"
    with pytest.raises(EventConflictError):
        book.take("sighted", NAME, event_id="e", payload={**payload, "said": concept | {"body": "else"}})


def _raw(*lines: dict[str, Any]) -> list[bytes]:
    return [json.dumps({"project": "P", "key": NAME, **line}).encode() + b"\n" for line in lines]


def _said(body: Any = CLAIM, **more: Any) -> dict[str, Any]:
    return {"description": "d", "type": "fact", "body": body, "sources": ["s1"], **more}


def _imported(service: Service, loop: asyncio.Runner, raw: list[bytes]) -> Concept:
    report = loop.run(import_journal(service.store, lambda: raw, Terms("P", HUMAN)))
    assert report.refused == 0
    node = loop.run(service.knowledge("P", NAME))
    assert node is not None
    return concept_of(NAME, node["concept"])


def test_a_concept_that_an_import_proposes_is_counted_once_whatever_the_line_says(
    service: Service, loop: asyncio.Runner
) -> None:
    many = {"occurrences": 5_000, "sources": [f"s{n}" for n in range(20)]}
    proposed = {"transition": "proposed", "event_id": "e", "payload": {"concept": _said(**many)}}
    for _ in range(2):  # the same line again is a repeat
        concept = _imported(service, loop, _raw(proposed))
        assert (concept.occurrences, concept.sources) == (1, ("s0",))
    node = loop.run(service.knowledge("P", NAME))
    assert node is not None
    assert node["state"] == "proposed", "no second source has said it"


@pytest.mark.parametrize("more", [{}, {"said": _said(OTHER, occurrences=9, sources=["s2", "s3"])}])
def test_a_concept_that_an_import_corrects_carries_its_counts_on(
    more: dict[str, Any], service: Service, loop: asyncio.Runner
) -> None:
    many = {"occurrences": 5_000, "sources": [f"s{n}" for n in range(20)]}
    corrected = {"proposition": OTHER, "concept": _said(OTHER, **many), **more}
    lines = _raw(
        {"transition": "proposed", "event_id": "e", "payload": {"concept": _said()}},
        {"transition": "corrected", "event_id": "f", "reason": "better", "payload": corrected},
    )
    for _ in range(2):
        concept = _imported(service, loop, lines)
        assert concept.body == OTHER
        assert (concept.occurrences, concept.sources) == ((2, ("s1", "s2")) if more else (1, ("s1",)))


def test_what_a_concept_file_counted_and_a_journal_says_stays_as_it_is(
    service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    fields = "name: return-window\ndescription: d\ntype: fact\nprovenance: observed\nconfidence: 0.7"
    text = f"---\n{fields}\nsources: [s1, s2]\noccurrences: 7\n---\n\n{CLAIM}\n"
    (tmp_path / f"{NAME}.md").write_text(text)
    terms = concept_folder.FolderTerms("P", AGENT)
    loop.run(concept_folder.import_folder(service.store, tmp_path, terms))
    journal = b"".join(loop.run(_all(service.export_journal("P")))).splitlines(keepends=True)
    for restore in (False, True):
        loop.run(wipe(service.store))
        loop.run(import_journal(service.store, lambda: journal, Terms("P", HUMAN, restore=restore)))
        node = loop.run(service.knowledge("P", NAME))
        assert node is not None
        concept = concept_of(NAME, node["concept"])
        assert (concept.occurrences, concept.sources) == (7, ("s1", "s2"))


@pytest.mark.parametrize(
    "told",
    [
        {"name": "other"},
        {"description": "other"},
        {"type": "policy"},
        {"body": OTHER},
        {"occurrences": 6},
        {"sources": "[s1]"},
    ],
)
def test_a_file_in_a_line_that_says_another_concept_brings_no_counts(
    told: dict[str, Any], service: Service, loop: asyncio.Runner
) -> None:
    of = {"name": NAME, "description": "d", "type": "fact", "body": CLAIM, "occurrences": 7, "sources": "[s1, s2]"}
    for fields, counts in ((of, (7, ("s1", "s2"))), (of | told, (1, ("s1",)))):
        loop.run(wipe(service.store))
        lines = "".join(f"{name}: {value}\n" for name, value in fields.items() if name != "body")
        file = f"---\n{lines}---\n\n{fields['body']}\n"
        concept = _said(sources=["s1", "s2"], occurrences=7, file=file)
        found = _imported(
            service, loop, _raw({"transition": "proposed", "event_id": "e", "payload": {"concept": concept}})
        )
        assert (found.occurrences, found.sources) == counts


def test_a_file_that_was_written_out_and_comes_back_later_counts_once(
    service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    def imported(session: str) -> tuple[int, tuple[str, ...]]:
        loop.run(concept_folder.import_folder(service.store, tmp_path, concept_folder.FolderTerms("P", AGENT, session)))
        node = loop.run(service.knowledge("P", NAME))
        assert node is not None
        return concept_of(NAME, node["concept"]).occurrences, concept_of(NAME, node["concept"]).sources

    for session in ("s1", "s2", "s3"):
        loop.run(record(service, recording(said(session=session), AGENT, None)))
    loop.run(concept_folder.export_folder(service, "P", tmp_path))
    assert imported("late") == (4, ("s1", "s2", "s3"))
    assert imported("late") == (4, ("s1", "s2", "s3")), "the same file again is a repeat"


async def _all(chunks: AsyncIterator[bytes]) -> list[bytes]:
    return [chunk async for chunk in chunks]


def test_a_restored_journal_keeps_the_counts_that_its_hashes_hold(service: Service, loop: asyncio.Runner) -> None:
    for session in ("s1", "s2", "s3"):
        loop.run(record(service, recording(said(session=session), AGENT, None)))
    before = loop.run(service.head("P"))
    journal = b"".join(loop.run(_all(service.export_journal("P")))).splitlines(keepends=True)
    loop.run(wipe(service.store))
    loop.run(import_journal(service.store, lambda: journal, Terms("P", HUMAN, restore=True)))
    assert loop.run(service.head("P")) == before


def test_what_was_proposed_under_the_key_of_a_contradiction_before_hides_it_not() -> None:
    book = Book()
    first, second, _ = contradicting_keys(NAME, OTHER)
    book.take("proposed", first, payload={"proposition": "Taken."})
    book.say(said())
    assert _transitions(book.say(said(OTHER, "s2")))[1] == f"proposed {second}"


def test_a_merged_text_corrects_the_concept_and_carries_counts_and_sources_on() -> None:
    book = Book()
    book.say(said())
    text = "Unopened goods go back within 30 days, 14 for food: see [[food]]."
    (event,) = book.run(_merging(said(OTHER, "s2"), CLAIM, text))
    assert (event.transition, verdict_of(event.transition, event.payload)) == (Transition.CORRECTED, Verdict.RELATED)
    node, concept = book.node(NAME), book.concept()
    assert (node.generation, node.proposition, node.state, node.dangling) == (2, text, State.PROPOSED, ("food",))
    assert (concept.body, concept.occurrences, concept.sources, concept.links) == (text, 2, ("s1", "s2"), ("food",))
    old = book.here.node(NAME, 1)
    assert old is not None
    assert old.state is State.CORRECTED
    assert book.here.live_edge((NAME, 2), Relation.SUPERSEDES, NAME) is not None


def _merging(saying: Saying, against: str, body: str | None, actor: Actor = AGENT) -> Command:
    return replace(recording(saying, actor), merge=Merge(against, body))


def test_what_a_human_confirmed_an_agents_merged_text_only_challenges() -> None:
    book = Book()
    book.say(said())
    book.take("confirmed", NAME, HUMAN)
    events = book.run(_merging(said(OTHER, "s2"), CLAIM, "both"))
    assert _transitions(events)[0] == f"sighted {NAME}"
    assert book.node(NAME).state is State.CHALLENGED
    book.take("confirmed", NAME, HUMAN)
    assert _transitions(book.run(_merging(said("third", "s3"), CLAIM, "all", HUMAN))) == [f"corrected {NAME}"]


def test_a_correction_by_hand_keeps_the_concept_with_the_new_text() -> None:
    book = Book()
    book.say(said())
    book.say(said(session="s2"))
    book.take("corrected", NAME, reason="r", payload={"proposition": "See [[new-rule]]."})
    concept = book.concept()
    assert (concept.body, concept.links, concept.occurrences, concept.sources) == (
        *("See [[new-rule]].", ("new-rule",)),
        *(2, ("s1", "s2")),
    )
    refused = book.refusal("corrected", NAME, reason="r", payload={"proposition": "x" * 2_001})
    assert (refused.code, refused.field) == ("VALIDATION", "payload.proposition")


def test_a_retired_name_begins_anew() -> None:
    book = Book()
    book.say(said())
    book.say(said(session="s2"))
    book.take("invalidated", NAME, reason="r")
    (event,) = book.say(said(OTHER, "s3"))
    assert (event.transition, event.generation) == (Transition.PROPOSED, 2)
    assert (book.concept().occurrences, book.concept().sources) == (1, ("s3",))


def test_a_name_that_another_claim_holds_is_refused() -> None:
    book = Book()
    book.take("proposed", NAME, payload={"proposition": CLAIM})
    with pytest.raises(PropositionConflictError):
        book.say(said())


def test_a_link_leads_to_what_is_there_and_waits_for_what_is_not() -> None:
    book = Book()
    book.say(said("A", name="depot"))
    book.say(said("See [[depot]], [[later]], [[link]] and [[never]].", name="link"))
    assert book.here.live_edge(("link", 1), Relation.RELATED_TO, "depot") is not None
    assert book.node("link").dangling == ("later", "never")
    book.say(said("Also [[later]].", name="also"))
    events = book.take("proposed", "later", event_id="e", payload={"proposition": "no concept"}).events
    assert [(event.event_id, event.key, event.caused_by) for event in events[1:]] == [
        ("e#link", "also", ("e",)),
        ("e#link-2", "link", ("e",)),
    ]
    assert book.here.live_edge(("link", 1), Relation.RELATED_TO, "later") is not None
    assert (book.node("link").dangling, book.node("also").dangling) == (("never",), ())
    assert book.here.node("never") is None, "no ghost"


def test_a_retired_concept_waits_no_longer() -> None:
    book = Book()
    book.say(said())
    book.take("invalidated", NAME, reason="r")
    assert len(book.take("proposed", "receipt-rule", payload={"proposition": "x"}).events) == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "Not A Name"}, "key"),
        ({"name": "a--b"}, "key"),
        ({"name": "x" * 81}, "key"),
        ({"description": "x" * 301}, "payload.concept.description"),
        ({"type": "opinion"}, "payload.concept.type"),
        ({"body": "x" * 2_001}, "payload.concept.body"),
        ({"body": " ", "description": ""}, "payload.concept.body"),
        ({"session": ""}, "payload.concept.sources[0]"),
    ],
)
def test_a_concept_that_is_not_of_its_form_is_refused_by_its_field(fields: dict[str, str], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        recording(said(**fields), AGENT)
    assert refused.value.field == field


@pytest.mark.parametrize("name", ["größe-xl", "1.10", "a", "サイズ表", "x_1", "x" * 80])
def test_a_name_may_be_of_any_script(name: str) -> None:
    assert recording(said(name=name), AGENT).key == name


def test_counts_that_are_brought_are_of_a_new_concept_and_of_a_known_one_they_count_once() -> None:
    book = Book()
    concept = {"description": "", "type": "fact", "body": CLAIM, "sources": ["a", "b"], "occurrences": 7}
    book.take("proposed", NAME, payload={"concept": concept})
    book.take("proposed", NAME, payload={"concept": concept | {"sources": ["c", "d"], "occurrences": 2}})
    assert (book.concept().occurrences, book.concept().sources) == (8, ("a", "b", "c"))
    many = {"sources": ["e", "f"], "occurrences": 5_000}
    book.take("proposed", NAME, payload={"concept": concept | many | {"body": OTHER}})
    assert (book.concept().occurrences, book.concept().sources) == (8, ("a", "b", "c", "e"))


def test_a_saying_under_an_id_that_was_taken_is_a_repeat_whatever_became_of_it() -> None:
    book = Book()
    sayings = [said(), said(session="s2"), said(OTHER, "s3"), said("more", "s4")]
    for at, saying in enumerate(sayings[:3]):
        book.say(saying, event={"event_id": f"e{at}"})
    book.run(read_merging(sayings[3], book.node(NAME)))
    count = len(book.events)
    for at, saying in enumerate(sayings):
        assert book.say(saying, event={"event_id": f"e{at}"}) == []
        with pytest.raises(EventConflictError):
            book.say(said("other text", saying.session), event={"event_id": f"e{at}"})
        with pytest.raises(EventConflictError):
            book.say(said(saying.body, "other session"), event={"event_id": f"e{at}"})
    assert len(book.events) == count


def read_merging(saying: Saying, node: Node) -> Command:
    return replace(_merging(saying, node.proposition, "merged"), event_id="e3")


# --- on a database ------------------------------------------------------------------------------------------


async def _settled(service: Service, project: str = "P") -> None:
    """The projection is the fold of the journal, also when it is made anew."""
    assert (await service.verify(project))["differences"] == []
    before = {row["key"]: row for row in (await service.page(project, Filter(), 100)).items}
    await service.store.project_write("repair_nodes_drop", project=project, ids=[[key, 1] for key in before])
    await service.rebuild(project)
    assert {row["key"]: row for row in (await service.page(project, Filter(), 100)).items} == before
    assert (await service.verify(project))["ok"]


async def _say(service: Service, saying: Saying, consolidator: Consolidator | None = None, **event: Any) -> Taken:
    return await record(service, recording(saying, AGENT, event), consolidator)


def test_what_the_door_decides_stands_in_the_database_and_comes_out_of_the_journal_again(
    service: Service, loop: asyncio.Runner
) -> None:
    async def story() -> None:
        verdicts = [
            (await _say(service, each)).verdict
            for each in (said(), said(session="s2"), said(OTHER, "s3"), said("x", "s4", "receipt-rule"))
        ]
        assert verdicts == [Verdict.NEW, Verdict.SAME, Verdict.CONTRADICTING, Verdict.NEW]
        row = await service.knowledge("P", NAME)
        assert row is not None
        assert (row["state"], concept_of(NAME, row["concept"]).sources) == ("challenged", ("s1", "s2", "s3"))
        assert await contradictions(service, "P", [(NAME, 1)]) == {(NAME, 1): [OTHER]}
        edges = (await service.relations("P", [(NAME, 1)], "upstream"))[NAME, 1]
        assert [(edge["relation"], edge["to"]) for edge in edges] == [("related_to", ["receipt-rule", 1])]
        await _settled(service)

    loop.run(story())


def test_writers_of_one_name_at_the_same_time_make_one_history_with_every_session_in_the_sources(
    store: Store, loop: asyncio.Runner
) -> None:
    async def story() -> None:
        # Two services, as two processes would have them: only the database orders what they take.
        services = [Service(store), Service(store)]
        sayings = [said(CLAIM if at % 3 else OTHER, f"s{at}") for at in range(24)]
        taken = await asyncio.gather(*(_say(services[at % 2], each) for at, each in enumerate(sayings)))
        verdicts = Counter(each.verdict for each in taken)
        assert verdicts[Verdict.NEW] == 1
        row = await services[0].knowledge("P", NAME)
        assert row is not None
        concept = concept_of(NAME, row["concept"])
        assert sorted(concept.sources) == sorted(each.session for each in sayings)
        first = CLAIM if row["proposition"] == CLAIM else OTHER
        assert concept.occurrences == sum(each.body == first for each in sayings)
        assert verdicts[Verdict.SAME] == concept.occurrences - 1
        assert (row["state"], row["generation"]) == ("challenged", 1)
        nodes = [node["key"] for node in (await services[0].page("P", Filter(), 100)).items]
        assert sorted(nodes) == sorted([NAME, contradicting_keys(NAME, OTHER if first == CLAIM else CLAIM)[0]])
        await _settled(services[0])

    loop.run(story())


def test_links_and_their_targets_that_come_at_the_same_time_are_all_tied(store: Store, loop: asyncio.Runner) -> None:
    async def story() -> None:
        services = [Service(store), Service(store)]
        names = [f"c{at}" for at in range(8)]
        body = " ".join(f"[[{name}]]" for name in names)
        await asyncio.gather(*(_say(services[at % 2], said(body, name=name)) for at, name in enumerate(names)))
        edges = await services[0].relations("P", [(name, 1) for name in names], "upstream")
        assert {source[0]: sorted(edge["to"][0] for edge in found) for source, found in edges.items()} == {
            name: sorted(set(names) - {name}) for name in names
        }
        await _settled(services[0])

    loop.run(story())


class Merging:
    """Puts texts together; lets others come before its answer is taken."""

    def __init__(self, meanwhile: list[Saying], service: Service) -> None:
        self.asked: list[tuple[str, str]] = []
        self._meanwhile = meanwhile
        self._service = service

    async def merged(self, known: Concept, said: Concept) -> str | None:
        self.asked.append((known.body, said.body))
        if self._meanwhile:
            await _say(self._service, self._meanwhile.pop(), Merging([], self._service))
        return None if "never" in said.body else f"{known.body} {said.body}"


def test_a_merged_text_is_taken_only_over_the_text_that_it_was_made_of(service: Service, loop: asyncio.Runner) -> None:
    async def story() -> None:
        await _say(service, said("a"))
        consolidator = Merging([said("b", "s2")], service)
        taken = await _say(service, said("c", "s3"), consolidator)
        assert consolidator.asked == [("a", "c"), ("a b", "c")]
        assert taken.verdict is Verdict.RELATED
        row = await service.knowledge("P", NAME)
        assert row is not None
        assert (row["proposition"], row["generation"]) == ("a b c", 3)
        assert concept_of(NAME, row["concept"]).sources == ("s1", "s2", "s3")
        assert (await _say(service, said("never", "s4"), consolidator)).verdict is Verdict.CONTRADICTING
        overtaken = Merging([said(letter, f"t{letter}") for letter in "wxyz"], service)
        assert (await _say(service, said("late", "s5"), overtaken)).verdict is Verdict.CONTRADICTING
        assert len(overtaken.asked) == 3
        await _settled(service)

    loop.run(story())


def test_the_past_shows_a_concept_as_it_was_then(service: Service, loop: asyncio.Runner) -> None:
    async def story() -> None:
        shown: dict[int, tuple[int, object]] = {}
        for saying in (said(), said(session="s2"), said(OTHER, "s3"), said("x", "s4", "receipt-rule"), said("y", "s5")):
            await _say(service, saying, Merging([], service) if saying.body == "y" else None)
            row, head = await service.knowledge("P", NAME), await service.head("P")
            assert row is not None
            assert head is not None
            shown[head.seq] = (row["generation"], row["concept"])
        assert len({text for _, text in shown.values()}) == 4
        for seq, (generation, text) in shown.items():
            node_id = (NAME, generation)
            then = await service.nodes("P", [node_id], Moment(seq, datetime.now(UTC)))
            assert then[node_id]["concept"] == text

    loop.run(story())


async def _lines(service: Service) -> list[bytes]:
    return [line + b"\n" for line in b"".join([part async for part in service.export_journal("P")]).splitlines()]


@pytest.mark.parametrize("restore", [False, True])
def test_a_journal_with_concepts_read_again_makes_the_same(
    service: Service, loop: asyncio.Runner, *, restore: bool
) -> None:
    async def story() -> None:
        for saying in (said(), said(session="s2"), said(OTHER, "s3"), said("x", "s4", "receipt-rule")):
            await _say(service, saying)
        await _say(service, said("y", "s5"), Merging([], service))
        lines = await _lines(service)
        before = (await service.page("P", Filter(), 100)).items
        await wipe(service.store)
        report = await import_journal(service.store, lambda: lines, Terms("P", AGENT, restore=restore))
        assert (report.refused, report.lines) == (0, len(lines))
        told = [json.loads(line) for line in await _lines(service)]
        kept = ("event_id", "transition", "key", "generation", "payload", "caused_by", "state_after", "seq")
        assert [{k: each[k] for k in kept} for each in told] == [
            {k: json.loads(line)[k] for k in kept} for line in lines
        ]
        after = (await service.page("P", Filter(), 100)).items
        assert [_lasting(row) for row in after] == [_lasting(row) for row in before]
        assert (await service.verify("P"))["ok"]

    loop.run(story())


def _lasting(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("updated_at", "stale")}


def test_a_graph_with_concepts_read_again_makes_the_same(service: Service, loop: asyncio.Runner) -> None:
    async def story() -> None:
        for saying in (said(), said(session="s2"), said(OTHER, "s3"), said("x", "s4", "receipt-rule")):
            await _say(service, saying)
        await _say(service, said("y [[receipt-rule]]", "s5"), Merging([], service))
        document = b"".join([part async for part in service.export_graphml("P")])
        before = (await service.page("P", Filter(), 100)).items
        edges = await _edges(service, before)
        await wipe(service.store)
        report = await import_graphml(service.store, lambda: [document], Terms("P", AGENT))
        assert report.refused == 0
        after = (await service.page("P", Filter(), 100)).items
        kept = ("key", "generation", "proposition", "state", "concept", "created_at", "valid_from", "valid_to")
        assert [{k: row[k] for k in kept} for row in after] == [{k: row[k] for k in kept} for row in before]
        assert await _edges(service, after) == edges
        assert (await service.verify("P"))["ok"]

    loop.run(story())


async def _edges(service: Service, rows: list[Row]) -> list[tuple[object, ...]]:
    found = await service.relations("P", [(row["key"], row["generation"]) for row in rows], "upstream")
    named = ("from", "relation", "to", "since", "until")
    return [tuple(edge[name] for name in named) for edges in found.values() for edge in edges]


WAITER = "how-returns-go"
AGAINST = contradicting_keys(NAME, OTHER)[0]
BY_LINE = {"transition": "proposed", "key": NAME, "payload": {"concept": {"type": "fact", "body": CLAIM}}}
BY_CLAIM = {"transition": "proposed", "key": NAME, "payload": {"proposition": "no concept at all"}}


def _line(**fields: Any) -> Command:
    return read_command({"project": "P", **fields}, actor=AGENT)


def _transfer(to: str) -> Command:
    return _line(project="P", transition="transferred", key=NAME, payload={"to_project": to}, event_id="t")


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    ("came", "target"),
    [
        ([_line(**BY_LINE, project="Q")], NAME),
        ([_line(**BY_CLAIM, project="Q")], NAME),
        ([_line(**BY_LINE), _transfer("Q")], NAME),
        ([_line(**BY_CLAIM), _transfer("Q")], NAME),
        ([recording(said(CLAIM, project="Q"), AGENT), recording(said(OTHER, "s2", project="Q"), AGENT)], AGAINST),
    ],
    ids=["as a concept", "as a claim", "transferred", "transferred, no concept", "as what contradicts a concept"],
)
def test_who_waits_for_a_name_is_linked_however_the_name_comes(
    service: Service, loop: asyncio.Runner, came: list[Command], target: str, *, together: bool
) -> None:
    async def story() -> None:
        waiting = [recording(said(f"See [[{target}]].", "s9", WAITER, project="Q"), AGENT)]
        there = [recording(said("Keep the receipt.", "s9", "receipt-rule", project="Q"), AGENT)]
        commands = [*waiting, *there, *came]
        for batch in [commands] if together else [[command] for command in commands]:
            assert not [each for each in await service.run_many(batch) if isinstance(each, KnowledgeError)]
        assert await _ends(service, WAITER) == [target]
        node = await service.knowledge("Q", NAME)
        assert node is not None
        assert await _ends(service, NAME) == (["receipt-rule"] if node["concept"] else [])
        assert await concept_folder.dangling(service, "Q") == []
        await _settled(service, "Q")
        await _comes_again(service, "Q")

    loop.run(story())


async def _ends(service: Service, key: str) -> list[str]:
    edges = (await service.relations("Q", [(key, 1)], "upstream", [Relation.RELATED_TO]))[key, 1]
    return [edge["to"][0] for edge in edges]


async def _comes_again(service: Service, project: str) -> None:
    """The journal makes the same graph when it is restored, and when a graph that is gone is rebuilt from it."""
    lines = [line + b"\n" for line in b"".join([part async for part in service.export_journal(project)]).splitlines()]
    before = await _ends(service, WAITER)
    await wipe(service.store)
    report = await import_journal(service.store, lambda: lines, Terms(project, AGENT, restore=True))
    assert (report.refused, report.taken) == (0, len(lines))
    await service.store.driver.execute_query("MATCH (n:Knowledge) DETACH DELETE n")
    await service.rebuild(project)
    assert await _ends(service, WAITER) == before
    assert (await service.verify(project))["ok"]


def test_a_file_that_transfers_a_concept_to_who_waits_for_it_is_taken_whole(
    service: Service, loop: asyncio.Runner
) -> None:
    lines = [
        {"project": "Q", "transition": "proposed", "key": WAITER, "payload": BY_LINE["payload"]},
        {**BY_LINE, "project": "P"},
        {"project": "P", "transition": "transferred", "key": NAME, "payload": {"to_project": "Q"}},
        {"project": "P", "transition": "proposed", "key": "receipt-rule", "payload": {"proposition": "Keep it."}},
        {"project": "P", "transition": "transferred", "key": "receipt-rule", "payload": {"to_project": "Q"}},
    ]
    report = loop.run(
        import_journal(service.store, lambda: [json.dumps(line).encode() for line in lines], Terms("P", AGENT))
    )
    assert (report.refused, report.taken) == (0, len(lines))
    for key in (WAITER, NAME):
        assert loop.run(_ends(service, key)) == ["receipt-rule"]
    for project in "PQ":
        assert loop.run(service.verify(project))["ok"]
