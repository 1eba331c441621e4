"""The command, run as people and scripts run it: exit codes, what stands on which stream, and interruptions."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import cache, wipe
from make_sample import SAMPLE

from api.report import traced
from api.screen import Screen, harmless
from api.settings import ANONYMOUS
from graph.embedded import Connection
from graph.exchange import Terms, import_journal
from graph.service import Service

WHENCE = Path(sys.executable).with_name("whence")
READY_SECONDS_MAX = 240.0  # a first start on a busy machine
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals between programs")

JSON_TYPE = {"content-type": "application/json"}
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(neo4j: Connection, tmp_path: Path) -> dict[str, str]:
    """Variables for a command on the session's server and in a home of its own."""
    return _clean() | {
        "WHENCE_HOME": str(tmp_path / "home"),
        "NEO4J_URI": neo4j.uri,
        "NEO4J_USERNAME": neo4j.username,
        "NEO4J_PASSWORD": neo4j.password,
        "NEO4J_DATABASE": neo4j.database,
    }


def _clean() -> dict[str, str]:
    ours = ("NEO4J_", "WHENCE_", "COLUMNS", "FORCE_COLOR", "NO_COLOR")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
        "WHENCE_EMBEDDER": "none"  # the model is asked by tests of its own
    }


@pytest.fixture
def small(service: Service, loop: asyncio.Runner) -> None:
    """Two nodes, one of which rests on the other, in project default."""
    _import(service, loop, SMALL.encode(), "default", restore=False)


@pytest.fixture
def peps(service: Service, loop: asyncio.Runner) -> None:
    """The sample, in project peps."""
    _import(service, loop, SAMPLE.read_bytes(), "peps", restore=True)


def _import(service: Service, loop: asyncio.Runner, content: bytes, project: str, *, restore: bool) -> None:
    lines, terms = content.splitlines(keepends=True), Terms(project, ANONYMOUS, restore=restore)
    report = loop.run(import_journal(service.store, lambda: lines, terms))
    assert report.refused == 0


@pytest.fixture
def whence(environment: dict[str, str], service: Service) -> Run:
    """Run the command to its end, on an empty store."""
    assert service

    def run(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return _run(environment, *arguments, given=given)

    return run


def _run(environment: dict[str, str], *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [WHENCE, *arguments],
        env=environment,
        input=given,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def _line(event_id: str, transition: str, key: str, **rest: Any) -> str:
    return json.dumps({"event_id": event_id, "transition": transition, "key": key, **rest}) + "\n"


def _proposals(count: int) -> str:
    return "".join(_line(f"p{n}", "proposed", f"n{n}", payload={"proposition": f"claim {n}"}) for n in range(count))


SMALL = (
    _line("1", "proposed", "base", payload={"proposition": "The sun is a star"})
    + _line("2", "proposed", "top", payload={"proposition": "Stars shine"})
    + _line("3", "linked", "top", payload={"relation": "depends_on", "to": "base"})
    + _line("4", "confirmed", "top", payload={"evidence": [{"type": "note", "source": "a book"}]})
    + _line("5", "invalidated", "base", reason="measured again")
)


# --- Arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        *(
            [name, "--help"]
            for name in (
                "up",
                "down",
                "import",
                "verify",
                "rebuild",
                "embed",
                "stats",
                "show",
                "trace",
                "search",
                "ask",
                "sweep",
                "aging",
                "redaction",
                "hint",
                "observe",
            )
        ),
        ["concepts", "import", "--help"],
        ["concepts", "export", "--help"],
        ["concepts", "types", "--help"],
        ["export", "journal", "--help"],
        ["export", "graphml", "--help"],
        ["export", "prov", "--help"],
    ],
)
def test_every_help_has_an_example(arguments: list[str]) -> None:
    ran = _run(_clean(), *arguments)
    assert ran.returncode == (0 if arguments else 2)
    assert "Example: whence" in (ran.stdout if arguments else ran.stderr)


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, api.cli; print([m for m in ('neo4j', 'neomodel', 'strawberry') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["show"], "KEY"),
        (["trace", "k", "--direction", "sideways"], "--direction"),
        (["trace", "k", "--relation", "knows"], "--relation"),
        (["show", "k", "--generation", "0"], "--generation"),
        (["show", "k", "--as-of", "yesterday"], "--as-of"),
        (["show", "k", "--as-of", "2015-01-01T00:00:00"], "--as-of"),
        (["search"], "TEXT"),
        (["ask", "x", "--format", "yaml"], "--format"),
        (["ask", "x", "--valid-at", "then"], "--valid-at"),
        (["search", "x", "--valid-at", "then"], "--valid-at"),
        (["sweep", "--older-than", "soon"], "--older-than"),
        (["aging", "soon"], "DURATION"),
        (["redaction", "--off", "password"], "--off"),
        (["redaction", "--on", "nonsense"], "--on"),
        (["concepts", "types", "a", "--default"], "--default"),
        (["hint", "k"], "OUTCOME"),
        (["concepts", "import", "/nowhere/at/all"], "DIR"),
        (["concepts", "import", ".", "--project", "a\tb"], "project"),
        (["concepts", "export", "."], "DIR"),
        (["hint", "k", "fine"], "OUTCOME"),
        (["observe", "make check", "--operation", "1"], "--exit-code"),
        (["observe", "make check", "--exit-code", "0"], "--operation"),
        (["verify", "--saved-seq", "3"], "--saved-hash"),
        (["export", "journal"], "--json"),
        (["import", "/nowhere/at/all.jsonl"], "FILE"),
        (["import", "-", "--project", "a\tb"], "project"),
        (["up", "--port", "70000"], "--port"),
        (["up", "--ready-file", "/nowhere/at/all.json", "--port", "0"], "--ready-file"),
        (["upp"], None),
        (["stats", "--colour"], None),
    ],
)
def test_a_wrong_call_is_refused_with_its_field(arguments: list[str], field: str | None, tmp_path: Path) -> None:
    settings = _clean() | {"NEO4J_URI": "bolt://127.0.0.1:1", "WHENCE_HOME": str(tmp_path)}
    ran = _run(settings, *arguments, "--json", given="")
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    error = json.loads(ran.stderr)["error"]
    assert (error["code"], error.get("field")) == ("VALIDATION", field)
    assert error["allowed"]


