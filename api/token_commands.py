"""The commands for access: token create, list, revoke."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from api.command import Json, asked, configured
from api.screen import Screen, harmless
from graph.errors import ValidationError
from graph.knowledge import Actor, ActorType, checked_key, checked_text
from graph.scope import Role

if TYPE_CHECKING:
    from graph.access_tokens import Token
    from graph.service import Service

LABEL_CHARS_MAX = 200
tokens = typer.Typer(help="Let callers in: make, list and revoke their tokens.")


@tokens.command(epilog="Example: whence token create --project peps --role reader --actor me:notebook:agent")
def create(
    *,
    project: Annotated[
        list[str] | None,
        typer.Option("--project", "-p", metavar="NAME", help="Where; may be repeated. '*' for everywhere."),
    ] = None,
    role: Annotated[Role, typer.Option(help="What it may do; each may do what those before it may.")],
    actor: Annotated[
        str,
        typer.Option(metavar="ISSUER:SUBJECT:TYPE", help="Who acts by it: a human, an agent, a system or a service."),
    ],
    label: Annotated[str, typer.Option(metavar="TEXT", help="What people call it.")] = "",
    expires: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long it holds: P90D, PT12H. For good unless given.")
    ] = None,
    rate: Annotated[
        int | None, typer.Option(metavar="UNITS", help="What it may spend a second: one for a request or 10 kB read.")
    ] = None,
    machine: Json = False,
) -> None:
    """Make a token and show it, this once: only a hash of it is kept."""
    from api.inputs import duration  # noqa: PLC0415
    from api.spending import RATE  # noqa: PLC0415
    from graph.access_tokens import AccessTokens, Grant  # noqa: PLC0415

    screen = Screen(machine=machine)
    ends = None if expires is None else datetime.now(UTC) + duration(expires, "--expires")
    named = checked_text(label, "--label", chars_max=LABEL_CHARS_MAX, blank=True) if label else ""
    grant = Grant(
        _actor(actor), role, tuple(dict.fromkeys(project or ["default"])), named, ends, RATE if rate is None else rate
    )

    async def work(service: Service) -> tuple[Token, str]:
        return await AccessTokens(service.store).create(grant)

    made, text = asked(screen, configured(), work)
    screen.answer({**plain(made), "token": text}, lambda: [Text(text, no_wrap=True, overflow="ignore"), *_told(made)])


@tokens.command("list", epilog="Example: whence token list --json")
def list_(*, machine: Json = False) -> None:
    """List the tokens that were made, ended ones too; what callers show is not kept."""
    from graph.access_tokens import AccessTokens  # noqa: PLC0415

    screen = Screen(machine=machine)

    async def work(service: Service) -> list[Token]:
        return await AccessTokens(service.store).all()

    found = asked(screen, configured(), work)
    screen.answer({"tokens": [plain(each) for each in found]}, lambda: [line for each in found for line in _told(each)])


@tokens.command(epilog="Example: whence token revoke 3f9c0a1b2d4e")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `token list` shows it.")], *, machine: Json = False
) -> None:
    """End a token for good; within a second or two it opens nothing."""
    from graph.access_tokens import AccessTokens  # noqa: PLC0415

    screen = Screen(machine=machine)

    async def work(service: Service) -> None:
        await AccessTokens(service.store).revoke(token_id)

    asked(screen, configured(), work)
    screen.answer({"id": token_id, "revoked": True}, lambda: [f"revoked {harmless(token_id)}"])


def plain(token: Token) -> dict[str, Any]:
    """A token as JSON has it, without its secret."""
    grant = token.grant
    actor = f"{grant.actor.issuer}:{grant.actor.subject}:{grant.actor.type}"
    return {
        "id": token.id,
        "label": grant.label,
        "projects": list(grant.projects),
        "role": grant.role.value,
        "actor": actor,
        "rate": grant.rate,
        "created_at": token.created_at.isoformat(),
        "expires_at": None if grant.expires_at is None else grant.expires_at.isoformat(),
        "revoked_at": None if token.revoked_at is None else token.revoked_at.isoformat(),
    }


def _told(token: Token) -> list[str]:
    said = plain(token)
    ends = f"revoked {said['revoked_at']}" if said["revoked_at"] else f"until {said['expires_at'] or 'it is revoked'}"
    where = ", ".join(map(harmless, said["projects"]))
    label = f"  {harmless(said['label'])}" if said["label"] else ""
    return [f"  {said['id']}  {said['role']} of {where}  as {harmless(said['actor'])}  {ends}{label}"]


def _actor(text: str) -> Actor:
    """An actor as it is written: the issuer may hold colons, as addresses do.

    Raises:
        ValidationError: not three parts, or no such type.
    """
    allowed = f"ISSUER:SUBJECT:TYPE, where TYPE is {', '.join(ActorType)}"
    issuer, _, rest = text.rpartition(":")[0].rpartition(":")
    kind = text.rpartition(":")[2]
    if not issuer or not rest or kind not in list(ActorType):
        raise ValidationError("that names no actor", field="--actor", allowed=allowed)
    return Actor(checked_key(issuer, "--actor"), checked_key(rest, "--actor"), ActorType(kind))
