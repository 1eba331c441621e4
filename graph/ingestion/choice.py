"""Which steps a service uses: the defaults, and whatever settings put in their place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import EntryPoint
from typing import Any

from graph.embedding.embedder import Embedder
from graph.errors import ValidationError
from graph.ingestion.chat import Chat
from graph.ingestion.duplicates import KnownNodes
from graph.ingestion.extractor import ModelConsolidator
from graph.ingestion.gate import Plain, Weighted
from graph.ingestion.mentions import Keys, Rules
from graph.ingestion.sentences import Sentences
from graph.ingestion.stages import Stages
from graph.ingestion.wording import Beginning, PlainForm, Statements
from graph.service import Service

NAMES = tuple(stage.name for stage in fields(Stages))


def chosen(
    service: Service,
    embedder: Embedder | None = None,
    instead: Mapping[str, str] | None = None,
    chat: Chat | None = None,
) -> Stages:
    """The steps for a service.

    Args:
        service: Whose knowledge they look at.
        embedder: Tells by meaning what is known already; None for words alone.
        chat: Tells whether two texts of one concept go together; without it they contradict each other.
        instead: By the name of a step, ``module:attribute`` of what makes another one; it is called with the service.

    Raises:
        ValidationError: no such step, or it cannot be made.
    """
    stages = Stages(
        distiller=Sentences(),
        normalizer=PlainForm(),
        matcher=Keys(service),
        validator=Statements(),
        summarizer=Beginning(),
        relation_extractor=Rules(),
        gate=Weighted(),
        duplicates=KnownNodes(service, embedder),
        promotion=Plain(),
        consolidator=None if chat is None else ModelConsolidator(chat),
    )
    made = {name: _made(name, where, service) for name, where in (instead or {}).items()}
    return replace(stages, **made)


def _made(name: str, where: str, service: Service) -> Any:
    field = f"WHENCE_STAGE_{name.upper()}"
    if name not in NAMES:
        raise ValidationError(f"there is no step {name!r}", field=field, allowed=", ".join(NAMES))
    try:
        maker = EntryPoint(name, where, "whence.stages").load()
        return maker(service)
    except Exception as error:  # whatever somebody else's module does when it is loaded
        raise ValidationError(
            f"the step {name} cannot be made of {where!r}: {error}",
            field=field,
            allowed="module:attribute of what is called with the service and gives the step",
        ) from error
