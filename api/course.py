"""How far long work is, for the person who waits for it and for the one who interrupts it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from api.screen import Screen, harmless

_PHASES = {
    "trying": "Trying every line",
    "taking": "Taking the events",
    "filing": "Taking the files",
    "folding": "Folding the journal",
    "comparing": "Comparing the graph with it",
    "mending": "Putting right",
}


_TAKEN = {"taking": "lines", "filing": "files"}  # what is done for good in a phase


class Course:
    """Told how far an import is; ``graph.exchange.Progress`` by its form.

    Attributes:
        phase: ``trying``, in which nothing is taken, ``taking``, or ``filing`` for files one by one.
        lines: Lines, or files, of the phase that are done.
    """

    def __init__(self, bars: Progress, total: int, measure: Callable[[int], int]) -> None:
        self.phase = ""
        self.lines = 0
        self._bars = bars
        self._total = total
        self._measure = measure
        self._bar: TaskID | None = None

    def __call__(self, phase: str, lines: int) -> None:
        """So many lines of the phase are done."""
        if self._bar is None or phase != self.phase:
            self._bar = self._bars.add_task(_PHASES[phase], total=self._total)
        self.phase, self.lines = phase, lines
        self._bars.update(self._bar, completed=self._measure(lines), description=f"{_PHASES[phase]} ({lines:,})")

    def interrupted(self) -> str:
        """What an interruption at this point leaves behind."""
        if self.phase not in _TAKEN:
            return "Interrupted: nothing was taken."
        done = f"{self.lines:,} {_TAKEN[self.phase]}"
        return f"Interrupted after {done}, which are taken; the same command goes on from there."


@contextmanager
def watched(screen: Screen, total: int, measure: Callable[[int], int]) -> Generator[Course]:
    """Show bars while an import runs, and say where it stood when it is interrupted.

    Args:
        screen: Where.
        total: What the measure comes to at the end.
        measure: From lines done to the same unit.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with screen.progress(*columns) as bars:
        course = Course(bars, total, measure)
        try:
            yield course
        except (asyncio.CancelledError, KeyboardInterrupt):
            screen.tell(course.interrupted())
            raise


@contextmanager
def rebuilding(screen: Screen) -> Generator[Callable[[str, int, int | None], None]]:
    """Show bars while a projection is put right: one for each phase.

    Args:
        screen: Where.
    """
    with screen.progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()) as bars:
        known: dict[str, TaskID] = {}

        def told(phase: str, done: int, total: int | None) -> None:
            if phase not in known:
                known[phase] = bars.add_task(_PHASES[phase], total=total)
            bars.update(known[phase], completed=done, total=total, description=f"{_PHASES[phase]} ({done:,})")

        yield told


@contextmanager
def learning(screen: Screen, files: int) -> Generator[Callable[[str], None]]:
    """Show a bar while files are learned from.

    Args:
        screen: Where.
        files: How many.
    """
    with screen.progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()) as bars:
        bar = bars.add_task("Learning", total=files)
        yield lambda file: bars.update(bar, advance=1, description=f"Learned {harmless(file)}")


@contextmanager
def by_project(screen: Screen, doing: str) -> Generator[Callable[[str, int, int], None]]:
    """Show a bar for each project while something is done in one after the other.

    Args:
        screen: Where.
        doing: What, such as ``Embedding``.
    """
    with screen.progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()) as bars:
        known: dict[str, TaskID] = {}

        def told(project: str, done: int, total: int) -> None:
            if project not in known:
                known[project] = bars.add_task(f"{doing} {harmless(project)}", total=total)
            bars.update(known[project], completed=done, total=total)

        yield told


@contextmanager
def exporting(screen: Screen) -> Generator[Callable[[int], None]]:
    """Show how many files are written.

    Args:
        screen: Where.
    """
    with screen.progress(TextColumn("{task.description}"), BarColumn()) as bars:
        bar = bars.add_task("Writing the files", total=None)
        yield lambda done: bars.update(bar, completed=done, description=f"Writing the files ({done:,})")
