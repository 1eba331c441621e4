"""What the commands do alike: their common options, the settings, and the service that they ask."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from api import logs
from api.screen import Screen
from graph.knowledge import checked_instant

if TYPE_CHECKING:
    from api.settings import Settings
    from graph.service import Service

T = TypeVar("T")

Project = Annotated[str, typer.Option("--project", "-p", metavar="NAME", help="The project.")]
Projects = Annotated[
    list[str] | None,
    typer.Option("--project", "-p", metavar="NAME", help="This one alone; may be repeated. All unless given."),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON document, for machines.")]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="INSTANT", help="Answer as of then: 2015-01-01, or 2015-01-01T12:00:00Z."),
]
ValidAt = Annotated[
    str | None, typer.Option("--valid-at", metavar="INSTANT", help="Only what was true of the world then.")
]
Retired = Annotated[bool, typer.Option("--include-retired", help="What was retired as well, labelled.")]


def asked(screen: Screen, settings: Settings, work: Callable[[Service], Awaitable[T]], *, install: bool = True) -> T:
    """Do some work with the service, on the database that is to be had; its schema is installed unless told not to."""
    import asyncio  # noqa: PLC0415

    from api.connect import database  # noqa: PLC0415
    from graph.service import Service  # noqa: PLC0415
    from graph.store import Store  # noqa: PLC0415

    with database(settings, screen.tell) as found, asyncio.Runner() as runner:

        async def worked() -> T:
            login = (found.uri, found.username, found.password, found.database)
            async with Store.open(*login, found.require_room, install=install) as store:
                return await work(Service(store))

        return runner.run(worked())


def configured() -> Settings:
    """What the environment says; the log goes to standard error from here on, as they say."""
    from api.settings import Settings  # noqa: PLC0415

    settings = Settings.from_environment()
    logs.set_up(settings.log_level, settings.log_format)
    return settings


def instant_of(text: str | None, option: str = "--as-of") -> datetime | None:
    """The instant that an option names, a day's being its first; None where it is not given.

    Raises:
        ValidationError: no such instant.
    """
    if text is None:
        return None
    day = re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text)
    return checked_instant(f"{text}T00:00:00Z" if day else text, option)
