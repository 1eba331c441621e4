"""A server with OpenAI's form of chat completions that answers as a test says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Script:
    """What is answered: each entry once, the last one for ever.

    Attributes:
        answers: A text as the model's, a number as a status without an answer, bytes as the whole body.
        pause: Seconds before each answer.
        finish: The reason that an answer gives for its end.
        asked: The bodies that came.
        keys: The headers of authorization that came.
    """

    answers: list[str | int | bytes]
    pause: float = 0.0
    finish: str = "stop"
    asked: list[Any] = field(default_factory=list[Any])
    keys: list[str] = field(default_factory=list[str])

    def next(self) -> str | int | bytes:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def answering(script: Script) -> Generator[str]:
    """The address of a server that follows the script."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            script.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            script.keys.append(self.headers.get("authorization", ""))
            time.sleep(script.pause)
            answer = script.next()
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, bytes) else json.dumps(_form(answer, script.finish)).encode()
            try:
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.send_header("retry-after", "0")
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):  # whoever asked has gone
                pass

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's form
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _form(answer: str | int, finish: str) -> dict[str, Any]:
    if isinstance(answer, int):
        return {"error": {"message": "as the test says"}}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 60}}
    message = {"role": "assistant", "content": answer}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": usage,
    }
