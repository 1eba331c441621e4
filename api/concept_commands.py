"""The commands for concept files: concepts import, concepts export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.command import Json, Project, asked, configured
from api.screen import Screen
from graph.errors import ValidationError
from graph.knowledge import checked_key

if TYPE_CHECKING:
    from graph.service import Service

concepts = typer.Typer(help="Concepts as markdown files.", epilog="Example: whence concepts import notes -p mine")


@concepts.command("import", epilog="Example: whence concepts import notes --project mine")
def import_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; all markdown files below it are read.")],
    *,
    session: Annotated[str, typer.Option(metavar="NAME", help="The source of files that name none.")] = "concept-files",
    project: Project = "default",
    machine: Json = False,
) -> int:
    """Take every good concept file of a folder, and list every bad one. What was taken before changes nothing.

    A name that is there already is said again: the same text counts, another one stands against it.
    """
    from api import concept_report  # noqa: PLC0415
    from api.course import watched  # noqa: PLC0415
    from graph.concept_folder import FolderTerms, dangling, files_in, import_folder  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    if not folder.is_dir():
        raise ValidationError(f"{folder} is no folder", field="DIR", allowed="a folder that can be read")
    terms = FolderTerms(checked_key(project, "project"), settings.actor, checked_key(session, "--session"))
    total = sum(1 for _ in files_in(folder))

    async def work(service: Service) -> concept_report.Imported:
        with watched(screen, total, lambda files: files) as progress:
            made = await import_folder(service.store, folder, terms, progress)
        return concept_report.Imported(made, await dangling(service, project))

    made = asked(screen, settings, work)
    screen.answer(concept_report.plain_import(made), lambda: concept_report.imported(made))
    return 1 if made.report.refused else 0


@concepts.command("export", epilog="Example: whence concepts export notes --project mine")
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it is made where it is missing.")],
    *,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Although there is something in it: files of the same names go.")
    ] = False,
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Write each live concept as NAME.md: the file that it came from, or one that says what is known since."""
    from api.answers import require_project  # noqa: PLC0415
    from api.course import exporting  # noqa: PLC0415
    from graph.concept_folder import export_folder  # noqa: PLC0415

    screen = Screen(machine=machine)
    _refuse_used(folder, overwrite=overwrite)

    async def work(service: Service) -> int:
        await require_project(service, project)
        with exporting(screen) as progress:
            return await export_folder(service, project, folder, progress)

    answer = {"project": project, "folder": str(folder), "files": asked(screen, configured(), work)}
    screen.answer(answer, lambda: [f"{answer['files']:,} files in {folder}"])


def _refuse_used(folder: Path, *, overwrite: bool) -> None:
    used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if used and not (overwrite and folder.is_dir()):
        raise ValidationError(
            f"{folder} has something in it", field="DIR", allowed="an empty or a new folder, or --overwrite beside it"
        )
