"""Tokens of an issuer that is trusted: what they allow, and all the ways in which they are refused."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from api.json_web_tokens import AGAIN_SECONDS, KEPT_SECONDS, Issuer
from api.settings import Settings
from api.trust import Trust
from graph.errors import UnavailableError, ValidationError
from graph.knowledge import ActorType
from graph.scope import Role, Scope

ISSUER, AUDIENCE = "https://id.example", "whence"
TRUST = Trust(ISSUER, AUDIENCE)
RSA = rsa.generate_private_key(65_537, 2_048)
WEAK = rsa.generate_private_key(65_537, 1_024)
CURVE = ec.generate_private_key(ec.SECP256R1())
SECRET = b"a secret of thirty-two bytes ...."


def public(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, name: str, **more: Any) -> Mapping[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        return json.loads(RSAAlgorithm.to_jwk(key.public_key())) | {"kid": name} | more
    return json.loads(ECAlgorithm.to_jwk(key.public_key())) | {"kid": name} | more


def shared(secret: bytes, name: str) -> Mapping[str, Any]:
    return {"kty": "oct", "k": base64.urlsafe_b64encode(secret).decode().rstrip("="), "kid": name, "alg": "HS256"}


KEYS = [
    public(RSA, "rsa"),
    public(CURVE, "ec"),
    public(WEAK, "weak"),
    public(RSA, "for-encryption", use="enc"),
    shared(SECRET, "shared"),
    shared(b"short", "short"),
    {"kty": "nonsense", "kid": "odd"},
]


class Provider:
    """An issuer on the net, which counts what is asked of it."""

    def __init__(self, keys: list[Any] | None = None) -> None:
        self.keys = KEYS if keys is None else keys
        self.asked: list[str] = []
        self.away = False
        self.told: dict[str, str] = {}
        self.seconds = 0.0
        transport = httpx.MockTransport(self._answer)
        self.issuer = Issuer(TRUST, httpx.AsyncClient(transport=transport), lambda: self.seconds)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if self.away:
            return httpx.Response(503)
        if request.url.path == "/.well-known/openid-configuration":
            return httpx.Response(200, json={"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"} | self.told)
        if request.url.path == "/moved":
            return httpx.Response(302, headers={"location": f"{ISSUER}/keys"})
        return httpx.Response(200, json={"keys": self.keys})


def claims(**more: Any) -> dict[str, Any]:
    ends = datetime.now(UTC) + timedelta(hours=1)
    said = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ann",
        "exp": int(ends.timestamp()),
        "projects": ["p"],
        "role": "writer",
    }
    return {name: value for name, value in (said | more).items() if value is not None}


def signed(said: Mapping[str, Any], key: Any = RSA, algorithm: str = "RS256", name: str | None = "rsa") -> str:
    return jwt.encode(dict(said), key, algorithm, {} if name is None else {"kid": name})


def by_hand(said: Mapping[str, Any], secret: bytes) -> str:
    """A token that takes a public key for a shared secret, which the package refuses to write."""
    parts = [{"alg": "HS256", "kid": "rsa"}, said]
    text = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    signature = hmac.digest(secret, text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


Ask = Callable[[str], Scope | None]


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def ask(provider: Provider, loop: asyncio.Runner) -> Ask:
    return lambda token: loop.run(provider.issuer.scope_of(token))


def test_its_claims_say_who_may_do_what_where(ask: Ask) -> None:
    scope = ask(signed(claims()))
    assert scope is not None
    assert (scope.actor.issuer, scope.actor.subject, scope.actor.type) == (ISSUER, "ann", ActorType.HUMAN)
    assert (scope.roles, scope.by) == ({"p": Role.WRITER}, "jwt")
    assert scope.expires_at is not None
    for key, algorithm, name in ((CURVE, "ES256", "ec"), (SECRET, "HS256", "shared"), (RSA, "PS256", "rsa")):
        assert ask(signed(claims(), key, algorithm, name)) is not None


@pytest.mark.parametrize(
    ("said", "roles"),
    [
        ({"projects": {"p": "admin", "q": "reader"}}, {"p": Role.ADMIN, "q": Role.READER}),
        ({"projects": "p", "role": None}, {"p": Role.READER}),
        ({"projects": ["*"], "role": "admin"}, {"*": Role.ADMIN}),
        ({"projects": []}, {}),
        ({"projects": None}, {}),
    ],
)
def test_projects_and_roles_come_in_several_forms(ask: Ask, said: dict[str, Any], roles: Any) -> None:
    scope = ask(signed(claims(**said)))
    assert scope is not None
    assert scope.roles == roles


def test_a_program_is_a_service_and_the_kind_may_be_said(ask: Ask) -> None:
    for said, kind in (
        ({"client_id": "ann"}, ActorType.SERVICE),
        ({"azp": "ann"}, ActorType.SERVICE),
        ({"azp": "the-page"}, ActorType.HUMAN),
        ({"azp": "the-page", "gty": "password", "idtyp": "user", "preferred_username": "ann"}, ActorType.HUMAN),
        ({"appid": "ann"}, ActorType.SERVICE),
        ({"sub": "x7@clients"}, ActorType.SERVICE),
        ({"azp": "the-page", "gty": "client-credentials"}, ActorType.SERVICE),
        ({"gty": ["refresh_token", "client_credentials"]}, ActorType.SERVICE),
        ({"idtyp": "app"}, ActorType.SERVICE),
        ({"azp": "worker", "preferred_username": "service-account-worker"}, ActorType.SERVICE),
        ({"azp": "the-page", "preferred_username": "service-account-worker"}, ActorType.HUMAN),
        ({"actor_type": "agent", "gty": "client-credentials"}, ActorType.AGENT),
        ({"actor_type": "agent", "azp": "ann"}, ActorType.AGENT),
    ):
        scope = ask(signed(claims(**said)))
        assert scope is not None
        assert scope.actor.type is kind


@pytest.mark.parametrize(
    "said",
    [
        {"exp": 1},
        {"exp": None},
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"sub": None},
        {"sub": ""},
        {"nbf": 4_000_000_000},
        {"projects": {"p": "king"}},
        {"projects": ["p"], "role": "king"},
        {"projects": ["p\n"]},
        {"projects": [f"p{at}" for at in range(1_001)]},
        {"actor_type": "ghost"},
        {"projects": 5},
        {"exp": 1e300},
    ],
)
def test_a_claim_that_is_not_right_lets_nobody_in(ask: Ask, said: dict[str, Any]) -> None:
    assert ask(signed(claims(**said))) is None


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_a_signature_counts_only_with_a_key_that_may_sign_so(ask: Ask) -> None:
    other = rsa.generate_private_key(65_537, 2_048)
    head = base64.urlsafe_b64encode(b'{"alg":"none","kid":"rsa"}').rstrip(b"=").decode()
    body = base64.urlsafe_b64encode(json.dumps(claims()).encode()).rstrip(b"=").decode()
    for token in (
        f"{head}.{body}.",
        by_hand(claims(), json.dumps(public(RSA, "rsa")).encode()),
        signed(claims(), other),
        signed(claims(), WEAK, "RS256", "weak"),
        signed(claims(), b"short", "HS256", "short"),
        signed(claims(), RSA, "RS256", "for-encryption"),
        signed(claims(), RSA, "RS256", None),
        signed(claims(), RSA, "RS256", "nobody"),
        signed(claims())[:-4] + "AAAA",
        "a.b.c",
        "",
    ):
        assert ask(token) is None, token


def test_a_lone_key_needs_no_name(loop: asyncio.Runner) -> None:
    one = Provider([public(RSA, "rsa")])
    assert loop.run(one.issuer.scope_of(signed(claims(), name=None))) is not None


def test_keys_are_read_once_and_again_for_a_new_one_but_not_for_everyone_who_makes_up_a_name(
    provider: Provider, ask: Ask
) -> None:
    made_up = signed(claims(), name="made-up")
    assert ask(signed(claims())) is not None
    assert ask(made_up) is None
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]
    provider.keys = [*KEYS, public(RSA, "made-up")]
    provider.seconds += AGAIN_SECONDS + 1
    assert ask(made_up) is not None
    provider.seconds += 1
    assert ask(signed(claims(), name="another")) is None
    assert len(provider.asked) == 4


def test_keys_that_cannot_be_read_again_serve_on_and_none_at_all_is_told(provider: Provider, ask: Ask) -> None:
    provider.away = True
    for _ in range(3):
        with pytest.raises(UnavailableError):
            ask(signed(claims()))
    assert len(provider.asked) == 1, "whoever comes next does not try at once"
    provider.away = False
    provider.seconds += AGAIN_SECONDS + 1
    assert ask(signed(claims())) is not None
    provider.away = True
    provider.seconds += KEPT_SECONDS + 1
    assert ask(signed(claims())) is not None


@pytest.mark.parametrize(
    "told",
    [
        {"issuer": "https://other.example"},
        {"jwks_uri": "http://id.example/keys"},
        {"jwks_uri": "/etc/passwd"},
        {"jwks_uri": f"{ISSUER}/moved"},
    ],
)
def test_keys_come_from_where_the_issuer_itself_says_and_over_a_closed_line(
    provider: Provider, ask: Ask, told: dict[str, str]
) -> None:
    provider.told = told
    with pytest.raises(UnavailableError):
        ask(signed(claims()))


def test_no_key_reaches_the_log(loop: asyncio.Runner, caplog: pytest.LogCaptureFixture) -> None:
    odd = [{"kty": "oct", "k": "c2VjcmV0LXNlY3JldA", "alg": "HS999"}, {"k": "c2VjcmV0LXNlY3JldA"}, public(RSA, "rsa")]
    assert loop.run(Provider(odd).issuer.scope_of(signed(claims()))) is not None
    assert "c2VjcmV0" not in caplog.text


def test_keys_may_lie_in_a_file(tmp_path: Path, loop: asyncio.Runner) -> None:
    file = tmp_path / "keys.json"
    file.write_text(json.dumps({"keys": KEYS}))
    assert loop.run(Issuer(replace(TRUST, keys=str(file))).scope_of(signed(claims()))) is not None
    file.write_text("no keys")
    with pytest.raises(UnavailableError):
        loop.run(Issuer(replace(TRUST, keys=str(file))).scope_of(signed(claims())))


def test_the_environment_says_whom_to_trust() -> None:
    given = {"WHENCE_OIDC_ISSUER": ISSUER, "WHENCE_OIDC_AUDIENCE": AUDIENCE, "WHENCE_OIDC_ROLE_CLAIM": "rank"}
    assert Settings.from_environment({}).trust is None
    assert Settings.from_environment(given).trust == replace(TRUST, role_claim="rank")
    near = given | {"WHENCE_OIDC_KEYS": "http://127.0.0.1:8080/keys"}
    assert Settings.from_environment(near).trust is not None
    for wrong in (
        {"WHENCE_OIDC_AUDIENCE": ""},
        {"WHENCE_OIDC_ISSUER": "http://id.example"},
        {"WHENCE_OIDC_KEYS": "http://127.0.0.1.example/keys"},
    ):
        with pytest.raises(ValidationError):
            Settings.from_environment(given | wrong)
