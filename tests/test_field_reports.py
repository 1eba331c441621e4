"""Inputs that broke other tools (field-reports.md, FR-01 to FR-13), and what comes to the door broken.

What is about HTTP, cursors and context blocks is told in the tests of the API.
"""

# pyright: strict

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any, TypeVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    BEYOND_PYTHON,
    IMPORTER,
    MONSTERS,
    NESTED_METADATA,
    PAYLOADS,
    QUIET,
    Record,
    letin_lines,
    malformed_lines,
    places,
    put,
    raw_lines,
    said,
    whole_line,
)

from graph.commands import Command, read_command
from graph.errors import KnowledgeError, LimitError, NotFoundError, ValidationError
from graph.exchange import Report, Terms, import_journal
from graph.knowledge import Relation
from graph.service import Filter, NodeId, Page, Service
from graph.store import Store, Taken

networkx: Any = import_module("networkx")

T = TypeVar("T")


class Desk:
    """The service in plain calls, and short ways to look at what there is."""

    def __init__(self, service: Service, loop: asyncio.Runner) -> None:
        self.service = service
        self.loop = loop

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run(coroutine)

    def __call__(self, transition: str, key: str | None = None, project: str = "P", **parts: Any) -> Taken:
        return self.wait(self.service.run(said(transition, key, project, **parts)))

    def refused(self, transition: str, key: str | None = None, project: str = "P", **parts: Any) -> KnowledgeError:
        with pytest.raises(KnowledgeError) as caught:
            self(transition, key, project, **parts)
        return caught.value

    def claims(self, *keys: str, project: str = "P") -> None:
        for key in keys:
            assert self("proposed", key, project, proposition=f"claim {key}").applied

    def node(self, key: str, project: str = "P", **asked: Any) -> Record:
        found = self.wait(self.service.knowledge(project, key, **asked))
        assert found is not None, f"there is no {key!r}"
        return found

    def journal(self, project: str = "P") -> list[Record]:
        return self.wait(self.service.journal(project, 0, 1_000)).items

    def history(self, key: str, project: str = "P") -> list[str]:
        return [event["transition"] for event in self.journal(project) if event["key"] == key]

    def edges(self, key: str, project: str = "P", **asked: Any) -> list[tuple[str, str, str]]:
        node_id: NodeId = (key, self.node(key, project)["generation"])
        found = self.wait(self.service.relations(project, [node_id], **asked))[node_id]
        return [(edge["from"][0], edge["relation"], edge["to"][0]) for edge in found]

    def keys(self, project: str = "P", **wanted: Any) -> list[str]:
        return [node["key"] for node in self.wait(self.service.page(project, Filter(**wanted), 1_000)).items]

    def counts(self, project: str = "P") -> tuple[int, int]:
        """Nodes and live edges."""
        stats = self.wait(self.service.stats(project))
        return stats["nodes"], stats["edges"]

    def at_risk(self, project: str = "P") -> set[str]:
        return set(self.keys(project, at_risk=True))

    def exported(self, project: str = "P") -> bytes:
        async def reading() -> bytes:
            return b"".join([chunk async for chunk in self.service.export_journal(project)])

        return self.wait(reading())

    def graph(self, project: str = "P") -> Any:
        """The GraphML export as networkx reads it."""

        async def reading() -> bytes:
            return b"".join([chunk async for chunk in self.service.export_graphml(project)])

        return networkx.parse_graphml(self.wait(reading()).decode("utf-8"), force_multigraph=True)

    def take(self, lines: Iterable[bytes], project: str = "P", **terms: Any) -> Report:
        kept = list(lines)
        return self.wait(import_journal(self.service.store, lambda: kept, Terms(project, IMPORTER, **terms)))


@pytest.fixture
def desk(service: Service, loop: asyncio.Runner) -> Desk:
    return Desk(service, loop)


# --- FR-01 to FR-13 -----------------------------------------------------------------------------------------


