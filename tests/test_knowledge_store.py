"""What an agent's memory may rely on of its store, whoever implements it: the contract, held to on the real server."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from hashed import HashEmbedder

from graph.embedding.profile import Profile
from graph.embedding.representations import Representations
from graph.embedding.semantic import Semantic
from graph.errors import (
    AuthorityError,
    KnowledgeError,
    LimitError,
    NotFoundError,
    PropositionConflictError,
    TerminalStateError,
    ValidationError,
)
from graph.filters import Filter
from graph.ingestion.stages import Quality
from graph.knowledge import Actor, ActorType, Kind, Relation, State
from graph.knowledge_store import Change, HybridQuery, KnowledgeObject, KnowledgeStore, Representation
from graph.project_store import OBJECTS_MAX, ProjectStore
from graph.service import Service
from graph.store import Store, Taken

AGENT = Actor("tests", "agent", ActorType.AGENT)
HUMAN = Actor("tests", "ada", ActorType.HUMAN)
QUALITY = Quality(extraction=0.8, consistency=1.0, freshness=1.0)
DEPOT = KnowledgeObject(
    "depot", "The depot closes at six", evidence=({"type": "sign", "source": "https://x.example/1"},)
)
FERRY = KnowledgeObject("ferry", "The ferry leaves at seven", relations=((Relation.DEPENDS_ON, "depot"),))
MODEL = HashEmbedder("contract", 16)
OTHER = Profile("contract-other", 3, "0" * 64)


class Contract:
    """A store under test, asked in plain calls."""

    def __init__(self, service: Service, loop: asyncio.Runner) -> None:
        semantic = Semantic(MODEL, Representations(service.store, MODEL.profile))
        self.service = service
        self.store: KnowledgeStore = ProjectStore(service, "P", AGENT, semantic)
        self.run: Any = loop.run

    def save(self, *objects: KnowledgeObject) -> list[Taken | KnowledgeError]:
        return self.run(self.store.save(*objects))

    def get(self, key: str) -> KnowledgeObject:
        return self.run(self.store.get(key))

    def promote(self, *keys: str) -> None:
        for key in keys:
            self.run(self.store.promote(key, QUALITY))

    def events(self) -> int:
        head = self.run(self.service.head("P"))
        return 0 if head is None else head.seq

    def found(self, **query: Any) -> list[str]:
        return [one.object.key for one in self.run(self.store.hybrid_search(HybridQuery(**query)))]


@pytest.fixture(scope="module", autouse=True)
def indexes_of_vectors(open_store: Store, loop: asyncio.Runner) -> Iterator[None]:
    """Those that the module makes are gone behind it."""
    yield
    for profile in (MODEL.profile, OTHER):
        text = "DROP INDEX $name IF EXISTS"
        loop.run(open_store.driver.execute_query(text, {"name": profile.model}, database_=open_store.database))


@pytest.fixture
def contract(service: Service, loop: asyncio.Runner) -> Contract:
    return Contract(service, loop)


def test_there_are_eleven_operations() -> None:
    operations = [
        name for name, _ in inspect.getmembers(KnowledgeStore, inspect.isfunction) if not name.startswith("_")
    ]
    said = "save get query delete search save_representation get_representation hybrid_search list_by_status"
    assert operations == sorted(f"{said} update_status promote".split())


def test_what_is_saved_is_read_back_and_can_be_saved_elsewhere(contract: Contract, loop: asyncio.Runner) -> None:
    told = KnowledgeObject(
        "told",
        "Ada said so",
        Kind.OBSERVATION,
        ({"type": "mail", "source": "mid:1", "hash": "sha256:ab", "metadata": {"lines": [1, 2]}},),
        ((Relation.SUPPORTS, "depot"), (Relation.RELATED_TO, "ferry")),
        {"sources": [{"type": "file", "id": "notes"}], "method": "by hand"},
    )
    assert all(isinstance(answer, Taken) and answer.applied for answer in contract.save(DEPOT, FERRY, told))
    back = contract.get("told")
    assert (back.proposition, back.kind, back.state, back.generation) == (
        told.proposition,
        told.kind,
        State.PROPOSED,
        1,
    )
    assert set(back.relations) == set(told.relations)
    assert back.evidence[0].items() >= told.evidence[0].items()
    assert back.lineage is not None
    assert back.lineage["sources"] == [{"type": "file", "id": "notes"}]
    elsewhere = ProjectStore(contract.service, "Q", AGENT)
    loop.run(elsewhere.save(contract.get("depot"), contract.get("ferry"), back))
    assert loop.run(elsewhere.get("told")) == back


def test_the_same_object_again_changes_nothing_and_another_claim_is_refused(contract: Contract) -> None:
    contract.save(DEPOT)
    before = contract.events()
    (again,) = contract.save(DEPOT)
    (refused,) = contract.save(KnowledgeObject("depot", "The depot closes at eight"))
    assert isinstance(again, Taken)
    assert not again.applied
    assert isinstance(refused, PropositionConflictError)
    assert (contract.events(), contract.get("depot").proposition) == (before, DEPOT.proposition)


def test_of_several_objects_each_is_taken_or_refused_by_itself(contract: Contract) -> None:
    contract.save(DEPOT)
    refused, taken = contract.save(KnowledgeObject("depot", "Another claim"), FERRY)
    assert isinstance(refused, PropositionConflictError)
    assert isinstance(taken, Taken)
    with pytest.raises(ValidationError):
        contract.save(KnowledgeObject("good", "A good one"), KnowledgeObject("bad", "a \x00"))
    with pytest.raises(LimitError):
        contract.save(*[DEPOT] * (OBJECTS_MAX + 1))
    with pytest.raises(NotFoundError):
        contract.get("good")


def test_what_is_deleted_is_hidden_from_every_operation_until_it_is_saved_again(contract: Contract) -> None:
    contract.save(DEPOT)
    contract.promote("depot")
    assert contract.run(contract.store.delete("depot")).applied
    for hidden in (contract.store.get("depot"), contract.store.get_representation("depot", MODEL.profile)):
        with pytest.raises(NotFoundError):
            contract.run(hidden)
    assert contract.run(contract.store.query(Filter())).objects == []
    assert contract.run(contract.store.search("depot closes")) == []
    assert contract.run(contract.store.list_by_status(State.CONFIRMED)) == []
    assert contract.found(text="depot closes") == []
    history = contract.run(contract.service.journal("P", 0, 10)).items
    assert [event["transition"] for event in history] == ["proposed", "confirmed", "forgotten"]
    contract.save(DEPOT)
    assert contract.get("depot").state is State.CONFIRMED


def test_pages_hold_each_object_once_and_end(contract: Contract) -> None:
    contract.save(*(KnowledgeObject(f"k{at}", f"Claim number {at}") for at in range(7)))
    seen: list[str] = []
    after = None
    while True:
        page = contract.run(contract.store.query(Filter(key_prefix="k"), 3, after))
        seen += [one.key for one in page.objects]
        after = page.after
        if after is None:
            break
    assert seen == [f"k{at}" for at in range(7)]


def test_candidates_are_proposed_and_become_active_with_their_quality_as_the_reason(contract: Contract) -> None:
    contract.save(DEPOT, FERRY)
    assert [one.key for one in contract.run(contract.store.list_by_status(State.PROPOSED))] == ["depot", "ferry"]
    contract.run(contract.store.promote("depot", QUALITY, "promotion-1"))
    assert not contract.run(contract.store.promote("depot", QUALITY, "promotion-1")).applied
    assert [one.key for one in contract.run(contract.store.list_by_status(State.CONFIRMED))] == ["depot"]
    assert contract.run(contract.service.journal("P", 2, 10)).items[0]["reason"] == QUALITY.text()


def test_a_status_changes_by_the_rules_of_the_lifecycle_alone(contract: Contract, loop: asyncio.Runner) -> None:
    update = contract.store.update_status
    contract.save(DEPOT, FERRY)
    contract.run(update("depot", State.CHALLENGED, Change(reason="somebody saw it open")))
    assert contract.get("depot").state is State.CHALLENGED
    contract.run(update("depot", State.CONFIRMED))
    for status in (State.PROPOSED, State.CORRECTED):
        with pytest.raises(ValidationError) as refused:
            contract.run(update("depot", status))
        assert refused.value.field == "status"
    for lacking in (State.CHALLENGED, State.INVALIDATED, State.SUPERSEDED):
        with pytest.raises(ValidationError):
            contract.run(update("depot", lacking))
    contract.save(KnowledgeObject("depot-2", "The depot closes at eight"))
    contract.run(update("depot", State.SUPERSEDED, Change(by="depot-2")))
    assert contract.get("depot").state is State.SUPERSEDED
    assert contract.get("ferry").at_risk
    with pytest.raises(TerminalStateError):
        contract.run(update("depot", State.CONFIRMED))
    with pytest.raises(NotFoundError):
        contract.run(update("gone", State.CONFIRMED))
    loop.run(ProjectStore(contract.service, "P", HUMAN).promote("ferry", QUALITY))
    with pytest.raises(AuthorityError):
        contract.run(update("ferry", State.INVALIDATED, Change(reason="an agent thinks so")))


def test_vectors_of_several_models_stand_beside_each_other_and_come_back(contract: Contract) -> None:
    contract.save(DEPOT)
    save, get = contract.store.save_representation, contract.store.get_representation
    contract.run(save(Representation("depot", MODEL.profile, MODEL.vector("depot"))))
    contract.run(save(Representation("depot", OTHER, [0.0, 3.0, 4.0])))
    assert contract.run(get("depot", OTHER)).vector == pytest.approx([0.0, 0.6, 0.8])
    assert contract.run(get("depot", MODEL.profile)).vector == pytest.approx(MODEL.vector("depot"), abs=1e-6)
    contract.run(save(Representation("depot", OTHER, [1.0, 0.0, 0.0])))
    assert contract.run(get("depot", OTHER)).vector == pytest.approx([1.0, 0.0, 0.0])
    with pytest.raises(NotFoundError):
        contract.run(get("depot", Profile("never-used", 3, "1" * 64)))
    for vector in ([1.0, 0.0], [0.0, 0.0, 0.0], [1.0, float("nan"), 0.0], [1.7e308, 1.7e308, 0.0]):
        with pytest.raises(ValidationError):
            contract.run(save(Representation("depot", OTHER, vector)))
    with pytest.raises(NotFoundError):
        contract.run(save(Representation("gone", OTHER, [1.0, 0.0, 0.0])))


def test_search_goes_by_words_or_by_the_model_that_is_named(contract: Contract) -> None:
    contract.save(DEPOT, FERRY)
    assert [one.key for one in contract.run(contract.store.search("when does the ferry leave", 1))] == ["ferry"]
    contract.run(contract.store.save_representation(Representation("depot", MODEL.profile, MODEL.vector("boat"))))
    assert contract.run(contract.store.search("boat")) == []
    assert [one.key for one in contract.run(contract.store.search("boat", model="contract"))][:1] == ["depot"]
    with pytest.raises(ValidationError) as refused:
        contract.run(contract.store.search("boat", model="another"))
    assert refused.value.allowed == "contract"


def test_a_hybrid_score_is_seven_tenths_cosine_and_three_tenths_words(contract: Contract) -> None:
    contract.save(DEPOT, FERRY)
    contract.promote("depot", "ferry")
    contract.run(contract.store.save_representation(Representation("depot", OTHER, [0.6, 0.8, 0.0])))
    wanted = HybridQuery("the depot closes at six", OTHER, [1.0, 0.0, 0.0])
    depot = contract.run(contract.store.hybrid_search(wanted))[0]
    assert depot.object.key == "depot"
    assert depot.cosine == pytest.approx(0.6)
    assert depot.score == pytest.approx(0.7 * 0.6 + 0.3 * depot.likeness)
    (by_words,) = contract.run(contract.store.hybrid_search(HybridQuery("the depot closes at six")))
    assert (by_words.cosine, by_words.score) == (None, by_words.likeness)


def test_a_hybrid_search_gives_active_objects_unless_others_are_asked_for(contract: Contract) -> None:
    contract.save(DEPOT, FERRY, KnowledgeObject("seen", "The depot was seen open", Kind.OBSERVATION))
    contract.promote("depot")
    assert contract.found(text="depot") == ["depot"]
    both = (State.PROPOSED, State.CONFIRMED)
    assert sorted(contract.found(text="depot", states=both)) == ["depot", "seen"]
    assert contract.found(text="depot", states=both, kinds=[Kind.OBSERVATION]) == ["seen"]
    assert contract.found(text="depot", states=both, limit=1) == ["depot"]
    assert contract.found(text="depot", states=both, score_min=0.99) == []
    assert contract.found(text="of the and") == []
    with pytest.raises(LimitError):
        contract.found(text="depot", candidates=1_001)
    for wrong in ({"candidates": 0}, {"limit": 0}, {"limit": 101}, {"text": " "}, {"vector": [1.0]}):
        with pytest.raises(ValidationError):
            contract.found(**{"text": "depot", **wrong})


def test_one_project_never_sees_another(contract: Contract, loop: asyncio.Runner) -> None:
    contract.save(DEPOT)
    other: KnowledgeStore = ProjectStore(contract.service, "Q", AGENT)
    loop.run(other.save(KnowledgeObject("ferry", "The ferry of Q leaves at nine")))
    with pytest.raises(NotFoundError):
        loop.run(other.get("depot"))
    assert loop.run(other.search("depot closes")) == []
    assert [one.key for one in loop.run(other.query(Filter())).objects] == ["ferry"]
