"""The commands for concept files: concepts import, concepts export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from api.command import Json, Project, asked, configured
from api.screen import Screen, harmless
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
            policy = await service.policies.of(project)
            made = await import_folder(service.store, folder, replace(terms, policy=policy), progress)
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
    from api import report  # noqa: PLC0415
    from api.answers import require_project  # noqa: PLC0415
    from api.course import exporting  # noqa: PLC0415
    from graph.concept_folder import export_folder  # noqa: PLC0415

    screen = Screen(machine=machine)
    _refuse_used(folder, overwrite=overwrite)

    async def work(service: Service) -> int:
        await require_project(service, project)
        with exporting(screen) as progress:
            return await export_folder(service, project, folder, progress)

    files = asked(screen, configured(), work)
    told = {"project": project, "folder": str(folder), "files": files}
    screen.answer(told, lambda: report.exported(files, str(folder)))


@concepts.command("types", epilog="Example: whence concepts types policy incident --project mine")
def types(
    names: Annotated[list[str] | None, typer.Argument(metavar="TYPE…", help="Those that it has from now on.")] = None,
    *,
    default: Annotated[bool, typer.Option("--default", help="The default ones from now on.")] = False,
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Show or set the types that concepts of a project may have. What is there already keeps its type."""
    screen, wanted = Screen(machine=machine), [] if default else names
    if default and names:
        raise ValidationError(
            "the default types are a list of their own", field="--default", allowed="no TYPE beside it"
        )

    async def work(service: Service) -> dict[str, object]:
        if wanted is not None:
            await service.policies.allow(project, wanted)
        return {"project": project, "types": list((await service.policies.of(project)).types)}

    answer = asked(screen, configured(), work)
    screen.answer(answer, lambda: [harmless(", ".join(cast("list[str]", answer["types"])))])


def _refuse_used(folder: Path, *, overwrite: bool) -> None:
    used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if used and not (overwrite and folder.is_dir()):
        raise ValidationError(
            f"{folder} has something in it", field="DIR", allowed="an empty or a new folder, or --overwrite beside it"
        )
