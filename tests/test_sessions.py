"""Stored sessions are read as what was said, whichever way they were stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graph.errors import KnowledgeError, LimitError
from graph.ingestion import sessions

SAID = "user: I like tea.\nassistant: Noted."
TURNS = [{"role": "user", "content": "I like tea."}, {"role": "assistant", "content": "Noted."}]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", TURNS, SAID),
        ("a.json", {"messages": TURNS, "id": 1}, SAID),
        ("a.json", {"turns": [{"speaker": "Ann", "text": "Hello"}, {"speaker": "Bob", "text": " "}]}, "Ann: Hello"),
        ("a.json", [{"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "image"}]}], "user: One"),
        ("a.json", ["just", "texts", 7], "just\ntexts"),
        ("a.jsonl", "\n".join(map(json.dumps, TURNS)) + "\n\n", SAID),
        ("a.txt", "Ann: hello\n", "Ann: hello\n"),
        ("a.md", "\ufeff# Title\n", "# Title\n"),
    ],
)
def test_a_session_is_what_was_said(tmp_path: Path, name: str, content: Any, said: str) -> None:
    file = tmp_path / "deep" / name
    file.parent.mkdir()
    file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    assert sessions.read(file, tmp_path) == sessions.Session("deep/a", said)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b"{"),
        ("a.json", b'{"x": 1}'),
        ("a.json", b"7"),
        ("a.jsonl", b"[]\nnope"),
        ("a.json", b'[{"text": "x", "text": "y"}]'),
        ("a.txt", b"\xff"),
    ],
)
def test_what_is_no_session_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(KnowledgeError) as refused:
        sessions.read(tmp_path / name, tmp_path)
    assert refused.value.code == "VALIDATION"


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "FILE_BYTES_MAX", 3)
    (tmp_path / "a.txt").write_text("four")
    with pytest.raises(LimitError):
        sessions.read(tmp_path / "a.txt", tmp_path)


def test_files_come_in_the_order_of_their_paths_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.json", ".git/d.json", "e.png", "a/.f.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert [path.relative_to(tmp_path).as_posix() for path in sessions.files(tmp_path)] == ["a/c.json", "b.txt"]
    with pytest.raises(KnowledgeError):
        sessions.files(tmp_path / "nowhere")
