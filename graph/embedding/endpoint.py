"""An embedder that asks a service with OpenAI's form of ``POST /embeddings``."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graph.embedding.embedder import Vector, away, too_slow
from graph.embedding.profile import Pooling, Profile
from graph.errors import ValidationError

if TYPE_CHECKING:
    import httpx

BATCH_SIZE = 32
ANSWER_BYTES_MAX = 16_000_000  # a batch of the largest vectors, written out
CONNECTIONS_MAX = 4
_REFUSED = frozenset({400, 413, 422})  # the texts are at fault; all else may pass


def endpoint_profile(model: str, dimensions: int) -> Profile:
    """How a model is used that is known by its name alone."""
    return Profile(
        name=model,
        dimensions=dimensions,
        sha256=hashlib.sha256(model.encode()).hexdigest(),
        pooling=Pooling.NONE,
        batch_size=BATCH_SIZE,
    )


class EndpointEmbedder:
    """A model behind an address; ``Embedder`` by its form.

    Args:
        profile: Its name there, and how many dimensions it must give.
        base: The address that ``/embeddings`` is put behind.
        key: Sent as a bearer token; none when empty.
    """

    def __init__(self, profile: Profile, base: str, key: str = "") -> None:
        self._profile = profile
        self._url = base.rstrip("/") + "/embeddings"
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client: httpx.AsyncClient | None = None

    @property
    def profile(self) -> Profile:
        """The model, and how it is used."""
        return self._profile

    async def passages(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        """The vectors of texts that are stored; see ``Embedder``."""
        return await self._asked([self._profile.passage_prefix + text for text in texts], seconds)

    async def query(self, text: str, seconds: float) -> Vector:
        """The vector of a text that is asked for; see ``Embedder``."""
        return (await self._asked([self._profile.query_prefix + text], seconds))[0]

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _asked(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        size, found = self._profile.batch_size, list[Vector]()
        try:
            async with asyncio.timeout(seconds):
                for at in range(0, len(texts), size):
                    found += self._read(await self._posted(texts[at : at + size]), len(texts[at : at + size]))
        except TimeoutError:
            raise too_slow() from None
        return found

    async def _posted(self, texts: Sequence[str]) -> Any:
        """The answer's JSON."""
        import httpx  # noqa: PLC0415  ten megabytes that only this embedder needs

        if self._client is None:
            limits = httpx.Limits(max_connections=CONNECTIONS_MAX)
            self._client = httpx.AsyncClient(headers=self._headers, limits=limits, timeout=None)  # noqa: S113  ours
        asked = {"model": self._profile.name, "input": list(texts), "encoding_format": "float"}
        try:
            async with self._client.stream(method="POST", url=self._url, json=asked) as answer:
                body = bytearray()
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > ANSWER_BYTES_MAX:
                        raise away("its answer is too large")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise away(f"{type(error).__name__} at the endpoint") from error
        if answer.status_code in _REFUSED:
            raise ValidationError(
                f"the embedder refused the text with {answer.status_code}",
                field="text",
                allowed="a text that the model takes",
            )
        if not answer.is_success:
            raise away(f"the endpoint answered {answer.status_code}")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise away("the endpoint's answer is no JSON") from error

    def _read(self, answer: Any, count: int) -> list[Vector]:
        """The vectors in the order of the texts, whatever order the answer has."""
        try:
            found = {int(each["index"]): list(map(float, each["embedding"])) for each in answer["data"]}
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise away("the endpoint's answer is not of OpenAI's form") from error
        if len(answer["data"]) != count or found.keys() != set(range(count)):
            raise away("the endpoint answered another number of vectors than texts")
        return [self._unit(found[at]) for at in range(count)]

    def _unit(self, vector: Vector) -> Vector:
        if len(vector) != self._profile.dimensions:
            raise away(f"the endpoint gives {len(vector)} dimensions, not {self._profile.dimensions}")
        length = math.hypot(*vector)
        if not 0 < length < math.inf:
            raise away("the endpoint gives a vector without a direction")
        return [number / length for number in vector]
