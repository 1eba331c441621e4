"""What must be known of a model to use it: it belongs to the model, so no setting of the service repeats it."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from graph.errors import ValidationError

DIMENSIONS_MAX = 4096  # what a vector index of Neo4j takes
BATCH_MAX = 256
TOKENS_MAX = 8192
_NAME_CHARS_MAX = 40
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE_FIELDS = frozenset(
    {"name", "model", "vocabulary", "sha256", "dimensions", "pooling", "query_prefix", "passage_prefix"}
    | {"batch_size", "lexical_weight", "admission", "duplicate", "tokens_max"}
)


class Pooling(StrEnum):
    """How the vectors of a text's tokens become one."""

    MEAN = "mean"
    CLS = "cls"
    NONE = "none"  # whoever serves the model gives one vector a text


@dataclass(frozen=True, slots=True)
class Profile:
    """A model, and how it wants to be used.

    Attributes:
        name: As people call it.
        dimensions: Numbers in a vector.
        sha256: Of the model's file, lower-case hex; of a model behind an endpoint, of the name that it has there.
        pooling: How the vectors of a text's tokens become one.
        query_prefix: Put in front of what is asked.
        passage_prefix: Put in front of what is stored.
        batch_size: Texts in one run. 1 for a model that quantises over its whole batch, where the neighbours of a
            text would change its vector.
        admission: The least cosine with which a node is offered for its meaning alone.
        duplicate: The least cosine with which two texts say the same.
        lexical_weight: From 0 to 1: how much of a fused score the words carry beside this model's cosine.
        tokens_max: What a text has beyond so many tokens is not looked at.
    """

    name: str
    dimensions: int
    sha256: str
    pooling: Pooling = Pooling.MEAN
    query_prefix: str = ""
    passage_prefix: str = ""
    batch_size: int = 1
    lexical_weight: float = 0.5
    admission: float = 0.3
    duplicate: float = 0.85
    tokens_max: int = 512

    @property
    def model(self) -> str:
        """What tells its vectors from those of all others; it is also their label and the name of their index.

        The index of a large project's vectors has a name that begins with it. Two profiles have the same one only
        if they make the same vectors of the same texts.
        """
        parts = (self.sha256, self.dimensions, self.pooling.value, self.query_prefix, self.passage_prefix)
        digest = hashlib.sha256(repr((*parts, self.tokens_max)).encode()).hexdigest()
        return f"Model_{re.sub(r'[^0-9A-Za-z]', '_', self.name)[:_NAME_CHARS_MAX]}_{digest[:12]}"


E5_SMALL = Profile(
    name="e5-small-v2-q",
    dimensions=384,
    sha256="7d9092cb25f2bd1c023b7e8d2aa459044a02030ac880e5a59fdaf27af69f1ded",
    query_prefix="query: ",
    passage_prefix="passage: ",
    lexical_weight=0.3,
    duplicate=0.95,  # the same in other words lies at 0.94 to 0.99, one word changed in six at up to 0.94
    admission=0.76,  # what has nothing to do with a text lies at 0.65 to 0.8 of it, what answers it mostly above 0.77
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where a model lies: ONNX, and its vocabulary as ``tokenizer.json`` or as ``vocab.txt``."""

    model: Path
    vocabulary: Path


def read_profile(path: Path) -> tuple[Profile, ModelFiles]:
    """A model of one's own, from a TOML file; its paths are taken from the file's folder.

    Raises:
        ValidationError: the file cannot be read, or says something else than a profile; the field says what.
    """
    try:
        given: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ValidationError(
            f"the profile of the embedder cannot be read: {error}",
            field="WHENCE_EMBEDDER",
            allowed=f"{E5_SMALL.name}, none, a TOML file that names a model, or an address with http:// or https://",
        ) from error
    if unknown := sorted(given.keys() - _FILE_FIELDS):
        raise _wrong(unknown[0], f"one of {', '.join(sorted(_FILE_FIELDS))}")
    pooling = given.get("pooling", Pooling.MEAN.value)
    if pooling not in (Pooling.MEAN.value, Pooling.CLS.value):
        raise _wrong("pooling", "mean or cls")
    sha256 = _text(given, "sha256")
    if not _SHA256.fullmatch(sha256):
        raise _wrong("sha256", "64 lower-case hex digits, of the model's file")
    profile = Profile(
        name=_text(given, "name"),
        dimensions=_number(given, "dimensions", 1, DIMENSIONS_MAX),
        sha256=sha256,
        pooling=Pooling(pooling),
        query_prefix=_text(given, "query_prefix", ""),
        passage_prefix=_text(given, "passage_prefix", ""),
        batch_size=_number(given, "batch_size", 1, BATCH_MAX, 1),
        lexical_weight=_part(given, "lexical_weight", 0.5),
        admission=_part(given, "admission", 0.3),
        duplicate=_part(given, "duplicate", 0.85),
        tokens_max=_number(given, "tokens_max", 3, TOKENS_MAX, 512),
    )
    folder = path.parent
    return profile, ModelFiles(folder / _text(given, "model"), folder / _text(given, "vocabulary"))


def _text(given: Mapping[str, Any], name: str, otherwise: str | None = None) -> str:
    value = given.get(name, otherwise)
    if not isinstance(value, str) or (not value and otherwise is None):
        raise _wrong(name, "a text")
    return value


def _number(given: Mapping[str, Any], name: str, least: int, most: int, otherwise: int | None = None) -> int:
    value = given.get(name, otherwise)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(name, f"{least} to {most}")
    return value


def _part(given: Mapping[str, Any], name: str, otherwise: float) -> float:
    value = given.get(name, otherwise)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise _wrong(name, "0 to 1")
    return float(value)


def _wrong(name: str, allowed: str) -> ValidationError:
    return ValidationError(
        f"{name} in the profile of the embedder is wrong", field=f"WHENCE_EMBEDDER.{name}", allowed=allowed
    )
