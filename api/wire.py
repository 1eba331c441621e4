"""What goes over the wire, whichever way a request takes: the cap on bodies, media types, JSON."""

from __future__ import annotations

import json
import re
from functools import lru_cache

import orjson

BODY_BYTES_MAX = 1_048_576  # a hundred of the largest evidence records do not fit; those are artifacts
MEDIA_MAX = 50  # that a caller may name; browsers name eight
JSON_MEDIA = "application/json"
GRAPHQL_MEDIA = "application/graphql-response+json"
STREAM_MEDIA = "text/event-stream"


def encoded(value: object) -> bytes:
    """JSON in UTF-8 of any value: integers of any size stand exactly, a lone surrogate becomes ``?``."""
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, or a lone surrogate from a caller's own text
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode(errors="replace")


@lru_cache(64)
def prefers_graphql(accept: str) -> bool:
    """Whether a caller's `accept` takes GraphQL's own media type at least as gladly as plain JSON."""
    weights = _weights(accept)
    ours = weights.get(GRAPHQL_MEDIA, 0.0)
    return ours > 0 and ours >= weights.get(JSON_MEDIA, 0.0)


@lru_cache(64)
def takes_stream(accept: str) -> bool:
    """Whether a caller's `accept` names server-sent events."""
    return _weights(accept).get(STREAM_MEDIA, 0.0) > 0


@lru_cache(64)
def takes_stream_alone(accept: str) -> bool:
    """Whether a caller's `accept` takes nothing but server-sent events."""
    return {media for media, weight in _weights(accept).items() if weight > 0} == {STREAM_MEDIA}


def _weights(accept: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for entry in accept.lower().split(",", MEDIA_MAX)[:MEDIA_MAX]:
        media, *parameters = (part.strip() for part in entry.split(";"))
        weight = next((part[2:] for part in parameters if part.startswith("q=")), "1")
        weights[media] = float(weight) if re.fullmatch(r"[01](\.\d{0,3})?", weight) else 0.0
    return weights
