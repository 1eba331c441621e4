"""An embedder without a model: the same words give the same direction, whatever the machine."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Sequence

from graph.embedding.embedder import Vector, away, too_slow
from graph.embedding.profile import Profile
from graph.errors import ValidationError

REFUSED = "never take this"


class HashEmbedder:
    """Texts as sums of their words' own directions; ``Embedder`` by its form.

    Attributes:
        away: Whether it cannot be had.
        pause: Seconds that an answer takes.
        embedded: How many passages it has embedded.
    """

    def __init__(self, name: str = "hashed", dimensions: int = 16) -> None:
        self.profile = Profile(name, dimensions, hashlib.sha256(name.encode()).hexdigest())
        self.away = False
        self.pause = 0.0
        self.embedded = 0

    async def passages(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        if self.away:
            raise away("a test says so")
        if self.pause > seconds:
            await asyncio.sleep(seconds)
            raise too_slow()
        await asyncio.sleep(self.pause)
        if REFUSED in texts:
            raise ValidationError("a test says so", field="text", allowed="another")
        self.embedded += len(texts)
        return [self.vector(text) for text in texts]

    async def query(self, text: str, seconds: float) -> Vector:
        found = await self.passages([text], seconds)
        self.embedded -= 1
        return found[0]

    async def close(self) -> None:
        pass

    def vector(self, text: str) -> Vector:
        total = [0.0] * self.profile.dimensions
        for word in text.lower().split():
            digest = hashlib.shake_256(f"{self.profile.name} {word}".encode()).digest(self.profile.dimensions)
            total = [one + byte / 127.5 - 1 for one, byte in zip(total, digest, strict=True)]
        length = math.hypot(*total)
        return [one / length for one in total]
