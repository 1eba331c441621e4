"""The commands that find, that write blocks, and that keep what is found fit: search, ask, sweep, aging, embed."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from api.command import AsOf, Json, Project, Retired, ValidAt, asked, configured, instant_of
from api.screen import Screen
from graph.errors import ValidationError

if TYPE_CHECKING:
    from api.settings import Settings
    from graph.retrieval import Asked, Retrieval
    from graph.service import Service

commands = typer.Typer()


class BlockForm(StrEnum):
    """How a context block is written."""

    PROMPT = "prompt"
    MARKDOWN = "markdown"
    JSON = "json"
    XML = "xml"


@dataclass(frozen=True, slots=True)
class _Sought:
    """What a search and a block both go by, as it was typed."""

    project: str
    text: str
    as_of: str | None
    valid_at: str | None
    include_retired: bool

    def answer(self, screen: Screen, made: Callable[[Retrieval, Asked], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """What is made of it on the database that is to be had."""
        from api import answers, embedders  # noqa: PLC0415
        from graph.filters import Filter  # noqa: PLC0415
        from graph.retrieval import question  # noqa: PLC0415

        settings = configured()
        instant, true_then = instant_of(self.as_of), Filter(valid_at=instant_of(self.valid_at, "--valid-at"))

        async def work(service: Service) -> dict[str, Any]:
            await answers.require_project(service, self.project)
            retired = self.include_retired
            wanted = await question(service, self.project, self.text, true_then, instant, include_retired=retired)
            async with embedders.retrieving(settings, service) as retrieval:
                return await made(retrieval, wanted)

        return asked(screen, settings, work)


@commands.command(epilog='Example: whence search "global interpreter lock" --project peps')
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What about.")],
    *,
    first: Annotated[int, typer.Option(metavar="N", help="How many at most, 1 to 200.")] = 20,
    include_retired: Retired = False,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    project: Project = "default",
    machine: Json = False,
) -> int:
    """Find the nodes that answer a text, best first, with what there is to doubt about each."""
    from api import answers, report  # noqa: PLC0415

    screen, sought = Screen(machine=machine), _Sought(project, text, as_of, valid_at, include_retired)
    answer = sought.answer(screen, lambda retrieval, wanted: answers.found(retrieval, wanted, first))
    screen.answer(answer, lambda: report.found(answer))
    return 0 if answer["items"] else 1


@commands.command(epilog='Example: whence ask "How is the lock made optional?" --budget 600 --project peps')
def ask(
    goal: Annotated[str, typer.Argument(metavar="GOAL", help="What the knowledge is wanted for.")],
    *,
    budget: Annotated[int, typer.Option(metavar="N", help="Tokens that the block may take, 0 to 1000000.")] = 1200,
    form: Annotated[
        BlockForm, typer.Option("--format", case_sensitive=False, help="How the block is written.")
    ] = BlockForm.PROMPT,
    include_retired: Retired = False,
    as_of: AsOf = None,
    valid_at: ValidAt = None,
    project: Project = "default",
    machine: Json = False,
) -> int:
    """Write a context block for an agent: what serves a goal and fits a budget."""
    from api import answers  # noqa: PLC0415

    screen, sought = Screen(machine=machine), _Sought(project, goal, as_of, valid_at, include_retired)
    answer = sought.answer(screen, lambda retrieval, wanted: answers.block(retrieval, wanted, budget, form.value))
    if machine:
        screen.document(answer)
    else:
        sys.stdout.write(answer["text"])
        screen.tell(f"{answer['tokens']:,} tokens, {len(answer['items'])} included, {answer['omitted']:,} left out")
    return 0 if answer["items"] else 1


@commands.command(epilog="Example: whence sweep --older-than P180D --project peps")
def sweep(
    *,
    older_than: Annotated[str, typer.Option(metavar="DURATION", help="ISO 8601, such as P90D.")],
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Challenge the confirmed nodes that nothing has verified for so long."""
    from api import answers  # noqa: PLC0415
    from api.inputs import duration  # noqa: PLC0415
    from graph import aging  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    age = duration(older_than, "--older-than")

    async def work(service: Service) -> answers.Row:
        await answers.require_project(service, project)
        return {"project": project, "challenged": await aging.sweep(service, project, age, settings.actor)}

    answer = asked(screen, settings, work)
    screen.answer(answer, lambda: [f"{answer['challenged']:,} challenged"])


