"""What is asked without GraphQL: a block as text, whether the service is ready, a project as a file.

A stream that fails half way is cut off, never ended: a file that arrived whole is whole.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import cast
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import Request
from starlette.responses import Response

from api.access import Admitting, scope_of
from api.execution import facts_of
from api.refusals import Answer, TooLargeError, capped, refusal, too_large
from api.retrieved import BLOCK_MEDIA, asked_block
from api.streamed import Streamed
from graph.errors import KnowledgeError, NotFoundError, ValidationError
from graph.knowledge import checked_key
from graph.retrieval import Retrieval
from graph.service import Service
from graph.tokens import TOKENIZER

READY_SECONDS = 1.0  # a database that takes longer is not ready
_EXPORTS = {
    ".graphml": "application/graphml+xml",
    ".jsonl": "application/x-ndjson",
    ".provn": "text/provenance-notation; charset=utf-8",
    ".provjson": "application/json",
}


class Routes:
    """The routes that need the service."""

    def __init__(self, service: Service, retrieval: Retrieval, admission: Admitting) -> None:
        self.service = service
        self.retrieval = retrieval
        self.admission = admission

    async def context(self, request: Request) -> Response:
        """A context block as bare text, for callers without GraphQL; what there is to say of it stands in headers."""
        try:
            body = await Request(request.scope, capped(request.receive)).body()
            block, form, project = await asked_block(self.retrieval.within(scope_of(request.scope)), body)
        except TooLargeError:
            return too_large()
        except KnowledgeError as error:
            return refusal(facts_of(error))
        headers = {
            "whence-tokens": str(block.tokens),
            "whence-tokenizer": TOKENIZER,
            "whence-included": str(len(block.items)),
            "whence-omitted": str(block.omitted),
            "whence-at-seq": str(block.seq),
            "whence-authorization": scope_of(request.scope).rule(project),
            **({} if block.embedder is None else {"whence-embedder": quote(block.embedder)}),
            "cache-control": "no-store",
        }
        return Response(block.text or None, 200 if block.text else 204, headers, BLOCK_MEDIA[form])

    async def ready(self, _request: Request) -> Response:
        """200 when requests can be served, 503 with the cause when not; either within about a second."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                rebuilding = await self.service.ready()
        except TimeoutError:
            cause = f"the database did not answer within {READY_SECONDS:g} s"
        except Exception as error:  # noqa: BLE001  whatever it is, the answer is no
            cause = facts_of(error).message
        else:
            return Answer({"status": "ready"} | ({"rebuilding": len(rebuilding)} if rebuilding else {}))
        return Answer({"status": "unavailable", "cause": cause}, 503)

    async def export(self, request: Request) -> Response:
        """A project as a file: refused while nothing of it has been sent, cut off where it fails later."""
        try:
            project, ending = _exported(request)
            service = self.service.within(scope_of(request.scope))
            chunks = cast("AsyncGenerator[bytes, None]", _chunks(service, project, ending))
            first = await anext(chunks, None)
            if first is None:
                raise NotFoundError("there is no such project", field="project", allowed="a known project")
        except KnowledgeError as error:
            return refusal(facts_of(error))
        headers = {"content-disposition": _attachment(project, ending), "cache-control": "no-store"}
        if request.method == "HEAD":
            await chunks.aclose()
            return Response(None, 200, headers, _EXPORTS[ending])
        known = partial(self.admission.scope_of, request.headers.get("authorization"))
        return Streamed(from_first(first, chunks, known), 200, headers, _EXPORTS[ending])


def _chunks(service: Service, project: str, ending: str) -> AsyncIterator[bytes]:
    if ending == ".graphml":
        return service.export_graphml(project)
    if ending == ".jsonl":
        return service.export_journal(project)
    from graph.prov_export import prov_file  # noqa: PLC0415  few ask for it, and the package costs memory

    return prov_file(service.store, project, "provn" if ending == ".provn" else "json")


async def from_first(
    first: bytes, rest: AsyncGenerator[bytes, None], known: Callable[[], Awaitable[object]]
) -> AsyncGenerator[bytes, None]:
    """All chunks, as long as the caller is known: an export may take hours, and a token may end meanwhile."""
    async with aclosing(rest):
        yield first
        async for chunk in rest:
            await known()
            yield chunk


def _exported(request: Request) -> tuple[str, str]:
    """The project and the kind of file, from the path as it was sent: projects may hold any character.

    Raises:
        NotFoundError: no such kind of file.
        ValidationError: the name is not one that a project can have.
    """
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    name = raw.partition(b"/export/")[2]
    ending = next((ending for ending in _EXPORTS if name.endswith(ending.encode())), None)
    if ending is None:
        raise NotFoundError("there is no such export", allowed="{project}" + " or {project}".join(_EXPORTS))
    try:
        project = unquote_to_bytes(name.removesuffix(ending.encode())).decode()
    except UnicodeDecodeError:
        raise ValidationError("the project's name is no UTF-8", field="project", allowed="UTF-8") from None
    return checked_key(project, "project"), ending


def _attachment(project: str, ending: str) -> str:
    """A file name for every system, and the true one for those that know RFC 5987."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", project).strip("._")[:100] or "project"
    return f"attachment; filename=\"{plain}{ending}\"; filename*=UTF-8''{quote(project + ending, safe='')}"
