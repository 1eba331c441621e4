"""From a setting to an embedder.

Every command reads the settings, and few embed: what embeds, and the driver with it, is loaded when it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from graph.embedding.embedder import Embedder
from graph.embedding.profile import DIMENSIONS_MAX, E5_SMALL, read_profile
from graph.errors import ValidationError

NONE = "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which embedder is wanted.

    Attributes:
        embedder: ``e5-small-v2-q``, ``none``, the path of a profile (a TOML file), or an endpoint's address.
        endpoint_model: The model's name at the endpoint.
        endpoint_dimensions: Numbers in its vectors.
        endpoint_key: Sent to the endpoint as a bearer token; none when empty.
    """

    embedder: str = E5_SMALL.name
    endpoint_model: str = ""
    endpoint_dimensions: int = 0
    endpoint_key: str = field(default="", repr=False)


DEFAULT = Choice()


def chosen(choice: Choice, cache: Path) -> Embedder | None:
    """The embedder that is wanted, nothing begun and nothing asked yet; None where words alone are.

    Args:
        choice: Which.
        cache: Where a packaged model is kept.

    Raises:
        ValidationError: the choice names nothing, or a profile that is wrong.
    """
    named = choice.embedder
    if named == NONE:
        return None
    from graph.embedding.endpoint import EndpointEmbedder, endpoint_profile  # noqa: PLC0415
    from graph.embedding.local import LocalEmbedder  # noqa: PLC0415

    if named == E5_SMALL.name:
        return LocalEmbedder(E5_SMALL, None, cache)
    if named.startswith(("http://", "https://")):
        if not choice.endpoint_model:
            raise ValidationError(
                "an endpoint needs the name of a model",
                field="WHENCE_EMBEDDER_MODEL",
                allowed="the name that the model has there",
            )
        if not 1 <= choice.endpoint_dimensions <= DIMENSIONS_MAX:
            raise ValidationError(
                "an endpoint needs the number of its dimensions",
                field="WHENCE_EMBEDDER_DIMENSIONS",
                allowed=f"1 to {DIMENSIONS_MAX}",
            )
        profile = endpoint_profile(choice.endpoint_model, choice.endpoint_dimensions)
        return EndpointEmbedder(profile, named, choice.endpoint_key)
    profile, files = read_profile(Path(named).expanduser().absolute())
    return LocalEmbedder(profile, files, cache)


def required(choice: Choice, cache: Path, instead: str | None = None) -> Embedder:
    """As ``chosen``, for who cannot do without.

    Args:
        choice: Which.
        cache: Where a packaged model is kept.
        instead: Another embedder than that of the choice.

    Raises:
        ValidationError: as for ``chosen``, or none is wanted.
    """
    embedder = chosen(choice if instead is None else replace(choice, embedder=instead), cache)
    if embedder is None:
        raise ValidationError("no embedder is set", field="WHENCE_EMBEDDER", allowed=f"{E5_SMALL.name}, or another")
    return embedder
