"""The token of whoever runs the service: made on the first start, kept in a private file, and good for everything.

Who can read the file can read the database's password beside it, so it opens no more than that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graph.access_tokens import AccessTokens, Grant, read_token
from graph.embedded.secret import write_private
from graph.knowledge import Actor, ActorType
from graph.scope import EVERY, Role

OWNER = Actor("whence", "owner", ActorType.SERVICE)


@dataclass(frozen=True, slots=True)
class OwnerToken:
    """A token that opens everything.

    Attributes:
        text: What is shown.
        made: Whether it was made just now.
    """

    text: str
    made: bool


def token_file(home: Path) -> Path:
    """Where it is kept."""
    return home / "token"


async def owner_token(tokens: AccessTokens, home: Path) -> OwnerToken:
    """The token of the file while it holds; else another one, which is kept there.

    Raises:
        UnavailableError: the database cannot be had.
    """
    kept = _kept(home)
    read = read_token(kept)
    if read is not None and (await tokens.opened([read]))[0] is not None:
        return OwnerToken(kept, made=False)
    _, text = await tokens.create(Grant(OWNER, Role.ADMIN, [EVERY], "owner"))
    _keep(home, text)
    return OwnerToken(text, made=True)


def _keep(home: Path, text: str) -> None:
    home.mkdir(parents=True, exist_ok=True)
    write_private(token_file(home), text + "\n")


def _kept(home: Path) -> str:
    try:
        return token_file(home).read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
