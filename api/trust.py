"""Whose tokens are taken beside our own, and how their claims are read."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from graph.errors import ValidationError


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose tokens are taken, and how they are read.

    Attributes:
        issuer: Its address, as the claim ``iss`` has it.
        audience: What the claim ``aud`` must hold.
        keys: The address or the file of its keys (a JWK set); empty where its discovery document says.
        projects_claim: A list of projects, a lone one, or a map of projects to roles; ``*`` is all projects.
        role_claim: The role in the projects of a list.
        type_claim: What kind of actor it is; a human without it, but a service where the token is a program's own.
    """

    issuer: str
    audience: str
    keys: str = ""
    projects_claim: str = "projects"
    role_claim: str = "role"
    type_claim: str = "actor_type"


def checked_trust(trust: Trust) -> Trust:
    """A trust that can be used.

    Raises:
        ValidationError: it names no audience, or the issuer or its keys would come over an open line.
    """
    if not trust.audience:
        raise ValidationError(
            "an issuer's tokens need an audience", field="WHENCE_OIDC_AUDIENCE", allowed="what their claim aud says"
        )
    for name, where in (("WHENCE_OIDC_ISSUER", trust.issuer), ("WHENCE_OIDC_KEYS", trust.keys)):
        at = urlsplit(where)
        if "://" in where and at.scheme != "https" and at.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ValidationError("keys must not come over an open line", field=name, allowed="an https address")
    return trust
