"""What becomes of commands that ran: observations, by the state of what was known of the same command."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from ledger import AGENT, HUMAN, Ledger
from test_api import Api

from graph.commands import read_command
from graph.errors import (
    EventConflictError,
    KnowledgeError,
    PropositionConflictError,
    TerminalStateError,
    ValidationError,
)
from graph.executions import COMMAND_CHARS_MAX, Execution, observation, observe
from graph.journal import Event
from graph.knowledge import State, Transition
from graph.lifecycle import decide
from graph.projection import evolve
from graph.service import Service
from graph.store import Taken

RAN = Execution("P", "/repo/x", "go test ./...", 0, "op-1")


def run(operation: str, **fields: Any) -> Execution:
    return replace(RAN, operation=operation, **fields)


class Observer(Ledger):
    """A project in which commands are observed."""

    def observe(self, execution: Execution, **event: Any) -> list[Event]:
        self.now += timedelta(seconds=1)
        decision = decide({"P": self.here}, observation(execution, AGENT, event), self.now)
        for made in decision.events:
            evolve(self.here, made)
        return list(decision.events)


def brought(observer: Observer, state: State) -> str:
    """Have the command's observation in a state; its key."""
    key = observer.observe(run("op-0"))[0].key
    if state is State.CONFIRMED:
        observer.take("confirmed", key)
    elif state is not State.PROPOSED:
        transition = {State.CHALLENGED: "challenged", State.INVALIDATED: "invalidated"}[state]
        observer.take(transition, key, reason="r")
    return key


@pytest.mark.parametrize(
    ("state", "transition", "rule"),
    [
        (State.PROPOSED, Transition.CONFIRMED, "execution-reverification.v1"),
        (State.CHALLENGED, Transition.CONFIRMED, "execution-reverification.v1"),
        (State.CONFIRMED, Transition.USED, "execution-reuse.v1"),
    ],
)
def test_what_an_observation_does_depends_on_the_state_that_it_meets(
    state: State, transition: Transition, rule: str
) -> None:
    observer = Observer()
    key = brought(observer, state)
    (event,) = observer.observe(RAN)
    assert (event.key, event.transition, event.reason) == (key, transition, rule)
    assert observer.node(key).state is State.CONFIRMED


def test_a_command_that_is_not_known_is_proposed_as_an_observation_that_names_its_operation() -> None:
    observer = Observer()
    (event,) = observer.observe(RAN)
    assert (event.transition, event.reason) == (Transition.PROPOSED, "execution-observation.v1")
    assert event.key.startswith("auto/")
    assert event.payload["kind"] == "observation"
    assert event.payload["proposition"] == "`go test ./...` exits 0 in /repo/x"
    assert event.payload["lineage"]["sources"] == [{"type": "operation", "id": "op-1"}]
    (record,) = event.payload["evidence"]
    assert (record["type"], record["source"]) == ("execution", "operation:op-1")
    assert record["metadata"] == {
        "operation_id": "op-1",
        "workspace": "/repo/x",
        "command": "go test ./...",
        "exit_code": 0,
    }


def test_a_secret_in_a_command_is_neither_kept_nor_makes_an_id() -> None:
    def with_token(token: str) -> list[Event]:
        return Observer().observe(replace(RAN, command=f"API_TOKEN={token} make check"))

    first, second = with_token("ghp_" + "a1B2" * 9), with_token("ghp_" + "Z9y8" * 9)
    assert "ghp_" not in str(first)
    assert "[REDACTED:" in first[0].payload["proposition"]
    assert (first[0].key, first[0].event_id) == (second[0].key, second[0].event_id)


def test_a_confirmation_stands_on_its_own_operation() -> None:
    observer = Observer()
    key = brought(observer, State.PROPOSED)
    (event,) = observer.observe(RAN)
    assert [record["source"] for record in event.payload["evidence"]] == ["operation:op-1"]
    assert observer.node(key).verified_at == event.time


