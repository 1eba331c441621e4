"""Queries that are named by their hash, so that they travel once: the protocol of Apollo's clients (APQ), version 1.

A client sends ``extensions.persistedQuery {version, sha256Hash}`` without a query. Where the text is not known it is
told so, and sends both; from then on the hash alone will do. Texts are kept in this process, for as long as they are
in use; a hash is never taken on trust, and nothing is kept that would not be executed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from cachetools import LRUCache

from graph.errors import NotFoundError, ValidationError

CHARS_MAX = 4_000_000  # of all texts together; a frontend has some hundred queries
TEXT_CHARS = 4_000  # what a text counts at least, so that there are a thousand of them at most
_FIELD = "extensions.persistedQuery"
_HASH = re.compile("[0-9a-f]{64}")


class PersistedQueryNotFoundError(NotFoundError):
    """The hash names no text that is known here; the message and the code are those that clients look for."""

    code = "PERSISTED_QUERY_NOT_FOUND"


class PersistedQueryNotSupportedError(ValidationError):
    """Another version of the protocol; on this message and this code clients do without it."""

    code = "PERSISTED_QUERY_NOT_SUPPORTED"


class PersistedQueries:
    """Texts by their hash, those longest unused being forgotten first.

    Args:
        admits: Whether a text would be executed.
    """

    def __init__(self, admits: Callable[[str], bool]) -> None:
        self._admits = admits
        self._texts: LRUCache[str, str] = LRUCache(CHARS_MAX, lambda text: max(len(text), TEXT_CHARS))

    def text(self, query: str | None, extensions: Mapping[str, Any] | None) -> str | None:
        """The text of a request: the one that it carries, or the one that it names.

        Args:
            query: As the request carries it.
            extensions: As the request carries them.

        Raises:
            PersistedQueryNotFoundError: it names a text that is not known here.
            PersistedQueryNotSupportedError: another version of the protocol.
            ValidationError: a hash of no such form, or not that of the text beside it.
        """
        asked = (extensions or {}).get("persistedQuery")
        if asked is None:
            return query
        digest = _digest(asked)
        if query is None or query == "":
            return self._known(digest)
        if hashlib.sha256(query.encode(errors="surrogatepass")).hexdigest() != digest:
            raise ValidationError(
                "the hash is not that of the query", field=f"{_FIELD}.sha256Hash", allowed="the query's SHA-256, in hex"
            )
        self._keep(digest, query)
        return query

    def _known(self, digest: str) -> str:
        text = self._texts.get(digest)
        if text is None:
            raise PersistedQueryNotFoundError(
                "PersistedQueryNotFound", field=f"{_FIELD}.sha256Hash", allowed="the same request with its query"
            )
        return text

    def _keep(self, digest: str, query: str) -> None:
        if digest not in self._texts and not self._admits(query):
            return
        self._texts[digest] = query


def _digest(asked: object) -> str:
    """The hash in what a request says of its persisted query."""
    if not isinstance(asked, dict):
        raise ValidationError("a persisted query is an object", field=_FIELD, allowed="{version: 1, sha256Hash}")
    fields = cast("dict[str, object]", asked)
    if fields.get("version") != 1 or isinstance(fields.get("version"), bool):
        raise PersistedQueryNotSupportedError(
            "PersistedQueryNotSupported", field=f"{_FIELD}.version", allowed="1, or the query itself"
        )
    digest = fields.get("sha256Hash")
    if not isinstance(digest, str) or not _HASH.fullmatch(digest):
        raise ValidationError("the hash is none", field=f"{_FIELD}.sha256Hash", allowed="64 hex digits in lower case")
    return digest
