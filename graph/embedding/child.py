"""The process in which a model runs: asked over its standard input, it answers on its standard output.

Every message is a letter, the length of what follows, and that. Down come texts as JSON (``T``); up come ``R`` once the
model is loaded, vectors (``V``: 32-bit floats, little-endian, one text's after the other's), or an error as JSON
(``E``). The process ends when its input ends, so that it never outlives whoever started it.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import signal
import struct
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from graph.embedding.packaged import packaged_files
from graph.embedding.profile import ModelFiles, Pooling, Profile
from graph.errors import KnowledgeError, UnavailableError

HEADER = struct.Struct("<cI")
TEXTS, READY, VECTORS, ERROR = b"T", b"R", b"V", b"E"
MESSAGE_BYTES_MAX = 64_000_000


def job(profile: Profile, files: ModelFiles | None, cache: Path) -> str:
    """What a child is to do, as its argument: a model of one's own, or the packaged one with its cache."""
    named = None if files is None else [str(files.model), str(files.vocabulary)]
    return json.dumps({"profile": asdict(profile), "files": named, "cache": str(cache)})


def main(argument: str) -> int:
    """Serve until the input ends; the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started this
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand among the answers
    asked = _listen()
    try:
        model = _loaded(json.loads(argument))
    except KnowledgeError as error:
        _send(out, ERROR, json.dumps(error.facts()).encode())
        return 1
    _send(out, READY, b"")
    while True:
        texts = asked.get()
        batches = (texts[at : at + model.batch_size] for at in range(0, len(texts), model.batch_size))
        _send(out, VECTORS, b"".join(model.vectors(batch).astype("<f4").tobytes() for batch in batches))


def _loaded(given: Mapping[str, Any]) -> Any:
    profile = Profile(**given["profile"] | {"pooling": Pooling(given["profile"]["pooling"])})
    own = given["files"]
    files = packaged_files(Path(given["cache"])) if own is None else ModelFiles(*map(Path, own))
    try:
        from graph.embedding.model import Model  # noqa: PLC0415  it is not to be had on every machine
    except ImportError as error:
        raise UnavailableError(
            f"onnxruntime cannot be imported here: {error}",
            field="WHENCE_EMBEDDER",
            allowed="an endpoint, or none",
        ) from error
    return Model(profile, files)


def _listen() -> queue.SimpleQueue[list[str]]:
    """What is asked from now on; in a thread of its own, so that an end of the input is seen at once."""
    asked: queue.SimpleQueue[list[str]] = queue.SimpleQueue()

    def listen() -> None:
        given = sys.stdin.buffer
        while len(head := given.read(HEADER.size)) == HEADER.size:
            asked.put(json.loads(given.read(HEADER.unpack(head)[1])))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return asked


def _send(out: BinaryIO, kind: bytes, body: bytes) -> None:
    out.write(HEADER.pack(kind, len(body)) + body)
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