def test_a_retired_observation_takes_nothing_until_somebody_proposes_it_again() -> None:
    observer = Observer()
    key = brought(observer, State.INVALIDATED)
    with pytest.raises(TerminalStateError):
        observer.observe(RAN)
    proposition = observer.node(key).proposition
    observer.take("proposed", key, payload={"proposition": proposition, "kind": "observation"})
    assert observer.observe(RAN)[0].transition is Transition.CONFIRMED


@pytest.mark.parametrize("state", [State.PROPOSED, State.CONFIRMED, State.CHALLENGED])
def test_another_claim_under_the_key_is_neither_confirmed_nor_used(state: State) -> None:
    observer = Observer()
    key = brought(observer, State.INVALIDATED)
    observer.take("proposed", key, payload={"proposition": "all is well"})
    if state is not State.PROPOSED:
        observer.take(state.value, key, reason="r")
    with pytest.raises(PropositionConflictError):
        observer.observe(RAN)
    assert observer.node(key).state is state
    observer.take("invalidated", key, reason="r")
    with pytest.raises(TerminalStateError):
        observer.observe(RAN)


def test_project_workspace_and_command_make_the_key_and_nothing_else_does() -> None:
    key = observation(RAN, AGENT, {}).key
    assert observation(run("op-2"), HUMAN, {"reason": "again"}).key == key
    others = [replace(RAN, project="Q"), replace(RAN, workspace="/x"), replace(RAN, command="go test .")]
    assert len({key, *(observation(other, AGENT, {}).key for other in others)}) == 4


def test_the_same_operation_is_a_repeat_whatever_was_observed_since() -> None:
    observer = Observer()
    for number in range(3):
        assert observer.observe(run(f"op-{number}"))
    observer.take("invalidated", observation(RAN, AGENT, {}).key, reason="r")
    for number in range(3):
        assert observer.observe(run(f"op-{number}")) == []


def test_a_repeat_by_event_id_is_one_whatever_the_state_and_other_content_is_a_conflict() -> None:
    observer = Observer()
    assert observer.observe(RAN, event_id="mine")[0].event_id == "mine"
    observer.observe(run("op-2"))
    assert observer.observe(RAN, event_id="mine") == []
    for other in (run("op-3"), replace(RAN, command="make check")):
        with pytest.raises(EventConflictError):
            observer.observe(other, event_id="mine")


def test_a_reason_of_the_caller_stands_behind_the_rule() -> None:
    (event,) = Observer().observe(RAN, reason="nightly")
    assert event.reason == "execution-observation.v1: nightly"


# --- on a real Neo4j ----------------------------------------------------------------------------------------


def test_observers_of_one_command_at_the_same_time_make_one_history(service: Service, loop: asyncio.Runner) -> None:
    async def all_at_once() -> list[Taken | None]:
        twice = [run(f"op-{number % 20}") for number in range(40)]
        return await asyncio.gather(*(observe(service, one, AGENT) for one in twice))

    taken = [one for one in loop.run(all_at_once()) if one is not None]
    events = loop.run(service.journal("P", 0, 100)).items
    assert [event["transition"] for event in events] == ["proposed", "confirmed", *["used"] * 18]
    assert sum(one.applied for one in taken) == 20
    assert {one.key for one in taken} == {events[0]["key"]}
    node = loop.run(service.knowledge("P", taken[0].key, evidence=True))
    assert node is not None
    assert (node["state"], node["uses"], len(node["evidence"])) == ("confirmed", 18, 2)
    assert loop.run(service.verify("P"))["ok"]


def test_a_command_does_not_confirm_what_somebody_else_says_under_its_key(
    service: Service, loop: asyncio.Runner
) -> None:
    first = loop.run(observe(service, run("op-0"), AGENT))
    assert first is not None

    def take(transition: Transition, **fields: Any) -> None:
        line = {"transition": transition.value, "key": first.key, "project": "P", **fields}
        loop.run(service.run(read_command(line, actor=HUMAN)))

    take(Transition.INVALIDATED, reason="r")
    take(Transition.PROPOSED, payload={"proposition": "the release is approved"})
    with pytest.raises(PropositionConflictError) as refused:
        loop.run(observe(service, RAN, AGENT))
    assert (refused.value.field, first.key in refused.value.message) == ("proposition", True)
    node = loop.run(service.knowledge("P", first.key, evidence=True))
    assert node is not None
    assert (node["state"], node["proposition"], node["evidence"]) == ("proposed", "the release is approved", [])
    assert loop.run(observe(service, run("op-0"), AGENT)) is not None, "what was observed before is a repeat still"


