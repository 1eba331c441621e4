"""The statements of tokens, one by one."""

from __future__ import annotations

from typing import Any, LiteralString

from scenario import Stage

MADE, ENDS, REVOKED = "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z", "2026-11-02T00:00:00Z"
GIVEN: LiteralString = """
CREATE (:AccessToken {token_id: 'b', hash: 'hb', label: 'the other', projects: ['p', 'q'], role: 'writer',
    issuer: 'i', subject: 's', type: 'agent', created_at: datetime('2026-11-01T00:00:00Z'),
    expires_at: datetime('2026-12-01T00:00:00Z'), rate: 7}),
  (:AccessToken {token_id: 'a', hash: 'ha', label: '', projects: ['*'], role: 'admin', issuer: 'i', subject: 't',
    type: 'human', created_at: datetime('2026-11-02T00:00:00Z'), revoked_at: datetime('2026-11-02T00:00:00Z')})
"""


def token(name: str, **rest: Any) -> dict[str, Any]:
    known: dict[str, Any] = {"issuer": "i", "expires_at": None, "revoked_at": None, "rate": None}
    return {"token": {"id": name, **known, **rest}}


OTHER = token(
    "b",
    label="the other",
    projects=["p", "q"],
    role="writer",
    subject="s",
    type="agent",
    created_at=MADE,
    expires_at=ENDS,
    rate=7,
)
FIRST = token(
    "a",
    label="",
    projects=["*"],
    role="admin",
    subject="t",
    type="human",
    created_at=REVOKED,
    revoked_at=REVOKED,
)


def test_tokens_come_by_their_ids_with_their_hashes_and_all_of_them_without(scenario: Stage) -> None:
    named = [{"token": OTHER["token"] | {"hash": "hb"}}]
    scenario(given=GIVEN, when=("access_tokens_named", {"token_ids": ["b", "c"]}), rows=named)
    scenario(given=GIVEN, when=("access_tokens_page", {"first": 9}), rows=[OTHER, FIRST])
    scenario(given=GIVEN, when=("access_tokens_page", {"first": 1}), rows=[OTHER])


def test_a_token_is_made_whole_and_ends_once(scenario: Stage) -> None:
    asked: dict[str, Any] = {name: OTHER["token"][name] for name in OTHER["token"] if name not in ("id", "revoked_at")}
    scenario(
        given="RETURN 1 AS nothing",
        when=("access_token_put", asked | {"token_id": "b", "hash": "hb"}),
        rows=[{"id": "b"}],
        effects={"+nodes": 1, "+labels": 1, "+properties": 11},
    ).then(("access_tokens_page", {"first": 9}), rows=[OTHER])
    revoked = {"token_id": "b", "revoked_at": REVOKED}
    scenario(given=GIVEN, when=("access_token_revoke", revoked), rows=[{"id": "b"}], effects={"+properties": 1}).then(
        ("access_token_revoke", {"token_id": "b", "revoked_at": ENDS}), rows=[{"id": "b"}], effects={}
    )
    scenario(given=GIVEN, when=("access_token_revoke", {"token_id": "c", "revoked_at": ENDS}), rows=[])
