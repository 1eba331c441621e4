"""Stored sessions replayed on the real server: by a model or by sentences, and the second time by nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from answering import Script, answering

from api.access import Everyone
from api.app import create_app
from api.replayed import replaying
from api.settings import ANONYMOUS, Settings
from graph.commands import read_command
from graph.embedding.choice import Choice
from graph.errors import KnowledgeError
from graph.ingestion import sessions
from graph.ingestion.chat import ChatChoice, chatting
from graph.ingestion.choice import chosen
from graph.service import Service

LATE = {"name": "late-orders", "description": "When orders are late", "type": "policy", "body": "They are refunded."}
REFUND = {"name": "refunds", "description": "How refunds work", "type": "procedure", "body": "See [[late-orders]]."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.json").write_text(json.dumps([{"role": "user", "content": "The depot closes at six."}]))
    (tmp_path / "two.txt").write_text("The ferry of a@b.org sails at dawn.\nWho knows?\n")
    (tmp_path / "bad.json").write_text("{")
    return tmp_path


def replay(service: Service, loop: asyncio.Runner, folder: Path, chat: ChatChoice | None = None) -> dict[str, Any]:
    settings = Settings(home=folder, embedder=Choice("none"), chat=chat or ChatChoice())

    async def work() -> dict[str, Any]:
        async with replaying(service, settings, "P", None) as told:
            for path in sessions.files(folder):
                await told.file(path, folder)
        return told.plain()

    return loop.run(work())


def events(service: Service, loop: asyncio.Runner) -> list[Any]:
    return loop.run(service.journal("P", 0, 1_000)).items


def test_without_a_model_sessions_are_learned_sentence_by_sentence(
    service: Service, loop: asyncio.Runner, folder: Path
) -> None:
    told = replay(service, loop, folder)
    assert (told["sessions"], told["failed"], told["verdicts"]) == (2, 1, {"accepted": 2, "merged": 0})
    assert told["refused"] == {"a question": 1}
    assert told["redacted"] == {"email": 1}
    assert [Path(failure["file"]).name for failure in told["failures"]] == ["bad.json"]
    before = events(service, loop)
    again = replay(service, loop, folder)
    assert (again["known"], again["verdicts"]) == (2, {"accepted": 0, "merged": 0, "said before": 2})
    assert events(service, loop) == before
    sources = {record["source"] for event in before for record in event["payload"].get("evidence", ())}
    assert sources == {"session:one", "session:two"}


def test_a_models_concepts_come_through_their_door_and_it_is_asked_once(
    service: Service, loop: asyncio.Runner, folder: Path
) -> None:
    script = Script([json.dumps([LATE, REFUND, {**LATE, "confidence": 1}]), json.dumps([LATE])])
    with answering(script) as base:
        told = replay(service, loop, folder, ChatChoice(base, "m"))
        assert (told["sessions"], told["failed"], told["verdicts"]) == (2, 1, {"new": 2, "same": 1})
        assert (told["dropped"], told["redacted"]) == ({"unknown_key": 1}, {"email": 1})
        assert told["tokens"] == {"asked": 200, "cached": 120, "answered": 40}
        before = events(service, loop)
        again = replay(service, loop, folder, ChatChoice(base, "m"))
    assert (again["known"], again["verdicts"]) == (2, {})
    assert len(script.asked) == 2
    assert events(service, loop) == before
    row = loop.run(service.knowledge("P", "late-orders"))
    assert row is not None
    assert json.loads(row["concept"])["sources"] == ["one", "two"]
    assert row["state"] == "confirmed", "a second session said the same"


def test_a_session_of_which_a_model_notes_nothing_is_not_asked_about_again_nor_is_one_that_was_refused(
    service: Service, loop: asyncio.Runner, folder: Path
) -> None:
    line = {"project": "P", "transition": "proposed", "key": "late-orders", "payload": {"proposition": "no concept"}}
    loop.run(service.run(read_command(line, actor=Settings(home=folder).actor)))
    script = Script(["[]", json.dumps([LATE])])
    with answering(script) as base:
        told = replay(service, loop, folder, ChatChoice(base, "m"))
        assert (told["known"], told["verdicts"]) == (0, {})
        assert len(told["refused"]) == 1
        before, head = events(service, loop), loop.run(service.store.version())
        again = replay(service, loop, folder, ChatChoice(base, "m"))
    assert (again["known"], again["refused"], len(script.asked)) == (2, {}, 2)
    assert (events(service, loop), loop.run(service.store.version())) == (before, head)
    assert loop.run(service.verify("P"))["ok"]


def test_texts_that_differ_are_merged_by_the_model_or_stand_against_each_other(
    service: Service, loop: asyncio.Runner, folder: Path
) -> None:
    (folder / "three.txt").write_text("And another one.")
    other = {**LATE, "body": "They are refunded after a week."}
    merged = json.dumps({"verdict": "related", "merged_body": "They are refunded, after a week."})
    against = {**LATE, "body": "They are never refunded."}
    script = Script([json.dumps([LATE]), json.dumps([other]), merged, json.dumps([against]), "no idea"])
    with answering(script) as base:
        told = replay(service, loop, folder, ChatChoice(base, "m"))
    assert told["verdicts"] == {"new": 1, "related": 1, "contradicting": 1}
    row = loop.run(service.knowledge("P", "late-orders"))
    assert row is not None
    assert (row["proposition"], row["state"]) == ("They are refunded, after a week.", "challenged")


def test_what_a_model_cannot_read_is_reported_and_read_the_next_time(
    service: Service, loop: asyncio.Runner, folder: Path
) -> None:
    script = Script(["no list", "no list", json.dumps([LATE])])
    with answering(script) as base:
        told = replay(service, loop, folder, ChatChoice(base, "m"))
        assert (told["sessions"], told["failed"], told["verdicts"]) == (1, 2, {"new": 1})
        again = replay(service, loop, folder, ChatChoice(base, "m"))
    assert (again["known"], again["failed"], again["verdicts"]) == (1, 1, {"same": 1})


def test_a_model_that_is_refused_or_away_leaves_nothing_behind(
    service: Service, loop: asyncio.Runner, folder: Path
) -> None:
    told = replay(service, loop, folder, ChatChoice("http://127.0.0.1:9/v1", "m"))
    assert (told["sessions"], told["failed"]) == (0, 3)
    with pytest.raises(KnowledgeError):
        replay(service, loop, folder, ChatChoice("http://127.0.0.1:9/v1", ""))
    assert loop.run(service.projects()) == []


MUTATION = """
mutation ($body: String!, $session: String!) {
  recordConcept(project: "P", name: "late-orders", description: "d", type: "policy", body: $body, session: $session) {
    verdict knowledge { proposition }
  }
}
"""


def test_over_graphql_the_model_says_whether_two_texts_go_together(service: Service, loop: asyncio.Runner) -> None:
    async def work(base: str) -> list[Any]:
        async with chatting(ChatChoice(base, "m")) as chat:
            app = create_app(
                service, Settings(home=Path("/nowhere")), Everyone(ANONYMOUS), stages=chosen(service, chat=chat)
            )
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://whence") as client:
                told: list[Any] = []
                for at, body in enumerate(("They are refunded.", "They come late.", "They never come.")):
                    asked = {"query": MUTATION, "variables": {"body": body, "session": f"s{at}"}}
                    told.append((await client.post("/graphql", json=asked)).json()["data"]["recordConcept"])
                return told

    merged = json.dumps({"verdict": "related", "merged_body": "They come late and are refunded."})
    with answering(Script([merged, "no idea"])) as base:
        told = loop.run(work(base))
    assert [each["verdict"] for each in told] == ["NEW", "RELATED", "CONTRADICTING"]
    row = loop.run(service.knowledge("P", "late-orders"))
    assert row is not None
    assert row["proposition"] == "They come late and are refunded."
