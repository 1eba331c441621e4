"""The embedder that the settings ask for, opened and closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from api.settings import Settings
from graph.embedding.choice import chosen
from graph.embedding.embedder import Embedder
from graph.embedding.representations import Representations
from graph.embedding.semantic import Semantic
from graph.rankers import ranker
from graph.retrieval import Retrieval
from graph.service import Service

START_SECONDS = 15.0  # for a question of a command: the model begins with it, in one second or, on a busy machine, ten


@asynccontextmanager
async def opened(settings: Settings) -> AsyncGenerator[Embedder | None]:
    """The embedder that is wanted, ended at the end; None where words alone are."""
    embedder = chosen(settings.embedder, settings.home / "cache")
    try:
        yield embedder
    finally:
        if embedder is not None:
            await embedder.close()


@asynccontextmanager
async def retrieving(settings: Settings, service: Service) -> AsyncGenerator[Retrieval]:
    """Retrieval by words, and by meaning where an embedder is wanted."""
    async with opened(settings) as embedder:
        if embedder is None:
            yield Retrieval(service, None, ranker(settings.ranker))
        else:
            semantic = Semantic(embedder, Representations(service.store, embedder.profile), START_SECONDS)
            yield Retrieval(service, semantic, ranker(settings.ranker))
