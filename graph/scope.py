"""Who asks, and what is theirs to see and to do: a scope goes with every request down to its statements' parameters.

What lies outside a scope is not refused but not there: a statement that asks for a project that the caller may not see
is run all the same, for a name that no project can have. So the answer, and the time that it takes, are those for a
project that does not exist.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from graph.commands import Command
from graph.errors import ForbiddenError, KnowledgeError, missing_node
from graph.knowledge import Actor, Transition

EVERY = "*"  # stands for all projects, those to come included; no project is called so in a scope
NOWHERE = "\x1f"  # names hold no control characters


class Role(StrEnum):
    """What a caller may do in a project; each role may do what those before it may."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"

    def covers(self, other: Role) -> bool:
        """Whether this role may do what the other may."""
        return _RANK[self] >= _RANK[other]


_RANK = {role: rank for rank, role in enumerate(Role)}


@dataclass(frozen=True)
class Scope:
    """What a caller may see and do.

    Attributes:
        actor: Who acts in what is written.
        roles: By the name of a project, or ``*`` for all of them.
        by: What admitted the caller: ``token``, ``jwt`` or ``local``.
        id: Of the token, for logs and limits; it opens nothing.
        expires_at: When it ends; None for never.
        rate: What it may spend a second; None for as much as it likes.
    """

    actor: Actor
    roles: Mapping[str, Role]
    by: str
    id: str
    expires_at: datetime | None = None
    rate: int | None = None

    @cached_property
    def projects(self) -> list[str] | None:
        """The projects that are seen, sorted; None for all."""
        return None if EVERY in self.roles else sorted(self.roles)

    @cached_property
    def sight(self) -> bytes:
        """What tells callers apart that do not see the same projects."""
        return json.dumps(self.projects).encode()

    def role(self, project: str) -> Role | None:
        """What the caller is in a project; None for a stranger."""
        own, general = self.roles.get(project), self.roles.get(EVERY)
        if own is None or general is None:
            return own or general
        return own if own.covers(general) else general

    def rule(self, project: str) -> str:
        """By what the caller is known and its role in a project, as answers name the decision about it."""
        return f"{self.by}.{self.role(project) or 'none'}.v1"

    def seen(self, project: str) -> str:
        """The project as statements are asked for it."""
        return project if self.role(project) is not None else NOWHERE

    def bound(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters of a statement, kept to what is seen."""
        if self.projects is not None:
            assert "project" in params or "projects" in params, "a statement within a scope asks for projects by name"
            if "project" in params:
                params["project"] = self.seen(params["project"])
        return params

    def require(self, role: Role, project: str, missing: KnowledgeError, field: str = "project") -> None:
        """Return where the caller may act so in a project.

        Args:
            role: What is needed.
            project: Where.
            missing: What is said where there is no such project.
            field: How the project's argument is called.

        Raises:
            KnowledgeError: ``missing``, to a stranger.
            ForbiddenError: the caller's role does not cover it.
        """
        own = self.role(project)
        if own is None:
            raise missing
        if not own.covers(role):
            raise forbidden(role, project, field)

    def require_command(self, command: Command) -> None:
        """Return where the caller may have a command taken.

        Raises:
            ForbiddenError: it makes something, and the caller may not write there; or it names another actor.
            NotFoundError: it is about a node of a project that the caller does not see.
        """
        makes, project = command.transition is Transition.PROPOSED, command.project
        missing = forbidden(Role.WRITER, project) if makes else missing_node(command.key)
        self.require(Role.WRITER, project, missing)
        self.require_actor(command.actor, project)
        if command.transition is Transition.TRANSFERRED:
            to = command.payload["to_project"]
            self.require(Role.WRITER, to, forbidden(Role.WRITER, to, "to_project"), "to_project")
            self.require_actor(command.actor, to)

    def require_actor(self, actor: Actor, project: str) -> None:
        """Return where the caller may act as an actor in a project.

        Raises:
            ForbiddenError: it is somebody else, and only an admin may name another.
        """
        if actor != self.actor and self.role(project) is not Role.ADMIN:
            raise ForbiddenError(
                "only an admin of the project acts as somebody else", field="actor", allowed="the token's own actor"
            )


def forbidden(role: Role, project: str, field: str = "project") -> ForbiddenError:
    """The refusal of who would need a role in a project; the same whether there is such a project or not."""
    kinds: Sequence[Role] = [each for each in Role if each.covers(role)]
    return ForbiddenError(
        f"the token does not allow this in {project!r}",
        field=field,
        allowed=f"a token with the role {' or '.join(kinds)}",
    )


def everything(actor: Actor) -> Scope:
    """The scope of a program that holds the database itself, such as the command."""
    return Scope(actor, {EVERY: Role.ADMIN}, "local", "local")
