"""Who is let in, and that what lies outside a token's scope is not there, to no field and no mutation."""

# graphql-core leaves the parameters of its generic types open.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import wipe
from graphql import GraphQLObjectType, build_schema, get_named_type, is_leaf_type, is_object_type

from api import routes
from api.access import Admission
from api.app import create_app
from api.ids import cursor, packed
from api.settings import Settings
from api.spending import SAVED_SECONDS, Spending
from graph import observed
from graph.access_tokens import AccessTokens, Grant, read_token
from graph.commands import read_command
from graph.errors import ForbiddenError, NotFoundError, RateError, UnauthenticatedError, ValidationError
from graph.knowledge import Actor, ActorType
from graph.redaction import redact
from graph.scope import EVERY, Role, Scope
from graph.service import Service
from graph.store import Store

SDL = build_schema((Path(__file__).parent.parent / "api" / "schema.graphql").read_text("utf-8"))
OURS, THEIRS, NOWHERE = "ours-p", "their-p", "no-such"  # of one length, as the answers' are
PERSON = Actor("tests", "person", ActorType.HUMAN)
AGENT = Actor("tests", "agent", ActorType.AGENT)
SECRET = "heron"
LEVELS = 3  # of fields below a root

# The value of every argument of the contract's roots, by its name: a new one needs a row here.
ARGUMENTS: Mapping[str, str] = {
    "aging": '"P9D"',
    "body": '"The heron stands in the reeds."',
    "by": '"b"',
    "command": '"pytest -q"',
    "description": '"Where the heron stands"',
    "evidence": '[{type: "run", source: "ci:1"}]',
    "exitCode": "0",
    "from": '"a"',
    "goal": '"heron"',
    "key": '"a"',
    "kinds": '["email"]',
    "name": '"where-it-stands"',
    "olderThan": '"PT1S"',
    "operationId": '"op-1"',
    "outcome": "HELPFUL",
    "proposition": '"Some other heron"',
    "relation": "SUPPORTS",
    "session": '"s-1"',
    "source": '"talk:1"',
    "text": '"The heron nests in the old oak."',
    "to": '"b"',
    "toProject": '"PROJECT"',
    "type": '"fact"',
    "types": '["fact"]',
    "workspace": '"/w"',
}
# Beside what must be given: what makes a mutation say more than that a key exists already.
OPTIONAL = {"propose": ["key"], "challenge": ["event"], "correct": ["event"], "invalidate": ["event"]}
OPTIONAL["disprove"] = ["evidence", "event"]
ADMINS = {"setAgingTime", "setUnredactedKinds", "setConceptTypes"}
WITHOUT_PROJECT = {"node", "projects"}


@dataclass(frozen=True, slots=True)
class Callers:
    """An application with tokens, and who shows which."""

    app: Any
    loop: asyncio.Runner
    tokens: Mapping[str, str | None]
    store: Store

    def send(self, who: str, method: str, path: str, **request: Any) -> httpx.Response:
        async def sent() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            token = self.tokens[who]
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://whence", headers=headers) as client:
                return await client.request(method, path, **request)

        return self.loop.run(sent())

    def ask(self, who: str, query: str) -> Any:
        return self.send(who, "POST", "/graphql", json={"query": query}).json()

    def head(self, project: str) -> Any:
        return self.loop.run(Service(self.store).head(project))


def grants(now: datetime) -> dict[str, Grant]:
    reader = Grant(AGENT, Role.READER, [OURS])
    return {
        "reader": reader,
        "writer": replace(reader, role=Role.WRITER),
        "admin": replace(reader, role=Role.ADMIN),
        "stranger": replace(reader, projects=["elsewhere"], role=Role.ADMIN),
        "expired": replace(reader, expires_at=now + timedelta(seconds=1)),
        "revoked": replace(reader, role=Role.ADMIN, projects=[EVERY]),
        "owner": Grant(PERSON, Role.ADMIN, [EVERY]),
    }