def test_fr_01_the_same_thing_said_twice_stays_once(desk: Desk) -> None:
    first = desk("proposed", "k1", proposition="The depot closes at 18:00")
    desk("confirmed", "k1")
    for same in ("The depot closes at 18:00", "the depot closes at  18:00 "):
        again = desk("proposed", "k1", proposition=same)
        assert (again.applied, again.seq, again.generation) == (False, first.seq, 1)
    other = desk.refused("proposed", "k1", proposition="The depot closes at 19:00")
    assert other.code == "PROPOSITION_CONFLICT"
    assert "k1" in other.message
    assert desk.history("k1") == ["proposed", "confirmed"]
    node = desk.node("k1")
    assert (node["state"], node["proposition"]) == ("confirmed", "The depot closes at 18:00")
    assert desk.counts() == (1, 0)


def test_fr_02_a_contradiction_keeps_both_and_disputes_one(desk: Desk) -> None:
    desk("proposed", "tea-yes", proposition="The customer prefers tea")
    desk("confirmed", "tea-yes")
    desk("proposed", "tea-no", proposition="The customer no longer drinks tea")
    link = desk("linked", "tea-no", relation="contradicts", to="tea-yes", event_id="edge")
    assert link.applied
    assert {key: desk.node(key)["state"] for key in ("tea-yes", "tea-no")} == {
        "tea-yes": "challenged",
        "tea-no": "proposed",
    }
    edge = ("tea-no", "contradicts", "tea-yes")
    assert desk.edges("tea-yes") == desk.edges("tea-no") == [edge]
    assert desk.edges("tea-yes", direction="upstream") == desk.edges("tea-no", direction="downstream") == []
    assert desk.history("tea-yes") == ["proposed", "confirmed", "challenged"]
    challenge = desk.journal()[-1]
    assert (challenge["event_id"], challenge["caused_by"]) == ("edge#contradiction", ["edge"])
    assert "tea-no" in challenge["reason"]
    assert desk.at_risk() == set()


def test_fr_03_an_edge_to_nothing_is_refused_by_name_and_leaves_no_ghost(desk: Desk) -> None:
    desk.claims("real")
    desk.claims("ghost", project="elsewhere")
    for key, relation, to, missing in (
        ("real", "depends_on", "ghost", "ghost"),
        ("ghost2", "supports", "real", "ghost2"),
        ("real", "depends_on", "real2", "real2"),
    ):
        refusal = desk.refused("linked", key, relation=relation, to=to)
        assert refusal.code == "NOT_FOUND"
        assert missing in refusal.message
        assert desk.counts() == (1, 0)
    lone = desk.refused("proposed", "new", proposition="n", relations=[{"relation": "supports", "to": "ghost"}])
    assert (lone.code, lone.field) == ("NOT_FOUND", "payload.relations[0].to")
    assert desk.keys() == ["real"]
    assert desk.wait(desk.service.knowledge("P", "ghost")) is None
    desk.claims("real2")
    assert desk("linked", "real", relation="depends_on", to="real2").applied
    assert desk.edges("real") == [("real", "depends_on", "real2")]
    assert desk.counts() == (2, 1)


NESTED: Record = {
    **NESTED_METADATA,
    "beyond 64 bits": 2**70,
    "one as a float": 1.0,
    "small": -5e-324,
    "no": False,
    "zero": 0,
    "key with 'quotes\" and \\ and `": {"": [[], {}, [[[]]]]},
    "nul": "\x00\x07",
}


def exactly(value: object) -> str:
    """JSON that keeps 1, 1.0 and True apart."""
    return json.dumps(value, sort_keys=True)


NESTING: tuple[Record, ...] = (
    {"key": "ev", "type": "run", "source": "run:1", "artifact_ref": "s3://bucket/run-1", "metadata": NESTED},
    {"key": "bare", "type": "run", "source": "run:2"},
    {"key": "empty", "type": "run", "source": "run:3", "metadata": {}},
)


def _reads_nested(desk: Desk, project: str) -> None:
    """Whichever way it is read."""
    records = desk.wait(desk.service.evidence(project, [("e1", 1)]))["e1", 1]
    assert records == desk.node("e1", project, evidence=True)["evidence"]
    found = desk.wait(desk.service.evidence_by_key(project, ["ev", "bare", "empty"]))
    assert [found[record["key"]] for record in records] == records
    assert exactly(json.loads(found["ev"]["metadata"])) == exactly(NESTED)
    assert found["ev"]["artifact_ref"] == "s3://bucket/run-1"
    assert found["bare"]["metadata"] is None
    assert json.loads(found["empty"]["metadata"]) == {}


