"""The statements of concepts, one by one."""

from __future__ import annotations

from scenario import Stage


def test_concepts_that_wait_are_listed_by_name_with_what_they_wait_for(scenario: Stage) -> None:
    given = """
    CREATE (:Knowledge:Concept:Dangling {project: 'p', key: 'b', generation: 1, dangling: ['x', 'y']}),
      (:Knowledge:Concept:Dangling {project: 'p', key: 'a', generation: 2, dangling: ['x']}),
      (:Knowledge:Concept {project: 'p', key: 'c', generation: 1}),
      (:Knowledge:Concept:Dangling {project: 'q', key: 'd', generation: 1, dangling: ['x']})
    """
    scenario(
        given=given,
        when=("concepts_dangling", {"project": "p", "first": 10}),
        rows=[{"key": "a", "targets": ["x"]}, {"key": "b", "targets": ["x", "y"]}],
        effects={},
    )
    scenario(
        given=given,
        when=("concepts_dangling", {"project": "p", "first": 1}),
        rows=[{"key": "a", "targets": ["x"]}],
        effects={},
    )
