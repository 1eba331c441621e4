"""What a project lets in, kinds of personal data and types of concepts; every way of writing heeds it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph.concept import TYPES
from graph.concept_folder import FolderTerms, import_folder
from graph.errors import ValidationError
from graph.exchange import Terms, import_journal
from graph.executions import Execution, observe
from graph.ingestion.backfill import Backfill
from graph.ingestion.choice import chosen
from graph.ingestion.pipeline import Given, Ingestion
from graph.ingestion.sessions import Session
from graph.knowledge import Actor, ActorType
from graph.policies import Policies, Policy
from graph.recording import Saying, record, said
from graph.redaction import PERSONAL
from graph.service import Service
from graph.store import Store

T = TypeVar("T")
WRITER = Actor("tests", "writer", ActorType.HUMAN)
MAIL, CPF, SECRET = "anna@example.org", "529.982.247-25", "hunter2"
TEXT = f"The depot is opened by {MAIL}, number {CPF}, with password={SECRET}"


class World:
    """A service asked in plain calls, and all that its database holds as one text."""

    def __init__(self, store: Store, loop: asyncio.Runner) -> None:
        self.store = store
        self.wait: Callable[[Awaitable[Any]], Any] = lambda awaited: loop.run(_awaited(awaited))
        self.service = Service(store)

    def keep(self, *kinds: str, project: str = "P") -> None:
        self.wait(self.service.policies.keep(project, kinds))

    def stored(self) -> str:
        statement = "MATCH (n) WHERE NOT n:Policy RETURN collect(properties(n))"
        return str(self.wait(self.store.driver.execute_query(statement)).records[0][0])

    def holds(self) -> tuple[bool, bool, bool]:
        """Whether mail, number and password stand anywhere."""
        text = self.stored()
        return MAIL in text, CPF in text, SECRET in text


async def _awaited(awaited: Awaitable[T]) -> T:
    return await awaited


@pytest.fixture
def world(store: Store, loop: asyncio.Runner) -> World:
    return World(store, loop)


def test_without_a_policy_nothing_is_kept_and_the_types_are_the_default(world: World) -> None:
    assert world.wait(world.service.policies.of("P")) == Policy(frozenset(), TYPES)


def test_what_is_set_is_the_projects_own_and_one_leaves_the_other_alone(world: World) -> None:
    world.keep("email")
    world.wait(world.service.policies.allow("P", ["incident", "fact", "incident"]))
    world.keep("email", "br-cpf")
    found = world.wait(Service(world.store).policies.of("P"))
    assert found == Policy(frozenset({"email", "br-cpf"}), ("incident", "fact"))
    assert found.redacting == PERSONAL - {"email", "br-cpf"}
    assert world.wait(world.service.policies.of("Q")) == Policy()
    world.keep()
    world.wait(world.service.policies.allow("P", []))
    assert world.wait(world.service.policies.of("P")) == Policy()


def test_what_another_process_sets_is_seen_after_a_while_and_what_is_set_here_at_once(world: World) -> None:
    other = Policies(world.store, seen_seconds=0.2)
    assert world.wait(other.of("P")) == Policy()
    world.keep("email")
    assert world.wait(world.service.policies.of("P")).kept == {"email"}
    world.wait(asyncio.sleep(0.25))
    assert world.wait(other.of("P")).kept == {"email"}


@pytest.mark.parametrize("kind", ["password", "jwt", "secret", "url-password", "nonsense", ""])
def test_no_secret_and_nothing_unknown_is_kept(world: World, kind: str) -> None:
    with pytest.raises(ValidationError) as refused:
        world.keep("email", kind)
    assert (refused.value.field, refused.value.position) == ("kinds", 1)
    assert world.wait(Service(world.store).policies.of("P")) == Policy()


@pytest.mark.parametrize(
    "types", [[""], [" fact"], ["anna@example.org"], ["a\tb"], ["x" * 81], [f"t{at}" for at in range(101)]]
)
def test_what_is_no_type_is_refused(world: World, types: list[str]) -> None:
    with pytest.raises(ValidationError) as refused:
        world.wait(world.service.policies.allow("P", types))
    assert (refused.value.field or "").startswith("types")


def _lines(*lines: dict[str, Any]) -> Callable[[], list[bytes]]:
    return lambda: [json.dumps(line).encode() for line in lines]


def _by_journal(world: World, _: Path) -> None:
    lines = _lines({"transition": "proposed", "key": "a", "reason": TEXT, "payload": {"proposition": TEXT}})
    world.wait(import_journal(world.store, lines, Terms("P", WRITER)))


def _by_door(world: World, _: Path) -> None:
    saying = Saying("P", "a", TEXT, "fact", TEXT, "session-1")
    world.wait(record(world.service, world.wait(said(world.service, saying, WRITER, {}))))


def _by_merge(world: World, _: Path) -> None:
    class Merging:
        async def merged(self, known: object, said: object) -> str:
            return f"{known and ''}{said and ''}{TEXT}"

    for session, body in (("session-1", "opened"), ("session-2", "closed")):
        command = world.wait(said(world.service, Saying("P", "a", "d", "fact", body, session), WRITER, {}))
        world.wait(record(world.service, command, Merging()))


def _by_folder(world: World, folder: Path) -> None:
    text = f"---\nname: a\ntype: fact\ndescription: depot\n---\n{TEXT}\n"
    (folder / "a.md").write_text(text, "utf-8")
    policy = world.wait(world.service.policies.of("P"))
    assert world.wait(import_folder(world.store, folder, FolderTerms("P", WRITER, policy=policy))).refused == 0


def _by_ingestion(world: World, _: Path) -> None:
    given = Given("P", f"{TEXT}.", f"mailto:{MAIL}?{CPF}", WRITER, keep_raw=True)
    assert world.wait(Ingestion(world.service, chosen(world.service)).ingest(given)).accepted == 1


def _by_backfill(world: World, _: Path) -> None:
    backfill = Backfill(world.service, chosen(world.service), "P", WRITER)
    world.wait(backfill.session(Session("one", f"{TEXT}.")))
    assert backfill.replayed.verdicts["accepted"] == 1


def _by_execution(world: World, _: Path) -> None:
    ran = Execution("P", f"the folder of {CPF} and {MAIL}", f"PASSWORD={SECRET} make check", 0, "operation-1")
    assert world.wait(observe(world.service, ran, WRITER)) is not None


@pytest.mark.parametrize(
    "write", [_by_journal, _by_door, _by_merge, _by_folder, _by_ingestion, _by_backfill, _by_execution]
)
def test_every_way_of_writing_heeds_it_and_lets_no_secret_in(
    world: World, write: Callable[[World, Path], None], tmp_path: Path
) -> None:
    world.keep("email")
    write(world, tmp_path)
    assert world.holds() == (True, False, False)
    assert "[REDACTED:br-cpf]" in world.stored()
    assert world.wait(world.service.verify("P"))["ok"]


def test_each_line_of_a_file_goes_by_its_own_project_and_a_restored_one_keeps_its_words(world: World) -> None:
    world.keep("email", project="Q")
    written = {"transition": "proposed", "key": "a", "payload": {"proposition": f"ask {MAIL}"}}
    lines = _lines(*({**written, "project": project} for project in ("P", "Q")))
    assert world.wait(import_journal(world.store, lines, Terms("P", WRITER))).taken == 2
    told = [world.wait(world.service.knowledge(project, "a"))["proposition"] for project in ("P", "Q")]
    assert told == ["ask [REDACTED:email]", f"ask {MAIL}"]


def test_a_project_has_its_own_types_at_every_door_that_asks_for_one(world: World, tmp_path: Path) -> None:
    world.wait(world.service.policies.allow("P", ["incident"]))
    for type_, good in (("incident", True), ("fact", False)):
        (tmp_path / "a.md").write_text(f"---\nname: a\ntype: {type_}\ndescription: d\n---\nb\n", "utf-8")
        policy = world.wait(world.service.policies.of("P"))
        report = world.wait(import_folder(world.store, tmp_path, FolderTerms("P", WRITER, policy=policy)))
        assert report.refused == (not good)
    with pytest.raises(ValidationError) as refused:
        world.wait(said(world.service, Saying("P", "b", "d", "fact", "b", "s"), WRITER, {}))
    assert refused.value.allowed == "incident"
    command = world.wait(said(world.service, Saying("P", "b", "d", "incident", "b", "s"), WRITER, {}))
    assert world.wait(record(world.service, command)).applied


def test_a_rebuild_and_verify_leave_it_alone(world: World, tmp_path: Path) -> None:
    world.keep("email")
    _by_door(world, tmp_path)
    world.wait(world.store.driver.execute_query("MATCH (p:Project {name: 'P'}) SET p.surplus = 1"))
    world.wait(world.service.rebuild("P"))
    assert world.wait(world.service.verify("P"))["ok"]
    assert world.wait(Service(world.store).policies.of("P")).kept == {"email"}


def test_graphql_tells_and_sets_it_and_the_next_mutation_goes_by_it(world: World) -> None:
    async def story() -> None:
        transport = httpx.ASGITransport(create_app(world.service, Settings(home=Path("/nowhere")), Everyone(ANONYMOUS)))
        async with httpx.AsyncClient(transport=transport, base_url="http://whence") as client:

            async def ask(query: str, **variables: Any) -> Any:
                return (await client.post("/graphql", json={"query": query, "variables": variables})).json()

            asked = '{ unredactedKinds(project: "P") conceptTypes(project: "P") }'
            assert await ask(asked) == {"data": {"unredactedKinds": [], "conceptTypes": list(TYPES)}}
            told = await ask(
                'mutation { setUnredactedKinds(project: "P", kinds: ["email"]) '
                'setConceptTypes(project: "P", types: ["incident"]) }'
            )
            assert told == {"data": {"setUnredactedKinds": ["email"], "setConceptTypes": ["incident"]}}
            assert await ask(asked) == {"data": {"unredactedKinds": ["email"], "conceptTypes": ["incident"]}}
            propose = 'mutation($p: String!) { propose(project: "P", proposition: $p) { knowledge { proposition } } }'
            taken = await ask(propose, p=f"ask {MAIL} or {CPF}")
            proposition = taken["data"]["propose"]["knowledge"]["proposition"]
            assert proposition == f"ask {MAIL} or [REDACTED:br-cpf]"
            record = (
                'mutation($t: String!) { recordConcept(project: "P", name: "n", description: "d", type: $t, '
                'body: "b", session: "s") { verdict } }'
            )
            assert (await ask(record, t="incident"))["data"]["recordConcept"] == {"verdict": "NEW"}
            assert (await ask(record, t="fact"))["errors"][0]["extensions"]["allowed"] == "incident"
            refused = await ask('mutation { setUnredactedKinds(project: "P", kinds: ["password"]) }')
            assert refused["errors"][0]["extensions"]["field"] == "kinds"
            refused = await ask('mutation { setConceptTypes(project: "a\\tb", types: ["x"]) }')
            assert refused["errors"][0]["extensions"]["field"] == "project"

    world.wait(story())