def test_fr_04_nested_metadata_comes_back_value_by_value_and_type_by_type(desk: Desk) -> None:
    desk.claims("e1")
    desk("evidenced", "e1", evidence=NESTING)
    _reads_nested(desk, "P")
    file = desk.exported()
    payload = json.loads(file.splitlines()[-1])["payload"]["evidence"]
    assert exactly(payload[0]["metadata"]) == exactly(NESTED)
    assert ("metadata" in payload[1], payload[2]["metadata"]) == (False, {})
    assert desk.take(file.replace(b'"project":"P"', b'"project":"Q"').splitlines(), "Q").taken == 2
    _reads_nested(desk, "Q")
    desk("transferred", "e1", to_project="R")
    _reads_nested(desk, "R")
    assert desk("evidenced", "e1", evidence=NESTING, event_id="again").applied
    other = desk.refused("evidenced", "e1", evidence=[NESTING[0] | {"metadata": NESTED | {"zero": 1}}])
    assert (other.code, other.field) == ("VALIDATION", "payload.evidence[0].key")


def test_fr_04_evidence_of_other_types_is_other_evidence(desk: Desk) -> None:
    desk.claims("e1")
    given = {"key": "ev", "type": "run", "source": "run:1", "metadata": {"zero": 0, "one": 1}}
    desk("evidenced", "e1", evidence=[given])
    for other in ({"zero": False, "one": 1}, {"zero": 0, "one": 1.0}, {"zero": 0, "one": True}):
        assert desk.refused("evidenced", "e1", evidence=[given | {"metadata": other}]).code == "VALIDATION"


def test_fr_05_a_diamond_is_no_tree(desk: Desk) -> None:
    desk.claims("j1", "a", "b", "j2", "tail")
    for near, far in (("a", "j1"), ("b", "j1"), ("j2", "a"), ("j2", "b"), ("tail", "j2")):
        desk("linked", near, relation="depends_on", to=far)
    retirement = desk("invalidated", "j1", reason="wrong")
    assert retirement.newly_at_risk == 4
    assert desk.keys(at_risk=True) == ["a", "b", "j2", "tail"]
    found = desk.wait(desk.service.provenance("P", "tail"))
    assert [node["key"] for node in found["nodes"]] == ["j2", "a", "b", "j1"]
    assert len(found["edges"]) == 5
    for key, length in (("j2", 3), ("tail", 4)):
        (why,) = desk.wait(desk.service.why_at_risk("P", key))
        assert (why["retired"]["key"], why["event"]["event_id"]) == ("j1", retirement.event_id)
        assert len(why["path"]) == length
    graph = desk.graph()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (5, 5)
    assert sorted(data["key"] for _, data in graph.nodes(data=True) if data["at_risk"]) == ["a", "b", "j2", "tail"]


def test_fr_06_a_depth_is_a_number_of_hops(desk: Desk) -> None:
    keys = [f"n{at}" for at in range(6)]
    desk.claims(*keys)
    for far, near in itertools.pairwise(keys):
        desk("linked", near, relation="depends_on", to=far)
    for depth, reached, cut in (
        (0, [], True),
        (1, ["n4"], True),
        (2, ["n4", "n3"], True),
        (4, ["n4", "n3", "n2", "n1"], True),
        (5, ["n4", "n3", "n2", "n1", "n0"], False),
        (6, ["n4", "n3", "n2", "n1", "n0"], False),
        (100, ["n4", "n3", "n2", "n1", "n0"], False),
    ):
        found = desk.wait(desk.service.provenance("P", "n5", depth=depth))
        assert [node["key"] for node in found["nodes"]] == reached
        assert [node["distance"] for node in found["nodes"]] == list(range(1, len(reached) + 1))
        assert (found["truncated"], len(found["edges"])) == (cut, len(reached))
    few = desk.wait(desk.service.provenance("P", "n5", max_nodes=2))
    assert ([node["key"] for node in few["nodes"]], few["truncated"]) == (["n4", "n3"], True)
    for depth, kind in ((-1, ValidationError), (101, LimitError)):
        with pytest.raises(kind):
            desk.wait(desk.service.provenance("P", "n5", depth=depth))


