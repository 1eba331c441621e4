"""Tokens of an issuer that is trusted, by OpenID Connect: signed with its keys, made for us, and not out of date.

The issuer says by claims where its callers may do what. Which keys it has comes from the settings or from its own
discovery document, never from a token; how a token is signed must be a way that its key is for.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx

from api.spending import RATE
from api.trust import Trust, checked_trust
from graph.errors import UnavailableError, ValidationError
from graph.knowledge import Actor, ActorType, checked_key, checked_text
from graph.scope import Role, Scope

if TYPE_CHECKING:
    from jwt import PyJWK

KEPT_SECONDS = 3_600.0  # after so long keys are read again
AGAIN_SECONDS = 30.0  # a key that nobody knows has them read again, but not more often than this
FETCH_SECONDS = 5.0
DOCUMENT_BYTES_MAX = 1_000_000
KEY_BYTES_MIN = 32  # of a shared secret; a shorter one can be guessed from a single token
RSA_BITS_MIN = 2_048
LEEWAY_SECONDS = 30  # that clocks may differ
PROJECTS_MAX = 1_000
_ALGORITHMS: Mapping[str, Sequence[str]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA",),
    "oct": ("HS256", "HS384", "HS512"),
}
_OWN_GRANTS = ("client-credentials", "client_credentials")  # by which a program asks for itself
_LOG = logging.getLogger("whence.access")


@dataclass(frozen=True, slots=True)
class _Key:
    """What signatures are checked with, and the ways in which it may sign."""

    material: Any
    algorithms: Sequence[str]


class Issuer:
    """Knows callers by the tokens of an issuer.

    Args:
        trust: Whose, and how they are read.
        client: Fetches its keys.
        clock: Seconds.
    """

    def __init__(
        self, trust: Trust, client: httpx.AsyncClient | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.trust = trust
        self._client = client or httpx.AsyncClient(timeout=FETCH_SECONDS)
        self._clock = clock
        self._keys: dict[str | None, _Key] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def scope_of(self, token: str) -> Scope | None:
        """What the bearer of a token may see and do; None where it is not the issuer's, not for us, or out of date.

        Raises:
            UnavailableError: the issuer's keys cannot be had.
        """
        import jwt  # noqa: PLC0415  few services trust an issuer, and the package takes memory

        try:
            header = jwt.get_unverified_header(token)
            key = await self._key(header.get("kid"))
            if key is None or header.get("alg") not in key.algorithms:
                return None
            claims = jwt.decode(
                token,
                key.material,
                algorithms=[header["alg"]],
                audience=self.trust.audience,
                issuer=self.trust.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
            return scope_of_claims(self.trust, claims)
        except (jwt.PyJWTError, ValidationError, TypeError, ValueError, OverflowError) as error:
            _LOG.info("a token of %s is refused: %s", self.trust.issuer, type(error).__name__)
            return None

    async def _key(self, name: str | None) -> _Key | None:
        if self._is_due(name):
            async with self._reading:
                if self._is_due(name):
                    self._read_at = self._clock()  # also where it fails, or everybody would try
                    await self._read_again()
        if not self._keys:
            raise _away()
        if name is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(name)

    def _is_due(self, name: str | None) -> bool:
        """Whether keys are to be read: they never were, long ago, or some time ago and an unknown one is named."""
        if self._read_at is None:
            return True
        age = self._clock() - self._read_at
        return age > KEPT_SECONDS or (name not in self._keys and age > AGAIN_SECONDS)

    async def _read_again(self) -> None:
        try:
            self._keys = _usable(await self._document())
        except UnavailableError:
            if not self._keys:
                raise
            _LOG.warning("the keys of %s cannot be read again; those from before are used", self.trust.issuer)

    async def _document(self) -> Mapping[str, Any]:
        """The issuer's key set.

        Raises:
            UnavailableError: it cannot be had, or is none.
        """
        try:
            if self.trust.keys and "://" not in self.trust.keys:
                return _read(await asyncio.to_thread(Path(self.trust.keys).read_bytes))
            where = self.trust.keys
            if not where:
                base = self.trust.issuer.rstrip("/")
                where = _place_of_keys(self.trust, await self._fetched(f"{base}/.well-known/openid-configuration"))
            return await self._fetched(where)
        except (OSError, ValueError, KeyError, TypeError, ValidationError, httpx.HTTPError) as error:
            _LOG.warning("the keys of %s cannot be had: %s", self.trust.issuer, error)
            raise _away() from error

    async def _fetched(self, where: str) -> Mapping[str, Any]:
        answer = await self._client.get(where)
        if answer.status_code != HTTPStatus.OK:  # somewhere else it may be anybody's
            raise ValueError(f"the status is {answer.status_code}")
        return _read(answer.content)


def _place_of_keys(trust: Trust, told: Mapping[str, Any]) -> str:
    """The address of the keys that a discovery document names.

    Raises:
        ValueError: it is another issuer's, or names no address.
        ValidationError: the keys would come over an open line.
    """
    where = str(told["jwks_uri"])
    if told["issuer"] != trust.issuer or "://" not in where:
        raise ValueError("the discovery document is not the issuer's")
    return checked_trust(replace(trust, keys=where)).keys


def _away() -> UnavailableError:
    return UnavailableError(
        "the keys of the tokens' issuer cannot be had", field="authorization", allowed="the same request later"
    )


def _read(data: bytes) -> Mapping[str, Any]:
    if len(data) > DOCUMENT_BYTES_MAX:
        raise ValueError("the document is too large")
    document: Any = json.loads(data)
    return dict(document)


def _usable(document: Mapping[str, Any]) -> dict[str | None, _Key]:
    """The keys of a set that tokens may be signed with, by their names."""
    import jwt  # noqa: PLC0415

    found: dict[str | None, _Key] = {}
    for form in document.get("keys") or ():
        try:
            key = jwt.PyJWK.from_dict(form)
        except (jwt.PyJWTError, AttributeError, TypeError) as error:
            _LOG.warning("a key of the issuer cannot be read: %s", type(error).__name__)
            continue
        if weakness := _weakness(key):
            _LOG.warning("the issuer's key %r is not used: %s", form.get("kid"), weakness)
        elif form.get("use", "sig") == "sig":
            ways = _ALGORITHMS[key.key_type or ""]
            found[form.get("kid")] = _Key(key.key, [way for way in ways if form.get("alg", way) == way])
    return found


def _weakness(key: PyJWK) -> str | None:
    if key.key_type == "oct" and len(key.key) < KEY_BYTES_MIN:
        return f"it has fewer than {KEY_BYTES_MIN} bytes"
    if key.key_type == "RSA" and key.key.key_size < RSA_BITS_MIN:
        return f"it has fewer than {RSA_BITS_MIN} bits"
    return None if key.key_type in _ALGORITHMS else "it is of no kind that we know"


def scope_of_claims(trust: Trust, claims: Mapping[str, Any]) -> Scope:
    """What checked claims allow; a caller whose claims name no project sees none.

    Raises:
        ValidationError: a claim has another form than it should.
    """
    subject = checked_text(claims["sub"], "sub", chars_max=200)
    actor = Actor(trust.issuer, subject, _type(trust, claims))
    expires_at = datetime.fromtimestamp(claims["exp"], UTC)
    # The subject, not the token: a new token is no new purse.
    return Scope(actor, _roles(trust, claims), "jwt", f"{trust.issuer} {subject}", expires_at, RATE)


def _type(trust: Trust, claims: Mapping[str, Any]) -> ActorType:
    said = claims.get(trust.type_claim)
    if said is None:
        return ActorType.SERVICE if _is_a_programs(claims) else ActorType.HUMAN
    return ActorType(_member(said, list(ActorType), trust.type_claim))


def _is_a_programs(claims: Mapping[str, Any]) -> bool:
    """Whether a token is a program's own, by any of the forms in which issuers say so.

    None of them gives its bearer anything: a service may do no more than a human, and what it confirms weighs less.
    """
    subject, said = claims["sub"], claims.get("gty")
    grants = cast("Sequence[object]", said if isinstance(said, list) else [said])
    clients = [claims[name] for name in ("client_id", "azp", "appid") if name in claims]
    return (
        subject in clients
        or subject.endswith("@clients")
        or claims.get("idtyp") == "app"
        or claims.get("preferred_username") in [f"service-account-{client}" for client in clients]
        or any(grant in _OWN_GRANTS for grant in grants)
    )


def _roles(trust: Trust, claims: Mapping[str, Any]) -> Mapping[str, Role]:
    said, name = claims.get(trust.projects_claim), trust.projects_claim
    if isinstance(said, dict):
        given = cast("Mapping[str, object]", said)
    else:
        listed = [said] if isinstance(said, str) else cast("Sequence[object]", said or ())
        role = claims.get(trust.role_claim, Role.READER.value) if listed else None
        given = {str(project): role for project in listed}
    if len(given) > PROJECTS_MAX:
        raise ValidationError(f"{len(given)} projects", field=name, allowed=f"at most {PROJECTS_MAX}")
    return {checked_key(project, name): Role(_member(role, list(Role), name)) for project, role in given.items()}


def _member(said: object, known: Sequence[str], claim: str) -> str:
    if said not in known:
        raise ValidationError(f"the claim {claim} says nothing that we know", field=claim, allowed=", ".join(known))
    return str(said)