@pytest.mark.parametrize(
    "execution",
    [replace(RAN, exit_code=1), replace(RAN, exit_code=-9), replace(RAN, command="ls")],
    ids=["failed", "killed", "another command"],
)
def test_what_says_nothing_leaves_nothing(service: Service, loop: asyncio.Runner, execution: Execution) -> None:
    assert loop.run(observe(service, execution, AGENT)) is None
    assert loop.run(service.projects()) == []


@pytest.mark.parametrize(
    ("execution", "field"),
    [
        (replace(RAN, workspace=" "), "workspace"),
        (replace(RAN, command=""), "command"),
        (replace(RAN, command="x" * (COMMAND_CHARS_MAX + 1), exit_code=1), "command"),
        (replace(RAN, operation="a\nb"), "operationId"),
        (replace(RAN, project=""), "project"),
    ],
)
def test_a_field_that_is_not_of_its_form_is_refused_by_name(
    service: Service, loop: asyncio.Runner, execution: Execution, field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        loop.run(observe(service, execution, AGENT))
    assert refused.value.field == field


def test_the_longest_fields_are_taken(service: Service, loop: asyncio.Runner) -> None:
    longest = Execution("P" * 200, "w" * 1_000, "make check " + "x" * (COMMAND_CHARS_MAX - 11), 0, "o" * 200)
    taken = loop.run(observe(service, longest, AGENT, {"reason": "r" * 1_900}))
    assert taken is not None
    assert taken.applied


_OBSERVE = """mutation($c: String!, $x: Int!, $o: String!, $e: EventInput) {
    observeExecution(project: "P", workspace: "w", command: $c, exitCode: $x, operationId: $o, event: $e) {
        applied event { transition reason actor { subject } } knowledge { state kind uses evidence { source } }
    }
}"""


def test_graphql_observes_repeats_and_answers_null(service: Service, loop: asyncio.Runner) -> None:
    api = Api(service, loop)

    def observed(operation: str, command: str = "npm run build", code: int = 0, event: Any = None) -> Any:
        return api.ask(_OBSERVE, c=command, x=code, o=operation, e=event)["observeExecution"]

    first = observed("1", event={"actor": {"issuer": "ci", "subject": "runner", "type": "SYSTEM"}})
    assert first["event"]["transition"] == "PROPOSED"
    assert first["event"]["actor"] == {"subject": "runner"}
    assert first["knowledge"]["kind"] == "OBSERVATION"
    assert observed("2")["event"] == {
        "transition": "CONFIRMED",
        "reason": "execution-reverification.v1",
        "actor": {"subject": "anonymous"},
    }
    third = observed("3")
    assert (third["event"]["transition"], third["knowledge"]["uses"]) == ("USED", 1)
    assert observed("3") | {"applied": True} == third
    assert observed("3")["applied"] is False
    assert observed("4", code=1) is None
    assert observed("4", command="ls") is None
    error = api.refused(_OBSERVE, c="make check", x=0, o="", e=None)
    assert (error["code"], error["field"]) == ("VALIDATION", "operationId")
    error = api.refused(_OBSERVE, c="make check", x=0, o="5", e={"time": "2999-01-01T00:00:00Z"})
    assert (error["code"], error["field"]) == ("VALIDATION", "event.time")
    later = api.refused(_OBSERVE, c="npm run build", x=0, o="6", e={"causedBy": ["nobody"]})
    assert (later["code"], later["field"]) == ("NOT_FOUND", "event.causedBy[0]")


def test_a_refusal_is_ours(service: Service, loop: asyncio.Runner) -> None:
    with pytest.raises(KnowledgeError):
        loop.run(observe(service, RAN, AGENT, {"event_id": "bad\nid"}))
