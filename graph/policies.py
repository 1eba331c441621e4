"""A project's policies: which kinds of personal data stay in what is written there, and which types concepts have.

Settings and no events, as the aging time is: they say what is let in from now on, and change nothing that is there. So
an exported journal does not carry them, and a rebuild leaves them alone. Secrets are taken out whatever they say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from cachetools import TTLCache

from graph.commands import Command, read_command
from graph.concept import TYPE_CHARS_MAX, TYPES
from graph.errors import ValidationError
from graph.knowledge import Actor, checked_key
from graph.redaction import PERSONAL, personal_kinds, redact
from graph.scope import Scope
from graph.store import Store

TYPES_MAX = 100  # of a project; more are no types but tags
SEEN_SECONDS = 5.0  # what another process sets is seen so much later at most; what is set here, at once
PROJECTS_KEPT = 1_000
PROJECTS_READ = 100_000  # whose kinds one import goes by; those of any others are all taken out


@dataclass(frozen=True, slots=True)
class Policy:
    """What a project lets in.

    Attributes:
        kept: Kinds of personal data that are not taken out of what is written; secrets always are.
        types: The types that its concepts may have.
    """

    kept: frozenset[str] = frozenset()
    types: tuple[str, ...] = TYPES

    @property
    def redacting(self) -> frozenset[str]:
        """The kinds of personal data that are taken out."""
        return PERSONAL - self.kept


DEFAULT = Policy()


class Policies:
    """The policies of the projects in a store. A project may have one before its first event, which goes by it.

    Args:
        store: Where they are.
        seen_seconds: How old what is known of a project may be.

    Attributes:
        changed: Told the name of a project whose policy was set here.
    """

    def __init__(self, store: Store, *, seen_seconds: float = SEEN_SECONDS) -> None:
        self._store = store
        self.changed: Callable[[str], None] = lambda _project: None
        self._known: TTLCache[str, Policy] = TTLCache(PROJECTS_KEPT, seen_seconds, time.monotonic)

    def within(self, scope: Scope) -> Policies:
        """These policies as a caller may know them: another project has none of its own."""
        seen = copy(self)
        seen._store = self._store.within(scope)  # noqa: SLF001
        return seen

    async def of(self, project: str) -> Policy:
        """A project's policy; nothing is kept and the types are those of rules.md section 8 where none was set.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        project = self._store.seen(project)
        known = self._known.get(project)
        if known is None:
            rows = await self._store.read("policy_get", project=project)
            known = Policy(PERSONAL & set(rows[0]["kept"]), tuple(rows[0]["types"]) or TYPES) if rows else DEFAULT
            self._known[project] = known
        return known

    async def keep(self, project: str, kinds: Collection[str]) -> None:
        """Set which kinds of personal data stay in what is written from now on, instead of those that did.

        Raises:
            ValidationError: there is no such kind, or it is one of secrets.
            UnavailableError: the database cannot be had.
        """
        await self._put(project, kept=sorted(personal_kinds(kinds, "kinds")))

    async def allow(self, project: str, types: Sequence[str]) -> None:
        """Set the types that concepts may have from now on, instead of those that they had; none for the default.

        Raises:
            ValidationError: more than 100 of them, or one is no text of 1 to 80 characters without control characters,
                or holds what is taken out of texts.
            UnavailableError: the database cannot be had.
        """
        allowed = checked_types(types)
        for at, name in enumerate(allowed):
            if redact(name)[1]:
                raise ValidationError(
                    "a type holds a secret or personal data", field=f"types[{at}]", position=at, allowed="a plain word"
                )
        await self._put(project, types=list(allowed))

    async def read(self, line: Mapping[str, Any], *, actor: Actor, project: str | None = None) -> Command:
        """A journal line as ``commands.read_command`` reads it, by the policy of the project that it names.

        Raises:
            ValidationError: as that does.
            UnavailableError: the database cannot be had.
        """
        named = project if line.get("project") is None else line["project"]
        return read_command(line, actor=actor, project=project, redacting=(await self.of(_checked(named))).redacting)

    async def _put(self, project: str, kept: list[str] | None = None, types: list[str] | None = None) -> None:
        await self._store.project_write("policy_put", project=_checked(project), kept=kept, types=types)
        self.forget(project)
        self.changed(project)

    def forget(self, project: str) -> None:
        """Look anew at a project whose policy was set elsewhere."""
        self._known.pop(project, None)


def checked_types(types: Sequence[str]) -> tuple[str, ...]:
    """Types that concepts may have, each once.

    Raises:
        ValidationError: more than 100 of them, or one is no text of 1 to 80 characters without control characters.
    """
    if len(types) > TYPES_MAX:
        raise ValidationError(f"{len(types)} types", field="types", allowed=f"at most {TYPES_MAX}")
    for at, name in enumerate(types):
        if len(checked_key(name, f"types[{at}]").strip()) != len(name) or len(name) > TYPE_CHARS_MAX:
            raise ValidationError(
                "no type of concepts",
                field=f"types[{at}]",
                position=at,
                allowed=f"1 to {TYPE_CHARS_MAX} characters, no blanks at its ends",
            )
    return tuple(dict.fromkeys(types))


def _checked(project: object) -> str:
    return checked_key(project, "project")


async def redacted_kinds(store: Store) -> Mapping[str, frozenset[str]]:
    """The kinds of personal data that are taken out, by project, of those projects that keep any.

    Raises:
        UnavailableError: the database cannot be had, or did not answer in time.
    """
    rows = await store.read("policies_kept", first=PROJECTS_READ)
    return {row["project"]: PERSONAL - set(row["kept"]) for row in rows}
