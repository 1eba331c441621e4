"""Why a server did not start: it says so in its log only."""

from __future__ import annotations

from pathlib import Path

REASON_CHARS_MAX = 500


class LogSince:
    """What the server says of itself from now on, to name the reason when it does not start."""

    def __init__(self, folder: Path) -> None:
        self._console = folder / "console.log"
        self._log = folder / "neo4j.log"
        self._start = self._log.stat().st_size if self._log.exists() else 0

    def reason(self) -> str:
        """The last line of level ERROR and its cause, else what the JVM printed; without stack traces."""
        lines = self._lines(self._log, self._start)
        errors = [number for number, line in enumerate(lines) if " ERROR " in line]
        if errors:
            told, *trace = lines[errors[-1] :]
            causes = [line for line in trace if line.startswith("Caused by: ")]
            spoken = [told.partition(" ERROR ")[2], *causes[-1:]]
        else:
            printed = self._lines(self._console, 0)
            spoken = [line for line in printed if not line.startswith(("\t", " ")) and " INFO " not in line]
        return "; ".join(line.strip() for line in spoken if line.strip())[:REASON_CHARS_MAX] or "it said nothing"

    @staticmethod
    def _lines(path: Path, start: int) -> list[str]:
        try:
            with path.open("rb") as file:
                file.seek(start)
                return file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return []