def test_an_unknown_level_of_the_log_is_refused(tmp_path: Path) -> None:
    ran = _run(_clean() | {"WHENCE_LOG": "chatty", "WHENCE_HOME": str(tmp_path)}, "down")
    assert ran.returncode == 2
    assert "WHENCE_LOG" in ran.stderr
    assert "DEBUG" in ran.stderr


def test_a_database_that_cannot_be_had_is_3(tmp_path: Path) -> None:
    settings = _clean() | {"NEO4J_URI": "bolt://127.0.0.1:1", "WHENCE_HOME": str(tmp_path)}
    ran = _run(settings, "stats")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.startswith("whence: ")
    assert "UNAVAILABLE" in ran.stderr
    assert len(ran.stderr.splitlines()) == 1
    assert json.loads(_run(settings, "stats", "--json").stderr)["error"]["code"] == "UNAVAILABLE"


def test_nothing_to_stop_is_1(tmp_path: Path) -> None:
    ran = _run(_clean() | {"WHENCE_HOME": str(tmp_path)}, "down")
    assert (ran.returncode, ran.stdout) == (1, "")


# --- Import -------------------------------------------------------------------------------------------------


def test_import_takes_a_file_once(whence: Run, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(SMALL)
    first = whence("import", str(file), "--json")
    assert (first.returncode, first.stderr) == (0, "")
    report = json.loads(first.stdout)
    assert report == {
        "lines": 5,
        "taken": 5,
        "repeated": 0,
        "refused": 0,
        "newly_at_risk": 1,
        "redacted": {},
        "refusals": [],
    }
    again = whence("import", str(file))
    assert again.returncode == 0
    assert again.stdout == "0 taken, 5 there already, 0 refused of 5 lines\n"


@pytest.mark.parametrize("how", ["file", "gzip", "standard input", "gzip on standard input", "pipe"])
def test_import_reads_plain_and_packed_files_and_pipes(
    how: str, environment: dict[str, str], service: Service, tmp_path: Path, loop: asyncio.Runner
) -> None:
    packed = gzip.compress(SMALL.encode()) if "gzip" in how else SMALL.encode()
    file = tmp_path / "events"
    file.write_bytes(packed)
    if how == "pipe":
        if sys.platform == "win32":
            pytest.skip("no such pipes")
        os.mkfifo(tmp_path / "pipe")
        threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[packed]).start()
        file = tmp_path / "pipe"
    arguments = ["import", "-" if "standard" in how else str(file), "--project", "p"]
    subprocess.run([WHENCE, *arguments], env=environment, input=packed, stdout=subprocess.DEVNULL, check=True)
    head = loop.run(service.head("p"))
    assert head is not None
    assert head.seq == 5


def test_a_bad_line_leaves_nothing_and_is_named(whence: Run) -> None:
    lines = _proposals(2) + "{no json\n" + _line("x", "confirmed", "missing") + _line("y", "praised", "n1")
    ran = whence("import", "-", "--json", given=lines)
    assert ran.returncode == 1
    report = json.loads(ran.stdout)
    assert (report["taken"], report["refused"]) == (0, 3)
    named = sorted((each["line"], each["code"], each.get("field")) for each in report["refusals"])
    assert named == [(3, "VALIDATION", None), (4, "NOT_FOUND", "key"), (5, "VALIDATION", "transition")]
    assert whence("stats").returncode == 1, "not even the project is there"
    said = whence("import", "-", given=lines)
    assert "nothing was taken: 3 of 5 lines are bad" in said.stdout
    assert "'praised'" in said.stdout


def test_what_is_wrong_with_many_lines_is_said_once_with_their_count(whence: Run) -> None:
    said = whence("import", "-", given="# Whence\n" * 1_234 + _line("x", "praised", "n1")).stdout
    assert said.count("the line is not JSON") == 1
    assert "1, 2, 3 … (1,000 lines)" in " ".join(said.split())
    assert "… and 235 more" in said


def test_keep_going_takes_the_good_lines(whence: Run) -> None:
    ran = whence("import", "-", "--keep-going", "--json", given=_proposals(2) + "[]\n")
    assert ran.returncode == 1
    report = json.loads(ran.stdout)
    assert (report["taken"], report["refused"], report["refusals"][0]["line"]) == (2, 1, 3)
    assert json.loads(whence("stats", "--json").stdout)["nodes"] == 2


def test_a_file_that_breaks_off_leaves_nothing(whence: Run, tmp_path: Path) -> None:
    file = tmp_path / "torn.jsonl.gz"
    file.write_bytes(gzip.compress(_proposals(3000).encode())[:-100])
    ran = whence("import", str(file))
    assert ran.returncode == 2
    assert "torn.jsonl.gz cannot be read to its end" in ran.stderr
    assert whence("stats").returncode == 1


