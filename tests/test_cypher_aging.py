"""The statements of aging times, one by one."""

from __future__ import annotations

from typing import LiteralString

import pytest
from scenario import Stage

AGED: LiteralString = """
CREATE (:Project {name: 'p', seq: 3}), (:Project {name: 'empty', seq: 0}),
  (:Aging {project: 'p', since: datetime('2026-01-01T00:00:00Z'), seconds: 10}),
  (:Aging {project: 'p', since: datetime('2026-02-01T00:00:00Z'), seconds: 20}),
  (:Aging {project: 'q', since: datetime('2026-03-01T00:00:00Z'), seconds: 30})
"""


def test_what_an_aging_time_was_set_to_comes_newest_first(scenario: Stage) -> None:
    newest = {"since": "2026-02-01T00:00:00Z", "seconds": 20}
    oldest = {"since": "2026-01-01T00:00:00Z", "seconds": 10}
    scenario(given=AGED, when=("aging_changes", {"first": 9}), rows=[newest, oldest])
    scenario(given=AGED, when=("aging_changes", {"first": 1}), rows=[newest])


@pytest.mark.parametrize(
    ("since", "kept", "effects"),
    [
        ("2026-02-02T00:00:00Z", "2026-02-02T00:00:00Z", {"+nodes": 1, "+labels": 1, "+properties": 3}),
        ("2026-01-15T00:00:00Z", "2026-02-01T00:00:00Z", {"+properties": 1, "-properties": 1}),
    ],
)
def test_an_aging_time_that_is_set_is_the_newest_whatever_the_clock_says(
    scenario: Stage, since: str, kept: str, effects: dict[str, int]
) -> None:
    put = scenario(
        given=AGED, when=("aging_put", {"since": since, "lasts": 40}), rows=[{"seconds": 40}], effects=effects
    )
    put.then(("aging_changes", {"first": 1}), rows=[{"since": kept, "seconds": 40}])


@pytest.mark.parametrize("project", ["empty", "nobody"])
def test_a_project_without_events_is_given_no_aging_time(scenario: Stage, project: str) -> None:
    asked = {"project": project, "since": "2026-04-01T00:00:00Z", "lasts": 40}
    scenario(given=AGED, when=("aging_put", asked), rows=[])
