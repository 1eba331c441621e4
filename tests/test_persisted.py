"""Persisted queries, as Apollo's clients speak of them, and the bounds of what is kept."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from test_api import JSON_TYPE, Api

from api import persisted
from api.persisted import PersistedQueries, PersistedQueryNotFoundError
from graph.errors import ValidationError
from graph.service import Service

QUERY = "query Head($p: String!) { journalHead(project: $p) { seq } }"
UNKNOWN = "f" * 64


def digest_of(query: str) -> str:
    return hashlib.sha256(query.encode()).hexdigest()


def named(digest: object, version: object = 1) -> dict[str, Any]:
    return {"persistedQuery": {"version": version, "sha256Hash": digest}}


@pytest.fixture
def api(service: Service, loop: asyncio.Runner) -> Api:
    return Api(service, loop)


def sent(api: Api, **body: Any) -> httpx.Response:
    return api.send("POST", "/graphql", content=json.dumps(body), headers=JSON_TYPE)


def got(api: Api, **params: Any) -> httpx.Response:
    return api.send(
        "GET", "/graphql", params={k: v if isinstance(v, str) else json.dumps(v) for k, v in params.items()}
    )


Ask = Callable[..., httpx.Response]


@pytest.mark.parametrize("ask", [sent, got], ids=["POST", "GET"])
def test_a_client_that_names_a_query_is_asked_for_it_once(api: Api, ask: Ask) -> None:
    variables, extensions = {"p": "P"}, named(digest_of(QUERY))
    missing = ask(api, variables=variables, extensions=extensions)
    (error,) = missing.json()["errors"]
    # The message is what all clients look for, the code is what Apollo's own looks for too.
    assert (missing.status_code, error["message"]) == (200, "PersistedQueryNotFound")
    assert error["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"
    assert missing.headers["cache-control"] == "no-store"
    for body in ({"query": QUERY}, {}, {}):
        assert ask(api, **body, variables=variables, extensions=extensions).json() == {"data": {"journalHead": None}}


def test_a_named_mutation_is_not_run_by_get(api: Api) -> None:
    api.propose("a")
    mutation = 'mutation { use(project: "P", key: "a") { applied } }'
    assert sent(api, query=mutation, extensions=named(digest_of(mutation))).json() == {
        "data": {"use": {"applied": True}}
    }
    refused = got(api, extensions=named(digest_of(mutation)))
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


def test_a_hash_of_another_text_poisons_nothing(api: Api) -> None:
    response = sent(api, query="{ projects }", extensions=named(digest_of(QUERY)))
    (error,) = response.json()["errors"]
    assert (response.status_code, error["extensions"]["code"]) == (400, "VALIDATION")
    assert error["extensions"]["field"] == "extensions.persistedQuery.sha256Hash"
    again = sent(api, variables={"p": "P"}, extensions=named(digest_of(QUERY)))
    assert again.json()["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    "query", ["{", "{ nothing }", "{ " + " ".join(f"a{n}: projects" for n in range(200)) + " }", "# " + "x" * 100_000]
)
def test_only_what_would_be_executed_is_kept(api: Api, query: str) -> None:
    assert sent(api, query=query, extensions=named(digest_of(query))).json()["errors"]
    again = sent(api, extensions=named(digest_of(query))).json()
    assert again["errors"][0]["extensions"]["code"] == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize("version", [2, "1", None, True, 1.5])
def test_another_version_is_told_not_to_be_supported(api: Api, version: object) -> None:
    (error,) = sent(api, query="{ projects }", extensions=named(UNKNOWN, version)).json()["errors"]
    assert error["message"] == "PersistedQueryNotSupported"
    assert error["extensions"]["code"] == "PERSISTED_QUERY_NOT_SUPPORTED"


@pytest.mark.parametrize("extensions", [{"persistedQuery": 5}, {"persistedQuery": []}, named(5), named("F" * 64)])
def test_what_names_no_query_is_refused(api: Api, extensions: object) -> None:
    response = sent(api, query="{ projects }", extensions=extensions)
    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["field"].startswith("extensions.persistedQuery")


def test_other_extensions_are_no_concern_of_it(api: Api) -> None:
    assert sent(api, query="{ projects }", extensions={"trace": True}).json() == {"data": {"projects": []}}


# --- bounds ---


def keep(kept: PersistedQueries, query: str) -> str:
    assert kept.text(query, named(digest_of(query))) == query
    return digest_of(query)


def is_known(kept: PersistedQueries, digest: str) -> bool:
    try:
        return bool(kept.text(None, named(digest)))
    except PersistedQueryNotFoundError:
        return False


def test_the_text_longest_unused_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persisted, "CHARS_MAX", 3 * persisted.TEXT_CHARS)
    kept = PersistedQueries(lambda _query: True)
    digests = [keep(kept, f"query {n}") for n in range(3)]
    assert is_known(kept, digests[0])
    digests.append(keep(kept, "query 3"))
    assert [is_known(kept, digest) for digest in digests] == [True, False, True, True]


def test_texts_take_a_bounded_number_of_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persisted, "CHARS_MAX", 100)
    monkeypatch.setattr(persisted, "TEXT_CHARS", 1)
    kept = PersistedQueries(lambda _query: True)
    digests = [keep(kept, letter * 40) for letter in "abc"]
    assert [is_known(kept, digest) for digest in digests] == [False, True, True]
    largest = keep(kept, "d" * 100)
    assert [is_known(kept, digest) for digest in (*digests, largest)] == [False, False, False, True]


def test_a_repeat_is_kept_once() -> None:
    kept = PersistedQueries(lambda _query: True)
    digests = {keep(kept, "{ projects }") for _ in range(3)}
    assert [is_known(kept, digest) for digest in digests] == [True]
    with pytest.raises(ValidationError):
        kept.text("{ other }", named(*digests))
