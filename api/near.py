"""Keys near one that is not there, for a command's answer to what somebody typed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from difflib import get_close_matches

from graph.errors import NotFoundError
from graph.filters import Filter
from graph.fold import ALWAYS
from graph.service import Service
from graph.words import query, words

NAMED_MAX = 3
_HITS = 50  # of the words of what was typed
_PAGE = 1_000  # keys that begin alike, in each way of writing their beginning
_BEGINNING_CHARS = 3
_LIKENESS_MIN = 0.6


async def near(service: Service, project: str, key: str) -> list[str]:
    """At most three keys of a project like the one that was typed, the nearest first."""
    beginning = key[:_BEGINNING_CHARS]
    found = set[str]()
    for prefix in dict.fromkeys((beginning, beginning.lower(), beginning.upper(), beginning.title())):
        page = await service.page(project, Filter(key_prefix=prefix), _PAGE)
        found.update(node["key"] for node in page.items)
    if terms := words(key):
        rows = await service.store.read(
            "search_words", project=project, words=query(terms, project), seq=ALWAYS, first=_HITS
        )
        found.update(row["node"]["key"] for row in rows if row["node"] is not None)
    forms: dict[str, str] = {}
    for each in sorted(found - {key}):
        forms.setdefault(each.casefold(), each)
    return [forms[form] for form in get_close_matches(key.casefold(), forms, NAMED_MAX, _LIKENESS_MIN)]


@asynccontextmanager
async def suggesting(service: Service, project: str, key: str) -> AsyncGenerator[None]:
    """Have the refusal of a key that is not there name those that are near it."""
    try:
        yield
    except NotFoundError as error:
        found = await near(service, project, key) if error.field == "key" else []
        if not found:
            raise
        meant = " or ".join(map(repr, found))
        raise NotFoundError(f"{error.message}; did you mean {meant}?", field="key", allowed=error.allowed) from None
