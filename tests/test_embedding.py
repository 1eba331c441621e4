"""Models: profiles, the ids of texts, the process in which a model runs, and an endpoint that behaves well or badly."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import cache
from hypothesis import given, settings
from hypothesis import strategies as st
from quiet import cpu_seconds

from api.settings import Settings
from graph.embedded.maven import Repository
from graph.embedding.choice import Choice, chosen, required
from graph.embedding.embedder import Vector
from graph.embedding.endpoint import EndpointEmbedder, endpoint_profile
from graph.embedding.local import LocalEmbedder
from graph.embedding.packaged import packaged_files, packaged_jar
from graph.embedding.profile import E5_SMALL, ModelFiles, Pooling, read_profile
from graph.embedding.wordpiece import WordPiece
from graph.errors import UnavailableError, ValidationError

SECONDS = 60.0  # a first start on a busy machine


@pytest.fixture(scope="session")
def files() -> ModelFiles:
    """The packaged model; tests that need it are skipped where it cannot be had."""
    try:
        return packaged_files(cache())
    except UnavailableError as error:
        pytest.skip(f"the model cannot be fetched: {error}")


@contextmanager
def local(files: ModelFiles | None, run: asyncio.Runner, **rest: Any) -> Generator[LocalEmbedder]:
    embedder = LocalEmbedder(E5_SMALL, files, cache(), **rest)
    try:
        yield embedder
    finally:
        run.run(embedder.close())


@pytest.fixture
def embedder(files: ModelFiles, loop: asyncio.Runner) -> Iterator[LocalEmbedder]:
    with local(files, loop) as made:
        yield made


def cosine(left: Vector, right: Vector) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


# Texts as ids. The ids are those that the model was trained with.

HARD: list[tuple[str, list[int]]] = json.loads(Path(__file__).with_name("wordpiece.json").read_text("utf-8"))


@pytest.mark.parametrize(("text", "ids"), HARD, ids=[ascii(text)[:30] for text, _ in HARD])
def test_hard_texts_have_the_ids_of_the_models_training(text: str, ids: list[int], files: ModelFiles) -> None:
    assert WordPiece.read(files.vocabulary).ids(text, 10_000) == ids


def test_a_text_cannot_speak_the_models_own_words(files: ModelFiles) -> None:
    pieces = WordPiece.read(files.vocabulary)
    start, *inner, end = pieces.ids("[CLS] a [SEP] b [MASK] [PAD]", 100)
    assert {start, end, 0, 103}.isdisjoint(inner)


def test_a_long_text_is_cut_at_the_models_length_and_costs_no_more(files: ModelFiles) -> None:
    pieces = WordPiece.read(files.vocabulary)
    long = "word " * 1_000_000
    found = list[Sequence[int]]()
    assert cpu_seconds(lambda: found.append(pieces.ids(long, 512)), 0.5) < 0.5
    assert (len(found[0]), found[0][0], found[0][-1]) == (512, 101, 102)


@given(st.text(max_size=300), st.integers(3, 40))
@settings(max_examples=200, deadline=None)
def test_any_text_has_ids_within_the_length(text: str, tokens_max: int) -> None:
    pieces = WordPiece({piece: at for at, piece in enumerate(["[UNK]", "[CLS]", "[SEP]", *"abc", *("##a", "##b")])})
    found = pieces.ids(text, tokens_max)
    assert found[0] == 1
    assert found[-1] == 2
    assert len(found) <= tokens_max
    assert found == pieces.ids(text, tokens_max)


def test_a_vocabulary_may_be_a_list_of_pieces(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##able\n", "utf-8")
    assert WordPiece.read(path).ids("unable able", 10) == [2, 4, 5, 1, 3]


# Profiles.


def test_models_that_make_other_vectors_have_other_names() -> None:
    changed = {
        "sha256": "0" * 64, "dimensions": 8, "pooling": Pooling.CLS, "query_prefix": "", "passage_prefix": "",
        "tokens_max": 8,
    }  # fmt: skip
    names = {replace(E5_SMALL, **{field: value}).model for field, value in changed.items()} | {E5_SMALL.model}
    assert len(names) == len(changed) + 1
    assert replace(E5_SMALL, lexical_weight=0.9, batch_size=4).model == E5_SMALL.model


GOOD = {"name": '"mine"', "model": '"m.onnx"', "vocabulary": '"v.txt"', "sha256": f'"{"a" * 64}"', "dimensions": "384"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "1"), ("name", None), ("sha256", '"abc"'), ("dimensions", "0"), ("dimensions", "true"),
        ("dimensions", "5000"), ("pooling", '"max"'), ("pooling", '"none"'), ("lexical_weight", "1.5"),
        ("batch_size", "0"), ("tokens_max", '"many"'), ("colour", '"red"'), ("model", None),
    ],
)  # fmt: skip
def test_a_profile_that_is_wrong_is_refused_by_its_field(field: str, value: str | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    lines = {name: text for name, text in (GOOD | {field: value}).items() if text is not None}
    path.write_text("".join(f"{name} = {text}\n" for name, text in lines.items()), "utf-8")
    with pytest.raises(ValidationError) as refused:
        read_profile(path)
    assert refused.value.field == f"WHENCE_EMBEDDER.{field}"
    assert refused.value.allowed


@pytest.mark.parametrize("text", [None, "name = ", "\x00", "name = 'a'\nname = 'b'"])
def test_a_profile_that_is_none_is_refused(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(ValidationError) as refused:
        chosen(Choice(str(path)), tmp_path)
    assert refused.value.field == "WHENCE_EMBEDDER"


def test_a_word_that_names_no_embedder_is_answered_with_all_that_do(tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as refused:
        chosen(Choice("openai"), tmp_path)
    assert all(each in str(refused.value.allowed) for each in (E5_SMALL.name, "none", "TOML", "https://"))


def test_a_setting_names_an_embedder(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("".join(f"{name} = {text}\n" for name, text in GOOD.items()), "utf-8")
    variables = {"WHENCE_EMBEDDER_MODEL": "m", "WHENCE_EMBEDDER_DIMENSIONS": "8", "WHENCE_EMBEDDER_KEY": "sesame"}

    def named(value: str) -> Any:
        return chosen(Settings.from_environment({"WHENCE_EMBEDDER": value} | variables).embedder, tmp_path)

    assert named("none") is None
    assert isinstance(named(""), LocalEmbedder)
    assert named("").profile is E5_SMALL
    assert named(str(path)).profile.name == "mine"
    assert isinstance(named("http://127.0.0.1:1/v1"), EndpointEmbedder)
    assert "sesame" not in repr(Settings.from_environment(variables))


@pytest.mark.parametrize(
    ("choice", "field"),
    [
        (Choice("https://host/v1"), "WHENCE_EMBEDDER_MODEL"),
        (Choice("https://host/v1", "m"), "WHENCE_EMBEDDER_DIMENSIONS"),
        (Choice("https://host/v1", "m", 5_000), "WHENCE_EMBEDDER_DIMENSIONS"),
        (Choice("e5-large"), "WHENCE_EMBEDDER"),
        (Choice("none"), "WHENCE_EMBEDDER"),
    ],
)
def test_a_setting_that_names_nothing_is_refused_by_its_variable(choice: Choice, field: str, tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as refused:
        required(choice, tmp_path)
    assert refused.value.field == field
    assert refused.value.allowed


# The packaged model, and the process in which it runs.


def test_the_package_is_fetched_once_and_unpacked(files: ModelFiles, tmp_path: Path) -> None:
    shop = Repository(places=(cache() / "jars",))
    found = packaged_files(tmp_path, repository=shop)
    assert hashlib.sha256(found.model.read_bytes()).hexdigest() == E5_SMALL.sha256
    assert packaged_files(tmp_path, repository=Repository("http://127.0.0.1:1")) == found


def test_a_package_that_cannot_be_had_is_told_with_what_else_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.embedded.download.ATTEMPTS", 1)
    with pytest.raises(UnavailableError) as told:
        packaged_files(tmp_path, repository=Repository("http://127.0.0.1:1"))
    assert packaged_jar().path.rpartition("/")[2] in told.value.message
    assert "the embedder" in told.value.message
    assert "WHENCE_EMBEDDER=none" in (told.value.allowed or "")


@pytest.mark.parametrize("at", [0, 1])
def test_a_file_that_is_not_the_one_of_the_profile_is_refused_by_name(
    at: int, files: ModelFiles, tmp_path: Path, loop: asyncio.Runner
) -> None:
    own = tmp_path / "models" / E5_SMALL.sha256[:16]
    own.mkdir(parents=True)
    for place, source in enumerate((files.model, files.vocabulary)):
        content = source.read_bytes()
        (own / source.name).write_bytes(content[:-1] + b" " if place == at else content)
    wrong = (files.model, files.vocabulary)[at].name
    embedder = LocalEmbedder(E5_SMALL, None, tmp_path)
    with pytest.raises(UnavailableError) as refused:
        loop.run(embedder.query("a", SECONDS))
    loop.run(embedder.close())
    assert wrong in refused.value.message
    assert "sha256" in refused.value.message


def test_the_same_text_has_the_same_vector_whatever_stands_beside_it(
    embedder: LocalEmbedder, loop: asyncio.Runner
) -> None:
    text = "Anna drinks green tea each morning."
    alone = loop.run(embedder.passages([text], SECONDS))[0]
    among = loop.run(embedder.passages(["short", text, "much longer than any of the others " * 30], SECONDS))[1]
    assert alone == among
    assert len(alone) == 384
    assert math.isclose(math.hypot(*alone), 1, abs_tol=1e-6)
    assert loop.run(embedder.passages([], SECONDS)) == []


def test_a_question_lies_nearer_to_its_answer_than_to_another_text(
    embedder: LocalEmbedder, loop: asyncio.Runner
) -> None:
    asked = loop.run(embedder.query("What does Anna have for breakfast?", SECONDS))
    texts = ["Anna drinks green tea each morning.", "The parser rejects tabs in indented blocks."]
    near, far = loop.run(embedder.passages(texts, SECONDS))
    assert cosine(asked, near) > cosine(asked, far) + 0.03


def test_texts_that_hold_nothing_readable_have_a_vector_too(embedder: LocalEmbedder, loop: asyncio.Runner) -> None:
    texts = ["", " \x00\x07 ", "𓀀𓀁", "a" * 100_000, "\ud7ff\ufffd", "漢" * 5_000]
    assert all(math.isclose(math.hypot(*each), 1, abs_tol=1e-5) for each in loop.run(embedder.passages(texts, SECONDS)))


def test_a_process_that_is_killed_is_begun_again_and_answers_the_same(
    embedder: LocalEmbedder, loop: asyncio.Runner
) -> None:
    before = loop.run(embedder.query("a", SECONDS))
    first = embedder.process
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert loop.run(embedder.query("a", SECONDS)) == before
    assert embedder.process not in (None, first)


def test_a_process_that_is_killed_under_work_loses_none_of_it(embedder: LocalEmbedder, loop: asyncio.Runner) -> None:
    texts = [f"claim number {number} of many" for number in range(60)]

    async def play() -> list[Vector]:
        await embedder.query("begun", SECONDS)
        work = asyncio.create_task(embedder.passages(texts, SECONDS))
        await asyncio.sleep(0.1)
        assert embedder.process is not None
        os.kill(embedder.process, signal.SIGKILL)
        return await work

    assert loop.run(play()) == loop.run(embedder.passages(texts, SECONDS))


def test_a_question_goes_before_the_passages_that_wait(embedder: LocalEmbedder, loop: asyncio.Runner) -> None:
    async def play() -> bool:
        await embedder.query("begun", SECONDS)
        work = asyncio.create_task(embedder.passages(["a text of some length " * 60] * 40, SECONDS))
        await asyncio.sleep(0.05)
        await embedder.query("first", SECONDS)
        waiting = not work.done()
        await work
        return waiting

    assert loop.run(play())


def test_who_cannot_wait_is_told_in_time_and_the_next_one_is_answered(
    embedder: LocalEmbedder, loop: asyncio.Runner
) -> None:
    async def play() -> float:
        began = asyncio.get_running_loop().time()
        with pytest.raises(UnavailableError):
            await embedder.query("not begun yet, and that takes longer", 0.02)
        return asyncio.get_running_loop().time() - began

    assert loop.run(play()) < 1
    assert len(loop.run(embedder.query("a", SECONDS))) == 384


def test_an_idle_process_ends_and_is_begun_when_it_is_needed(files: ModelFiles, loop: asyncio.Runner) -> None:
    with local(files, loop, idle_seconds=0.1) as embedder:
        loop.run(embedder.query("a", SECONDS))
        first = embedder.process
        assert first is not None
        loop.run(_until(lambda: not psutil.pid_exists(first)))
        assert len(loop.run(embedder.query("a", SECONDS))) == 384


def test_closing_ends_the_process_and_tells_whoever_waits(files: ModelFiles, loop: asyncio.Runner) -> None:
    async def play(embedder: LocalEmbedder) -> None:
        await embedder.query("a", SECONDS)
        process = embedder.process
        assert process is not None
        waiting = asyncio.create_task(embedder.passages(["a text of some length " * 60] * 40, SECONDS))
        await asyncio.sleep(0.05)
        await embedder.close()
        with pytest.raises(UnavailableError):
            await waiting
        assert not psutil.pid_exists(process)

    with local(files, loop) as embedder:
        loop.run(play(embedder))


def test_a_model_that_is_not_to_be_had_is_told_again_at_once(tmp_path: Path, loop: asyncio.Runner) -> None:
    embedder = LocalEmbedder(E5_SMALL, ModelFiles(tmp_path / "none.onnx", tmp_path / "none.txt"), tmp_path)

    def told() -> None:
        with pytest.raises(UnavailableError, match=r"none\.onnx"):
            loop.run(embedder.query("a", SECONDS))

    told()
    assert cpu_seconds(told, 0.1, time.monotonic) < 0.1
    loop.run(embedder.close())


@pytest.mark.skipif(sys.platform == "win32", reason="who starts it is killed by a signal")
def test_the_process_ends_with_whoever_began_it(files: ModelFiles, tmp_path: Path) -> None:
    code = f"""