def test_fr_07_a_node_is_never_related_to_itself_and_lives_on(desk: Desk) -> None:
    desk.claims("s")
    for relation in Relation:
        refusal = desk.refused("linked", "s", relation=relation.value, to="s")
        assert refusal.code == "RELATION_REFUSED"
        assert refusal.message
    assert desk.refused("superseded", "s", by="s").code == "RELATION_REFUSED"
    for relation in Relation:
        relations = [{"relation": relation.value, "to": "t"}]
        assert desk.refused("proposed", "t", proposition="t", relations=relations).code == "RELATION_REFUSED"
    assert desk.counts() == (1, 0)
    assert desk.node("s")["state"] == "proposed"
    assert desk.graph().number_of_edges() == 0
    assert len(desk.exported().splitlines()) == 1
    assert desk("invalidated", "s", reason="wrong").newly_at_risk == 0
    assert desk.at_risk() == set()


PARCEL = (
    "1628 \u2013 30 \U0001f4e6 <b>&amp;\"'</b> ]]> a\rb\tc\r\n<!-- -- --> <?xml?> &#x1e; \ufffd \ue000 \x85 \u2028 end"
)


def test_fr_08_what_xml_forbids_is_refused_at_its_position_and_the_rest_comes_back_exactly(desk: Desk) -> None:
    for text, position in (
        ("1628\u001e\u2013 30", 4),
        ("\u0007bell", 0),
        ("nul \u0000", 4),
        ("\ufffe end", 0),
        ("\uffff", 0),
        ("alone \ud83d", 6),
        ("alone \udce6\ud83d", 6),
    ):
        refusal = desk.refused("proposed", "ctl", proposition=text)
        assert (refusal.code, refusal.field, refusal.position) == ("VALIDATION", "payload.proposition", position)
        reason = desk.refused("challenged", "ctl", reason=f"why {text}")
        assert (reason.code, reason.field, reason.position) == ("VALIDATION", "reason", position + 4)
    assert desk.wait(desk.service.projects()) == []
    desk("proposed", "ctl", proposition=PARCEL)
    desk("evidenced", "ctl", evidence=[{"type": PARCEL, "source": PARCEL, "metadata": {"\x1e": "\x00 \x07 \ufffe"}}])
    assert desk.node("ctl")["proposition"] == PARCEL
    ((_, data),) = desk.graph().nodes(data=True)
    assert data["proposition"] == PARCEL
    (evidence,) = json.loads(data["evidence"])
    assert (evidence["type"], evidence["source"]) == (PARCEL, PARCEL)
    metadata = evidence["metadata"]
    metadata = json.loads(metadata) if isinstance(metadata, str) else metadata
    assert metadata == {"\x1e": "\x00 \x07 \ufffe"}


ODD_KEYS = (
    "k`]->() DETACH DELETE n //",
    "\\u0060) DETACH DELETE (n",
    "$project",
    "{key: 'x'}",
    "'; DROP DATABASE neo4j; --",
    "icp-kriterien_f\u00fcr",
    "\u7531...\u7ec4\u6210",
    " leading and trailing ",
    "e\u0301",  # kept as two characters, and found as one as well
    "#hint",
    "a#contradiction-2",
    "..",
    "\u202e\u200b",
    "\U0001f4e6" * 200,
)


def test_fr_09_names_are_data_and_relations_are_six(desk: Desk) -> None:
    desk.claims("a", "b")
    six = [relation.value for relation in Relation]
    for name in ("icp-kriterien_f\u00fcr", "\u7531...\u7ec4\u6210", "depends_on]->() DETACH DELETE n //", "DEPENDS_ON"):
        for transition in ("linked", "unlinked"):
            refusal = desk.refused(transition, "a", relation=name, to="b")
            assert (refusal.code, refusal.field) == ("VALIDATION", "payload.relation")
            assert refusal.allowed is not None
            assert refusal.allowed.split(", ") == six
            assert "MATCH" not in refusal.message
    quote = "quote ` and $param and {brace} and \\u0060"
    for key in ODD_KEYS:
        desk("proposed", key, proposition=quote)
        desk("linked", key, relation="depends_on", to="a")
    assert desk.counts() == (2 + len(ODD_KEYS), len(ODD_KEYS))
    for key in ODD_KEYS:
        node = desk.node(key)
        assert (node["key"], node["proposition"]) == (key, quote)
        assert desk.edges(key) == [(key, "depends_on", "a")]
        assert desk.keys(key_prefix=key) == [key]
    assert desk.keys() == sorted(["a", "b", *ODD_KEYS])
    assert {data["key"] for _, data in desk.graph().nodes(data=True)} == {"a", "b", *ODD_KEYS}
    file = desk.exported()
    assert desk.take(file.splitlines(), "P").repeated == len(file.splitlines())