@pytest.fixture(scope="module")
def callers(open_store: Store, loop: asyncio.Runner) -> Callers:
    """Two projects that hold the same, and one caller of each kind."""
    loop.run(wipe(open_store))
    service = Service(open_store)
    kept = AccessTokens(open_store)
    earlier = AccessTokens(open_store, lambda: datetime.now(UTC) - timedelta(hours=1))
    shown: dict[str, str | None] = {"nobody": None, "made up": "whence_" + "0" * 85, "no token": "x"}
    for name, grant in grants(datetime.now(UTC) - timedelta(hours=1)).items():
        made, shown[name] = loop.run((earlier if name == "expired" else kept).create(grant))
        if name == "revoked":
            loop.run(kept.revoke(made.id))
    app = create_app(service, Settings(home=Path("/nowhere")), Admission(kept))
    found = Callers(app, loop, shown, open_store)
    for project in (OURS, THEIRS):
        for key, text in (("a", f"The {SECRET} stands"), ("b", f"The {SECRET} flies"), ("c", f"The {SECRET} fell")):
            said = f'project: "{project}", key: "{key}", proposition: "{text}"'
            told = found.ask("owner", f'mutation {{ propose({said}, event: {{eventId: "e-{key}"}}) {{ applied }} }}')
            assert told["data"], told
        found.ask(
            "owner",
            f'mutation {{ link(project: "{project}", from: "a", relation: DEPENDS_ON, to: "c") {{ applied }} }}',
        )
        found.ask(
            "owner",
            f'mutation {{ invalidate(project: "{project}", key: "c", event: {{reason: "heron"}}) {{ applied }} }}',
        )
    return found


def written(name: str, project: str, *, mutation: bool) -> str:
    """A request for one root field, with all that is asked of it and all that it can tell."""
    root = SDL.mutation_type if mutation else SDL.query_type
    assert root is not None
    field = root.fields[name]
    needed = [a for a, of in field.args.items() if str(of.type).endswith("!") and of.default_value is not None]
    values = {a: ARGUMENTS[a].replace("PROJECT", project) for a in needed if a not in ("project", "id")}
    for extra in OPTIONAL.get(name, []):
        values[extra] = '{reason: "heron"}' if extra == "event" else ARGUMENTS[extra]
    if "project" in field.args:
        values["project"] = json.dumps(project)
    if "id" in field.args:
        values["id"] = json.dumps(packed("Knowledge", project, "a", 1))
    given = f"({', '.join(f'{key}: {value}' for key, value in values.items())})" if values else ""
    kind = "mutation" if mutation else "query"
    return f"{kind} {{ {name}{given} {selection(get_named_type(field.type), LEVELS)} }}"


def selection(of: Any, levels: int) -> str:
    if is_leaf_type(of):
        return ""
    if not is_object_type(of):
        return "{ id }"
    assert isinstance(of, GraphQLObjectType)
    fields = [
        f"{name} {selection(get_named_type(field.type), levels - 1)}"
        for name, field in of.fields.items()
        if (levels > 0 or is_leaf_type(get_named_type(field.type)))
        and not any(str(a.type).endswith("!") for a in field.args.values())
    ]
    return f"{{ {' '.join(fields) or '__typename'} }}"


def roots(*, mutation: bool) -> list[str]:
    root = SDL.mutation_type if mutation else SDL.query_type
    assert root is not None
    return sorted(root.fields)


QUERIES, MUTATIONS = roots(mutation=False), roots(mutation=True)


class Statements(observed.Observer):
    def __init__(self) -> None:
        self.names: list[str] = []

    def statement(self, name: str, seconds: float, rows: int, failure: str | None) -> None:  # noqa: ARG002
        self.names.append(name)


def codes(answer: Any) -> set[str]:
    return {error["extensions"]["code"] for error in answer.get("errors", [])}


def without_names(answer: Any, project: str) -> str:
    """An answer, in which what tells the time and the project that was asked for are the same."""
    text = json.dumps(answer, sort_keys=True).replace(project, "PROJECT")
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "INSTANT", text)


@pytest.mark.parametrize("name", [*QUERIES, *MUTATIONS])
@pytest.mark.parametrize("who", ["nobody", "no token", "made up", "expired", "revoked"])
def test_without_a_token_that_holds_no_field_answers(callers: Callers, who: str, name: str) -> None:
    for project in (OURS, NOWHERE):
        answer = callers.send(
            who, "POST", "/graphql", json={"query": written(name, project, mutation=name in MUTATIONS)}
        )
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert codes(answer.json()) == {"UNAUTHENTICATED"}
        assert "data" not in answer.json()
        assert SECRET not in answer.text


