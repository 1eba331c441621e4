"""Copies of signed jars without their signatures, because a signature costs the JVM at every start.

Measured on the two jars named here: 2.5 CPU seconds, since each of their classes is verified and none of them is taken
from a class archive. What is in them was proved by our own hash before.
"""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

SIGNED = ("eclipse-collections-11.1.0.jar", "eclipse-collections-api-11.1.0.jar")
SIGNATURES = (".SF", ".RSA", ".DSA", ".EC")


def unsigned(signed: Path, folder: Path) -> Path:
    """The copy of a signed jar, made if it is not there yet.

    Args:
        signed: A jar whose hash was checked.
        folder: Where copies of exactly this content are kept.
    """
    made = folder / signed.name
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        torn = made.with_suffix(f".{os.getpid()}")
        _drop_signature(signed, torn)
        torn.replace(made)  # whole or not at all; two that race write the same
    return made


def _drop_signature(signed: Path, copy: Path) -> None:
    with ZipFile(signed) as old, ZipFile(copy, "w", compresslevel=1) as new:
        for entry in old.infolist():
            if entry.filename.startswith("META-INF/") and entry.filename.endswith(SIGNATURES):
                continue
            content = old.read(entry)
            if entry.filename == "META-INF/MANIFEST.MF":
                content = _main_section(content)
            new.writestr(entry, content, ZIP_DEFLATED)


def _main_section(manifest: bytes) -> bytes:
    """The manifest up to its first blank line; what follows are the hashes of each class."""
    lines = manifest.splitlines()
    return b"\r\n".join([*lines[: lines.index(b"")], b"", b""])