import asyncio
from pathlib import Path
from graph.embedding.local import LocalEmbedder
from graph.embedding.profile import E5_SMALL, ModelFiles
async def main():
    embedder = LocalEmbedder(E5_SMALL, ModelFiles(Path({str(files.model)!r}), Path({str(files.vocabulary)!r})), Path())
    await embedder.query("a", {SECONDS})
    print(embedder.process, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=tmp_path) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        child.wait(10)


async def _until(done: Callable[[], bool], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not done():  # noqa: ASYNC110  another process does it
            await asyncio.sleep(0.02)


# An endpoint.

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


class Endpoint(ThreadingHTTPServer):
    """A service with OpenAI's form, whose answers a test makes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer: Answer = well
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.released = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A caller who hangs up in the middle is what some tests are about."""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server = self.server
        assert isinstance(server, Endpoint)
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.asked.append(asked | {"path": self.path})
        server.keys.append(self.headers["authorization"])
        status, body = server.answer(asked)
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, 0.0, 0.0]


def items(asked: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"index": at, "embedding": vector_of(text)} for at, text in enumerate(asked["input"])]


def said(data: object) -> tuple[int, bytes]:
    return 200, json.dumps({"object": "list", "data": data, "model": "m"}).encode()


def well(asked: dict[str, Any]) -> tuple[int, bytes]:
    return said(items(asked))


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@contextmanager
def asking(endpoint: Endpoint, loop: asyncio.Runner, key: str = "") -> Generator[EndpointEmbedder]:
    made = EndpointEmbedder(endpoint_profile("m", 4), endpoint.base, key)
    try:
        yield made
    finally:
        loop.run(made.close())


