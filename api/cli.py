"""The command ``whence``: reads the arguments, asks the service, and answers with text or JSON and an exit code.

0: done. 1: the answer is no (a difference was found, a line was refused, nothing is there). 2: the call was wrong.
3: the database cannot be had. 130: interrupted. What is heavy is imported by the commands that need it, so that
``whence --help`` answers at once.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import redirect_stdout
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from api.backup_commands import commands as backup_commands
from api.command import AsOf, Json, Project, Projects, asked, configured, instant_of
from api.concept_commands import concepts
from api.interrupt import ends_as_interrupt
from api.learning_commands import commands as learning_commands
from api.screen import Screen
from api.search_commands import commands as search_commands
from api.token_commands import tokens
from api.use_commands import commands as use_commands
from graph.errors import InternalError, KnowledgeError, ValidationError
from graph.knowledge import Relation, checked_key

if TYPE_CHECKING:
    from graph.service import Service

_EXITS = {"NOT_FOUND": 1, "UNAVAILABLE": 3, "IN_DOUBT": 3, "INTERNAL": 3}  # every other refusal: the call was wrong
_log = logging.getLogger("whence.cli")

app = typer.Typer(
    name="whence",
    help="Knowledge that can say where it came from, what rests on it, and what to doubt when something falls.",
    epilog="Example: whence up --demo",
    invoke_without_command=True,
)
export = typer.Typer(help="Write a project to a file.", epilog="Example: whence export journal -p peps -o peps.jsonl")
app.add_typer(export, name="export")
app.add_typer(backup_commands)
app.add_typer(search_commands)
app.add_typer(use_commands)
app.add_typer(learning_commands)
app.add_typer(concepts, name="concepts")
app.add_typer(tokens, name="token")


class Direction(StrEnum):
    """Which way edges are followed."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"
    BOTH = "both"


class ProvForm(StrEnum):
    """How PROV is written."""

    PROVN = "provn"
    JSON = "json"


Key = Annotated[str, typer.Argument(metavar="KEY", help="The key of the node.")]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file; - is standard output.")]


def main() -> None:
    """Run the command with the arguments of this program, and end with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command; its exit code."""
    screen = Screen(machine="--json" in arguments)
    ends_as_interrupt()
    for stream in (sys.stdout, sys.stderr):
        cast("TextIOWrapper", stream).reconfigure(errors="backslashreplace")  # what a terminal cannot show, it can read
    code: object = 3
    try:
        code = app(arguments, prog_name="whence", standalone_mode=False)
        sys.stdout.flush()
    except KnowledgeError as error:
        screen.refuse(error)
        code = _EXITS.get(error.code, 2)
    except typer.TyperException as error:
        screen.refuse(_misused(error))
        code = 2
    except BrokenPipeError:  # whoever read the answer has had enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = 130
    except Exception:  # noqa: BLE001  the exit code of a fault must not be that of an answer
        _log.exception("this is a fault of Whence")
        screen.refuse(InternalError("something went wrong that should not have; the log says what"))
    return code if isinstance(code, int) else 0


def _misused(error: typer.TyperException) -> ValidationError:
    """What is wrong with the arguments, in the form of every other refusal."""
    context: Any = getattr(error, "ctx", None)
    param: Any = getattr(error, "param", None)
    command = "whence" if context is None else context.command_path
    field = None if param is None else param.get_error_hint().replace("'", "")
    said = " ".join(error.format_message().replace("Value error, ", "").split()).rstrip(".")
    return ValidationError(said, field=field, allowed=f"what `{command} --help` lists")