@commands.command(epilog="Example: whence aging P30D --project peps")
def aging(
    time: Annotated[str | None, typer.Argument(metavar="DURATION", help="ISO 8601, such as P30D; from now on.")] = None,
    *,
    project: Project = "default",
    machine: Json = False,
) -> None:
    """Show or set how long after it was last verified a live node counts as stale; 90 days unless it was set."""
    from api import answers  # noqa: PLC0415
    from api.inputs import duration, duration_text  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    wanted = None if time is None else duration(time, "DURATION")

    async def work(service: Service) -> answers.Row:
        await answers.require_project(service, project)
        if wanted is not None:
            await service.aging.set(project, wanted)
        return {"project": project, "aging": duration_text(await service.aging.of(project))}

    answer = asked(screen, settings, work)
    screen.answer(answer, lambda: [f"stale after {answer['aging']} without verification"])


@commands.command(epilog="Example: whence embed --project peps")
def embed(
    *,
    project: Annotated[
        str | None, typer.Option("--project", "-p", metavar="NAME", help="This one alone; else all of them.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Instead of what WHENCE_EMBEDDER names: another of its values.")
    ] = None,
    drop: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Delete the vectors of a model that WHENCE_EMBEDDER does not name any more."),
    ] = None,
    machine: Json = False,
) -> None:
    """Have every node embedded, so that search finds it by its meaning; `whence up` does so in the background.

    What has its vector already is left alone, and so are the vectors of other models.
    """
    from functools import partial  # noqa: PLC0415

    from api import report  # noqa: PLC0415
    from api.course import by_project  # noqa: PLC0415
    from graph.embedding.choice import required  # noqa: PLC0415
    from graph.embedding.filler import Filler  # noqa: PLC0415

    screen, settings = Screen(machine=machine), configured()
    if drop is not None:
        if project is not None or model is not None:
            raise ValidationError("a model is dropped as a whole", field="--drop", allowed="--drop NAME alone")
        _drop(screen, settings, drop)
        return
    embedder = required(settings.embedder, settings.home / "cache", model)

    async def work(service: Service) -> dict[str, int]:
        filler, named = Filler(service.store, embedder), [project] if project else await service.projects()
        with by_project(screen, "Embedding") as told:
            try:
                return {name: await filler.fill(name, partial(told, name)) for name in named}
            finally:
                await embedder.close()

    made = asked(screen, settings, work)
    answer = {"model": embedder.profile.name, "projects": made}
    screen.answer(answer, lambda: report.embedded(made))


def _drop(screen: Screen, settings: Settings, name: str) -> None:
    from api import presence  # noqa: PLC0415
    from api.course import by_project  # noqa: PLC0415
    from graph.embedding import removal  # noqa: PLC0415
    from graph.embedding.choice import chosen  # noqa: PLC0415

    embedder, running = chosen(settings.embedder, settings.home / "cache"), presence.find(settings.home)
    in_use = {None if embedder is None else embedder.profile.model, None if running is None else running.model}

    async def work(service: Service) -> tuple[removal.Stored, dict[str, int]]:
        model = await removal.stored(service.store, name)
        if model.model in in_use:
            raise ValidationError(
                f"{model.name} is an embedder in use, which would make its vectors again",
                field="--drop",
                allowed="a model that WHENCE_EMBEDDER does not name, neither here nor for the service that runs",
            )
        with by_project(screen, "Dropping") as told:
            return model, await removal.drop(service.store, model, told)

    model, dropped = asked(screen, settings, work)
    answer = {"model": model.name, "dropped": dropped}
    screen.answer(answer, lambda: [f"{count:,} vectors dropped in {project}" for project, count in dropped.items()])