@pytest.mark.parametrize("size", [1, 7, 10, 25, 26])
def test_fr_10_pages_hold_everything_once(desk: Desk, size: int) -> None:
    time = datetime.now(UTC).isoformat()
    names = [f"p{at:02d}" for at in range(1, 26)]
    commands = [said("proposed", name, proposition="equal in all", time=time) for name in reversed(names)]
    answers = desk.wait(desk.service.run_many(commands))
    assert all(isinstance(answer, Taken) and answer.applied for answer in answers)
    found: list[str] = []
    page: Page | None = None
    while page is None or page.has_next:
        after = (found[-1], 1) if found else None
        page = desk.wait(desk.service.page("P", Filter(), size, after))
        found += [node["key"] for node in page.items]
        if len(found) == size:
            desk.claims("p26")
    assert [key for key in found if key != "p26"] == names
    assert len(set(found)) == len(found)
    for first, kind in ((0, ValidationError), (-1, ValidationError), (1_001, LimitError), (10**9, LimitError)):
        with pytest.raises(kind):
            desk.wait(desk.service.page("P", Filter(), first))
    assert desk.wait(desk.service.page("P", Filter(), 10, ("p99", 1))) == Page([], has_next=False)


def test_fr_10_the_journal_and_the_impact_are_paged_alike(desk: Desk) -> None:
    desk.claims("base")
    names = [f"p{at:02d}" for at in range(25)]
    relations = [{"relation": "depends_on", "to": "base"}]
    desk.wait(desk.service.run_many([said("proposed", n, proposition=n, relations=relations) for n in names]))
    seqs: list[int] = []
    more = True
    while more:
        page = desk.wait(desk.service.journal("P", seqs[-1] if seqs else 0, 10))
        seqs += [event["seq"] for event in page.items]
        more = page.has_next
    assert seqs == list(range(1, 27))
    found: list[str] = []
    more = True
    while more:
        answer = desk.wait(desk.service.impact("P", "base", 10, (found[-1], 1) if found else None))
        found += [node["key"] for node in answer["items"]]
        more = answer["has_next"]
        assert answer["count"] == 25
    assert found == names


def test_fr_11_a_neighbours_memory_stays_the_neighbours(desk: Desk) -> None:
    desk("proposed", "rate", "A", proposition="The discount is 10 percent")
    desk("proposed", "rate", "B", proposition="The discount is 25 percent")
    desk("proposed", "only-b", "B", proposition="Nobody in A knows")
    desk("evidenced", "rate", "B", evidence=[{"key": "bill", "type": "file", "source": "file:b"}], event_id="in b")
    desk("linked", "rate", "B", relation="depends_on", to="only-b")
    assert desk.node("rate", "A")["proposition"] == "The discount is 10 percent"
    assert desk.node("rate", "B")["proposition"] == "The discount is 25 percent"
    assert (desk.keys("A"), desk.keys("B")) == (["rate"], ["only-b", "rate"])
    for key in ("only-b", "nowhere"):  # the same answer for both
        assert desk.wait(desk.service.knowledge("A", key)) is None
        for call in (desk.service.impact("A", key), desk.service.why_at_risk("A", key)):
            with pytest.raises(NotFoundError) as caught:
                desk.wait(call)
            assert caught.value.message == f"there is no node {key!r}"
        refusals = [
            desk.refused("linked", "rate", "A", relation="depends_on", to=key),
            desk.refused("superseded", "rate", "A", by=key),
            desk.refused("used", key, "A"),
        ]
        assert {(refusal.code, refusal.message) for refusal in refusals} == {("NOT_FOUND", f"there is no node {key!r}")}
    assert desk.refused("used", "rate", "A", caused_by=["in b"]).code == "NOT_FOUND"
    assert desk.wait(desk.service.events_named("A", ["in b"])) == {}
    assert desk.wait(desk.service.evidence_by_key("A", ["bill"])) == {}
    assert desk.wait(desk.service.nodes("A", [("only-b", 1)])) == {}
    assert desk.edges("rate", "A") == []
    desk("invalidated", "only-b", "B", reason="wrong")
    assert (desk.at_risk("A"), desk.at_risk("B")) == (set(), {"rate"})
    assert len(desk.journal("A")) == 1
    assert b"25 percent" not in desk.exported("A")
    assert "25 percent" not in str(desk.graph("A").nodes(data=True))


