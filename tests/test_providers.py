"""Providers: found by entry points, and what a folder or a repository that anybody made can and cannot do."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.concept_folder import FolderTerms, import_folder
from graph.embedded import Connection
from graph.errors import LimitError, ValidationError
from graph.knowledge import Actor, ActorType, without_forbidden
from graph.reading import folder_provider, git_provider, providers
from graph.reading.folder_provider import FolderProvider
from graph.reading.git_provider import GitProvider, commits_in
from graph.reading.loading import Loaded, loaded
from graph.reading.planning import Outcome, Reading, Report, planned
from graph.reading.provider import Piece, Provider
from graph.reading.providers import SOURCES_MAX, Source, opened
from graph.reading.runtime import Runtime
from graph.retrieval import Retrieval
from graph.service import Service

READER = Actor("tests", "reader", ActorType.AGENT)
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2  # of the form of a secret
README = Path(__file__).parent.parent / "README.md"
NOWHERE = cast("Retrieval", None)  # the providers of these tests do not ask it
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="of a system without pipes that have names")


def read(provider: Provider, goal: str, seconds: float = 30.0) -> tuple[list[Piece], Report]:
    plan = planned(Reading("P", goal), [provider])
    results: list[Loaded] = asyncio.run(loaded(plan, seconds))
    return results[0].pieces, plan.reports[0]


# --- entry points -------------------------------------------------------------------------------------------

WEATHER = """
from graph.reading.provider import Piece

class Weather:
    def __init__(self, name, location, retrieval):
        if location == "nowhere":
            raise RuntimeError("there is no weather there")
        self.name, self._location = name, location

    def intent_match(self, goal):
        return 1.0 if "rain" in goal else 0.0

    async def stream(self, request):
        yield Piece("today", f"It rains in {self._location}", 1.0, "https://weather.example/today", "forecast")
