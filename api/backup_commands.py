"""The commands for backups: backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.command import Json, Projects, asked, configured
from api.screen import Screen, harmless
from graph.errors import ValidationError

if TYPE_CHECKING:
    from graph.bundle import BackedUp, Restored
    from graph.service import Service

commands = typer.Typer()


@commands.command(epilog="Example: whence backup whence.zip")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; it appears when all of it is there.")],
    *,
    project: Projects = None,
    machine: Json = False,
) -> None:
    """Write projects into one zip file: journal, GraphML, concept files, settings, and the hash of each file.

    Each project is of one piece, whoever writes meanwhile.
    """
    from api.course import by_project  # noqa: PLC0415
    from api.files import target  # noqa: PLC0415
    from graph.bundle import back_up  # noqa: PLC0415

    screen = Screen(machine=machine)

    async def work(service: Service) -> list[BackedUp]:
        with target(str(file.absolute())) as opened, by_project(screen, "Backing up") as progress:
            return await back_up(service, opened, project or (), progress)

    found = asked(screen, configured(), work)
    answer = {
        "file": str(file),
        "bytes": file.stat().st_size,
        "projects": [{"project": each.name, "events": each.seq, "head": each.hash} for each in found],
    }
    screen.answer(answer, lambda: [*_rows(found), f"{answer['bytes']:,} bytes in {harmless(str(file))}"])


def _rows(found: list[BackedUp]) -> list[str]:
    return [f"{harmless(each.name)}: {each.seq:,} events, head {each.hash}" for each in found]


@commands.command(epilog="Example: whence restore whence.zip")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `whence backup` wrote.")],
    *,
    machine: Json = False,
) -> None:
    """Check a backup from end to end, take its projects as they were, and verify each.

    Positions, times and hashes are kept. After an interruption the same command goes on from there.
    """
    from api.course import by_project  # noqa: PLC0415
    from graph.bundle import Bundle, restore  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    try:
        opened = file.open("rb")
    except OSError as error:
        raise ValidationError(
            f"{file}: {error.strerror or error}", field="FILE", allowed="a file that can be read"
        ) from error

    async def work(service: Service) -> list[Restored]:
        with by_project(screen, "Restoring") as progress:
            return await restore(service, bundle, settings.actor, progress)

    with opened, Bundle.checked(opened) as bundle:
        found = asked(screen, settings, work)
    answer = [{"project": e.name, "events": e.seq, "taken": e.taken, "repeated": e.repeated, "ok": True} for e in found]
    screen.answer({"file": str(file), "projects": answer}, lambda: [_restored(each) for each in found])


def _restored(each: Restored) -> str:
    there = f", {each.repeated:,} of them there before" if each.repeated else ""
    return f"{harmless(each.name)}: {each.seq:,} events{there}; verified"