def test_fr_12_one_dependency_said_by_two_jobs_is_one_edge(desk: Desk) -> None:
    desk.claims("base", "leaf")
    for run in ("r1", "r2", "r2"):
        taken = desk("linked", "leaf", relation="depends_on", to="base", event_id=f"from {run}", execution={"run": run})
        assert taken.seq == (3 if run == "r1" else 4)
    assert desk.counts() == (2, 1)
    (edge,) = desk.wait(desk.service.relations("P", [("leaf", 1)]))["leaf", 1]
    assert edge["event_ids"] == ["from r1", "from r2"]
    events = desk.wait(desk.service.events_named("P", edge["event_ids"]))
    assert [events[event_id]["execution"]["run"] for event_id in edge["event_ids"]] == ["r1", "r2"]
    assert desk.wait(desk.service.impact("P", "base"))["count"] == 1
    graph = desk.graph()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (2, 1)
    ((_, _, data),) = graph.edges(data=True)
    assert json.loads(data["event_ids"]) == ["from r1", "from r2"]
    assert desk("invalidated", "base", reason="wrong").newly_at_risk == 1
    assert desk.keys(at_risk=True) == ["leaf"]
    found = desk.wait(desk.service.provenance("P", "leaf"))
    assert (len(found["nodes"]), len(found["edges"])) == (1, 1)


def test_fr_13_what_is_true_earlier_may_be_told_later(desk: Desk) -> None:
    desk("proposed", "coffee", proposition="Drinks coffee", valid_from="2023-09-23T00:00:00Z")
    desk("proposed", "tea", proposition="Drinks green tea", valid_from="2023-09-21T10:00:00Z")
    desk("superseded", "tea", by="coffee")
    for instant, valid in (
        ("2023-09-22T00:00:00Z", ["tea"]),
        ("2023-09-22T23:59:59.999999Z", ["tea"]),
        ("2023-09-23T00:00:00Z", ["coffee"]),
        ("2023-09-21T10:00:00Z", ["tea"]),
        ("2023-09-21T09:59:59Z", []),
        (datetime.now(UTC).isoformat(), ["coffee"]),
    ):
        for hours in (0, 2, -11):
            there = datetime.fromisoformat(instant) + timedelta(hours=hours)
            written = there.replace(tzinfo=None).isoformat() + f"{hours:+03d}:00"
            assert desk.keys(valid_at=datetime.fromisoformat(written)) == valid
    tea, coffee = desk.node("tea"), desk.node("coffee")
    known = [
        node[name] and datetime.fromisoformat(node[name])
        for node in (tea, coffee)
        for name in ("valid_from", "valid_to")
    ]
    change = datetime(2023, 9, 23, tzinfo=UTC)
    assert known == [datetime(2023, 9, 21, 10, tzinfo=UTC), change, change, None]
    entered = [datetime.fromisoformat(node["created_at"]) for node in (coffee, tea)]
    assert entered == sorted(entered)
    assert datetime.now(UTC) - entered[0] < timedelta(minutes=5)
    assert desk.refused("used", "tea", time="2023-09-23T00:00:00Z").code == "VALIDATION"


# --- at the door --------------------------------------------------------------------------------------------

MANY = settings(QUIET, max_examples=1_000, derandomize=True)


def _read(line: Any) -> Command | KnowledgeError:
    try:
        return read_command(line, actor=IMPORTER, project="P")
    except KnowledgeError as refusal:
        return refusal