def statements_alike(callers: Callers, name: str) -> bool:
    """Whether a query of another project took the statements of one that does not exist; the answers must be alike."""
    asked: dict[str, tuple[str, list[str]]] = {}
    for project in (THEIRS, NOWHERE):
        watched = Statements()
        with observed.by(watched):
            answer = callers.ask("reader", written(name, project, mutation=False))
        assert name in WITHOUT_PROJECT or THEIRS not in callers.ask("reader", "{ projects }")["data"]["projects"]
        assert SECRET not in json.dumps(answer).replace(ARGUMENTS["goal"], ""), answer
        asked[project] = without_names(answer, project), watched.names
    assert asked[THEIRS][0] == asked[NOWHERE][0]
    return asked[THEIRS][1] == asked[NOWHERE][1]


@pytest.mark.parametrize("name", QUERIES)
def test_another_project_answers_every_query_as_one_that_does_not_exist(callers: Callers, name: str) -> None:
    alike = [statements_alike(callers, name) for _ in range(4)]
    # What is kept of tokens and projects for seconds is looked up when they have passed, whoever is asked for.
    assert any(alike), "the statements that they took"
    if name not in WITHOUT_PROJECT:
        own = callers.ask("reader", written(name, OURS, mutation=False))
        assert "data" in own, own
        assert codes(own) == set()


def test_a_caller_sees_the_projects_of_its_token_and_their_nodes_alone(callers: Callers) -> None:
    assert callers.ask("reader", "{ projects }") == {"data": {"projects": [OURS]}}
    assert callers.ask("stranger", "{ projects }") == {"data": {"projects": []}}
    assert callers.ask("owner", "{ projects }")["data"]["projects"] == sorted((OURS, THEIRS))
    for kind, *parts in (("Knowledge", THEIRS, "a", 1), ("KnowledgeEvent", THEIRS, "e-a"), ("Evidence", THEIRS, "x")):
        query = f'{{ node(id: "{packed(str(kind), *parts)}") {{ id }} }}'
        assert callers.ask("reader", query) == {"data": {"node": None}}
    forged = cursor("knowledgeList", THEIRS, "a", 1)
    assert codes(
        callers.ask("reader", f'{{ knowledgeList(project: "{OURS}", after: "{forged}") {{ edges {{ cursor }} }} }}')
    ) == {"VALIDATION"}


def test_what_was_kept_for_one_caller_is_not_given_to_another(callers: Callers) -> None:
    query = f'{{ knowledge(project: "{THEIRS}", key: "a") {{ proposition }} }}'
    for _ in range(4):  # the first makes the plan, the second is counted, the third is kept
        assert SECRET in json.dumps(callers.ask("owner", query))
        assert callers.ask("reader", query) == {"data": {"knowledge": None}}


@pytest.mark.parametrize("name", MUTATIONS)
def test_nobody_writes_outside_of_the_projects_of_its_token(callers: Callers, name: str) -> None:
    before = callers.head(THEIRS)
    found: dict[str, str] = {}
    for project in (THEIRS, NOWHERE):
        answer = callers.ask("admin", written(name, project, mutation=True))
        assert codes(answer) <= {"FORBIDDEN", "NOT_FOUND"}, answer
        assert codes(answer), answer
        found[project] = without_names(answer, project)
    assert found[THEIRS] == found[NOWHERE]
    assert (callers.head(THEIRS), callers.head(NOWHERE)) == (before, None)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_reader_writes_nothing_and_a_writer_sets_nothing(callers: Callers, name: str) -> None:
    before = callers.head(OURS)
    assert codes(callers.ask("reader", written(name, OURS, mutation=True))) == {"FORBIDDEN"}
    if name in ADMINS:
        assert codes(callers.ask("writer", written(name, OURS, mutation=True))) == {"FORBIDDEN"}
    assert callers.head(OURS) == before


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_writer_may_write_and_an_admin_may_set(callers: Callers, name: str) -> None:
    who = "admin" if name in ADMINS else "writer"
    assert "FORBIDDEN" not in codes(callers.ask(who, written(name, OURS, mutation=True)))


