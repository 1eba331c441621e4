"""The commands that learn from files: ingest, backfill."""

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


@commands.command(epilog="Example: whence backfill sessions/ --project mine")
def backfill(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Sessions as JSON, JSON lines, markdown or text, one a file.")
    ],
    *,
    prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What a model is told instead of the default, whole.")
    ] = None,
    project: Project = "default",
    machine: Json = False,
) -> int:
    """Replay stored sessions: as concepts where WHENCE_CHAT names a model, else sentence by sentence.

    A repeat changes nothing, and asks no model again about what it has read.
    """
    from api import report  # noqa: PLC0415
    from api.course import learning  # noqa: PLC0415
    from api.replayed import Replay, replaying  # noqa: PLC0415
    from graph.ingestion import sessions  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    found, told_instead = sessions.files(folder), None if prompt is None else _text(prompt)

    async def work(service: Service) -> Replay:
        async with replaying(service, settings, project, told_instead) as replay:
            with learning(screen, len(found)) as told:
                for path in found:
                    await replay.file(path, folder)
                    told(path.name)
        return replay

    answer = asked(screen, settings, work).plain()
    screen.answer(answer, lambda: report.replayed(answer))
    return 1 if answer["failed"] else 0


@commands.command(epilog="Example: whence redaction --off email --project mine")
def redaction(
    *,
    off: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Leave this kind in from now on; may be repeated.")
    ] = None,
    on: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Take this kind out again from now on; may be repeated.")
    ] = None,
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Show or set which kinds of personal data are taken out of what is written to a project; secrets always are.

    What is there already stays as it is.
    """
    from graph.redaction import personal_kinds  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    left_in, taken_out = personal_kinds(off or (), "--off"), personal_kinds(on or (), "--on")

    async def work(service: Service) -> dict[str, list[str]]:
        if left_in or taken_out:
            kept = (await service.policies.of(project)).kept
            await service.policies.keep(project, (kept - taken_out) | left_in)
        policy = await service.policies.of(project)
        return {"redacted": sorted(policy.redacting), "kept": sorted(policy.kept)}

    answer = asked(screen, settings, work)
    told = {"taken out": ["secrets", *answer["redacted"]], "left in": answer["kept"] or ["none"]}
    screen.answer(
        {"project": project, **answer}, lambda: [f"{what}: {', '.join(kinds)}" for what, kinds in told.items()]
    )


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValidationError(f"{path} cannot be read: {error}", field="--prompt", allowed="a text in UTF-8") from None