"""


def package(folder: Path, name: str, module: str, provider: str) -> Path:
    """A package as an installer leaves it, with one entry point."""
    where = folder / f"site-{name}"
    made = where / f"{name}-1.0.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
    (made / "entry_points.txt").write_text(f"[{providers.GROUP}]\n{provider} = {module}:Weather\n", "utf-8")
    (where / f"{module}.py").write_text(WEATHER, "utf-8")
    return where


def test_ours_are_declared_as_anybody_s_are() -> None:
    declared = {point.name: point.value for point in entry_points(group=providers.GROUP)}
    assert declared.items() >= {
        ("store", "graph.reading.store_provider:StoreProvider"),
        ("folder", "graph.reading.folder_provider:FolderProvider"),
        ("git", "graph.reading.git_provider:GitProvider"),
    }
    sources = [Source("store"), Source("folder", "notes"), Source("folder", "more", "handbook"), Source("git", ".")]
    assert [one.name for one in opened(sources, NOWHERE)] == ["store", "folder", "handbook", "git"]


def test_a_package_adds_a_provider_by_being_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Service, loop: asyncio.Runner
) -> None:
    assert "weather" not in providers.names()
    monkeypatch.syspath_prepend(str(package(tmp_path, "whence_weather", "weather_of_tests", "weather")))
    assert "weather" in providers.names()
    retrieval = Retrieval(service)
    runtime = Runtime(service, opened([Source("store"), Source("weather", "Oslo", "sky")], retrieval), READER)
    answer = loop.run(runtime.read(Reading("P", "will it rain?")))
    assert [item.node["key"] for item, _ in answer.block.items] == ["sky:today"]
    assert "| It rains in Oslo" in answer.block.text
    assert [report.outcome for report in loop.run(runtime.read(Reading("P", "snow"))).reports] == [
        Outcome.ANSWERED,
        Outcome.NOT_ASKED,
    ]


def test_what_nobody_or_more_than_one_package_provides_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValidationError) as refused:
        opened([Source("store"), Source("weather")], NOWHERE)
    assert (refused.value.field, refused.value.allowed) == ("sources[1].provider", ", ".join(providers.names()))
    monkeypatch.syspath_prepend(str(package(tmp_path, "whence_one", "weather_one", "weather")))
    monkeypatch.syspath_prepend(str(package(tmp_path, "whence_two", "weather_two", "weather")))
    with pytest.raises(ValidationError, match="several packages"):
        opened([Source("weather")], NOWHERE)


def test_what_cannot_be_made_is_refused_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(package(tmp_path, "whence_three", "weather_three", "weather")))
    for source in (Source("weather", "nowhere"), Source("store", "somewhere")):
        with pytest.raises(ValidationError) as refused:
            opened([source], NOWHERE)
        assert refused.value.field == "sources[0]"
    with pytest.raises(LimitError):
        opened([Source("store")] * (SOURCES_MAX + 1), NOWHERE)


# --- a folder of concept files ------------------------------------------------------------------------------


def note(folder: Path, name: str, body: str, **fields: str) -> Path:
    lines = [f"{key}: {value}" for key, value in {"name": name, "type": "fact", **fields}.items()]
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["---", *lines, "---", "", body, ""]), "utf-8")
    return path


def test_concept_files_that_serve_the_goal_are_read_best_first(tmp_path: Path) -> None:
    path = note(
        tmp_path / "shop", "return-window", "Goods go back within 30 days, see [[receipts]].", created_at="2025-02-28"
    )
    note(tmp_path, "receipts", "A receipt is needed for goods.")
    note(tmp_path, "weather", "It rains.")
    (tmp_path / "notes.txt").write_text("goods that are in no concept file", "utf-8")
    pieces, report = read(FolderProvider("notes", str(tmp_path)), "when do goods go back?")
    assert [piece.key for piece in pieces] == ["return-window", "receipts"]
    best = pieces[0]
    assert (best.text, best.links) == ("Goods go back within 30 days, see [[receipts]].", ("receipts",))
    assert (best.source, best.source_type) == (path.as_uri(), "file")
    assert str(best.valid_from) == "2025-02-28 00:00:00+00:00"
    assert (report.outcome, report.pieces, report.omitted) == (Outcome.ANSWERED, 2, 0)


def test_a_file_that_says_the_goal_and_cannot_be_read_is_named_with_its_kind_and_line(tmp_path: Path) -> None:
    note(tmp_path, "good", "goods")
    (tmp_path / "bad.md").write_text(f"---\nname: bad\ntype: fact\ncreated_at: {TOKEN * 3}\n---\ngoods\n", "utf-8")
    (tmp_path / "open.md").write_text("---\nname: goods\n", "utf-8")
    pieces, report = read(FolderProvider("notes", str(tmp_path)), "goods")
    assert [piece.key for piece in pieces] == ["good"]
    told = dict(report.omissions)
    assert (told["bad.md"], told["open.md"]) == ("invalid_date in line 4", "unclosed_frontmatter in line 1")
    assert TOKEN[:20] not in repr(report)


def test_what_a_file_holds_against_itself_is_a_caution(tmp_path: Path) -> None:
    note(tmp_path, "returns", "Goods go back.\n\n## Contradiction\n\nNo goods go back.")
    (piece,), _ = read(FolderProvider("notes", str(tmp_path)), "goods")
    assert piece.text == "Goods go back."
    assert piece.cautions == ("disputed: the file holds 1 contradicting",)


def test_secrets_of_a_folder_never_leave_it(tmp_path: Path) -> None:
    note(tmp_path, "key", f"The goods are behind {TOKEN}.")
    (piece,), report = read(FolderProvider("notes", str(tmp_path)), "goods")
    assert piece.text == "The goods are behind [REDACTED:forge-token]."
    assert sum(report.redacted.values()) == 1


@settings(max_examples=60, deadline=None)
@given(
    st.binary(max_size=300) | st.text(max_size=200).map(lambda body: f"---\nname: n\ntype: fact\n---\n{body}".encode())
)
def test_a_file_is_a_piece_or_is_left_out_whatever_its_bytes_are(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "n.md").write_bytes(b"goods " + content if content[:3] != b"---" else content + b" goods")
        pieces, report = read(FolderProvider("notes", folder), "goods")
    assert report.outcome is Outcome.ANSWERED
    assert len(pieces) + report.omitted <= 1


@needs_posix
def test_nothing_in_a_folder_holds_a_reading_up(tmp_path: Path) -> None:
    note(tmp_path, "good", "goods")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "zero.md").symlink_to("/dev/zero")
    (tmp_path / "ring").symlink_to(tmp_path)
    (tmp_path / "self.md").symlink_to("self.md")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")).write_bytes(b"goods")
    (tmp_path / "huge.md").write_bytes(b"---\n" + b"goods " * 100_000)
    begun = time.monotonic()
    pieces, report = read(FolderProvider("notes", str(tmp_path)), "goods")
    assert time.monotonic() - begun < 20
    assert [piece.key for piece in pieces] == ["good"]
    assert dict(report.omissions).keys() == {"pipe.md", "zero.md", "ring", "self.md", "\ufffd.md", "huge.md"}


@needs_posix
def test_a_pipe_in_a_folder_does_not_hold_its_import_up(tmp_path: Path, service: Service, loop: asyncio.Runner) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    report = loop.run(import_folder(service.store, tmp_path, FolderTerms("P", READER)))
    assert [(one.path, one.fault.kind) for one in report.faults] == [("pipe.md", "unreadable")]


@needs_posix
def test_links_are_followed_within_the_folder_alone(tmp_path: Path) -> None:
    private = note(tmp_path / "private", "secret", "goods of somebody else")
    notes = tmp_path / "notes"
    good = note(notes / "shop", "good", "goods")
    (notes / "alias.md").symlink_to(good)
    (notes / "out.md").symlink_to(private)
    (notes / "up.md").symlink_to("../private/secret.md")
    pieces, report = read(FolderProvider("notes", str(notes)), "goods")
    assert [piece.key for piece in pieces] == ["good", "good"]
    assert dict(report.omissions) == dict.fromkeys(("out.md", "up.md"), "a link out of the folder is not followed")


@pytest.mark.parametrize(("bound", "value"), [("FILES_MAX", 3), ("BYTES_MAX", 150)])
def test_a_folder_is_read_up_to_a_bound_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    for at in range(9):
        note(tmp_path, f"n{at}", f"goods number {at}")
    monkeypatch.setattr(folder_provider, bound, value)
    pieces, report = read(FolderProvider("notes", str(tmp_path)), "goods")
    assert 0 < len(pieces) < 9
    assert report.omissions[0][0] == f"n{len(pieces)}.md"


def test_a_folder_that_is_none_is_reported(tmp_path: Path) -> None:
    pieces, report = read(FolderProvider("notes", str(tmp_path / "gone")), "goods")
    assert (pieces, report.outcome) == ([], Outcome.FAILED)
    assert str(report.reason).startswith("VALIDATION: ")


def test_a_folder_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(50):
        note(tmp_path, f"n{at}", "goods")
    begun, content = time.monotonic(), folder_provider.content

    def slow(path: Path) -> bytes:
        time.sleep(0.2)
        return content(path)

    monkeypatch.setattr(folder_provider, "content", slow)
    pieces, report = read(FolderProvider("notes", str(tmp_path)), "goods", seconds=0.3)
    assert (pieces, report.outcome) == ([], Outcome.TOO_SLOW)
    assert time.monotonic() - begun < 5  # the thread has ended as well, else the loop would have waited for it


# --- a git repository ---------------------------------------------------------------------------------------


class Repository:
    """A repository that a test makes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "trunk")

    def git(self, *arguments: str, **environment: str) -> str:
        identity = {f"GIT_{who}_{what}": "t@x.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        clean = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"], "HOME": "/"}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env={**clean, **identity, **environment},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, message: str, day: int = 1) -> str:
        date = f"2026-01-{day:02}T00:00:00Z"
        at = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message, **at)
        return self.git("rev-parse", "HEAD")

    def read(self, goal: str, seconds: float = 30.0) -> tuple[list[Piece], Report]:
        return read(GitProvider("git", str(self.folder)), goal, seconds)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@needs_git
