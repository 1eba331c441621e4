"""Takes a model's vectors out of a store: its indexes first, then the vectors, some at a time.

Whatever breaks in between, the same call goes on; until then what is left is found without an index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graph import schema
from graph.embedding.representations import fillings
from graph.errors import NotFoundError, ValidationError
from graph.store import Store

TOGETHER = 2_000  # vectors that are deleted in one transaction


@dataclass(frozen=True, slots=True)
class Stored:
    """A model that has vectors in a store: what tells it from all others, its name, and in which projects."""

    model: str
    name: str
    projects: tuple[str, ...]


async def stored(store: Store, name: str) -> Stored:
    """The model of a name.

    Args:
        store: Where.
        name: As people call it, or what tells it from all others.

    Raises:
        NotFoundError: no model of that name has vectors there.
        ValidationError: several have it.
    """
    found: dict[str, tuple[str, list[str]]] = {}
    async for filling in fillings(store):
        found.setdefault(filling["model"], (filling["name"], []))[1].append(filling["project"])
    named = [Stored(model, of, tuple(projects)) for model, (of, projects) in found.items() if name in (model, of)]
    if not named:
        names = ", ".join(sorted({of for of, _ in found.values()}))
        raise NotFoundError(f"no vectors of {name!r} are stored", field="model", allowed=names or "none are stored")
    if len(named) > 1:
        models = ", ".join(sorted(each.model for each in named))
        raise ValidationError(f"several models are called {name!r}", field="model", allowed=models)
    return named[0]


async def drop(store: Store, of: Stored, progress: Callable[[str, int, int], None]) -> dict[str, int]:
    """Delete all vectors of a model, and their indexes.

    Args:
        store: Where.
        of: The model; nothing may fill it meanwhile.
        progress: Told the project, how many of its vectors are deleted, and of how many.

    Returns:
        How many were deleted, by project.

    Raises:
        UnavailableError: the database cannot be had; what was deleted before is gone.
    """
    async for filling in fillings(store):
        if filling["model"] == of.model and filling["indexed_by"] is not None:
            await schema.drop_vectors(store.driver, store.database, filling["indexed_by"])
    await schema.drop_vectors(store.driver, store.database, of.model)
    return {project: await _drop(store, of.model, project, progress) for project in of.projects}


async def _drop(store: Store, model: str, project: str, progress: Callable[[str, int, int], None]) -> int:
    left = await store.project_write("representations_leave", project=project, model=model)
    total, done, dropped = (left[0]["stored"] if left else 0), 0, TOGETHER
    while dropped == TOGETHER:
        rows = await store.project_write("representations_drop", project=project, model=model, first=TOGETHER)
        dropped = rows[0]["dropped"]
        done += dropped
        progress(project, done, max(done, total))
    return done
