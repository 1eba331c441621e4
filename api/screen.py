"""Where the command speaks: answers on standard output, everything else on standard error.

With ``--json`` an answer is one JSON document and nothing else stands beside it. What is stored is text of others: it
is never read as markup, and characters that steer a terminal are shown, not sent.
"""

from __future__ import annotations

import json
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from graph.errors import KnowledgeError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, ProgressColumn

COLUMNS_PIPED = 120  # where no terminal says how wide it is
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # these reorder what stands around them


def harmless(text: str) -> str:
    """The text with characters that would steer the terminal written out."""
    return "".join(
        char
        if char == "\n" or (unicodedata.category(char) not in ("Cc", "Cs") and char not in _TURNS)
        else char.encode("unicode_escape", "surrogatepass").decode()
        for char in text
    )


class Screen:
    """Standard output and standard error of one command.

    Attributes:
        machine: Whether a machine reads the answer.
    """

    def __init__(self, *, machine: bool) -> None:
        self.machine = machine

    @cached_property
    def out(self) -> Console:
        """For answers to people."""
        return _console(sys.stdout)

    @cached_property
    def err(self) -> Console:
        """For progress, and for what is said beside the answer."""
        return _console(sys.stderr)

    def answer(self, document: object, rendered: Callable[[], Iterable[RenderableType]]) -> None:
        """Give the answer: the document to a machine, or what is rendered of it to a person."""
        if self.machine:
            self.document(document)
            return
        with self.out.capture() as captured:
            for each in rendered():
                self.out.print(each)
        lines = captured.get().splitlines()
        sys.stdout.write("\n".join(lines if self.out.is_terminal else map(str.rstrip, lines)) + "\n")

    def document(self, document: object, *, indent: int | None = 2) -> None:
        """One JSON document on standard output."""
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent)
        sys.stdout.buffer.write(text.encode(errors="replace") + b"\n")
        sys.stdout.buffer.flush()

    def tell(self, text: str) -> None:
        """Say something beside the answer; machines are spared it."""
        if not self.machine:
            self.err.print(harmless(text), soft_wrap=True)

    def refuse(self, error: KnowledgeError) -> None:
        """Say why there is no answer: a sentence with the code, the field and what is allowed, or the same as JSON."""
        if self.machine:
            sys.stderr.write(json.dumps({"error": error.facts()}) + "\n")
            return
        sys.stderr.write(harmless(f"whence: {error.sentence()}") + "\n")

    def progress(self, *columns: str | ProgressColumn) -> Progress:
        """Bars on standard error that vanish at the end; none where nobody watches."""
        from rich.progress import Progress  # noqa: PLC0415  a tenth of a second that only long work pays

        return Progress(*columns, console=self.err, transient=True, disable=self.machine or not self.err.is_terminal)


def _console(stream: TextIO) -> Console:
    from rich.console import Console  # noqa: PLC0415  `--help` and `--json` go without

    columns = None if stream.isatty() else shutil.get_terminal_size((COLUMNS_PIPED, 24)).columns
    return Console(file=stream, width=columns, markup=False, emoji=False, highlight=False)
