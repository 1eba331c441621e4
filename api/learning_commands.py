"""The command that learns from files: ingest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.command import Json, Project, asked, configured
from api.screen import Screen
from graph.errors import ValidationError

if TYPE_CHECKING:
    from graph.service import Service

commands = typer.Typer()


@commands.command(epilog="Example: whence ingest notes.md minutes.txt --project mine")
def ingest(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="Texts in UTF-8, plain or gzip; - is standard input.")
    ],
    *,
    source: Annotated[
        str | None, typer.Option(metavar="URI", help="Where the text comes from; the file's own address unless given.")
    ] = None,
    keep_raw: Annotated[
        bool, typer.Option("--keep-raw", help="Store each fact's own words, not their fingerprint alone.")
    ] = False,
    project: Project = "default",
    machine: Json = False,
) -> int:
    """Learn what texts say: each fact once, with where it was said.

    What is known already becomes another sighting. A repeat changes nothing and goes on where it was interrupted.
    """
    from api import embedders, report  # noqa: PLC0415
    from api.course import learning  # noqa: PLC0415
    from api.learned import Learning  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    if source is not None and len(files) > 1:
        raise ValidationError(
            "one address is not that of several files", field="--source", allowed="one FILE beside it"
        )

    async def work(service: Service) -> Learning:
        async with embedders.opened(settings) as embedder:
            done = Learning(service, settings, embedder, project, keep_raw=keep_raw)
            with learning(screen, len(files)) as told:
                for file in files:
                    await done.file(file, source or _address(file))
                    told(file)
        return done

    done = asked(screen, settings, work)
    screen.answer(done.plain(), lambda: report.learned(done.plain()))
    return 1 if done.unread else 0


def _address(file: str) -> str:
    return "stdin:" if file == "-" else Path(file).absolute().as_uri()