def test_commits_that_serve_the_goal_are_read_best_first(repository: Repository) -> None:
    repository.commit("Begin", 1)
    sha = repository.commit("Fix the return window\n\nGoods went back after 40 days.\r\n", 2)
    repository.commit("Goods have names", 3)
    pieces, report = repository.read("why was the return window of goods changed?")
    assert [piece.text.splitlines()[0] for piece in pieces] == ["Fix the return window", "Goods have names"]
    best = pieces[0]
    assert (best.key, best.text) == (sha[:12], "Fix the return window\n\nGoods went back after 40 days.")
    assert best.source == f"git+{repository.folder.as_uri()}@{sha}"
    assert (best.source_type, best.kind.value) == ("commit", "observation")
    assert str(best.valid_from) == "2026-01-02 00:00:00+00:00"
    assert (report.outcome, report.omitted) == (Outcome.ANSWERED, 0)


def test_a_goal_about_changes_is_more_its_matter() -> None:
    provider = GitProvider("git", ".")
    assert provider.intent_match("When was the window fixed?") > provider.intent_match("How long is the window?") > 0


@needs_git
def test_messages_are_taken_as_they_are_whatever_they_hold(repository: Repository) -> None:
    texts = ["goods \x1b[31m red", "goods \x1f\x1e apart", "goods\n\n\n2nd\ttab", f"goods {TOKEN}"]
    for text in texts:
        repository.commit(text)
    repository.commit("goods " + "x" * 10_000)
    latin = repository.folder / "message"
    latin.write_bytes("goods caf\u00e9".encode("latin1"))
    repository.git("-c", "i18n.commitEncoding=latin1", "commit", "-q", "--allow-empty", "-F", str(latin))
    pieces, report = repository.read("goods")
    told = {piece.text for piece in pieces}
    assert told >= {"goods \ufffd[31m red", "goods \ufffd\ufffd apart", "goods\n\n\n2nd\ttab"}
    assert told >= {"goods [REDACTED:forge-token]", "goods caf\u00e9"}
    assert TOKEN not in repr((pieces, report))
    assert report.omitted == 1  # the long one


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=40).map(lambda text: text.replace(b"\0", b" ")), max_size=6), st.data())
def test_what_is_cut_of_a_history_takes_no_other_commit_along(messages: list[bytes], data: st.DataObject) -> None:
    output = b"".join(b"%040d\0%d\0%s\0" % (at, at, message) for at, message in enumerate(messages))
    whole = commits_in(output)
    assert [int(commit.sha) for commit in whole] == [
        at for at, message in enumerate(messages) if without_forbidden(message.decode(errors="replace")).strip()
    ]
    cut = commits_in(output[: data.draw(st.integers(0, len(output)))])
    assert cut == whole[: len(cut)]


