"""How a refusal names what is wrong to who called a mutation, which is written as a journal line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from api.execution import camel
from graph.errors import KnowledgeError

# Fields of a journal line that stand under `event` in a mutation.
_OF_THE_EVENT = ("event_id", "time", "reason", "caused_by", "execution", "actor")


@contextmanager
def as_the_caller_wrote(key_name: str = "key") -> Generator[None]:
    """Refusals name the fields as the mutation does."""
    try:
        yield
    except KnowledgeError as error:
        written, spoken = error.field, argument_name(error.field, key_name)
        if written and spoken and error.message.startswith(written):
            error.message = spoken + error.message.removeprefix(written)
        error.field = spoken
        raise


def argument_name(written: str | None, key_name: str = "key") -> str | None:
    """A field of a journal line as the mutation's caller wrote it (``payload.evidence[0].artifact_ref``)."""
    if written is None:
        return None
    name = written.removeprefix("payload.").removeprefix("concept.")
    if name == "sources[0]":
        return "session"
    if name == written and name.startswith(_OF_THE_EVENT):
        return camel(f"event.{name}")
    return key_name if name == written == "key" else camel(name)