def unit(text: str) -> Vector:
    found = vector_of(text)
    return [each / math.hypot(*found) for each in found]


def test_an_endpoint_is_asked_in_openais_form_and_in_bounded_batches(endpoint: Endpoint, loop: asyncio.Runner) -> None:
    texts = ["x" * length for length in range(1, 71)]
    with asking(endpoint, loop, "sesame") as embedder:
        assert loop.run(embedder.passages(texts, SECONDS)) == [unit(text) for text in texts]
    assert [len(asked["input"]) for asked in endpoint.asked] == [32, 32, 6]
    assert {asked["path"] for asked in endpoint.asked} == {"/v1/embeddings"}
    assert {(asked["model"], asked["encoding_format"]) for asked in endpoint.asked} == {("m", "float")}
    assert set(endpoint.keys) == {"Bearer sesame"}


def test_vectors_are_put_in_the_order_of_the_texts(endpoint: Endpoint, loop: asyncio.Runner) -> None:
    endpoint.answer = lambda asked: said(items(asked)[::-1])
    with asking(endpoint, loop) as embedder:
        assert loop.run(embedder.passages(["a", "bb", "ccc"], SECONDS)) == [unit("a"), unit("bb"), unit("ccc")]


BAD: dict[str, Answer] = {
    "another dimension": lambda _: said([{"index": 0, "embedding": [1.0, 2.0]}]),
    "too few": lambda _: said([]),
    "too many": lambda asked: said([*items(asked), {"index": 1, "embedding": [1, 0, 0, 0]}]),
    "one twice": lambda asked: said(items(asked) * 2),
    "no index": lambda _: said([{"embedding": [1, 0, 0, 0]}]),
    "no numbers": lambda _: said([{"index": 0, "embedding": ["one", 0, 0, 0]}]),
    "a text": lambda _: said([{"index": 0, "embedding": "AAAA"}]),
    "no direction": lambda _: said([{"index": 0, "embedding": [0, 0, 0, 0]}]),
    "not a number": lambda _: (200, b'{"data": [{"index": 0, "embedding": [NaN, 0, 0, 0]}]}'),
    "infinite": lambda _: (200, b'{"data": [{"index": 0, "embedding": [1e999, 0, 0, 0]}]}'),
    "no list": lambda _: said(7),
    "another form": lambda _: (200, b"[]"),
    "no JSON": lambda _: (200, b"<html>"),
    "nested": lambda _: (200, b"[" * 200_000),
    "a fault": lambda _: (500, b"{}"),
    "no key": lambda _: (401, b'{"error": "sesame is wrong"}'),
    "too often": lambda _: (429, b"{}"),
    "elsewhere": lambda _: (307, b""),
    "too large": lambda _: (200, b" " * 17_000_000),
}