HOSTILE_SETTINGS: Mapping[str, str] = {
    "core.fsmonitor": "{run}",
    "core.pager": "{run}",
    "core.editor": "{run}",
    "core.sshCommand": "{run}",
    "core.askPass": "{run}",
    "core.gitProxy": "{run}",
    "core.alternateRefsCommand": "{run}",
    "core.hooksPath": "{hooks}",
    "pager.log": "{run}",
    "log.showSignature": "true",
    "log.diffMerges": "on",
    "gpg.program": "{run}",
    "gpg.ssh.program": "{run}",
    "diff.external": "{run}",
    "diff.x.textconv": "{run}",
    "filter.x.smudge": "{run}",
    "filter.x.clean": "{run}",
    "credential.helper": "{run}",
    "alias.log": "!{run}",
    "format.pretty": "format:%GG",
    "interactive.diffFilter": "{run}",
    "uploadpack.packObjectsHook": "{run}",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "remote.origin.url": "ext::{run} %S",
    "remote.origin.promisor": "true",
    "extensions.partialClone": "origin",
}


def hostile(repository: Repository) -> Path:
    """A repository that runs a program in every way that its settings offer; what shows that one ran."""
    traces = repository.folder.parent / "traces"
    program = repository.folder.parent / "program"
    program.write_text(f"#!/bin/sh\necho ran >> '{traces}'\n", "utf-8")
    program.chmod(0o755)
    hooks = repository.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "fsmonitor-watchman"):
        shutil.copy(program, hooks / name)
    repository.commit("goods before")
    tree = repository.git("rev-parse", "HEAD^{tree}")
    lines = [
        f"tree {tree}",
        f"parent {repository.git('rev-parse', 'HEAD')}",
        "author t <t@x.example> 1767225600 +0000",
        "committer t <t@x.example> 1767225600 +0000",
        "gpgsig -----BEGIN PGP SIGNATURE-----",
        " ",
        " iQ==",
        " -----END PGP SIGNATURE-----",
        "",
        "goods signed",
        "",
    ]
    (repository.folder / "commit").write_text("\n".join(lines), "utf-8")
    repository.git("reset", "-q", repository.git("hash-object", "-t", "commit", "-w", "commit"))
    (repository.folder / ".gitattributes").write_text("* diff=x filter=x\n", "utf-8")
    repository.git("config", "core.repositoryFormatVersion", "1")
    for name, value in HOSTILE_SETTINGS.items():
        repository.git("config", name, value.format(run=program, hooks=hooks))
    traces.unlink(missing_ok=True)
    return traces


