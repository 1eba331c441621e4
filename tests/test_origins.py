"""Which pages of other origins may ask: those that the operator names, over HTTP and over websockets."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, ORIGINS_MAX, Settings
from graph.errors import ValidationError
from graph.service import Service

PAGE, OTHER = "https://app.example.org", "https://other.example.org"
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type"}


def answer(
    service: Service, loop: asyncio.Runner, home: Path, origins: str, method: str, headers: Mapping[str, str]
) -> httpx.Response:
    settings = Settings.from_environment({"WHENCE_HOME": str(home), "WHENCE_ORIGINS": origins})
    app = create_app(service, settings, Everyone(ANONYMOUS))

    async def asked() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://whence") as client:
            body = None if method == "OPTIONS" else {"query": "{ __typename }"}
            return await client.request(method, "/graphql", json=body, headers=dict(headers))

    return loop.run(asked())


def test_a_page_of_a_named_origin_may_ask_and_read(service: Service, loop: asyncio.Runner, tmp_path: Path) -> None:
    first = answer(service, loop, tmp_path, f"http://localhost:3000, {PAGE}", "OPTIONS", {"origin": PAGE} | PREFLIGHT)
    assert first.status_code == 200
    assert first.headers["access-control-allow-origin"] == PAGE
    assert "authorization" in first.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in first.headers
    then = answer(service, loop, tmp_path, PAGE, "POST", {"origin": PAGE})
    assert then.json() == {"data": {"__typename": "Query"}}
    assert then.headers["access-control-allow-origin"] == PAGE
    assert "retry-after" in then.headers["access-control-expose-headers"]
    assert then.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("origins", ["", PAGE])
def test_a_page_of_another_origin_may_not(origins: str, service: Service, loop: asyncio.Runner, tmp_path: Path) -> None:
    for method, headers in (("OPTIONS", PREFLIGHT), ("POST", {})):
        told = answer(service, loop, tmp_path, origins, method, {"origin": OTHER} | headers)
        assert not [name for name in told.headers if name.startswith("access-control-")]
    assert told.status_code == 200, "who is no browser is not kept away by what a browser would send"


def test_any_page_may_where_the_operator_says_so(service: Service, loop: asyncio.Runner, tmp_path: Path) -> None:
    told = answer(service, loop, tmp_path, "*", "POST", {"origin": OTHER})
    assert told.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("origins", "origin", "heard"),
    [
        ("", None, True),
        ("", "http://testserver", True),
        ("", OTHER, False),
        ("", "null", False),
        (PAGE, PAGE, True),
        (PAGE, OTHER, False),
        ("*", OTHER, True),
    ],
)
def test_a_websocket_is_opened_for_pages_of_ours_and_of_named_origins(
    origins: str, origin: str | None, *, heard: bool, service: Service, tmp_path: Path
) -> None:
    settings = Settings.from_environment({"WHENCE_HOME": str(tmp_path), "WHENCE_ORIGINS": origins})
    client = TestClient(create_app(service, settings, Everyone(ANONYMOUS)))
    headers = {} if origin is None else {"origin": origin}
    opening = client.websocket_connect("/graphql", subprotocols=["graphql-transport-ws"], headers=headers)
    if heard:
        with opening as socket:
            socket.send_json({"type": "ping"})
            assert socket.receive_json()["type"] == "pong"
    else:
        with pytest.raises(WebSocketDenialResponse) as refused, opening:
            pass
        assert refused.value.status_code == 403
        assert refused.value.json()["errors"][0]["extensions"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    "origins",
    ["app.example.org", f"{PAGE}/", f"{PAGE}/page", "https://", "https://*.example.org", f"{PAGE} {OTHER}", "null"],
)
def test_what_is_no_origin_is_refused_at_the_start(origins: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Settings.from_environment({"WHENCE_ORIGINS": origins})
    assert refused.value.field == "WHENCE_ORIGINS"


def test_so_many_origins_may_be_named() -> None:
    named = [f"https://a{at}.example.org" for at in range(ORIGINS_MAX + 1)]
    assert list(Settings.from_environment({"WHENCE_ORIGINS": ",".join(named[1:])}).origins) == named[1:]
    with pytest.raises(ValidationError):
        Settings.from_environment({"WHENCE_ORIGINS": ",".join(named)})