@MANY
@given(malformed_lines)
def test_whatever_comes_to_the_door_is_a_command_or_refused_by_field(line: Record) -> None:
    read = _read(line)
    if isinstance(read, KnowledgeError):
        assert read.code in ("VALIDATION", "LIMIT")
        assert read.field is not None
        assert json.dumps(read.facts()).encode("utf-8", errors="strict")
        json.dumps(read.facts(), ensure_ascii=False).encode()


@pytest.mark.parametrize("transition", sorted(PAYLOADS))
def test_every_monster_in_every_place_is_let_in_or_refused_by_field(transition: str) -> None:
    line = whole_line(transition)
    assert isinstance(_read(line), Command)
    for place in places(line):
        for monster in MONSTERS:
            read = _read(put(line, place, monster))
            if isinstance(read, KnowledgeError):
                assert read.code in ("VALIDATION", "LIMIT"), (place, monster)
                assert read.field is not None, (place, monster)
                json.dumps(read.facts(), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("transition", "place", "monster"),
    [pytest.param(*case, id=".".join(map(str, case[1]))) for case in BEYOND_PYTHON],
)
def test_what_is_beyond_pythons_own_limits_is_refused_by_field_too(
    transition: str, place: tuple[Any, ...], monster: Any
) -> None:
    read = _read(put(whole_line(transition), place, monster))
    assert isinstance(read, KnowledgeError)
    assert read.code in ("VALIDATION", "LIMIT")
    assert read.field


def test_a_file_with_a_number_beyond_floats_is_refused_by_line(desk: Desk) -> None:
    line = put(whole_line("proposed"), ("payload", "lineage", "confidence"), 10**400)
    report = desk.take([json.dumps(line).encode()])
    assert [refusal.line for refusal in report.refusals] == [1]


@given(st.one_of(st.none(), st.integers(), st.text(), st.lists(st.none()), st.binary(), st.just(10**5_000)))
def test_a_line_that_is_no_object_is_refused(line: Any) -> None:
    read = _read(line)
    assert isinstance(read, ValidationError)


def _dump(store: Store) -> Coroutine[Any, Any, str]:
    """All there is in the database."""

    async def dumping() -> str:
        nodes, _, _ = await store.driver.execute_query("MATCH (n) RETURN labels(n) AS l, properties(n) AS p")
        edges, _, _ = await store.driver.execute_query(
            "MATCH (a)-[r]->(b) RETURN elementId(a) AS a, type(r) AS t, properties(r) AS p, elementId(b) AS b"
        )
        return repr(sorted(repr(record.data()) for record in [*nodes, *edges]))

    return dumping()


def _standing(desk: Desk) -> None:
    desk.claims("a", "b", "c")
    desk("linked", "b", relation="depends_on", to="a", event_id="link")
    desk("confirmed", "c", evidence=[{"key": "ev", "type": "run", "source": "run:1"}])
    desk("invalidated", "a", reason="wrong")


def test_a_file_with_a_bad_line_leaves_the_database_as_it_was(desk: Desk) -> None:
    _standing(desk)
    good = {"event_id": "good", "transition": "used", "key": "b"}
    before, dump = desk.exported(), desk.wait(_dump(desk.service.store))

    @settings(MANY, max_examples=60)
    @given(st.lists(raw_lines, min_size=1, max_size=4), st.integers(0, 4), st.sampled_from(["P", "unheard of"]))
    def bad_files(bad: list[bytes], at: int, project: str) -> None:
        proposal = {"event_id": "first", "transition": "proposed", "key": "b", "payload": {"proposition": "claim b"}}
        lines = [json.dumps(proposal).encode(), *bad]
        lines.insert(min(at, len(lines)), json.dumps(good).encode())
        report = desk.take(lines, project)
        assert (report.taken, report.repeated) == (0, 0)
        wrong = {refusal.line: refusal.error for refusal in report.refusals}
        assert report.refused == len(wrong)
        for number, line in enumerate(lines, start=1):
            if line in bad:
                assert wrong[number].code in ("VALIDATION", "LIMIT")
        assert desk.exported() == before

    bad_files()
    assert desk.wait(_dump(desk.service.store)) == dump
    assert desk.wait(desk.service.projects()) == ["P"]