def test_the_actor_is_the_tokens_own_and_only_an_admin_names_another(callers: Callers) -> None:
    asked = 'mutation {{ propose(project: "ours-p", proposition: "{}"{}) {{ event {{ actor {{ subject type }} }} }} }}'
    own = callers.ask("writer", asked.format("It is raining", ""))
    assert own["data"]["propose"]["event"]["actor"] == {"subject": "agent", "type": "AGENT"}
    other = ', event: {actor: {issuer: "tests", subject: "person", type: HUMAN}}'
    (refused,) = callers.ask("writer", asked.format("It is snowing", other))["errors"]
    assert (refused["extensions"]["code"], refused["extensions"]["field"]) == ("FORBIDDEN", "event.actor")
    named = callers.ask("admin", asked.format("It is snowing", other))
    assert named["data"]["propose"]["event"]["actor"] == {"subject": "person", "type": "HUMAN"}


def test_nothing_is_transferred_to_where_the_caller_may_not_write(callers: Callers) -> None:
    asked = 'mutation {{ transfer(project: "{}", key: "a", toProject: "{}") {{ applied }} }}'
    for there in (THEIRS, NOWHERE):
        (refused,) = callers.ask("writer", asked.format(OURS, there))["errors"]
        assert (refused["extensions"]["code"], refused["extensions"]["field"]) == ("FORBIDDEN", "toProject")
        assert codes(callers.ask("writer", asked.format(there, OURS))) == {"NOT_FOUND"}


def test_who_is_admin_of_the_one_project_names_nobody_else_in_the_other(callers: Callers) -> None:
    mixed = Scope(AGENT, {OURS: Role.ADMIN, THEIRS: Role.WRITER}, "jwt", "x")
    line = {"transition": "transferred", "key": "a", "payload": {"to_project": THEIRS}}
    mixed.require_command(read_command(line, actor=AGENT, project=OURS))
    with pytest.raises(ForbiddenError):
        mixed.require_command(read_command(line, actor=PERSON, project=OURS))


@pytest.mark.parametrize(
    "asked",
    [
        'ingest(project: "ours-p", text: "The tide turned at noon today.", source: "s", E) { accepted }',
        'observeExecution(project: "ours-p", workspace:"w", command: "tsc", exitCode: 0, operationId: "o", E){applied}',
        'recordConcept(project: "ours-p", name:"t", description:"d", type: "fact", body: "b", session:"s", E){verdict}',
    ],
)
def test_a_writer_is_nobody_else_whatever_it_writes(callers: Callers, asked: str) -> None:
    other = 'event: {actor: {issuer: "tests", subject: "person", type: HUMAN}}'
    before = callers.head(OURS)
    (refused,) = callers.ask("writer", f"mutation {{ {asked.replace('E)', f'{other})')} }}")["errors"]
    assert (refused["extensions"]["code"], refused["extensions"]["field"]) == ("FORBIDDEN", "event.actor")
    assert callers.head(OURS) == before


def test_an_agents_token_does_not_retire_what_a_human_confirmed(callers: Callers) -> None:
    callers.ask("owner", 'mutation { propose(project: "ours-p", key: "held", proposition: "It holds") { applied } }')
    callers.ask("owner", 'mutation { confirm(project: "ours-p", key: "held") { applied } }')
    retire = 'mutation { invalidate(project: "ours-p", key: "held", event: {reason: "no"}) { applied } }'
    doubt = 'mutation { challenge(project: "ours-p", key: "held", event: {reason: "no"}) { applied } }'
    assert codes(callers.ask("writer", retire)) == {"AUTHORITY"}
    assert codes(callers.ask("writer", doubt)) == set()


def test_a_context_answer_carries_the_decision(callers: Callers) -> None:
    told = "text authorization { allowed project rule actor { subject } }"
    query = '{{ context(project: "{}", goal: "heron") {{ {} }} }}'
    own = callers.ask("reader", query.format(OURS, told))["data"]["context"]
    assert own["authorization"] == {
        "allowed": True,
        "project": OURS,
        "rule": "token.reader.v1",
        "actor": {"subject": "agent"},
    }
    other = callers.ask("reader", query.format(THEIRS, told))["data"]["context"]
    assert (other["authorization"]["allowed"], other["authorization"]["rule"]) == (False, "token.none.v1")
    assert SECRET not in other["text"]


