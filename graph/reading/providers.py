"""Providers by name: those that installed packages declare as entry points, ours among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points

from graph.errors import LimitError, ValidationError
from graph.reading.provider import Provider
from graph.retrieval import Retrieval

GROUP = "whence.providers"
SOURCES_MAX = 8  # of one reading; each may give 200 pieces, and all of them are compared with each other


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read.

    Attributes:
        provider: The name of an entry point.
        location: Where it is, as that provider has it: a path, an address; nothing for the store.
        name: By which it is told from the others of a reading; the provider's unless given.
    """

    provider: str
    location: str = ""
    name: str = ""


def names() -> list[str]:
    """The names of all providers that are installed, sorted."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def opened(sources: Sequence[Source], retrieval: Retrieval) -> list[Provider]:
    """The providers of some sources, in their order; nothing is read yet.

    Args:
        sources: At most 8.
        retrieval: Finds what projects hold.

    Raises:
        LimitError: more sources.
        ValidationError: no package, or more than one, has such a provider, or it cannot be made.
    """
    if len(sources) > SOURCES_MAX:
        raise LimitError(f"{len(sources)} sources", field="sources", allowed=f"at most {SOURCES_MAX}")
    return [_made(source, f"sources[{at}]", retrieval) for at, source in enumerate(sources)]


def _made(source: Source, field: str, retrieval: Retrieval) -> Provider:
    found = list(entry_points(group=GROUP, name=source.provider))
    if not found:
        message = f"no package has the provider {source.provider!r}"
        raise ValidationError(message, field=f"{field}.provider", allowed=", ".join(names()))
    if len({point.value for point in found}) > 1:
        message = f"several packages have a provider {source.provider!r}"
        raise ValidationError(message, field=f"{field}.provider", allowed="one of them installed")
    try:
        return found[0].load()(source.name or source.provider, source.location, retrieval)
    except Exception as error:  # whatever somebody else's module does when it is loaded
        raise ValidationError(
            f"the provider {source.provider!r} cannot be made: {error}",
            field=field,
            allowed="a location that it takes, and a package that can be loaded",
        ) from error