@pytest.mark.parametrize("how", BAD)
def test_an_endpoint_that_answers_badly_cannot_be_had(how: str, endpoint: Endpoint, loop: asyncio.Runner) -> None:
    endpoint.answer = BAD[how]
    with asking(endpoint, loop, "sesame") as embedder:
        with pytest.raises(UnavailableError) as told:
            loop.run(embedder.query("a", SECONDS))
        assert "sesame" not in str(told.value.facts())
        assert told.value.allowed
        endpoint.answer = well
        assert loop.run(embedder.query("a", SECONDS)) == unit("a")


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_text_that_an_endpoint_refuses_is_told_apart(status: int, endpoint: Endpoint, loop: asyncio.Runner) -> None:
    endpoint.answer = lambda _: (status, b"{}")
    with asking(endpoint, loop) as embedder, pytest.raises(ValidationError):
        loop.run(embedder.query("a", SECONDS))


def test_an_endpoint_that_is_slow_is_given_up_at_the_deadline(endpoint: Endpoint, loop: asyncio.Runner) -> None:
    def late(asked: dict[str, Any]) -> tuple[int, bytes]:
        endpoint.released.wait(20)
        return well(asked)

    endpoint.answer = late
    began = time.monotonic()
    with asking(endpoint, loop) as embedder, pytest.raises(UnavailableError, match="in time"):
        loop.run(embedder.query("a", 0.3))
    assert 0.25 < time.monotonic() - began < 3