def test_what_is_not_graphql_keeps_to_the_scope_too(callers: Callers) -> None:
    for path in (f"/export/{OURS}.jsonl", f"/export/{OURS}.graphml", f"/export/{OURS}.provn", "/metrics", "/mcp", "/x"):
        assert callers.send("nobody", "GET", path).status_code == 401
    assert callers.send("nobody", "POST", "/context", json={"goal": "heron"}).status_code == 401
    for ending in (".jsonl", ".graphml", ".provn", ".provjson"):
        assert SECRET in callers.send("reader", "GET", f"/export/{OURS}{ending}").text
        theirs, nowhere = (callers.send("reader", "GET", f"/export/{name}{ending}") for name in (THEIRS, NOWHERE))
        assert (theirs.status_code, theirs.text) == (404, nowhere.text.replace(NOWHERE, THEIRS))
    for name, status in ((OURS, 200), (THEIRS, 204), (NOWHERE, 204)):
        block = callers.send("reader", "POST", "/context", json={"goal": "heron", "project": name})
        assert block.status_code == status
        rule = "token.reader.v1" if name == OURS else "token.none.v1"
        assert block.headers["whence-authorization"] == rule
    assert callers.send("owner", "GET", "/mcp").status_code == 405
    for path in ("/healthz", "/readyz", "/", "/browser/guide.html"):
        assert callers.send("nobody", "GET", path).status_code in (200, 307, 503)


def test_an_export_is_cut_off_when_its_token_ends(callers: Callers) -> None:
    async def scenario() -> int:
        tokens = AccessTokens(callers.store)
        made, text = await tokens.create(Grant(AGENT, Role.READER, [OURS]))
        seconds, taken = [0.0], 0
        admission = Admission(tokens, clock=lambda: seconds[0])

        async def known() -> None:
            await admission.scope_of(f"Bearer {text}")

        async def rest() -> AsyncGenerator[bytes, None]:
            for _ in range(10):
                yield b"chunk"

        with pytest.raises(UnauthenticatedError):
            async for _ in routes.from_first(b"first", rest(), known):
                taken += 1
                if taken == 3:
                    await tokens.revoke(made.id)
                    seconds[0] += 2
        return taken

    assert callers.loop.run(scenario()) == 3


# --- tokens ---


def test_a_token_is_read_only_as_it_was_written(loop: asyncio.Runner, store: Store) -> None:
    token, text = loop.run(AccessTokens(store).create(Grant(AGENT, Role.READER, ["p"])))
    read = read_token(text)
    assert read is not None
    assert read[0] == token.id
    for at in range(len("whence_"), len(text)):
        if text[at] != "_":
            assert read_token(text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]) is None
    assert read_token(text + "0") is None
    assert read_token("") is None
    other = text[:20] + "".join("1" if each == "0" else "0" for each in text[20:84])
    forged = read_token(other + f"{zlib.crc32((token.id + other[20:84]).encode()):08x}")
    assert forged is not None
    assert forged[0] == token.id
    assert [each is not None for each in loop.run(AccessTokens(store).opened([read, forged]))] == [True, False]
    row = loop.run(store.read("access_tokens_named", token_ids=[token.id]))[0]["token"]
    assert text not in redact(f"use {text} for it")[0]
    assert text.split("_")[2][:64] not in json.dumps(row), "only its hash is kept"


def test_a_token_ends_when_it_was_to_end_or_is_revoked(loop: asyncio.Runner, store: Store) -> None:
    now = [datetime(2026, 11, 1, tzinfo=UTC)]
    tokens = AccessTokens(store, lambda: now[0])
    grant = Grant(AGENT, Role.READER, ["p"], expires_at=now[0] + timedelta(days=1))
    made, text = loop.run(tokens.create(grant))
    shown = read_token(text)
    assert shown is not None

    def opens() -> bool:
        return loop.run(tokens.opened([shown]))[0] is not None

    assert opens()
    now[0] += timedelta(days=1)
    assert not opens()
    now[0] -= timedelta(hours=1)
    loop.run(tokens.revoke(made.id))
    assert not opens()
    assert [each.revoked_at for each in loop.run(tokens.all())] == [now[0]]
    with pytest.raises(NotFoundError):
        loop.run(tokens.revoke("nobody"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"projects": []},
        {"projects": ["p\n"]},
        {"projects": [f"p{at}" for at in range(101)]},
        {"rate": 0},
        {"expires_at": datetime(2020, 1, 1, tzinfo=UTC)},
        {"expires_at": datetime(2099, 1, 1, tzinfo=UTC)},
    ],
)
def test_a_token_that_could_not_be_used_is_not_made(loop: asyncio.Runner, store: Store, wrong: Any) -> None:
    with pytest.raises(ValidationError):
        loop.run(AccessTokens(store).create(replace(Grant(AGENT, Role.READER, ["p"]), **wrong)))
    assert loop.run(AccessTokens(store).all()) == []


