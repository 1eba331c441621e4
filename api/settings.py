"""What the environment says, read once and then passed on: nothing else in the package looks there."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from platformdirs import user_data_path

from api.logs import FORMS, TEXT
from api.trust import Trust, checked_trust
from graph import rankers
from graph.embedding.choice import DEFAULT, Choice
from graph.errors import ValidationError, quoted
from graph.ingestion.chat import NOBODY, ChatChoice
from graph.knowledge import Actor, ActorType

ANONYMOUS = Actor("whence", "anonymous", ActorType.SERVICE)
_ANY_ORIGIN = "*"
ORIGINS_MAX = 100
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")  # as browsers write it
_STAGE = "WHENCE_STAGE_"
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


@dataclass(frozen=True, slots=True)
class Settings:
    """How one run of Whence is set up.

    ``neo4j_uri`` is None where the embedded server is to be used; ``actor`` acts where a caller names nobody;
    ``ranker`` names one; ``stages`` names, by the step of ingestion, what takes the place of the default; ``trust``
    says whose tokens are taken beside our own; pages of ``origins`` may ask as those of our own.
    """

    home: Path
    log: str = "INFO"
    neo4j_uri: str | None = None
    neo4j_username: str = "neo4j"
    neo4j_password: str = field(default="", repr=False)
    neo4j_database: str = "neo4j"
    actor: Actor = ANONYMOUS
    embedder: Choice = DEFAULT
    ranker: str = rankers.DEFAULT
    chat: ChatChoice = NOBODY
    stages: Mapping[str, str] = field(default_factory=dict[str, str])
    log_format: str = TEXT
    trust: Trust | None = None
    origins: Sequence[str] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The settings that the environment asks for; an empty variable counts as unset.

        Args:
            environment: Variables by name; those of this process when None.

        Raises:
            ValidationError: WHENCE_LOG names no level, WHENCE_LOG_FORMAT no form, WHENCE_RANKER no ranker,
                WHENCE_EMBEDDER_DIMENSIONS is no number, WHENCE_ORIGINS names what is no origin, or an issuer of
                tokens cannot be trusted so.
        """
        given = {name: value for name, value in (environment or os.environ).items() if value}
        level = given.get("WHENCE_LOG", "INFO").upper()
        if level not in _LEVELS:
            raise ValidationError("WHENCE_LOG names no level", field="WHENCE_LOG", allowed=", ".join(_LEVELS))
        form = given.get("WHENCE_LOG_FORMAT", TEXT).lower()
        if form not in FORMS:
            raise ValidationError(
                "WHENCE_LOG_FORMAT names no form", field="WHENCE_LOG_FORMAT", allowed=", ".join(FORMS)
            )
        home = given.get("WHENCE_HOME")
        return cls(
            home=Path(home).expanduser().absolute() if home else user_data_path("whence", appauthor=False),
            log=level,
            neo4j_uri=given.get("NEO4J_URI"),
            neo4j_username=given.get("NEO4J_USERNAME", "neo4j"),
            neo4j_password=given.get("NEO4J_PASSWORD", ""),
            neo4j_database=given.get("NEO4J_DATABASE", "neo4j"),
            embedder=_embedder(given),
            ranker=_ranker(given),
            chat=ChatChoice(
                given.get("WHENCE_CHAT", ""), given.get("WHENCE_CHAT_MODEL", ""), given.get("WHENCE_CHAT_KEY", "")
            ),
            log_format=form,
            stages={
                name.removeprefix(_STAGE).lower(): where for name, where in given.items() if name.startswith(_STAGE)
            },
            trust=_trust(given),
            origins=_origins(given),
        )

    @property
    def log_level(self) -> int:
        """The level as the number that ``logging`` uses."""
        return logging.getLevelNamesMapping()[self.log]


def _ranker(given: Mapping[str, str]) -> str:
    name = given.get("WHENCE_RANKER", rankers.DEFAULT)
    rankers.ranker(name)
    return name


def _trust(given: Mapping[str, str]) -> Trust | None:
    issuer = given.get("WHENCE_OIDC_ISSUER")
    if issuer is None:
        return None
    trust = Trust(issuer, given.get("WHENCE_OIDC_AUDIENCE", ""), given.get("WHENCE_OIDC_KEYS", ""))
    claims = {
        "projects_claim": given.get("WHENCE_OIDC_PROJECTS_CLAIM", trust.projects_claim),
        "role_claim": given.get("WHENCE_OIDC_ROLE_CLAIM", trust.role_claim),
        "type_claim": given.get("WHENCE_OIDC_TYPE_CLAIM", trust.type_claim),
    }
    return checked_trust(replace(trust, **claims))


def _origins(given: Mapping[str, str]) -> tuple[str, ...]:
    named = (part.strip() for part in given.get("WHENCE_ORIGINS", "").split(","))
    origins = tuple(dict.fromkeys(part for part in named if part))
    allowed = f"{_ANY_ORIGIN}, or at most {ORIGINS_MAX} such as http://localhost:3000 with commas between"
    if len(origins) > ORIGINS_MAX:
        raise ValidationError(f"there are {len(origins)} origins", field="WHENCE_ORIGINS", allowed=allowed)
    for origin in origins:
        if origin != _ANY_ORIGIN and not _ORIGIN.fullmatch(origin):
            raise ValidationError(f"{quoted(origin)} is no origin", field="WHENCE_ORIGINS", allowed=allowed)
    return origins


def _embedder(given: Mapping[str, str]) -> Choice:
    dimensions = given.get("WHENCE_EMBEDDER_DIMENSIONS", "0")
    if not dimensions.isascii() or not dimensions.isdecimal():
        raise ValidationError(
            "WHENCE_EMBEDDER_DIMENSIONS is no number", field="WHENCE_EMBEDDER_DIMENSIONS", allowed="a whole number"
        )
    return Choice(
        embedder=given.get("WHENCE_EMBEDDER", DEFAULT.embedder),
        endpoint_model=given.get("WHENCE_EMBEDDER_MODEL", ""),
        endpoint_dimensions=int(dimensions[:9]),
        endpoint_key=given.get("WHENCE_EMBEDDER_KEY", ""),
    )
