"""The statements of policies and of what was replayed, one by one."""

from __future__ import annotations

from typing import LiteralString

from scenario import Stage

SET: LiteralString = """
CREATE (:Policy {project: 'a', kept: [], types: ['t']}), (:Policy {project: 'p', kept: ['email'], types: []}),
  (:Policy {project: 'q', kept: ['iban'], types: []})
"""


def test_a_policy_is_the_projects_own_and_none_where_none_was_set(scenario: Stage) -> None:
    scenario(given=SET, when=("policy_get", {"project": "p"}), rows=[{"kept": ["email"], "types": []}])
    scenario(given=SET, when=("policy_get", {"project": "nobody"}), rows=[])


def test_what_is_null_stays_as_it_was(scenario: Stage) -> None:
    first = scenario(
        given=SET,
        when=("policy_put", {"project": "new", "kept": None, "types": ["t"]}),
        rows=[{"kept": [], "types": ["t"]}],
        effects={"+nodes": 1, "+labels": 1, "+properties": 3},
    )
    first.then(
        ("policy_put", {"project": "new", "kept": ["email"], "types": None}),
        rows=[{"kept": ["email"], "types": ["t"]}],
        effects={"+properties": 1, "-properties": 1},
    )


def test_the_kinds_of_those_that_keep_any_come_by_project(scenario: Stage) -> None:
    kept = [{"project": "p", "kept": ["email"]}, {"project": "q", "kept": ["iban"]}]
    scenario(given=SET, when=("policies_kept", {"first": 9}), rows=kept)
    scenario(given=SET, when=("policies_kept", {"first": 2}), rows=kept[:1])


def test_a_session_is_known_once_it_is_noted_in_its_project_alone(scenario: Stage) -> None:
    given: LiteralString = "CREATE (:Replay {project: 'p', session: 's'})"
    scenario(given=given, when=("replay_known", {"session": "s"}), rows=[{"session": "s"}])
    scenario(given=given, when=("replay_known", {"session": "t"}), rows=[])
    scenario(given=given, when=("replay_known", {"project": "q", "session": "s"}), rows=[])
    scenario(given=given, when=("replay_put", {"session": "s"}), rows=[{"session": "s"}])
    added = {"+nodes": 1, "+labels": 1, "+properties": 2}
    scenario(given=given, when=("replay_put", {"session": "t"}), rows=[{"session": "t"}], effects=added)
