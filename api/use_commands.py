"""The commands that say how knowledge turned out in use: hint, observe."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.command import Json, Project, asked, configured
from api.screen import Screen, harmless

if TYPE_CHECKING:
    from graph.service import Service
    from graph.store import Taken

commands = typer.Typer()


class Outcome(StrEnum):
    """How knowledge turned out."""

    HELPFUL = "helpful"
    HARMFUL = "harmful"


Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; the journal keeps it.")]
EventId = Annotated[str | None, typer.Option("--event-id", metavar="ID", help="A repeat with the same one is safe.")]


@commands.command(epilog='Example: whence hint deploy-order harmful --reason "the old order broke" --project mine')
def hint(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key of the node.")],
    outcome: Annotated[Outcome, typer.Argument(metavar="OUTCOME", help="helpful or harmful.")],
    *,
    supported: Annotated[bool, typer.Option("--supported", help="There is support for the node all the same.")] = False,
    reason: Reason = None,
    event_id: EventId = None,
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Say how a node turned out in use.

    Helpful confirms what is proposed. Harmful challenges; the second time without support it invalidates.
    """
    from api.near import suggesting  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    line = {
        "transition": "hinted",
        "key": key,
        "event_id": event_id,
        "reason": reason,
        "payload": {"outcome": outcome.value, "supported": supported},
    }

    async def work(service: Service) -> dict[str, Any]:
        command = await service.policies.read(line, actor=settings.actor, project=project)
        async with suggesting(service, project, key):
            return await _told(service, await service.run(command))

    answer = asked(screen, settings, work)
    screen.answer(answer, lambda: [_sentence(answer)])


@commands.command(
    epilog='Example: whence observe "make check" --exit-code 0 --workspace . --operation build-17 --project mine'
)
def observe(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="As it was given to the shell.")],
    *,
    exit_code: Annotated[int, typer.Option("--exit-code", metavar="N", help="How it ended.")],
    operation: Annotated[str, typer.Option("--operation", metavar="ID", help="Of this one run; a repeat is safe.")],
    workspace: Annotated[str, typer.Option("--workspace", metavar="NAME", help="What it ran in.")] = ".",
    event_id: EventId = None,
    project: Project = "default",
    machine: Json = False,
) -> int:
    """Have a command that ran observed, if it verified or built something and went well; exit code 1 if it did not.

    The first time it is proposed, the second time confirmed, later on used. A workspace that is a folder here is named
    by its whole path.
    """
    from graph import executions  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    named = str(Path(workspace).resolve()) if Path(workspace).is_dir() else workspace
    ran = executions.Execution(project, named, command, exit_code, operation)
    event = {} if event_id is None else {"event_id": event_id}

    async def work(service: Service) -> dict[str, Any] | None:
        taken = await executions.observe(service, ran, settings.actor, event)
        return None if taken is None else await _told(service, taken)

    answer = asked(screen, settings, work)
    screen.answer(answer, lambda: ["nothing to observe" if answer is None else _sentence(answer)])
    return 1 if answer is None else 0


async def _told(service: Service, taken: Taken) -> dict[str, Any]:
    """What became of an event, and where its node stands."""
    event = (await service.events_at(taken.project, [taken.seq]))[taken.seq]
    node = (await service.nodes(taken.project, [(taken.key, taken.generation)]))[taken.key, taken.generation]
    return {
        "project": taken.project,
        "key": taken.key,
        "generation": taken.generation,
        "event_id": taken.event_id,
        "seq": taken.seq,
        "transition": event["transition"],
        "applied": taken.applied,
        "newly_at_risk": taken.newly_at_risk,
        "state": node["state"],
    }


def _sentence(told: Mapping[str, Any]) -> str:
    said = told["transition"] if told["applied"] else "taken before"
    risk = f"; {told['newly_at_risk']:,} newly at risk" if told["newly_at_risk"] else ""
    return harmless(f"{told['key']}: {said}; it is {told['state']}{risk}")
