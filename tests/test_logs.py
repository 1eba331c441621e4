"""What the log says of a request, and what nobody can make it say."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace

import httpx
import pytest
from neo4j.exceptions import ClientError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from api.access import Everyone
from api.app import create_app
from api.at_hand import REQUEST, AtHand
from api.logs import JsonLines, TextLines, set_up
from api.settings import ANONYMOUS, Settings
from api.traced import Traced
from graph.errors import InternalError, ValidationError
from graph.knowledge import Actor, ActorType
from graph.service import Service

STORED = "a secret"
FORGED = 'x\n2026-01-01 00:00:00.000Z ERROR whence.http: gone "},{"level":"ERROR\r\x1b[2J\u2028\u202e\ud800'


def record(message: str, *args: object, level: int = logging.INFO, **facts: object) -> logging.LogRecord:
    made = logging.LogRecord("whence.test", level, __file__, 1, message, args, None)
    made.__dict__["facts"] = facts
    return made


def failing() -> logging.LogRecord:
    """A record of a failure that came of one of the database, which says what was stored."""
    cause = ClientError(f"Node(1) already has property `source` = '{STORED}'")
    error = InternalError("the database refused a statement")
    error.__cause__ = cause
    try:
        raise error
    except InternalError:
        made = record("internal error", level=logging.ERROR)
        made.exc_info = (type(error), error, error.__traceback__)
        return made


@pytest.fixture
def heard() -> Iterator[list[logging.LogRecord]]:
    """What the request log is told."""
    told: list[logging.LogRecord] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.append(record)

    handler, log = Heard(), logging.getLogger("whence.http")
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield told
    log.removeHandler(handler)
    log.setLevel(before)


def test_a_line_of_text_stays_one_line_whatever_it_quotes() -> None:
    line = TextLines().format(record("took %s", FORGED, who=FORGED))
    assert len(line.splitlines()) == 1
    assert all(character.isprintable() for character in line)
    assert "\\n2026-01-01" in line


def test_a_value_of_several_words_is_quoted_so_that_no_attribute_can_be_forged() -> None:
    line = TextLines().format(record("answered", actor="ada status=200", status=403))
    assert line.endswith('answered actor="ada status=200" status=403')


def test_a_line_of_json_is_one_object_in_ascii() -> None:
    line = JsonLines(2).format(record("took %s", FORGED, who=FORGED))
    assert line.isascii()
    assert len(line.splitlines()) == 1
    told = json.loads(line)
    assert (told["level"], told["logger"], told["worker"]) == ("INFO", "whence.test", 2)
    assert told["message"] == f"took {FORGED}"
    assert told["who"] == FORGED


def test_the_request_at_hand_stands_in_every_line_that_is_written_for_it() -> None:
    token = REQUEST.set(AtHand("r1", "0" * 31 + "1"))
    told = json.loads(JsonLines().format(record("words alone answer")))
    REQUEST.reset(token)
    assert (told["request"], told["trace"]) == ("r1", "0" * 31 + "1")
    assert "request" not in json.loads(JsonLines().format(record("words alone answer")))


@pytest.mark.parametrize("lines", [TextLines, JsonLines])
def test_what_the_database_says_of_a_failure_is_written_at_debug_alone(lines: type[TextLines | JsonLines]) -> None:
    quiet, loud = lines().format(failing()), lines(database_text=True).format(failing())
    assert STORED not in quiet
    assert "ClientError" in quiet
    assert "InternalError: the database refused a statement" in quiet
    assert "test_logs.py" in quiet
    assert STORED in loud
    assert all(line.startswith(("2", "  | ", "{")) for line in quiet.splitlines())


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (b"a-1_b.C", True),
        (b"x" * 64, True),
        (b"x" * 65, False),
        (b"", False),
        (b"-x", False),
        (b"a b", False),
        (b"a\nb", False),
        (b"a\n", False),
        ("é".encode(), False),
    ],
)
def test_a_callers_id_counts_in_a_safe_form_alone(given: bytes, *, kept: bool) -> None:
    found = AtHand.of([(b"x-request-id", given)]).id
    assert (found == given.decode()) is kept
    assert 1 <= len(found) <= 64


@pytest.mark.parametrize(
    ("given", "trace"),
    [
        (b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736"),
        (b"00-00000000000000000000000000000000-00f067aa0ba902b7-01", None),
        (b"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", None),
        (b"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", None),
        (b"00-4bf92f3577b34da6a3ce929d0e0e4736", None),
    ],
)
def test_a_trace_counts_in_the_form_of_its_standard_alone(given: bytes, trace: str | None) -> None:
    assert AtHand.of([(b"traceparent", given)]).trace == trace


def test_a_request_is_told_with_its_operation_and_its_callers_id(
    service: Service, loop: asyncio.Runner, heard: list[logging.LogRecord], tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = Settings(tmp_path_factory.mktemp("home"))
    query = {"query": "query Names { projects }"}

    async def asked() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(service, settings, Everyone(ANONYMOUS)))
        async with httpx.AsyncClient(transport=transport, base_url="http://whence") as client:
            return [
                await client.post("/graphql", json=query, headers={"x-request-id": "mine-1"}),
                await client.post("/graphql", json=query),
                await client.post("/graphql", json={"query": "mutation Odd { nothing }"}),
                await client.get("/no%0Athing"),
            ]

    answers = loop.run(asked())
    facts = [told.__dict__["facts"] for told in heard]
    assert answers[0].headers["x-request-id"] == "mine-1"
    assert [told.getMessage() for told in heard] == ["answered"] * 4
    assert [(f["method"], f["path"], f["status"]) for f in facts[1:]] == [
        ("POST", "/graphql", 200),
        ("POST", "/graphql", 200),
        ("GET", "/no%0Athing", 404),
    ]
    assert [(f["kind"], f["operation"]) for f in facts] == [
        ("query", "Names"),
        ("query", "Names"),
        (None, None),
        (None, None),
    ]
    assert all(f["ms"] >= 0 for f in facts)


def test_the_form_is_set_by_the_environment_and_an_unknown_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert Settings.from_environment({"X": ""}).log_format == "text"
    settings = Settings.from_environment({"WHENCE_LOG_FORMAT": "JSON"})
    with pytest.raises(ValidationError) as caught:
        Settings.from_environment({"WHENCE_LOG_FORMAT": "xml"})
    assert (caught.value.field, caught.value.allowed) == ("WHENCE_LOG_FORMAT", "text, json")
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    root.handlers.clear()
    try:
        set_up(settings.log_level, settings.log_format, worker=3)
        logging.getLogger("whence.test").info("begun")
        logging.getLogger("somebody").info("else")
        (line,) = capsys.readouterr().err.splitlines()
    finally:
        root.handlers[:] = before[0]
        root.setLevel(before[1])
    assert json.loads(line).items() >= {"worker": 3, "message": "begun", "logger": "whence.test"}.items()


def test_who_asked_is_told_by_the_actor_and_the_id_of_the_token(
    loop: asyncio.Runner, heard: list[logging.LogRecord]
) -> None:
    actor = Actor("corp", "ada\nroot status=200", ActorType.HUMAN)

    async def admitting(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["scope"] = SimpleNamespace(actor=actor, id="t-1")
        await Response("ok")(scope, receive, send)

    async def asked() -> None:
        transport = httpx.ASGITransport(Traced(admitting, lambda: None))
        async with httpx.AsyncClient(transport=transport, base_url="http://whence") as client:
            await client.get("/")

    loop.run(asked())
    (told,) = heard
    line = TextLines().format(told)
    assert 'actor="corp:ada\\nroot status=200" token=t-1 method=GET' in line
    assert len(line.splitlines()) == 1
