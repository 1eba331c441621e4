"""Commands that ran: a verification or a build that went well becomes an observation (rules.md section 9).

What it becomes depends on what is known of the same command by then, so it is decided where events are: observers of
one command at the same time make one history.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from graph.commands import Command, read_command
from graph.errors import TerminalStateError
from graph.journal import Json, canonical
from graph.knowledge import Actor, Kind, State, Transition, checked_key, checked_text
from graph.redaction import PERSONAL, redact
from graph.service import Service
from graph.store import Taken
from graph.verification import verifies

COMMAND_CHARS_MAX = 8_000  # of its 10,000 a proposition has room for the workspace beside it
WORKSPACE_CHARS_MAX = 1_000  # as long as paths mostly may be
# The reasons of the events, by what they do.
OBSERVED = "execution-observation.v1"
REVERIFIED = "execution-reverification.v1"
REUSED = "execution-reuse.v1"
_NAMED_CHARS = 100  # of an operation's id in the ids that are made of it; their last part tells the rest apart


@dataclass(frozen=True, slots=True)
class Execution:
    """A command that ran.

    Attributes:
        project: Where the observation belongs.
        workspace: What it ran in: a path, or any other name that stays the same from run to run.
        command: As it was given to the shell.
        exit_code: How it ended.
        operation: The id of this one run of it.
    """

    project: str
    workspace: str
    command: str
    exit_code: int
    operation: str


async def observe(
    service: Service, execution: Execution, actor: Actor, event: Mapping[str, Any] | None = None
) -> Taken | None:
    """Take what a command that ran says.

    The same operation again is a repeat, whatever was observed since.

    Args:
        service: Takes it.
        execution: The command.
        actor: Who observed it, unless ``event`` says.
        event: Further fields of the journal line: event_id, time, reason, caused_by, execution, actor.

    Returns:
        What became of it; None where it says nothing: no verification or build, not well ended, or of a command whose
        observation is retired.

    Raises:
        PropositionConflictError: under the observation's key another claim is alive.
        KnowledgeError: a field is not of its form, or the event was taken with other content.
    """
    ran = _checked(execution)
    if ran.exit_code != 0 or not verifies(ran.command):
        return None
    try:
        kinds = (await service.policies.of(ran.project)).redacting
        return await service.run(observation(ran, actor, event or {}, kinds))
    except TerminalStateError:
        return None


def observation(
    execution: Execution, actor: Actor, event: Mapping[str, Any], kinds: frozenset[str] = PERSONAL
) -> Command:
    """The command that has a well ended execution observed: it proposes, confirms or uses, by the state it meets.

    ``kinds`` of personal data are taken out of what it says.
    """
    project = execution.project
    # Before ids are made of them: what is made of a secret could be used to guess it.
    (workspace, in_workspace), (command, in_command) = (
        redact(text, kinds) for text in (execution.workspace, execution.command)
    )
    run = f"execution/{execution.operation[:_NAMED_CHARS]}/{_digest(workspace, command, execution.operation)}"
    evidence = {
        "key": run,
        "type": "execution",
        "source": f"operation:{quote(execution.operation, safe=':/@')}",
        "metadata": {
            "operation_id": execution.operation,
            "workspace": workspace,
            "command": command,
            "exit_code": execution.exit_code,
        },
    }

    def read(transition: Transition, rule: str, payload: Json) -> Command:
        said = event.get("reason")
        line = {
            **event,
            "event_id": event.get("event_id") or run,
            "reason": rule if said is None else f"{rule}: {checked_text(said, 'reason')}",
            "transition": transition.value,
            "key": f"auto/{_digest(project, workspace, command)}",
            "payload": payload,
        }
        return read_command(line, actor=actor, project=project, redacting=kinds)

    first = read(
        Transition.PROPOSED,
        OBSERVED,
        {
            "proposition": f"`{command}` exits 0 in {workspace}",
            "kind": Kind.OBSERVATION.value,
            "lineage": {"sources": [{"type": "operation", "id": execution.operation}], "method": OBSERVED},
            "evidence": [evidence],
        },
    )
    again = read(Transition.CONFIRMED, REVERIFIED, {"evidence": [evidence]})
    reuse = read(Transition.USED, REUSED, {})
    in_state = {State.CONFIRMED: reuse, **dict.fromkeys(_CONFIRMABLE, again)}
    return replace(first, in_state=in_state, redacted=in_workspace + in_command + Counter(first.redacted))


# A retired observation refuses to be confirmed, as every retired node does.
_CONFIRMABLE = frozenset(State) - {State.CONFIRMED}


def _checked(execution: Execution) -> Execution:
    return Execution(
        project=checked_key(execution.project, "project"),
        workspace=checked_text(execution.workspace, "workspace", chars_max=WORKSPACE_CHARS_MAX).strip(),
        command=checked_text(execution.command, "command", chars_max=COMMAND_CHARS_MAX).strip(),
        exit_code=execution.exit_code,
        operation=checked_key(execution.operation, "operationId"),
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256(canonical(parts).encode()).hexdigest()[:32]