@needs_git
@needs_posix
def test_a_hostile_repository_runs_nothing(repository: Repository) -> None:
    traces = hostile(repository)
    pieces, report = repository.read("goods")
    assert {piece.text for piece in pieces} == {"goods before", "goods signed"}
    assert report.outcome is Outcome.ANSWERED
    assert not traces.exists()
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("log", "--no-such-option")
    repository.git("log", "--oneline")  # as anybody would, which shows that the trap is one
    assert traces.exists()


@needs_git
@needs_posix
def test_what_is_missing_in_a_hostile_repository_is_fetched_from_nowhere(repository: Repository) -> None:
    traces = hostile(repository)
    missing = repository.git("rev-parse", "HEAD~")
    (repository.folder / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    _, report = repository.read("goods")
    assert not traces.exists()
    assert report.outcome in (Outcome.ANSWERED, Outcome.FAILED)
    subprocess.run(["git", "cat-file", "-e", missing], cwd=repository.folder, check=False, capture_output=True)
    assert traces.exists()


@needs_git
@pytest.mark.parametrize("name", ["--output=taken", "-c", "$(touch taken)", "a b", ";touch taken", "\u6f22"])
def test_the_name_of_a_folder_is_never_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    repository = Repository(tmp_path / name)
    repository.commit("goods")
    monkeypatch.chdir(tmp_path)
    pieces, _ = read(GitProvider("git", name), "goods")
    assert [piece.text for piece in pieces] == ["goods"]
    assert not list(tmp_path.rglob("taken"))


@needs_git
def test_the_surroundings_of_the_service_do_not_reach_git(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit("goods")
    other = Repository(tmp_path / "other")
    other.commit("other goods")
    for name in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(other.folder / ".git"))
    assert [piece.text for piece in repository.read("goods")[0]] == ["goods"]


@needs_git
def test_what_is_no_repository_or_has_no_commit_is_reported(repository: Repository, tmp_path: Path) -> None:
    inside = repository.folder / "inside"
    inside.mkdir()
    empty = Repository(tmp_path / "empty").folder
    repository.commit("goods")
    for folder in (inside, empty, tmp_path / "gone"):
        pieces, report = read(GitProvider("git", str(folder)), "goods")
        assert (pieces, report.outcome) == ([], Outcome.FAILED)
        assert str(report.reason).startswith("VALIDATION: ")


@needs_git
def test_bare_shallow_and_linked_repositories_are_read(repository: Repository, tmp_path: Path) -> None:
    for day in (1, 2, 3):
        repository.commit(f"goods of day {['one', 'two', 'three'][day - 1]}", day)
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    repository.git("clone", "-q", "--depth", "2", repository.folder.as_uri(), str(tmp_path / "shallow"))
    repository.git("worktree", "add", "-q", str(tmp_path / "linked"))
    for name, count in (("bare", 3), ("shallow", 2), ("linked", 3)):
        pieces, report = read(GitProvider("git", str(tmp_path / name)), "goods")
        assert (len(pieces), report.outcome) == (count, Outcome.ANSWERED), name


@needs_git
@pytest.mark.parametrize(("bound", "value"), [("COMMITS_MAX", 5), ("BYTES_MAX", 600)])
def test_a_history_is_read_up_to_a_bound_and_says_so(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    for at in range(12):
        repository.commit(f"goods number {at} " + "x" * 40)
    monkeypatch.setattr(git_provider, bound, value)
    pieces, report = repository.read("goods")
    assert 0 < len(pieces) < 12
    assert pieces[0].text.startswith("goods number 11")
    assert "what is older is not read" in report.omissions[0][1]


@needs_git
@needs_posix
def test_a_git_that_does_not_end_is_ended_with_all_that_it_started(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, pid = tmp_path / "bin" / "git", tmp_path / "pid"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > '{pid}'\nwait\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    _, report = repository.read("goods", seconds=3.0)
    assert report.outcome is Outcome.TOO_SLOW
    started = int(pid.read_text("utf-8"))
    deadline = time.monotonic() + 10
    while _lives(started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _lives(started)


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_without_git_the_rest_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note(tmp_path, "good", "goods")
    monkeypatch.setenv("PATH", str(tmp_path))
    both: Sequence[Provider] = [GitProvider("git", str(tmp_path)), FolderProvider("notes", str(tmp_path))]
    plan = planned(Reading("P", "goods"), both)
    results = asyncio.run(loaded(plan, 30.0))
    assert [report.outcome for report in plan.reports] == [Outcome.FAILED, Outcome.ANSWERED]
    assert [piece.key for piece in results[1].pieces] == ["good"]


# --- all three ----------------------------------------------------------------------------------------------


@needs_git
def test_store_folder_and_history_make_one_block(
    repository: Repository, tmp_path: Path, service: Service, loop: asyncio.Runner
) -> None:
    notes = tmp_path / "notes"
    note(notes, "return-window", "Goods go back within 30 days.")
    loop.run(import_folder(service.store, notes, FolderTerms("P", READER)))
    note(notes, "return-window", "Goods go back within 14 days.")
    note(notes, "receipts", "Goods need a receipt, see [[return-window]].")
    repository.commit("Shorten the window in which goods go back")
    sources = [Source("store"), Source("folder", str(notes), "notes"), Source("git", str(repository.folder))]
    runtime = Runtime(service, opened(sources, Retrieval(service)), READER)
    answer = loop.run(runtime.read(Reading("P", "How long may goods go back?", budget=1_000)))
    cautions: dict[str, Any] = {item.node["key"]: item.cautions for item, _ in answer.block.items}
    assert len(cautions) == 4
    assert "disputed: otherwise notes:return-window" in cautions["return-window"]
    assert "disputed: otherwise return-window" in cautions["notes:return-window"]
    assert answer.block.tokens <= 1_000
    assert answer.insight is not None
    record = loop.run(service.evidence_by_key("P", [answer.insight.evidence]))[answer.insight.evidence]
    assert {item.get("provider") for item in json.loads(record["metadata"])["items"]} == {None, "notes", "git"}


@needs_git
def test_the_reading_that_the_readme_shows_is_one(
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    neo4j: Connection,
    service: Service,
    loop: asyncio.Runner,
) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    note(tmp_path / "notes", "return-window", "Goods go back within 30 days.")
    repository.commit("Goods go back for a month")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(repository.folder, tmp_path / "shop")
    code = compile(shown, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    known: dict[str, Any] = {"uri": neo4j.uri, "username": neo4j.username, "password": neo4j.password}
    loop.run(eval(code, known))
    said = capsys.readouterr().out
    assert "| Goods go back within 30 days." in said
    assert said.endswith("store answered None\nfolder answered None\ngit answered None\n")
    assert loop.run(service.head("shop")) is not None
