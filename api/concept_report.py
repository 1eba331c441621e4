"""How the import of a folder of concept files is told: a table of what it came to, and every bad file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from api.screen import harmless
from graph.concept import Verdict
from graph.concept_folder import REPEATED, FileFault, FolderReport

DANGLING_SHOWN_MAX = 20  # concepts with links that lead to nothing yet
_TOLD = {
    Verdict.NEW.value: "",
    Verdict.SAME.value: "said again",
    Verdict.RELATED.value: "merged",
    Verdict.CONTRADICTING.value: "said against what is there, which is challenged",
    REPEATED: "the very same file was taken before",
}


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a folder, and which links lead to nothing yet: for each concept its name and their targets."""

    report: FolderReport
    dangling: Sequence[Mapping[str, Any]]


def imported(made: Imported) -> Iterator[RenderableType]:
    """For people."""
    report = made.report
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="bold")
    for verdict, told in _TOLD.items():
        table.add_row(f"{report.verdicts[verdict]:,}", verdict, Text(told, "dim"))
    table.add_row(
        f"{report.refused:,}", Text("refused", "bold red" if report.refused else ""), Text("listed below", "dim")
    )
    yield f"{report.files:,} files"
    yield table
    if report.against:
        yield f"{report.against:,} claims that files hold against their own concepts"
    if report.redacted:
        yield "redacted: " + ", ".join(f"{count:,} {kind}" for kind, count in sorted(report.redacted.items()))
    if report.warnings:
        yield _listed("taken all the same", report.warnings)
    if report.faults:
        yield _listed("refused", report.faults)
    yield from _dangling(made.dangling)


def _listed(title: str, faults: Sequence[FileFault]) -> Table:
    table = Table(
        title, "line", "kind", "field", "what is wrong", "allowed", box=None, pad_edge=False, header_style="dim"
    )
    for each in faults:
        fault = each.fault
        cells = (each.path, str(fault.line), fault.kind, fault.field or "", fault.message, fault.allowed or "")
        table.add_row(*(Text(harmless(cell), overflow="fold") for cell in cells))
    return table


def _dangling(concepts: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    if concepts:
        yield Text("links that lead to nothing yet; each becomes an edge when its target comes", "dim")
    for concept in concepts[:DANGLING_SHOWN_MAX]:
        yield Text(harmless(f"  {concept['key']} → {', '.join(concept['targets'])}"))
    if len(concepts) > DANGLING_SHOWN_MAX:
        yield Text("  … and more", "dim")


def plain_import(made: Imported) -> dict[str, Any]:
    """For machines."""
    report = made.report
    return {
        "files": report.files,
        **{verdict: report.verdicts[verdict] for verdict in _TOLD},
        "refused": report.refused,
        "against": report.against,
        "redacted": dict(sorted(report.redacted.items())),
        "faults": [_plain(each) for each in report.faults],
        "warnings": [_plain(each) for each in report.warnings],
        "dangling": [dict(concept) for concept in made.dangling],
    }


def _plain(each: FileFault) -> dict[str, Any]:
    fault = each.fault
    told = {"file": harmless(each.path), "kind": fault.kind, "line": fault.line, "message": fault.message}
    more = {"field": fault.field, "allowed": fault.allowed}
    return told | {name: value for name, value in more.items() if value is not None}