def test_a_line_without_an_end_is_refused_and_not_held(whence: Run, tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    with file.open("w") as there:
        there.write("x" * 9_000_000 + "\n" + _proposals(1))
    report = json.loads(whence("import", str(file), "--keep-going", "--json").stdout)
    assert (report["lines"], report["taken"], report["refused"]) == (2, 1, 1)
    assert (report["refusals"][0]["line"], report["refusals"][0]["code"]) == (1, "LIMIT")


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_import_goes_on_where_it_stopped(
    number: signal.Signals, environment: dict[str, str], service: Service, tmp_path: Path, loop: asyncio.Runner
) -> None:
    count = 5_000
    file = tmp_path / "many.jsonl"
    file.write_text(_proposals(count))
    running = subprocess.Popen(
        [WHENCE, "import", str(file)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while loop.run(service.head("default")) is None:
        assert time.monotonic() < deadline
        assert running.poll() is None, running.communicate()
    running.send_signal(number)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b""), err
    assert b"the same command goes on from there" in err
    stopped = loop.run(service.head("default"))
    assert stopped is not None
    assert 0 < stopped.seq < count

    report = json.loads(_run(environment, "import", str(file), "--json").stdout)
    assert report["refused"] == 0
    assert report["taken"] + report["repeated"] == count
    assert report["repeated"] == stopped.seq
    verdict = json.loads(_run(environment, "verify", "--json").stdout)
    assert (verdict["ok"], verdict["events"]) == (True, count)


# --- Search, ask, sweep -------------------------------------------------------------------------------------


def test_search_finds_and_says_what_to_doubt(peps: None, whence: Run) -> None:
    ran = whence("search", "optional interpreter lock", "-p", "peps", "--first", "1", "--json")
    items = json.loads(ran.stdout)["items"]
    assert [item["node"]["key"] for item in items] == ["PEP-0703"]
    said = whence("search", "global interpreter lock", "-p", "peps").stdout
    assert "PEP-0703  confirmed" in said
    assert "! stale: not verified since 2023-10-24T00:00:00Z" in said
    assert "found by: depends_on PEP-0703" in said
    hints = ("search", "type hints", "-p", "peps", "--json")
    now, then = (json.loads(whence(*hints, *at).stdout)["items"] for at in ((), ("--valid-at", "2005-01-01")))
    assert "PEP-0484" in [item["node"]["key"] for item in now]
    assert then
    assert "PEP-0484" not in [item["node"]["key"] for item in then], "it was true from 2014 on"
    nothing = whence("search", "zeppelin", "-p", "peps")
    assert (nothing.returncode, nothing.stdout) == (1, "nothing answers that\n")


def test_ask_writes_a_block_that_fits(peps: None, whence: Run) -> None:
    ran = whence("ask", "package metadata", "-p", "peps", "--budget", "300")
    assert ran.returncode == 0
    assert ran.stdout.startswith("<knowledge> ")
    assert "left out" in ran.stderr
    told = json.loads(whence("ask", "package metadata", "-p", "peps", "--budget", "300", "--json").stdout)
    assert told["text"] == ran.stdout
    assert 0 < told["tokens"] <= told["budget"] == 300
    xml = whence("ask", "package metadata", "-p", "peps", "--format", "xml", "--as-of", "2015-01-01").stdout
    assert "PEP-0819" not in xml, "it was not written yet"
    assert whence("ask", "package metadata", "-p", "peps", "--budget", "3").returncode == 1
    assert whence("ask", "x", "-p", "nobody").returncode == 1


def test_sweep_challenges_and_says_how_many(whence: Run) -> None:
    line = '{"transition": "proposed", "key": "a", "payload": {"proposition": "x"}, "time": "2020-01-01T00:00:00Z"}'
    confirmed = '{"transition": "confirmed", "key": "a", "time": "2020-01-02T00:00:00Z"}'
    assert whence("import", "-", "-p", "old", given=f"{line}\n{confirmed}\n").returncode == 0
    told = whence("sweep", "--older-than", "P1Y", "-p", "old", "--json")
    assert json.loads(told.stdout) == {"project": "old", "challenged": 1}
    assert whence("sweep", "--older-than", "P1Y", "-p", "old").stdout == "0 challenged\n"
    assert "challenged" in whence("show", "a", "-p", "old").stdout
    assert whence("sweep", "--older-than", "P0D", "-p", "old").returncode == 2


def test_hints_move_a_node_and_say_where_it_stands(small: None, whence: Run) -> None:
    told = json.loads(whence("hint", "top", "harmful", "--reason", "it misled", "--event-id", "h1", "--json").stdout)
    assert (told["transition"], told["state"], told["applied"]) == ("hinted", "challenged", True)
    again = whence("hint", "top", "harmful", "--reason", "it misled", "--event-id", "h1")
    assert again.stdout == "top: taken before; it is challenged\n"
    assert whence("hint", "top", "harmful", "--supported").stdout == "top: hinted; it is challenged\n"
    assert whence("hint", "top", "harmful").stdout == "top: hinted; it is invalidated\n"
    assert whence("hint", "nobody", "helpful").returncode == 1


def test_a_command_that_ran_is_observed_and_a_workspace_is_its_whole_path(whence: Run, tmp_path: Path) -> None:
    def observed(*more: str) -> subprocess.CompletedProcess[str]:
        return whence("observe", "make check", "--workspace", str(tmp_path), *more)

    told = json.loads(observed("--exit-code", "0", "--operation", "1", "--json").stdout)
    assert (told["transition"], told["state"]) == ("proposed", "proposed")
    assert "it is confirmed" in observed("--exit-code", "0", "--operation", "2").stdout
    assert "taken before" in observed("--exit-code", "0", "--operation", "2").stdout
    failed = observed("--exit-code", "2", "--operation", "3")
    assert (failed.returncode, failed.stdout) == (1, "nothing to observe\n")
    assert f"`make check` exits 0 in {tmp_path}" in " ".join(whence("show", told["key"]).stdout.split())


def _concept(folder: Path, name: str, body: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: d\ntype: fact\n---\n\n{body}\n", "utf-8")


def test_a_folder_of_concepts_is_imported_and_every_bad_file_listed(whence: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    _concept(notes, "a", "It holds, see [[b]] and [[c]].")
    _concept(notes, "b", "It rests.")
    (notes / "bad.md").write_text("no frontmatter", "utf-8")
    (notes / "many.md").write_text("---\nname: A b\ntype: rumour\n---\nx\n", "utf-8")
    ran = whence("concepts", "import", str(notes), "-p", "mine")
    assert ran.returncode == 1
    lines = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert lines[0] == "4 files"
    assert "2 new" in lines
    assert any(line.startswith("2 refused") for line in lines)
    assert any(line.startswith("bad.md 1 missing_frontmatter") for line in lines)
    assert any(line.startswith("many.md 2 validation name") for line in lines)
    assert any(line.startswith("many.md 3 validation type") for line in lines)
    assert "a → c" in lines
    told = json.loads(whence("concepts", "import", str(notes), "-p", "mine", "--json").stdout)
    assert {name: told[name] for name in ("files", "new", "repeated", "refused")} == {
        "files": 4,
        "new": 0,
        "repeated": 2,
        "refused": 2,
    }
    assert [(each["file"], each["kind"], each["line"]) for each in told["faults"]] == [
        ("bad.md", "missing_frontmatter", 1),
        ("many.md", "validation", 2),
        ("many.md", "validation", 3),
    ]
    assert told["dangling"] == [{"key": "a", "targets": ["c"]}]
    assert "related_to" in whence("show", "a", "-p", "mine").stdout


def test_concepts_are_exported_into_a_new_folder_and_nothing_is_overwritten_unasked(
    whence: Run, tmp_path: Path
) -> None:
    _concept(tmp_path / "notes", "a", "It holds.")
    assert whence("concepts", "import", str(tmp_path / "notes"), "-p", "mine").returncode == 0
    out = tmp_path / "out" / "deep"
    assert whence("concepts", "export", str(out), "-p", "mine").stdout == f"1 file in {out}\n"
    assert (out / "a.md").read_bytes() == (tmp_path / "notes" / "a.md").read_bytes()
    (out / "a.md").write_text("mine", "utf-8")
    assert whence("concepts", "export", str(out), "-p", "mine").returncode == 2
    assert (out / "a.md").read_text("utf-8") == "mine"
    told = json.loads(whence("concepts", "export", str(out), "-p", "mine", "--overwrite", "--json").stdout)
    assert told == {"project": "mine", "folder": str(out), "files": 1}
    assert (out / "a.md").read_bytes() == (tmp_path / "notes" / "a.md").read_bytes()
    assert whence("concepts", "export", str(tmp_path / "none"), "-p", "nobody").returncode == 1


def test_aging_is_told_set_and_heeded(whence: Run) -> None:
    line = '{"transition": "proposed", "key": "a", "payload": {"proposition": "x"}, "time": "2020-01-01T00:00:00Z"}'
    assert whence("import", "-", "-p", "slow", given=line + "\n").returncode == 0
    assert whence("aging", "-p", "slow").stdout == "stale after P90D without verification\n"
    assert "stale" in whence("show", "a", "-p", "slow").stdout
    told = whence("aging", "P36500D", "-p", "slow", "--json")
    assert json.loads(told.stdout) == {"project": "slow", "aging": "P36500D"}
    assert "stale" not in whence("show", "a", "-p", "slow").stdout
    assert whence("verify", "-p", "slow").returncode == 0
    assert whence("aging", "P36501D", "-p", "slow").returncode == 2
    assert whence("aging", "P1D", "-p", "nobody").returncode == 1
    assert "'P1Y6' is no duration" in whence("aging", "P1Y6", "-p", "slow").stderr


def test_what_a_project_lets_in_is_told_set_and_heeded(whence: Run) -> None:
    assert whence("redaction", "-p", "open").stdout.endswith("left in: none\n")
    told = json.loads(whence("redaction", "--off", "email", "--off", "iban", "-p", "open", "--json").stdout)
    assert (told["project"], told["kept"]) == ("open", ["email", "iban"])
    assert json.loads(whence("redaction", "--on", "iban", "-p", "open", "--json").stdout)["kept"] == ["email"]
    line = '{"transition": "proposed", "key": "a", "payload": {"proposition": "ask a@b.org, password=hunter2"}}'
    assert whence("import", "-", "-p", "open", given=line + "\n").returncode == 0
    assert "ask a@b.org, password=[REDACTED:password]" in whence("show", "a", "-p", "open").stdout
    assert whence("concepts", "types", "-p", "open").stdout == "fact, entity, procedure, policy, objection\n"
    assert whence("concepts", "types", "incident", "-p", "open").stdout == "incident\n"
    assert json.loads(whence("concepts", "types", "--default", "-p", "open", "--json").stdout)["types"][0] == "fact"


# --- Export, verify, rebuild --------------------------------------------------------------------------------


def test_a_written_journal_is_restored_equal(whence: Run, tmp_path: Path) -> None:
    assert whence("import", "-", "-p", "first", given=SMALL).returncode == 0
    file = tmp_path / "written.jsonl"
    ran = whence("export", "journal", "-p", "first", "-o", str(file), "--json")
    assert json.loads(ran.stdout) == {"project": "first", "file": str(file), "bytes": file.stat().st_size}
    piped = whence("export", "journal", "-p", "first")
    assert (piped.returncode, piped.stdout) == (0, file.read_text())
    assert whence("import", str(file), "--restore").returncode == 0, "the lines name their project, so they are repeats"
    assert whence("import", str(file), "--restore", "-p", "second").returncode == 1, "its hashes hold the first one"
    assert whence("import", str(file), "-p", "second").returncode == 0
    assert whence("verify", "-p", "second").returncode == 0
    again = file.read_text().replace('"claim"', '"observation"', 1)
    changed = whence("import", "-", "--restore", "--json", given=again)
    assert changed.returncode == 1


def test_verify_compares_with_a_head_that_was_kept(peps: None, whence: Run) -> None:
    ran = whence("verify", "-p", "peps", "--json")
    verdict = json.loads(ran.stdout)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (verdict["ok"], verdict["head"]["seq"]) == (True, 1_487)
    kept = ["--saved-seq", "1487", "--saved-hash", verdict["head"]["hash"]]
    said = whence("verify", "-p", "peps", *kept)
    assert said.returncode == 0
    assert " ".join(kept) in said.stdout
    other = whence("verify", "-p", "peps", "--saved-seq", "1487", "--saved-hash", "0" * 64)
    assert other.returncode == 1
    assert "not the one that the saved head names" in other.stdout


def test_a_graph_that_was_tampered_with_is_found_and_made_again(
    peps: None, whence: Run, service: Service, loop: asyncio.Runner
) -> None:
    async def tamper() -> None:
        driver: Any = service.store.driver
        await driver.execute_query(
            "MATCH (n:Knowledge {key: 'PEP-0008'}) SET n.proposition = 'No style at all'",
            database_=service.store.database,
        )

    loop.run(tamper())
    ran = whence("verify", "-p", "peps")
    assert ran.returncode == 1
    assert "proposition of the node 'PEP-0008' differs" in ran.stdout
    assert json.loads(whence("rebuild", "-p", "peps", "--json").stdout) == {"project": "peps", "events": 1_487}
    assert whence("verify", "-p", "peps").returncode == 0


def test_a_graph_comes_out_as_graphml(small: None, whence: Run, tmp_path: Path) -> None:
    file = tmp_path / "graph.graphml"
    assert whence("export", "graphml", "-o", str(file)).returncode == 0
    assert file.read_bytes() == whence("export", "graphml").stdout.encode()
    assert b"<graphml" in file.read_bytes()
    assert whence("import", str(file), "-p", "copy").returncode == 0
    assert whence("verify", "-p", "copy").returncode == 0
    counts = [json.loads(whence("stats", *named, "--json").stdout) for named in ([], ["-p", "copy"])]
    assert counts[0]["states"] == counts[1]["states"]
    damaged = whence("import", "-", "-p", "other", given=file.read_text().replace(">Stars shine<", ">Stars do not<", 1))
    assert (damaged.returncode, damaged.stdout) == (2, "")
    assert "node 'top'" in damaged.stderr


def test_a_project_comes_out_as_prov(small: None, whence: Run) -> None:
    assert whence("export", "prov").stdout.startswith("document\n")
    assert len(json.loads(whence("export", "prov", "--form", "json").stdout)["activity"]) == 5


def test_a_backup_is_restored_by_the_command_and_a_damaged_one_named(
    small: None, whence: Run, service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    file = tmp_path / "a backup.zip"
    made = json.loads(whence("backup", str(file), "--json").stdout)
    assert (made["bytes"], [each["project"] for each in made["projects"]]) == (file.stat().st_size, ["default"])
    loop.run(wipe(service.store))
    damaged = tmp_path / "half.zip"
    damaged.write_bytes(file.read_bytes()[:-100])
    refused = whence("restore", str(damaged))
    assert (refused.returncode, "no backup" in refused.stderr) == (2, True)
    restored = whence("restore", str(file))
    assert (restored.returncode, restored.stdout) == (0, f"default: {made['projects'][0]['events']} events; verified\n")
    again = json.loads(whence("restore", str(file), "--json").stdout)["projects"]
    assert [(each["taken"], each["ok"]) for each in again] == [(0, True)]


def test_an_export_that_fails_leaves_what_was_there(small: None, whence: Run, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    file.write_text("before\n")
    ran = whence("export", "journal", "-p", "nobody", "-o", str(file))
    assert ran.returncode == 1
    assert "'nobody'" in ran.stderr
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["kept.jsonl"]
    assert file.read_text() == "before\n"
    assert whence("export", "journal", "-o", str(tmp_path)).returncode == 2, "a folder is no file"
    assert whence("export", "journal", "-o", str(tmp_path / "no" / "where.jsonl")).returncode == 2
    if sys.platform != "win32":
        assert whence("export", "journal", "-o", os.devnull).returncode == 0
        assert not Path(os.devnull).is_file()


@POSIX
def test_a_reader_that_has_had_enough_is_no_fault(peps: None, environment: dict[str, str]) -> None:
    command = f"{WHENCE} export journal -p peps | head -c 10"
    ran = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=False)
    assert (ran.stdout, ran.stderr) == (b'{"actor":{', b"")


def test_an_unknown_project_is_1_and_the_known_ones_are_named(small: None, whence: Run) -> None:
    for command in (["verify"], ["rebuild"], ["show", "k"]):
        ran = whence(*command, "-p", "yours", "--json")
        assert (ran.returncode, ran.stdout) == (1, "")
        error = json.loads(ran.stderr)["error"]
        assert (error["code"], error["field"], error["allowed"]) == ("NOT_FOUND", "project", "default")


# --- Show and trace -----------------------------------------------------------------------------------------


def test_show_tells_what_to_bear_in_mind(small: None, whence: Run) -> None:
    ran = whence("show", "top", "--json")
    answer = json.loads(ran.stdout)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (answer["node"]["state"], answer["node"]["at_risk"]) == ("confirmed", True)
    assert answer["cautions"] == [{"caution": "at_risk", "because": ["base"], "reason": None}]
    assert [each["source"] for each in answer["evidence"]] == ["a book"]
    assert [each["transition"] for each in answer["history"]] == ["proposed", "linked", "confirmed"]
    assert [(each["from"][0], each["to"][0]) for each in answer["relations"]] == [("top", "base")]
    said = whence("show", "top").stdout
    for part in ("top  confirmed, at risk", "Stars shine", "(base)", "depends_on →  base", "a book", "confirmed"):
        assert part in said

    base = json.loads(whence("show", "base", "--json").stdout)
    assert base["cautions"] == [{"caution": "retired", "because": [], "reason": "measured again"}]
    assert (base["impact"]["count"], base["impact"]["first"][0]["key"]) == (1, "top")
    for arguments in (["nothing"], ["top", "--generation", "2"], ["top", "--as-of", "2001-01-01"]):
        missing = whence("show", *arguments)
        assert (missing.returncode, missing.stdout) == (1, "")


def test_a_key_that_is_not_there_is_answered_with_those_near_it(peps: None, whence: Run) -> None:
    for command in ("show", "trace"):
        assert "did you mean 'PEP-0484'" in whence(command, "pep-484", "-p", "peps").stderr
    assert "did you mean 'PEP-0703'" in whence("hint", "PEP 0703", "helpful", "-p", "peps").stderr
    nothing = whence("show", "zebra", "-p", "peps")
    assert (nothing.returncode, "did you mean" in nothing.stderr) == (1, False)
    assert "'2015-01' is not an instant" in whence("show", "PEP-0484", "-p", "peps", "--as-of", "2015-01").stderr


def test_show_and_trace_answer_as_of_then(peps: None, whence: Run) -> None:
    in_2015 = json.loads(whence("show", "PEP-0345", "-p", "peps", "--as-of", "2015-01-01", "--json").stdout)
    assert in_2015["node"]["state"] == "proposed"
    assert [each["transition"] for each in in_2015["history"]] == ["proposed"]
    assert {edge["from"][0] for edge in in_2015["relations"]} == {"PEP-0345", "PEP-0426"}
    then = json.loads(
        whence("trace", "PEP-0241", "-p", "peps", "--direction", "downstream", "--as-of", "2015-01-01", "--json").stdout
    )
    assert [node["key"] for node in then["nodes"]] == ["PEP-0314", "PEP-0345", "PEP-0426", "PEP-0459"]


def test_trace_is_a_tree_for_people_and_a_map_for_machines(peps: None, whence: Run) -> None:
    arguments = ["trace", "PEP-0241", "-p", "peps", "--direction", "downstream", "--relation", "supersedes"]
    lines = whence(*arguments).stdout.splitlines()
    assert lines[0] == "PEP-0241  superseded  Metadata for Python Software Packages"
    assert lines[1].startswith("└── supersedes ← PEP-0314  superseded")
    assert sum("PEP-0566" in line for line in lines) == 2
    assert sum("(shown elsewhere)" in line for line in lines) == 1
    walk = json.loads(whence(*arguments, "--json").stdout)
    assert set(walk) == {"root", "nodes", "edges", "evidence", "truncated", "at_seq"}
    assert [node["key"] for node in walk["nodes"]] == ["PEP-0314", "PEP-0345", "PEP-0426", "PEP-0566"]
    assert walk["root"]["lineage"]["sources"] == [{"type": "pep", "id": "241"}]
    assert "There is more behind it" in whence(*arguments, "--depth", "1").stdout
    for wrong in (["--depth", "101"], ["--max-nodes", "0"]):
        assert whence(*arguments, *wrong).returncode == 2


def test_a_tree_shows_each_node_and_each_edge_once() -> None:
    ring = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")]
    walk = {
        "root": _node("a"),
        "nodes": [_node("b"), _node("c")],
        "edges": [{"from": [x, 1], "relation": "depends_on", "to": [y, 1]} for x, y in ring],
        "truncated": False,
        "at_seq": 9,
    }
    for direction in ("upstream", "downstream", "both"):
        screen = Screen(machine=False)
        with screen.out.capture() as captured:
            for each in traced(walk, direction):
                screen.out.print(each)
        lines = [line for line in captured.get().splitlines() if "depends_on" in line]
        assert len(lines) == len(ring), direction
        assert sum("(shown elsewhere)" in line for line in lines) == 2, direction


def _node(key: str) -> dict[str, Any]:
    flags = dict.fromkeys(("at_risk", "stale", "forgotten"), False)
    return {"key": key, "generation": 1, "state": "proposed", "proposition": "[bold]no markup[/bold]", **flags}


def test_what_is_stored_cannot_steer_the_terminal() -> None:
    assert harmless("plain ünïcödé\nline") == "plain ünïcödé\nline"
    assert harmless("\x1b[2J\x9b31m\u202eevil\r") == r"\x1b[2J\x9b31m\u202eevil\r"


# --- Up and down --------------------------------------------------------------------------------------------


@contextmanager
def _up(environment: dict[str, str], *arguments: str) -> Generator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A service that says that it is ready; ended, whatever happens."""
    ready = Path(environment["WHENCE_HOME"]).parent / "ready.json"
    service = subprocess.Popen(
        [WHENCE, "up", "--port", "0", "--ready-file", ready, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert service.stdout is not None
        line = service.stdout.readline()
        assert line.startswith("ready http://127.0.0.1:"), (line, service.communicate())
        told = json.loads(ready.read_text())
        assert line == f"ready {told['url']}\n"
        assert told["pid"] == service.pid
        yield service, told
    finally:
        if service.poll() is None:
            service.terminate()
        service.communicate(timeout=60)
        assert not ready.exists()


def _ask(told: dict[str, Any], query: str) -> Any:
    body = json.dumps({"query": query}).encode()
    request = urllib.request.Request(told["graphql"], body, {**JSON_TYPE, "authorization": f"Bearer {told['token']}"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)["data"]


@POSIX
def test_the_owners_token_is_shown_at_the_first_start_and_kept_in_a_private_file(
    environment: dict[str, str], service: Service, loop: asyncio.Runner, tmp_path: Path
) -> None:
    kept = tmp_path / "home" / "token"
    with _up(environment) as (running, first):
        running.terminate()
        assert first["token"] in running.communicate(timeout=60)[1]
    assert kept.read_text().strip() == first["token"]
    assert kept.stat().st_mode & 0o777 == 0o600
    with _up(environment) as (running, second):
        assert second["token"] == first["token"]
        assert _ask(second, "{ projects }") == {"projects": []}
        told = json.loads(_run(environment, "token", "list", "--json").stdout)["tokens"]
        assert [(each["label"], each["projects"], each["role"]) for each in told] == [("owner", ["*"], "admin")]
        assert _run(environment, "token", "revoke", told[0]["id"]).returncode == 0
        time.sleep(2)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            _ask(second, "{ projects }")
        running.terminate()
        told = running.communicate(timeout=60)[1]
        assert first["token"] not in told
        assert f"  Explorer       {second['url']}/  (token in {kept})" in told
    loop.run(wipe(service.store))
    with _up(environment) as (_, third):
        assert third["token"] != first["token"], "one that was revoked, or that another database gave, opens nothing"


def test_tokens_are_made_listed_and_revoked_by_the_command(whence: Run) -> None:
    asked = ("token", "create", "-p", "p", "-p", "q", "--role", "writer", "--actor", "https://id.example:me:agent")
    made = json.loads(whence(*asked, "--expires", "P30D", "--label", "mine", "--json").stdout)
    assert made["token"].startswith(f"whence_{made['id']}_")
    assert (made["actor"], made["projects"], made["role"]) == ("https://id.example:me:agent", ["p", "q"], "writer")
    assert made["expires_at"] > made["created_at"]
    shown = whence(*asked)
    assert shown.stdout.splitlines()[0].startswith("whence_"), "whole, on a line of its own"
    assert len(shown.stdout.splitlines()[0]) == len(made["token"])
    listed = whence("token", "list").stdout
    assert made["id"] in listed
    assert made["token"] not in listed
    assert whence("token", "revoke", made["id"]).returncode == 0
    revoked = json.loads(whence("token", "list", "--json").stdout)["tokens"][0]
    assert (revoked["id"], revoked["revoked_at"] is not None) == (made["id"], True)
    assert whence("token", "revoke", "nobody").returncode == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (("--role", "king", "--actor", "a:b:agent"), "--role"),
        (("--role", "reader", "--actor", "a:b"), "--actor"),
        (("--role", "reader", "--actor", "a:b:ghost"), "--actor"),
        (("--role", "reader", "--actor", "a:b:agent", "--expires", "soon"), "--expires"),
        (("--role", "reader", "--actor", "a:b:agent", "--expires", "P9999Y"), "expires"),
        (("--role", "reader", "--actor", "a:b:agent", "--rate", "0"), "rate"),
        (("--role", "reader", "--actor", "a:b:agent", "-p", ""), "project"),
    ],
)
def test_a_token_that_is_asked_for_wrongly_is_not_made(whence: Run, wrong: tuple[str, ...], field: str) -> None:
    refused = whence("token", "create", *wrong, "--json")
    assert refused.returncode == 2
    assert field in json.loads(refused.stderr)["error"]["field"]
    assert json.loads(whence("token", "list", "--json").stdout) == {"tokens": []}


@POSIX
def test_up_serves_until_it_is_interrupted(environment: dict[str, str], service: Service, tmp_path: Path) -> None:
    assert service
    with _up(environment, "--demo") as (running, told):
        assert (told["bolt"], told["browser"]) == (environment["NEO4J_URI"], None)
        asked = _ask(told, '{ knowledge(project: "peps", key: "PEP-0005") { state } }')
        assert asked == {"knowledge": {"state": "SUPERSEDED"}}
        second = _run(environment, "up", "--port", "0")
        assert second.returncode == 3
        assert f"process {running.pid} since" in second.stderr
        assert told["url"] in second.stderr
        elsewhere = environment | {"WHENCE_HOME": str(tmp_path / "other")}
        taken = _run(elsewhere, "up", "--port", told["url"].rpartition(":")[2], "--json")
        assert taken.returncode == 3
        assert json.loads(taken.stderr)["error"]["field"] == "--port"
        unnamed = {name: value for name, value in environment.items() if not name.startswith("NEO4J_")}
        assert "NEO4J_URI" in _run(unnamed, "stats").stderr
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    assert not (tmp_path / "home" / "run" / "service.json").exists()


@POSIX
def test_down_ends_up_with_0(environment: dict[str, str], service: Service) -> None:
    assert service
    with _up(environment) as (running, _told):
        down = _run(environment, "down", "--json")
        assert down.returncode == 0, down.stderr
        assert json.loads(down.stdout)["pid"] == running.pid
        assert running.wait(60) == 0
    assert _run(environment, "down").returncode == 1


@POSIX
def test_a_demo_that_is_there_is_left_alone_and_what_is_said_can_be_typed(
    peps: None, environment: dict[str, str]
) -> None:
    with _up(environment | {"UV_RUN_RECURSION_DEPTH": "1", "WHENCE_LOG": "INFO"}, "--demo") as (running, _told):
        running.terminate()
        _out, err = running.communicate(timeout=60)
        assert "The sample is there already" in err
        assert f"where WHENCE_HOME is {environment['WHENCE_HOME']}, as here:" in err
        assert "  uv run whence trace PEP-0241" in err
        assert (" 503 " in err, "WARNING whence.readiness" in err) == (False, False)


@POSIX
def test_up_for_machines_is_one_document_that_has_the_token_at_the_first_start_alone(
    environment: dict[str, str], service: Service, tmp_path: Path
) -> None:
    assert service
    kept = tmp_path / "home" / "token"
    for first, host in ((True, "127.0.0.1"), (False, "0.0.0.0")):
        running = subprocess.Popen(
            [WHENCE, "up", "--host", host, "--port", "0", "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        assert running.stdout is not None
        told = json.loads(running.stdout.readline())
        assert set(told) == {"url", "graphql", "bolt", "browser", "token", "token_file", "pid"}
        assert told["token_file"] == str(kept)
        assert told["token"] == (kept.read_text().strip() if first else None)
        running.terminate()
        out, err = running.communicate(timeout=60)
        assert (running.returncode, out) == (0, "")
        assert ("WARNING whence.up: there is no TLS: what goes to 0.0.0.0 goes in the clear" in err) is not first


# --- The embedded server ------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """Variables for a command with a Neo4j of its own, whose jars are those of this user."""
    home = tmp_path / "home"
    home.mkdir()
    cache().mkdir(parents=True, exist_ok=True)
    (home / "cache").symlink_to(cache(), target_is_directory=True)
    return _clean() | {"WHENCE_HOME": str(home)}


def _javas(environment: dict[str, str]) -> list[psutil.Process]:
    place = f"--home-dir={Path(environment['WHENCE_HOME']).resolve() / 'neo4j'}"
    found: list[psutil.Process] = []
    for each in psutil.process_iter():
        try:
            if place in each.cmdline():
                found.append(each)
        except psutil.Error:
            continue
    return found


@POSIX
@pytest.mark.slow
def test_up_with_a_neo4j_of_its_own(own: dict[str, str]) -> None:
    with _up(own, "--demo") as (running, told):
        assert told["browser"].startswith("http://127.0.0.1:")
        assert len(_javas(own)) == 1
        assert _ask(told, '{ impact(project: "peps", key: "PEP-0703") { count } }') == {"impact": {"count": 2}}
        assert _run(own, "up", "--port", "0").returncode == 3
        stats = json.loads(_run(own, "stats", "-p", "peps", "--json").stdout)
        assert (stats["events"], stats["nodes"]) == (1_487, 736)
        assert len(_javas(own)) == 1, "it was asked through the running server"

        _javas(own)[0].kill()  # the service brings it back where it was
        deadline = time.monotonic() + READY_SECONDS_MAX
        while _run(own, "verify", "-p", "peps").returncode != 0:
            assert time.monotonic() < deadline
        assert _ask(told, '{ impact(project: "peps", key: "PEP-0649") { count } }') == {"impact": {"count": 1}}

        assert _run(own, "down").returncode == 0
        assert running.wait(60) == 0
    assert _javas(own) == []

    alone = _run(own, "stats", "-p", "peps", "--json")
    assert json.loads(alone.stdout)["events"] == 1_487, alone.stderr
    assert _javas(own) == [], "it was started for the command alone"


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 130)])
def test_a_start_that_is_interrupted_leaves_no_server(own: dict[str, str], number: int, code: int) -> None:
    starting = subprocess.Popen([WHENCE, "up", "--port", "0"], env=own, stderr=subprocess.PIPE, encoding="utf-8")
    deadline = time.monotonic() + READY_SECONDS_MAX
    while not _javas(own):
        assert time.monotonic() < deadline
        assert starting.poll() is None, starting.communicate()
        time.sleep(0.05)
    starting.send_signal(number)
    starting.communicate(timeout=60)
    assert starting.returncode == code
    assert _javas(own) == []


@contextmanager
def _killed(environment: dict[str, str], *, heir: bool) -> Generator[psutil.Process]:
    """The Neo4j of a service that was killed after it had taken an event, with or without what would end it."""
    with _up(environment) as (running, told):
        key = 'propose(project: "p", key: "kept", proposition: "kept", '
        evidence = 'evidence: [{type: "t", source: "s"}])'
        assert _ask(told, f"mutation {{ {key} {evidence} {{ applied }} }}") == {"propose": {"applied": True}}
        (java,) = _javas(environment)
        (shell,) = (each for each in psutil.Process(running.pid).children() if each != java)
        if not heir:
            shell.kill()
        running.kill()
        running.wait()
        yield java
        (Path(environment["WHENCE_HOME"]).parent / "ready.json").unlink(missing_ok=True)


def _gone(processes: list[psutil.Process], seconds: float) -> bool:
    return not psutil.wait_procs(processes, seconds)[1]


@POSIX
@pytest.mark.slow
def test_a_killed_service_takes_its_server_with_it_and_the_next_up_has_what_was_taken(own: dict[str, str]) -> None:
    with _killed(own, heir=True) as java:
        assert _gone([java], 30)
        assert (Path(own["WHENCE_HOME"]) / "neo4j" / "logs" / "neo4j.log").read_text().rstrip().endswith("Stopped.")
    with _up(own) as (running, told):
        assert _ask(told, '{ knowledge(project: "p", key: "kept") { key } }') == {"knowledge": {"key": "kept"}}
        ours = psutil.Process(running.pid).children()
        assert _run(own, "down").returncode == 0
        assert running.wait(60) == 0
        assert len(ours) == 2
        assert _gone(ours, 5)
    assert _javas(own) == []


@POSIX
@pytest.mark.slow
def test_up_ends_a_server_that_a_killed_service_left_behind(own: dict[str, str]) -> None:
    with _killed(own, heir=False) as java:
        assert java.is_running()
    with _up(own) as (_running, told):
        assert not java.is_running()
        assert _ask(told, '{ knowledge(project: "p", key: "kept") { key } }') == {"knowledge": {"key": "kept"}}
        assert len(_javas(own)) == 1
    assert _javas(own) == []


@POSIX
@pytest.mark.slow
def test_down_ends_a_server_that_a_killed_service_left_behind(own: dict[str, str]) -> None:
    with _killed(own, heir=False) as java:
        down = _run(own, "down")
        assert down.returncode == 1
        assert f"its Neo4j was, and is stopped (process {java.pid})" in down.stderr
        assert _javas(own) == []


@pytest.mark.slow
def test_a_second_command_waits_for_the_server_of_the_first(own: dict[str, str]) -> None:
    first = subprocess.Popen([WHENCE, "import", str(SAMPLE), "--restore"], env=own, stdout=subprocess.PIPE)
    while not (Path(own["WHENCE_HOME"]) / "neo4j" / "run" / "lock").exists():
        time.sleep(0.05)
    second = _run(own, "import", str(SAMPLE), "--restore", "--json")
    first.communicate(timeout=300)
    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    assert json.loads(second.stdout)["repeated"] == 1_487


@POSIX
def test_a_port_that_is_taken_is_said_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        begun = time.monotonic()
        ran = _run(_clean() | {"WHENCE_HOME": str(tmp_path)}, "up", "--port", str(taken.getsockname()[1]))
    assert ran.returncode == 3
    assert "--port" in ran.stderr
    assert "0 takes one" in ran.stderr
    assert time.monotonic() - begun < 60
    assert not (tmp_path / "neo4j").exists()