def test_an_endpoint_that_is_not_there_cannot_be_had(loop: asyncio.Runner) -> None:
    embedder = EndpointEmbedder(endpoint_profile("m", 4), "http://127.0.0.1:1/v1")
    with pytest.raises(UnavailableError, match="ConnectError"):
        loop.run(embedder.query("a", SECONDS))
    loop.run(embedder.close())


# A model of one's own.


def test_a_model_is_taken_from_a_profile_of_ones_own(
    files: ModelFiles, tmp_path: Path, loop: asyncio.Runner, embedder: LocalEmbedder
) -> None:
    path = tmp_path / "mine.toml"
    own = {
        "name": "mine", "model": str(files.model), "vocabulary": str(files.vocabulary), "sha256": E5_SMALL.sha256,
        "passage_prefix": "passage: ", "pooling": "mean",
    }  # fmt: skip
    path.write_text("dimensions = 384\n" + "".join(f"{name} = {text!r}\n" for name, text in own.items()), "utf-8")
    mine = chosen(Choice(str(path)), tmp_path)
    assert mine is not None
    assert loop.run(mine.passages(["a"], SECONDS)) == loop.run(embedder.passages(["a"], SECONDS))
    loop.run(mine.close())


@pytest.mark.parametrize(("dimensions", "content"), [(383, None), (384, b"no model")])
def test_a_model_that_is_not_as_its_profile_says_is_told(
    dimensions: int, content: bytes | None, files: ModelFiles, tmp_path: Path, loop: asyncio.Runner
) -> None:
    model = files.model
    if content is not None:
        model = tmp_path / "own.onnx"
        model.write_bytes(content)
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest()
    profile = replace(E5_SMALL, name="own", dimensions=dimensions, sha256=sha256)
    embedder = LocalEmbedder(profile, replace(files, model=model), tmp_path)
    with pytest.raises(UnavailableError, match="own"):
        loop.run(embedder.query("a", SECONDS))
    loop.run(embedder.close())


def test_the_lock_is_of_the_package_that_holds_the_model(files: ModelFiles) -> None:
    jar = cache() / "jars" / packaged_jar().path
    if not jar.is_file():
        pytest.skip("the model was unpacked by another cache")
    with zipfile.ZipFile(jar) as package:
        assert hashlib.sha256(package.read(files.model.name)).hexdigest() == E5_SMALL.sha256