@app.callback()
def whence(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,  # noqa: FBT002
) -> int:
    """Answer what is asked of no command in particular."""
    if show_version:
        from importlib.metadata import version  # noqa: PLC0415

        sys.stdout.write(f"whence {version('whence')}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        with redirect_stdout(sys.stderr):
            context.get_help()  # which prints it
        raise typer.Exit(2)
    return 0


@app.command(epilog="Example: whence up --demo --port 0 --ready-file ready.json")
def up(
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Have the Python PEPs there, as project peps.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Listen on this address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Listen on this port; 0 takes a free one.")] = 8000,
    ready_file: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write there how the service is reached, once it answers.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Answer with so many processes.")] = 1,
    machine: Json = False,
) -> int:
    """Run Neo4j (unless NEO4J_URI names one) and the API, until Ctrl-C or `whence down`."""
    from api import foreground  # noqa: PLC0415

    wanted = foreground.Wanted(host, port, demo, ready_file, workers)
    return foreground.up(configured(), wanted, Screen(machine=machine))


@app.command(epilog="Example: whence down")
def down(*, machine: Json = False) -> None:
    """Stop the service that runs on this WHENCE_HOME."""
    from api.down import down as end  # noqa: PLC0415

    ended = end(configured())
    Screen(machine=machine).answer(ended, lambda: [f"stopped process {ended['pid']} in {ended['seconds']} s"])


@app.command(epilog="Example: whence analyst --project peps")
def analyst(
    *,
    project: Projects = None,
    machine: Json = False,
) -> int:
    """Run Neo4j Browser over a copy in which nobody can write, with a guide of queries, until Ctrl-C."""
    from api import analyst_copy  # noqa: PLC0415

    return analyst_copy.analyst(configured(), project or (), Screen(machine=machine))


@app.command(epilog="Example: whence mcp --project peps")
def mcp(*, project: Project = "default") -> None:
    """Serve the tools for agents over standard input and output, by the Model Context Protocol.

    An agent's program starts it. A running `whence up` answers agents at /mcp as well.
    """
    from api import agent_tools, embedders  # noqa: PLC0415
    from graph.scope import everything  # noqa: PLC0415

    settings = configured()

    async def work(service: Service) -> None:
        async with embedders.retrieving(settings, service) as retrieval:
            local = everything(settings.actor)
            await agent_tools.build(service, retrieval, lambda: local, project).run_stdio_async()

    asked(Screen(machine=False), settings, work)


@app.command("import", epilog="Example: whence import events.jsonl --project mine")
def import_(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="The journal, or GraphML that we wrote, plain or gzip; - is standard input."
        ),
    ],
    *,
    restore: Annotated[
        bool, typer.Option("--restore", help="Keep positions, recorded times and hashes as they are written.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Take the good lines although there are bad ones.")
    ] = False,
    project: Annotated[
        str | None,
        typer.Option("--project", "-p", metavar="NAME", help="Where to, whatever the lines say; else as they say."),
    ] = None,
    machine: Json = False,
) -> int:
    """Take a file of events: all of them or, when a line is bad, none. A repeat goes on where it stopped.

    They are recorded now, so --as-of finds nothing before the import, whatever time they happened at; --restore keeps
    the recorded times of a written journal. GraphML is taken into an empty project, as events that make the same graph.
    """
    from api import report  # noqa: PLC0415
    from api.course import watched  # noqa: PLC0415
    from api.files import source  # noqa: PLC0415
    from graph.exchange import Terms, import_journal  # noqa: PLC0415
    from graph.graphml_import import import_graphml  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    named = checked_key(project or "default", "project")
    terms = Terms(named, settings.actor, restore, keep_going, into=project is not None)
    with source(file) as given:

        async def work(service: Service) -> report.Report:
            with watched(screen, given.size, lambda _lines: given.position) as progress:
                if given.starts(b"<"):
                    return await import_graphml(service.store, given.chunks, terms, progress)
                return await import_journal(service.store, given.lines, terms, progress)

        made = asked(screen, settings, work)
    screen.answer(report.plain_import(made), lambda: report.imported(made, keep_going=keep_going, restored=restore))
    return 1 if made.refused else 0


@export.command("graphml", epilog="Example: whence export graphml --project peps -o peps.graphml")
def export_graphml(*, output: Output = "-", project: Project = "default", machine: Json = False) -> None:
    """Write the nodes and relations of a project as GraphML, for Gephi, networkx, igraph and others."""
    _export(output, project, lambda service: service.export_graphml(project), machine=machine)


@export.command("journal", epilog="Example: whence export journal --project peps -o peps.jsonl")
def export_journal(*, output: Output = "-", project: Project = "default", machine: Json = False) -> None:
    """Write the journal of a project, which `whence import --restore` reads again."""
    _export(output, project, lambda service: service.export_journal(project), machine=machine)


