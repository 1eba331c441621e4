"""Tokens by which callers are known: made here, shown once, and kept by the hash of their secret alone.

A token reads ``whence_ID_SECRET``: the id, by which it is looked up, logged and revoked, opens nothing; the secret ends
with a check, so that what was mistyped or made up is refused without asking the database, and scanners for leaked
secrets know the form. 32 random bytes cannot be guessed, so a plain hash keeps them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from graph.errors import NotFoundError, ValidationError
from graph.knowledge import Actor, ActorType, checked_key, instant_text
from graph.rows import Row
from graph.scope import EVERY, Role, Scope
from graph.store import Store

PROJECTS_MAX = 100  # of one token; whoever needs more needs all
LISTED_MAX = 10_000
LIFE_MAX = timedelta(days=3_650)
RATE_MAX = 1_000_000
_ID_BYTES, _SECRET_BYTES = 6, 32
_FORM = re.compile(r"whence_([0-9a-f]{12})_([0-9a-f]{64})([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token allows.

    Attributes:
        actor: Who acts by it.
        role: What it may do.
        projects: Where; ``*`` for every project.
        label: What people call it.
        expires_at: When it ends; None for never.
        rate: What it may spend a second; None for as much as it likes.
    """

    actor: Actor
    role: Role
    projects: Sequence[str]
    label: str = ""
    expires_at: datetime | None = None
    rate: int | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret.

    Attributes:
        id: By which it is revoked.
        grant: What it allows, or allowed.
        created_at: When it was made.
        revoked_at: When it was revoked; None where it was not.
    """

    id: str
    grant: Grant
    created_at: datetime
    revoked_at: datetime | None

    def holds(self, now: datetime) -> bool:
        """Whether it opens anything now."""
        return self.revoked_at is None and (self.grant.expires_at is None or now < self.grant.expires_at)

    def scope(self) -> Scope:
        """What whoever shows it may see and do."""
        grant = self.grant
        roles = dict.fromkeys(grant.projects, grant.role)
        return Scope(grant.actor, roles, "token", self.id, grant.expires_at, grant.rate)


def read_token(text: str) -> tuple[str, str] | None:
    """The id of a token and the hash of its secret; None for what cannot be one."""
    form = _FORM.fullmatch(text)
    if form is None or not hmac.compare_digest(_check(form[1] + form[2]), form[3]):
        return None
    return form[1], _hash(form[2])


def _check(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class AccessTokens:
    """The tokens of a store.

    Args:
        store: Where they are kept.
        clock: The present.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._store = store
        self._now = clock

    async def create(self, grant: Grant) -> tuple[Token, str]:
        """Make a token; it, and what the caller shows, which cannot be had again.

        Raises:
            ValidationError: no project or too many, an end that is past or too far off, or a rate out of its range.
            UnavailableError: the database cannot be had.
        """
        now = self._now()
        token = Token(secrets.token_hex(_ID_BYTES), _checked(grant, now), now, None)
        secret = secrets.token_hex(_SECRET_BYTES)
        await self._store.project_write(
            "access_token_put",
            token_id=token.id,
            hash=_hash(secret),
            label=grant.label,
            projects=list(token.grant.projects),
            role=grant.role.value,
            issuer=grant.actor.issuer,
            subject=grant.actor.subject,
            type=grant.actor.type.value,
            created_at=instant_text(now),
            expires_at=None if grant.expires_at is None else instant_text(grant.expires_at),
            rate=grant.rate,
        )
        return token, f"whence_{token.id}_{secret}{_check(token.id + secret)}"

    async def opened(self, shown: Sequence[tuple[str, str]]) -> list[Token | None]:
        """The tokens that callers show, each as ``read_token`` reads it; None for those that are unknown or ended.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        rows = await self._store.read("access_tokens_named", token_ids=sorted({token_id for token_id, _ in shown}))
        kept = {row["token"]["id"]: row["token"] for row in rows}
        now = self._now()
        found: list[Token | None] = []
        for token_id, hashed in shown:
            row = kept.get(token_id)
            same = row is not None and hmac.compare_digest(row["hash"], hashed)
            token = _token(row) if row is not None and same else None
            found.append(token if token is not None and token.holds(now) else None)
        return found

    async def all(self) -> list[Token]:
        """Tokens, ended ones too, the oldest first; at most 10,000.

        Raises:
            UnavailableError: the database cannot be had, or did not answer in time.
        """
        return [_token(row["token"]) for row in await self._store.read("access_tokens_page", first=LISTED_MAX)]

    async def revoke(self, token_id: str) -> None:
        """End a token for good; one that was ended stays so.

        Raises:
            NotFoundError: there is none of this id.
            UnavailableError: the database cannot be had.
        """
        now = instant_text(self._now())
        if not await self._store.project_write("access_token_revoke", token_id=token_id, revoked_at=now):
            raise NotFoundError(f"there is no token {token_id!r}", field="ID", allowed="an id that `token list` shows")


def _checked(grant: Grant, now: datetime) -> Grant:
    if not grant.projects or len(grant.projects) > PROJECTS_MAX:
        raise ValidationError(
            f"{len(grant.projects)} projects", field="project", allowed=f"1 to {PROJECTS_MAX} of them, or {EVERY}"
        )
    for name in grant.projects:
        checked_key(name, "project")
    if grant.expires_at is not None and not now < grant.expires_at <= now + LIFE_MAX:
        raise ValidationError(
            "the token would end at once, or never in practice", field="expires", allowed="P3650D or less"
        )
    if grant.rate is not None and not 1 <= grant.rate <= RATE_MAX:
        raise ValidationError(f"the rate is {grant.rate}", field="rate", allowed=f"1 to {RATE_MAX:,} a second")
    return grant


def _token(row: Row) -> Token:
    actor = Actor(row["issuer"], row["subject"], ActorType(row["type"]))
    ends = _instant(row["expires_at"])
    grant = Grant(actor, Role(row["role"]), tuple(row["projects"]), row["label"], ends, row["rate"])
    created_at = _instant(row["created_at"])
    assert created_at is not None, "every token was made at some time"
    return Token(row["id"], grant, created_at, _instant(row["revoked_at"]))


def _instant(text: Any) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
