"""Headers that keep an answer from being framed, sniffed, kept or used for anything but what it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from api.traced import Traced
from graph.service import Service

NAMES = (
    "x-content-type-options",
    "referrer-policy",
    "x-frame-options",
    "permissions-policy",
    "cache-control",
    "content-security-policy",
    "x-request-id",
)


def answers(
    service: Service, loop: asyncio.Runner, home: Path, *asked: httpx.Request, scheme: str = "http"
) -> list[httpx.Response]:
    app = create_app(service, Settings(home), Everyone(ANONYMOUS))

    async def made() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"{scheme}://whence") as client:
            return [await client.send(request) for request in asked]

    return loop.run(made())


def get(path: str, scheme: str = "http", **headers: str) -> httpx.Request:
    return httpx.Request("GET", f"{scheme}://whence{path}", headers=headers)


def test_every_answer_has_them_once_each_and_none_says_what_serves_it(
    service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    asked = (
        get("/healthz"),
        get("/readyz"),
        get("/nothing"),
        get("/export/none.jsonl"),
        get("/graphql?query={projects}"),
        get("/graphql", accept="text/html"),
        get("/browser/guide.html"),
        get("/browser/style.grass"),
        httpx.Request("POST", "http://whence/graphql", json={"query": "{ projects }"}),
        httpx.Request("POST", "http://whence/graphql", json={"query": "{ nothing }"}),
        httpx.Request("POST", "http://whence/context", content=b"{"),
    )
    for answer in answers(service, loop, tmp_path, *asked):
        for name in NAMES:
            assert len(answer.headers.get_list(name)) == 1, (answer.request.url, name)
        assert "server" not in answer.headers
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "strict-transport-security" not in answer.headers


def test_what_is_known_is_kept_by_nobody_and_what_is_no_page_may_load_nothing(
    service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    asked = (get("/graphql?query={projects}"), get("/readyz"), get("/nothing"))
    for answer in answers(service, loop, tmp_path, *asked):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "script-src" not in answer.headers["content-security-policy"]


def test_a_page_has_a_policy_of_its_own_or_loads_what_is_ours_alone(
    service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    (graphiql,) = answers(service, loop, tmp_path, get("/graphql", accept="text/html"))
    assert "script-src 'unsafe-inline' https://unpkg.com;" in graphiql.headers["content-security-policy"]
    assert "connect-src 'self'" in graphiql.headers["content-security-policy"]

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await HTMLResponse("<p>a page", headers={"cache-control": "no-cache"})(scope, receive, send)

    async def asked() -> httpx.Response:
        transport = httpx.ASGITransport(Traced(page, lambda: None))
        async with httpx.AsyncClient(transport=transport, base_url="http://whence") as client:
            return await client.get("/page")

    answer = loop.run(asked())
    assert answer.headers["content-security-policy"].startswith("default-src 'self'; ")
    assert answer.headers.get_list("cache-control") == ["no-cache"]


@pytest.mark.parametrize("path", ["/healthz", "/nothing"])
def test_behind_tls_browsers_are_told_to_stay_there(
    path: str, service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    (answer,) = answers(service, loop, tmp_path, get(path, "https"), scheme="https")
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
