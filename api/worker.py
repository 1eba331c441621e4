"""One of several processes that answer requests on one port and one database: ``python -m api.worker``.

The owner (``api.workers``) gives it a listening socket and a channel, over which it learns where the database is. It
ends in order, with what it is answering answered, when it is told to by SIGTERM or when its owner is gone.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from api import logs, tracing
from api.access import Admission
from api.channel import Channel, OwnersEmbedder
from api.interrupt import ends_as_interrupt
from api.metrics import Metrics
from api.serving import event_loop, serve
from api.settings import Settings
from graph import observed
from graph.embedded import Connection
from graph.embedding.choice import chosen as chosen_embedder
from graph.embedding.representations import Representations
from graph.embedding.semantic import Semantic
from graph.errors import KnowledgeError
from graph.ingestion.chat import chatting
from graph.ingestion.choice import chosen
from graph.service import Service
from graph.store import Store

ASKED_SECONDS = 0.2  # between two words to the owner that callers ask; its filler rests for longer after each


def main(number: int, listening: int, channel: int) -> int:
    """Answer until told to end; the exit code.

    Args:
        number: Which worker it is, from 1.
        listening: The file descriptor of a socket that listens.
        channel: That of the channel to the owner.
    """
    ends_as_interrupt()
    settings = Settings.from_environment()
    logs.set_up(settings.log_level, settings.log_format, number)
    try:
        with tracing.exported(os.environ), asyncio.Runner(loop_factory=event_loop()) as runner:
            runner.run(_work(settings, socket.socket(fileno=listening), socket.socket(fileno=channel)))
    except KeyboardInterrupt:
        pass
    except KnowledgeError as error:
        sys.stderr.write(f"whence: {error.sentence()}\n")
        return 3
    return 0


async def _work(settings: Settings, listening: socket.socket, end: socket.socket) -> None:
    channel = await Channel.over(end)
    told = await channel.hear()
    if told is None:
        return
    at = _connection(told["database"])
    profile = chosen_embedder(settings.embedder, settings.home / "cache")
    embedder = None if profile is None else OwnersEmbedder(profile.profile, channel)
    async with (
        Store.open(at.uri, at.username, at.password, at.database, at.require_room, install=False) as store,
        chatting(settings.chat) as chat,
    ):
        service = Service(store, grown=lambda project: channel.say(of="grown", project=project))
        for held in (service.aging, service.policies):
            held.changed = lambda project: channel.say(of="changed", project=project)
        semantic = None if embedder is None else Semantic(embedder, Representations(store, embedder.profile))
        metrics = Metrics(service, at.folder)
        with observed.by(metrics):
            serving = asyncio.ensure_future(
                serve(
                    service,
                    settings,
                    Admission.to(store, settings.trust),
                    listening=listening,
                    semantic=semantic,
                    asked=_sometimes(lambda: channel.say(of="asked")),
                    stages=chosen(service, embedder, settings.stages, chat),
                    metrics=metrics,
                    ready=lambda _host, _port: channel.say(of="ready"),
                )
            )
            hearing = asyncio.ensure_future(_hear(channel, service, embedder))
            try:
                await asyncio.wait((serving, hearing), return_when=asyncio.FIRST_COMPLETED)
            finally:
                hearing.cancel()
                serving.cancel()
                await asyncio.wait((serving, hearing))
                channel.close()


async def _hear(channel: Channel, service: Service, embedder: OwnersEmbedder | None) -> None:
    """Do what the owner says, until it says no more."""
    while (message := await channel.hear()) is not None:
        if message["of"] == "changed":
            service.aging.forget(message["project"])
            service.policies.forget(message["project"])
        elif message["of"] == "embedded" and embedder is not None:
            embedder.answered(message)


def _connection(told: dict[str, Any]) -> Connection:
    folder = None if told["folder"] is None else Path(told["folder"])
    return Connection(told["uri"], told["username"], told["password"], told["database"], folder=folder)


def _sometimes(what: Callable[[], None]) -> Callable[[], None]:
    """Do a thing when asked to, but not again within ``ASKED_SECONDS``."""
    done = 0.0

    def asked() -> None:
        nonlocal done
        now = time.monotonic()
        if now - done >= ASKED_SECONDS:
            done = now
            what()

    return asked


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:4])))