def test_a_command_that_is_refused_leaves_the_database_as_it_was(desk: Desk) -> None:
    _standing(desk)
    dump = desk.wait(_dump(desk.service.store))
    refused: Sequence[tuple[str, str, str, Record]] = (
        ("NOT_FOUND", "used", "nobody", {}),
        ("TERMINAL_STATE", "confirmed", "a", {"evidence": [{"key": "new", "type": "run", "source": "run:9"}]}),
        ("VALIDATION", "evidenced", "b", {"evidence": [{"key": "ev", "type": "run", "source": "other"}]}),
        ("PROPOSITION_CONFLICT", "proposed", "b", {"proposition": "other"}),
        ("NOT_FOUND", "proposed", "d", {"proposition": "d", "relations": [{"relation": "supports", "to": "e"}]}),
        ("RELATION_REFUSED", "linked", "b", {"relation": "supports", "to": "b"}),
        ("EVENT_CONFLICT", "used", "b", {"event_id": "link"}),
        ("VALIDATION", "used", "b", {"time": "2001-01-01T00:00:00Z"}),
        ("VALIDATION", "used", "b", {"time": "2999-01-01T00:00:00Z"}),
        ("NOT_FOUND", "used", "b", {"caused_by": ["never"]}),
        ("VALIDATION", "proposed", "d", {"proposition": "d", "valid_to": "2001-01-01T00:00:00Z"}),
        ("VALIDATION", "transferred", "b", {"to_project": "P"}),
        ("NOT_FOUND", "transferred", "nobody", {"to_project": "unheard of"}),
    )
    for code, transition, key, parts in refused:
        assert desk.refused(transition, key, **parts).code == code
        assert desk.refused("used", "nobody", "unheard of").code == "NOT_FOUND"
    answers = desk.wait(desk.service.run_many([said(t, key, **parts) for _, t, key, parts in refused]))
    assert [answer.code for answer in answers if isinstance(answer, KnowledgeError)] == [code for code, *_ in refused]
    assert desk.wait(_dump(desk.service.store)) == dump
    assert desk.wait(desk.service.projects()) == ["P"]


def _as_given(stored: Any, given: Any) -> Any:
    """Of what is stored, the part that was given."""
    if isinstance(given, dict) and isinstance(stored, dict):
        whole = cast("Record", stored)
        return {name: _as_given(whole[name], value) for name, value in cast("Record", given).items()}
    if isinstance(given, list) and isinstance(stored, list):
        pairs = zip(cast("list[Any]", stored), cast("list[Any]", given), strict=True)
        return [_as_given(one, other) for one, other in pairs]
    return stored


def _kept(desk: Desk, given: Command) -> None:
    """The event and the node say what was given, types and all."""
    (event,) = desk.journal(given.project)
    assert (event["event_id"], event["key"], event["reason"]) == (given.event_id, given.keyed, given.reason)
    assert exactly(_as_given(event["payload"], given.payload)) == exactly(given.payload)
    node = desk.node(given.keyed, given.project, evidence=True)
    assert node["proposition"] == given.payload["proposition"]
    metadata = [exactly(json.loads(e["metadata"])) for e in node["evidence"] if e["metadata"] is not None]
    records = given.payload.get("evidence", ())
    assert sorted(metadata) == sorted(exactly(e["metadata"]) for e in records if "metadata" in e)


def _kept_in_a_file(desk: Desk, project: str) -> None:
    """What is written and read again under another name says the same."""
    file = desk.exported(project)
    copy = f"{project} copy"
    report = desk.take([file.replace(json.dumps(project).encode(), json.dumps(copy).encode())], copy)
    assert (report.taken, report.refusals) == (1, [])
    assert exactly(json.loads(desk.exported(copy))["payload"]) == exactly(json.loads(file)["payload"])
    for name in (project, copy):
        found = desk.wait(desk.service.verify(name))
        assert found["ok"], found


def test_whatever_the_door_lets_in_is_kept_and_comes_back_equal(desk: Desk) -> None:
    """Through the database, a file, and the database again."""
    numbers = itertools.count()

    @settings(MANY, max_examples=60)
    @given(letin_lines)
    def let_in(line: Record) -> None:
        project = f"in {next(numbers)}"
        command = read_command({**line, "project": project}, actor=IMPORTER)
        assert desk.wait(desk.service.run(command)).applied
        _kept(desk, command)
        _kept_in_a_file(desk, project)

    let_in()
