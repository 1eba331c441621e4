"""The code itself: sizes, words and leftovers. Rules with a number in them belong in a test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*ROOT.glob("graph/**/*.py"), *ROOT.glob("api/**/*.py")])
FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 560
BANNED_NAMES = re.compile(r"(^|_)(manager|helper|util|utils|common)(_|$)")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_is_short_and_its_functions_are_too(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= MODULE_LINES_MAX
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < FUNCTION_LINES_MAX, node.name
            assert not BANNED_NAMES.search(node.name), node.name


def test_nothing_is_left_to_do_and_no_machine_is_named() -> None:
    leftovers = re.compile(rf"\b(TODO|FIXME|XXX)\b|{re.escape(str(ROOT))}|{re.escape(str(Path.home()))}/")
    for pattern in ("**/*.py", "cypher/*.cypher", "*.md", "*.toml", "*.yml", "Dockerfile", "bench/*"):
        for path in ROOT.glob(pattern):
            if path.is_file() and ".venv" not in path.parts and path != Path(__file__):
                found = leftovers.search(path.read_text("utf-8"))
                assert found is None, f"{path.relative_to(ROOT)}: {found and found.group()}"


def test_whoever_meets_a_bound_or_a_database_that_is_away_is_told_what_is_allowed() -> None:
    raised = {"LimitError", "UnavailableError", "TooSlowError", "InDoubtError"}
    calls = [
        (path, node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in raised
    ]
    assert len(calls) > 20
    silent = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path, call in calls
        if not any(keyword.arg == "allowed" for keyword in call.keywords)
    ]
    assert silent == []
