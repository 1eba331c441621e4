"""How well texts that are in no index serve a goal: by their words, as search has them, weighed among themselves."""

from __future__ import annotations

from collections.abc import Sequence

from graph.lexical import Matching, usage
from graph.words import words


def best(goal: str, texts: Sequence[str], first: int) -> list[tuple[int, float]]:
    """Which of some texts serve a goal, best first, equals in their order, each with its score above 0.

    Args:
        goal: What about.
        texts: All that there is, since how many of them hold a word says how much it tells.
        first: How many at most.
    """
    used = usage(texts)
    matching = Matching(used.counting(words(goal)), used)
    scores = [(at, matching.score(text)) for at, text in enumerate(texts)]
    return sorted((one for one in scores if one[1] > 0), key=lambda one: (-one[1], one[0]))[:first]