def test_a_revoked_token_opens_nothing_after_a_second(loop: asyncio.Runner, store: Store) -> None:
    seconds, tokens = [0.0], AccessTokens(store)
    admission = Admission(tokens, clock=lambda: seconds[0])
    made, text = loop.run(tokens.create(Grant(AGENT, Role.READER, ["p"])))
    assert loop.run(admission.scope_of(f"Bearer {text}")).actor == AGENT
    assert loop.run(admission.scope_of(f"bearer {text}")).roles == {"p": Role.READER}
    loop.run(tokens.revoke(made.id))
    seconds[0] += 1.1
    with pytest.raises(UnauthenticatedError):
        loop.run(admission.scope_of(f"Bearer {text}"))


@pytest.mark.parametrize(
    "credentials", [None, "", "Bearer", "Bearer ", "Basic YTpi", "Bearer " + "x" * 9_000, "Bearer \x00\xff"]
)
def test_what_is_no_token_is_refused_without_asking_the_database(
    loop: asyncio.Runner, store: Store, credentials: str | None
) -> None:
    watched = Statements()
    with observed.by(watched), pytest.raises(UnauthenticatedError):
        loop.run(Admission(AccessTokens(store)).scope_of(credentials))
    assert watched.names == []


# --- rates ---


@pytest.fixture
def spending() -> Generator[tuple[Spending, list[float]]]:
    now = [0.0]
    yield Spending(lambda: now[0]), now


def scope(rate: int | None) -> Scope:
    return Scope(AGENT, {"p": Role.READER}, "token", "t", rate=rate)


def test_a_token_spends_what_it_saved_and_then_what_it_earns(spending: tuple[Spending, list[float]]) -> None:
    purse, now = spending
    asked = 0
    with pytest.raises(RateError) as refused:
        while True:
            purse.require(scope(5))
            purse.spend(scope(5), 0)
            asked += 1
    assert asked == 5 * SAVED_SECONDS
    assert refused.value.retry_after == 1
    now[0] += 1
    for _ in range(5):
        purse.require(scope(5))
        purse.spend(scope(5), 0)
    with pytest.raises(RateError):
        purse.require(scope(5))


def test_what_is_asked_at_once_is_paid_at_once(spending: tuple[Spending, list[float]]) -> None:
    purse, _ = spending
    for _ in range(5 * SAVED_SECONDS):
        purse.require(scope(5))
    with pytest.raises(RateError):
        purse.require(scope(5))


def test_a_large_answer_costs_what_it_takes(spending: tuple[Spending, list[float]]) -> None:
    purse, now = spending
    purse.require(scope(5))
    purse.spend(scope(5), 1_000_000)
    with pytest.raises(RateError) as refused:
        purse.require(scope(5))
    assert refused.value.retry_after == 11
    now[0] += 11
    purse.require(scope(5))
    purse.require(scope(None))


def test_a_caller_who_spends_too_fast_is_told_when_to_come_again(callers: Callers) -> None:
    _, text = callers.loop.run(AccessTokens(callers.store).create(Grant(AGENT, Role.READER, [OURS], rate=1)))
    slow = replace(callers, tokens={"slow": text})
    answers = [slow.send("slow", "POST", "/graphql", json={"query": "{ projects }"}) for _ in range(SAVED_SECONDS + 2)]
    refused = answers[-1]
    assert answers[0].status_code == 200
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    (error,) = refused.json()["errors"]
    assert (error["extensions"]["code"], error["extensions"]["retryAfter"]) == (
        "LIMIT",
        int(refused.headers["retry-after"]),
    )