@export.command("prov", epilog="Example: whence export prov --project peps --form json -o peps.provjson")
def export_prov(
    *,
    form: Annotated[ProvForm, typer.Option(help="PROV-N, for people, or PROV-JSON.")] = ProvForm.PROVN,
    output: Output = "-",
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Write a project in the terms of W3C PROV; its journal may have 10,000 events at most."""
    from graph.prov_export import prov_file  # noqa: PLC0415

    _export(output, project, lambda service: prov_file(service.store, project, form.value), machine=machine)


def _export(output: str, project: str, chunks: Callable[[Service], AsyncIterator[bytes]], *, machine: bool) -> None:
    from api.answers import require_project  # noqa: PLC0415
    from api.files import target  # noqa: PLC0415

    if machine and output == "-":
        raise ValidationError(
            "standard output cannot hold the file and a JSON document",
            field="--json",
            allowed="--output FILE beside it",
        )
    screen = Screen(machine=machine)

    async def work(service: Service) -> int:
        await require_project(service, project)
        count = 0
        with target(output) as file:
            async for chunk in chunks(service):
                count += file.write(chunk)
        return count

    written = {"project": project, "file": output, "bytes": asked(screen, configured(), work)}
    if output != "-":
        screen.answer(written, lambda: [f"{written['bytes']:,} bytes in {output}"])


@app.command(epilog="Example: whence verify --project peps --saved-seq 1487 --saved-hash a919f4c5…")
def verify(
    *,
    saved_seq: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The position of a head that was kept.")
    ] = None,
    saved_hash: Annotated[str | None, typer.Option(metavar="H", help="The hash of that head.")] = None,
    project: Project = "default",
    machine: Json = False,
) -> int:
    """Check a project: its chain of hashes, a head that was kept, and every property of the graph."""
    from api import answers, report  # noqa: PLC0415

    screen = Screen(machine=machine)
    if (saved_seq is None) != (saved_hash is None):
        missing = "--saved-seq" if saved_seq is None else "--saved-hash"
        raise ValidationError("a kept head is a position and a hash", field=missing, allowed="both, or none")

    async def work(service: Service) -> answers.Row:
        with screen.progress("Checking {task.description}") as bars:
            bars.add_task(project)
            return await answers.verified(service, project, saved_seq, saved_hash)

    answer = asked(screen, configured(), work, install=False)
    screen.answer(answer, lambda: report.verified(answer))
    return 0 if answer["ok"] else 1


@app.command(epilog="Example: whence rebuild --project peps")
def rebuild(*, project: Project = "default", machine: Json = False) -> None:
    """Put the graph of a project right wherever it is not what its journal makes; reads go on.

    Events are refused only where something is wrong, until it is right again. What is right is left alone.
    """
    import asyncio  # noqa: PLC0415

    from api.answers import require_project  # noqa: PLC0415
    from api.course import rebuilding  # noqa: PLC0415
    from graph.audit import known  # noqa: PLC0415

    screen = Screen(machine=machine)

    async def work(service: Service) -> int:
        if not await known(service.store, project):
            await require_project(service, project)
        with rebuilding(screen) as progress:
            try:
                return await service.rebuild(project, progress)
            except asyncio.CancelledError:
                screen.tell(f"Interrupted: `whence rebuild` goes on; {project} may take no events until it has.")
                raise

    folded = {"project": project, "events": asked(screen, configured(), work, install=False)}
    screen.answer(folded, lambda: [f"right, as its {folded['events']:,} events make it"])


@app.command(epilog="Example: whence stats --project peps")
def stats(*, project: Project = "default", machine: Json = False) -> None:
    """Count what a project holds."""
    from api import answers, report  # noqa: PLC0415

    screen = Screen(machine=machine)

    async def work(service: Service) -> answers.Row:
        await answers.require_project(service, project)
        return await service.stats(project)

    counts = asked(screen, configured(), work)
    screen.answer(counts, lambda: report.counted(counts))


@app.command(epilog="Example: whence show PEP-0345 --project peps --as-of 2015-01-01")
def show(
    key: Key,
    *,
    generation: Annotated[int | None, typer.Option(min=1, metavar="N", help="The newest unless given.")] = None,
    as_of: AsOf = None,
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Show a node: state, validity, cautions, relations, evidence, history, and what rests on it."""
    from api import answers, report  # noqa: PLC0415
    from api.near import suggesting  # noqa: PLC0415

    screen, instant = Screen(machine=machine), instant_of(as_of)

    async def work(service: Service) -> answers.Row:
        async with suggesting(service, project, key):
            return await answers.shown(service, project, key, generation, instant)

    answer = asked(screen, configured(), work)
    screen.answer(answer, lambda: report.shown(answer))


@app.command(epilog="Example: whence trace PEP-0241 --project peps --direction downstream")
def trace(
    key: Key,
    *,
    direction: Annotated[
        Direction, typer.Option(help="What it came from (upstream), what came from it (downstream), or both.")
    ] = Direction.UPSTREAM,
    relation: Annotated[
        list[Relation] | None, typer.Option(case_sensitive=False, help="Follow this one alone; may be repeated.")
    ] = None,
    depth: Annotated[int, typer.Option(metavar="HOPS", help="How far, 0 to 100.")] = 6,
    max_nodes: Annotated[int, typer.Option(metavar="N", help="How many nodes at most, 1 to 10000.")] = 1000,
    as_of: AsOf = None,
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Follow where a node came from, or what came from it, as a tree."""
    from api import answers, report  # noqa: PLC0415
    from api.near import suggesting  # noqa: PLC0415

    screen, instant = Screen(machine=machine), instant_of(as_of)

    async def work(service: Service) -> answers.Row:
        await answers.require_project(service, project)
        async with suggesting(service, project, key):
            walk = await service.provenance(
                project,
                key,
                direction=direction.value,
                relations=relation or None,
                depth=depth,
                max_nodes=max_nodes,
                as_of=instant,
                evidence=machine,
            )
        return answers.plain_walk(walk, evidence=machine)

    walk = asked(screen, configured(), work)
    screen.answer(walk, lambda: report.traced(walk, direction))
