"""The embedded Neo4j: what it fetches, what it starts, and what it does when something dies."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import LiteralString
from urllib.request import urlopen

import psutil
import pytest
from conftest import cache
from neo4j import GraphDatabase
from neo4j.exceptions import AuthError

from graph.embedded import SERVE, TEST, Connection, EmbeddedNeo4j, Incident, Profile, holder, running
from graph.embedded import child as children
from graph.embedded.child import Heir
from graph.embedded.jars import Jar, fetch, locked
from graph.embedded.java import Java, ask, find_java
from graph.embedded.maven import Repository, read_repository
from graph.embedded.profile import serving
from graph.embedded.proof import accepts
from graph.embedded.secret import read_password
from graph.errors import UnavailableError

KEPT = replace(TEST, name="kept", auth=True, browser=True, durable=True)  # lean, but all that a server for work has
unix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")


# The lock and the fetch -------------------------------------------------------------------------------------------


def test_the_lock_has_the_server_and_browser_and_none_of_what_was_dropped() -> None:
    names = {jar.coordinate[1] for jar in locked()}
    assert {"neo4j-server", "neo4j-kernel", "neo4j-browser"} <= names
    assert not [name for name in names if name.startswith(("parquet-", "scala-reflect", "snappy-java"))]
    assert len(locked()) == len({jar.path for jar in locked()}) == 205
    assert all(len(jar.sha256) == 64 and jar.size > 0 for jar in locked())
    assert list(locked()) == sorted(locked(), key=lambda jar: jar.path)


def test_a_coordinate_is_read_from_a_path_with_its_classifier() -> None:
    jar = Jar("", 1, "io/netty/epoll/4.1.129.Final/epoll-4.1.129.Final-linux-x86_64.jar")
    assert jar.coordinate == ("io.netty", "epoll", "4.1.129.Final", "linux-x86_64")


@dataclass
class Shop:
    """A Maven repository on the loopback, with what was asked of it and a way to misbehave."""

    url: str = ""
    goods: dict[str, bytes] = field(default_factory=dict[str, bytes])
    asked: list[str] = field(default_factory=list[str])
    torn: int = 0  # so many answers break off half way
    wait: float = 0.0  # before each answer, in seconds

    def stock(self, count: int) -> tuple[Jar, ...]:
        jars: list[Jar] = []
        for number in range(count):
            content = os.urandom(50_000)
            path = f"org/example/thing-{number}/1.0/thing-{number}-1.0.jar"
            self.goods[path] = content
            jars.append(Jar(hashlib.sha256(content).hexdigest(), len(content), path))
        return tuple(jars)

    @property
    def repository(self) -> Repository:
        return Repository(self.url, environment={"NO_PROXY": "127.0.0.1"})


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = Shop()

    class Counter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            content = shop.goods.get(path)
            if content is None:
                self.send_error(404)
                return
            shop.asked.append(path)
            time.sleep(shop.wait)
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if shop.torn > 0:
                shop.torn -= 1
                content = content[: len(content) // 2]
                self.close_connection = True
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counter)
    shop.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield shop
    server.shutdown()
    server.server_close()
    thread.join()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # jgo leaves an answer open that it did not want
        gc.collect()


def test_a_fetch_brings_every_jar_once_and_a_warm_one_asks_nothing(shop: Shop, tmp_path: Path) -> None:
    jars = shop.stock(20)
    paths = fetch(jars, tmp_path, repository=shop.repository)
    assert [path.read_bytes() for path in paths] == [shop.goods[jar.path] for jar in jars]
    assert sorted(shop.asked) == sorted(jar.path for jar in jars)
    assert fetch(jars, tmp_path, repository=shop.repository) == paths
    assert len(shop.asked) == 20


@pytest.mark.parametrize("harm", [b"\0" * 50_000, b"short", b""])
def test_a_jar_that_was_harmed_in_the_cache_is_fetched_again(shop: Shop, tmp_path: Path, harm: bytes) -> None:
    jars = shop.stock(3)
    paths = fetch(jars, tmp_path, repository=shop.repository)
    paths[1].write_bytes(harm)
    fetch(jars, tmp_path, repository=shop.repository)
    assert paths[1].read_bytes() == shop.goods[jars[1].path]
    assert shop.asked.count(jars[1].path) == 2
    assert len(shop.asked) == 4


def test_a_transfer_that_broke_off_is_tried_again(shop: Shop, tmp_path: Path) -> None:
    jars = shop.stock(4)
    shop.torn = 2
    paths = fetch(jars, tmp_path, repository=shop.repository)
    assert [path.read_bytes() for path in paths] == [shop.goods[jar.path] for jar in jars]


@unix
def test_a_fetch_that_was_killed_goes_on_where_it_stopped(shop: Shop, tmp_path: Path) -> None:
    jars = shop.stock(40)
    shop.wait = 0.2
    program = f"""
        from pathlib import Path
        from graph.embedded.jars import Jar, fetch
        from graph.embedded.maven import Repository
        fetch({jars!r}, Path({str(tmp_path)!r}), repository=Repository({shop.url!r}))
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], env=os.environ | {"NO_PROXY": "*"})
    until(lambda: len(list(tmp_path.rglob("thing*.jar"))) >= 12)
    child.kill()
    child.wait()
    whole = [jar for jar in jars if (tmp_path / jar.path).exists()]
    assert 0 < len(whole) < len(jars)
    (tmp_path / ".incoming" / jars[-1].path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / ".incoming" / jars[-1].path).write_bytes(b"torn")
    shop.wait, before = 0.0, len(shop.asked)
    paths = fetch(jars, tmp_path, repository=shop.repository)
    assert [path.read_bytes() for path in paths] == [shop.goods[jar.path] for jar in jars]
    assert set(shop.asked[before:]).isdisjoint(jar.path for jar in whole)


def test_a_jar_of_the_local_repository_is_taken_if_it_is_right(shop: Shop, tmp_path: Path) -> None:
    right, wrong = shop.stock(2)
    for jar, content in ((right, shop.goods[right.path]), (wrong, b"\0" * wrong.size)):
        (tmp_path / "m2" / jar.path).parent.mkdir(parents=True)
        (tmp_path / "m2" / jar.path).write_bytes(content)
    repository = replace(shop.repository, places=(tmp_path / "m2",))
    paths = fetch((right, wrong), tmp_path / "jars", repository=repository)
    assert shop.asked == [wrong.path]
    assert [path.read_bytes() for path in paths] == [shop.goods[right.path], shop.goods[wrong.path]]


def test_other_content_than_the_lock_says_is_refused_by_name(shop: Shop, tmp_path: Path) -> None:
    (jar,) = shop.stock(1)
    shop.goods[jar.path] = b"something else"
    with pytest.raises(UnavailableError, match=r"thing-0-1\.0\.jar.*sha256"):
        fetch((jar,), tmp_path, repository=shop.repository)
    assert not (tmp_path / jar.path).exists()


def test_a_repository_that_cannot_be_reached_is_told_without_its_password(shop: Shop, tmp_path: Path) -> None:
    (jar,) = shop.stock(1)
    closed = Repository("http://user:tell-nobody@127.0.0.1:1", environment={"NO_PROXY": "127.0.0.1"})
    with pytest.raises(UnavailableError, match=r"thing-0-1\.0\.jar.*cannot be reached") as caught:
        fetch((jar,), tmp_path, repository=closed)
    assert "tell-nobody" not in str(caught.value.facts())
    assert "settings.xml" in (caught.value.allowed or "")
    shop.goods.clear()
    named = Repository(shop.url.replace("//", "//user:tell-nobody@"), environment={"NO_PROXY": "127.0.0.1"})
    with pytest.raises(UnavailableError, match="did not give it") as caught:
        fetch((jar,), tmp_path, repository=named)
    assert "tell-nobody" not in str(caught.value.facts())


# What the user set for Maven, pip and uv ----------------------------------------------------------------------------


SETTINGS = """<settings xmlns="http://maven.example/SETTINGS/1.2.0">
  <localRepository>${user.home}/elsewhere</localRepository>
  <servers><server><id>inner</id><username>ann</username><password>${env.SECRET}</password></server></servers>
  <mirrors>
    <mirror><id>blocker</id><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url></mirror>
    <mirror><id>not</id><mirrorOf>*,!central</mirrorOf><url>https://not.example/</url></mirror>
    <mirror><id>inner</id><mirrorOf>MIRRORED</mirrorOf><url>https://inner.example/maven/</url></mirror>
    <mirror><id>late</id><mirrorOf>*</mirrorOf><url>https://late.example/</url></mirror>
  </mirrors>
  <proxies><proxy><active>true</active><host>proxy.example</host><port>3128</port>
    <nonProxyHosts>*.inner.example|localhost</nonProxyHosts></proxy></proxies>
</settings>"""


@pytest.mark.parametrize("pattern", ["*", "central", "external:*", "other,central"])
def test_the_mirror_in_the_settings_is_honoured(tmp_path: Path, pattern: str) -> None:
    (tmp_path / ".m2" / "repository").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".m2" / "settings.xml").write_text(SETTINGS.replace("MIRRORED", pattern))
    found = read_repository({"SECRET": "a/b@c"}, tmp_path)
    assert found.url == "https://ann:a%2Fb%40c@inner.example/maven"
    assert found.places == (tmp_path / "elsewhere", tmp_path / ".m2" / "repository")
    assert found.environment == {
        "HTTPS_PROXY": "http://proxy.example:3128",
        "HTTP_PROXY": "http://proxy.example:3128",
        "NO_PROXY": ".inner.example,localhost",
    }
    assert "a%2Fb" not in repr(found)


def test_without_settings_nothing_is_named_and_broken_ones_count_as_none(tmp_path: Path) -> None:
    assert read_repository({}, tmp_path) == Repository()
    (tmp_path / ".m2").mkdir()
    (tmp_path / ".m2" / "settings.xml").write_text("<settings><mirrors>")
    assert read_repository({}, tmp_path) == Repository()


def test_variables_of_maven_and_its_wrapper_are_honoured(tmp_path: Path) -> None:
    (tmp_path / "own.xml").write_text(SETTINGS.replace("MIRRORED", "nothing"))
    arguments = {"MAVEN_ARGS": f"-B -s {tmp_path / 'own.xml'}", "M2_REPO": str(tmp_path)}
    assert read_repository(arguments, tmp_path).url == "https://late.example"
    assert read_repository(arguments, tmp_path).places == (tmp_path,)
    assert read_repository({"MVNW_REPOURL": "https://wrapper.example/"}, tmp_path).url == "https://wrapper.example"
    folder = read_repository({"MVNW_REPOURL": (tmp_path / "offline").as_uri()}, tmp_path)
    assert (folder.url, folder.places) == (None, (tmp_path / "offline",))


def test_certificates_that_uv_or_pip_trust_are_trusted(tmp_path: Path) -> None:
    assert read_repository({"SSL_CERT_FILE": "/uv.pem"}, tmp_path).environment == {"REQUESTS_CA_BUNDLE": "/uv.pem"}
    assert read_repository({"PIP_CERT": "/pip.pem"}, tmp_path).environment == {"REQUESTS_CA_BUNDLE": "/pip.pem"}
    both = {"SSL_CERT_FILE": "/uv.pem", "REQUESTS_CA_BUNDLE": "/own.pem"}
    assert read_repository(both, tmp_path).environment == {}


# Java and the profiles ----------------------------------------------------------------------------------------------


SAYS_21 = """[ "$1" = -version ] && echo 'openjdk version "21.0.1"' >&2 && exit 0\n"""


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


@unix
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('openjdk version "21.0.8" 2025-07-15', 21),
        ('java version "17" 2021-09-14', 17),
        ('openjdk version "1.8.0_422"', "is Java 8"),
        ('openjdk version "25.0.2"', "is Java 25"),
        ("nothing of use", "does not tell its version (exit code 0)"),
    ],
)
def test_a_java_is_asked_and_only_17_and_21_fit(tmp_path: Path, said: str, answer: int | str) -> None:
    program = script(tmp_path / "java", f"echo 'Picked up JAVA_TOOL_OPTIONS: -Dx' >&2\necho '{said}' >&2\n")
    found = ask(program)
    assert (found.major if isinstance(found, Java) else found) == answer


@unix
def test_the_java_that_is_named_wins_and_is_never_replaced_by_another(tmp_path: Path) -> None:
    good = script(tmp_path / "java", "echo 'openjdk version \"21.0.1\"' >&2\n")
    assert find_java({"WHENCE_JAVA": str(good)}).program == good
    with pytest.raises(UnavailableError, match=r"WHENCE_JAVA .*does not run"):
        find_java({"WHENCE_JAVA": str(tmp_path / "absent"), "PATH": str(tmp_path)})


def test_without_any_java_on_the_machine_the_one_of_the_package_is_found() -> None:
    assert find_java({"PATH": "", "JAVA_HOME": "/nowhere"}).major == 21


@pytest.mark.parametrize(
    ("gigabytes", "heap", "page_cache"), [(1, 512, 128), (4, 1024, 512), (8, 2048, 1024), (64, 4096, 2048)]
)
def test_a_server_for_work_is_sized_by_the_machine(gigabytes: int, heap: int, page_cache: int) -> None:
    profile = serving(gigabytes * 1024**3)
    assert (profile.heap_mib, profile.page_cache_mib) == (heap, page_cache)
    assert profile.auth
    assert profile.durable


# A start that cannot be ---------------------------------------------------------------------------------------------


@unix
def test_a_server_that_ends_at_once_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = script(tmp_path / "java", f"{SAYS_21}echo out of luck; exit 3\n")
    monkeypatch.setenv("WHENCE_JAVA", str(told))
    with pytest.raises(UnavailableError, match="ended with code 3: out of luck"):
        embedded(tmp_path / "home").start()
    assert holder(tmp_path / "home") is None
    assert running(tmp_path / "home") is None


@unix
def test_a_server_that_stays_silent_is_killed_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"{SAYS_21}echo $$ > {tmp_path}/pid\nexec sleep 60\n"
    monkeypatch.setenv("WHENCE_JAVA", str(script(tmp_path / "java", told)))
    with pytest.raises(UnavailableError, match="silent after 1 s"):
        embedded(tmp_path / "home", replace(TEST, start_seconds_max=1.0)).start()
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_a_setting_that_neo4j_refuses_is_told_from_its_log(tmp_path: Path) -> None:
    wrong = replace(TEST, settings=(("db.tx_log.rotation.size", "plenty"),))
    with pytest.raises(UnavailableError, match="rotation"):
        embedded(tmp_path, wrong).start()


def test_an_almost_full_disk_is_refused_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.embedded.room.start_bytes", lambda total: total)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(UnavailableError, match="MB free"):
        embedded(tmp_path).start()


# A server that runs -------------------------------------------------------------------------------------------------


def embedded(
    home: Path, profile: Profile = TEST, on_incident: Callable[[Incident], None] | None = None
) -> EmbeddedNeo4j:
    return EmbeddedNeo4j(home, profile, cache=cache(), on_incident=on_incident)


def ask_one(connection: Connection, query: LiteralString, **parameters: object) -> object:
    login = (connection.username, connection.password)
    with GraphDatabase.driver(connection.uri, auth=login) as driver:  # pyright: ignore[reportUnknownMemberType]
        records = driver.execute_query(query, parameters, database_=connection.database).records
    return records[0].value() if records else None


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true within {seconds:.0f} s"
        time.sleep(0.05)


@dataclass
class Kept:
    home: Path
    server: EmbeddedNeo4j
    incidents: list[Incident]

    @property
    def connection(self) -> Connection:
        assert self.server.connection is not None
        return self.server.connection


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """One server for the tests below, each of which leaves it running."""
    home = tmp_path_factory.mktemp("kept home")  # with a blank, as on many machines
    incidents: list[Incident] = []
    server = embedded(home, KEPT, incidents.append)
    server.start()
    yield Kept(home, server, incidents)
    server.stop()


def test_a_second_start_on_the_same_home_says_who_holds_it(kept: Kept) -> None:
    with pytest.raises(UnavailableError, match=rf"process {os.getpid()} since 20\d\d-") as caught:
        embedded(kept.home).start()
    assert "WHENCE_HOME" in (caught.value.allowed or "")
    assert kept.server.alive()


def test_another_program_finds_the_server_and_who_holds_it(kept: Kept) -> None:
    assert running(kept.home) == kept.connection
    found = holder(kept.home)
    assert found is not None
    assert found.pid == os.getpid()
    assert running(kept.home / "elsewhere") is None


def test_the_right_password_is_taken_and_wrong_ones_are_refused(kept: Kept) -> None:
    assert ask_one(kept.connection, "RETURN 1") == 1
    for wrong in ("neo4j", "guess", ""):
        with pytest.raises(AuthError):
            ask_one(replace(kept.connection, password=wrong), "RETURN 1")


@unix
def test_what_is_secret_can_be_read_by_its_owner_alone(kept: Kept) -> None:
    folder = kept.home / "neo4j"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("password", "run/server.json", "store.json", "data/dbms/auth.ini"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert kept.connection.password not in " ".join(psutil.Process(kept.connection.pid).cmdline())
    assert kept.connection.password not in repr(kept.connection)
    assert len(kept.connection.password) >= 43  # 32 random bytes


@unix
def test_it_listens_on_the_loopback_only(kept: Kept) -> None:
    sockets = psutil.Process(kept.connection.pid).net_connections("tcp")
    listening = {each.laddr.ip.removeprefix("::ffff:") for each in sockets if each.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_browser_is_served_at_its_address(kept: Kept) -> None:
    assert kept.connection.browser is not None
    with urlopen(kept.connection.browser) as answer:
        assert b"Neo4j Browser" in answer.read()


def test_a_query_can_call_no_address_and_read_no_file(kept: Kept) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.5)
        for url in (f"http://127.0.0.1:{listener.getsockname()[1]}/x.csv", "file:///etc/hostname"):
            with pytest.raises(Exception, match=r"blocked|is false"):
                ask_one(kept.connection, "LOAD CSV FROM $url AS row RETURN row", url=url)
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_server_that_is_killed_comes_back_on_its_port_with_all_that_was_committed(kept: Kept) -> None:
    before = kept.connection
    ask_one(before, "CREATE (:Kept {name: 'before the kill'})")
    kept.incidents.clear()
    os.kill(before.pid or 0, signal.SIGKILL)
    until(lambda: [each.kind for each in kept.incidents] == ["died", "restarted"])
    after = kept.connection
    assert (after.uri, after.password, after.browser) == (before.uri, before.password, before.browser)
    assert after.pid != before.pid
    assert kept.incidents[1].connection == after
    assert ask_one(after, "MATCH (k:Kept) RETURN k.name") == "before the kill"
    assert running(kept.home) == after


def test_a_stop_is_quick_and_a_start_keeps_knowledge_password_and_address(kept: Kept) -> None:
    before = kept.connection
    ask_one(before, "CREATE (:Stopped {name: 'before the stop'})")
    begun = time.monotonic()
    kept.server.stop()
    assert time.monotonic() - begun < 10
    assert not psutil.pid_exists(before.pid or 0)
    assert kept.server.wait(0)
    assert (kept.server.connection, running(kept.home), holder(kept.home)) == (None, None, None)
    assert not accepts(int(before.uri.rpartition(":")[2]))
    after = kept.server.start()
    assert (after.uri, after.password, after.browser) == (before.uri, before.password, before.browser)
    assert ask_one(after, "MATCH (s:Stopped) RETURN s.name") == "before the stop"


# A program that is killed, and a store that was lost ----------------------------------------------------------------


@contextmanager
def owner(home: Path) -> Generator[subprocess.Popen[bytes]]:
    """Another program that holds a server, in a group of its own as a shell would start it."""
    program = f"""
        import time
        from dataclasses import replace
        from pathlib import Path
        from graph.embedded import TEST, EmbeddedNeo4j
        with EmbeddedNeo4j(Path({str(home)!r}), replace(TEST, auth=True, durable=True), cache=Path({str(cache())!r})):
            Path({str(home / "up")!r}).touch()
            time.sleep(600)
    """
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], start_new_session=True)
    try:
        until(lambda: (home / "up").exists() or child.poll() is not None)
        yield child
    finally:
        child.kill()
        child.wait()


@unix
def test_a_server_whose_owner_was_killed_stops_in_order_by_itself(tmp_path: Path) -> None:
    with owner(tmp_path) as child:
        family = psutil.Process(child.pid).children()
        assert len(family) == 2
        child.kill()
        child.wait()
        assert psutil.wait_procs(family, 30)[1] == []
    assert (tmp_path / "neo4j" / "logs" / "neo4j.log").read_text().rstrip().endswith("Stopped.")


@unix
@pytest.mark.slow
def test_a_server_that_an_owner_left_behind_is_stopped_at_the_next_start(tmp_path: Path) -> None:
    with owner(tmp_path) as child:
        held = running(tmp_path)
        assert held is not None
        ask_one(held, "CREATE (:Left {name: 'behind'})")
        left = psutil.Process(held.pid)
        for heir in psutil.Process(child.pid).children():
            if heir != left:
                heir.kill()
        child.kill()
        child.wait()
    assert left.is_running()
    assert running(tmp_path) is None  # nobody watches over it
    with embedded(tmp_path, KEPT) as server:
        assert not left.is_running()
        assert server.connection is not None
        assert ask_one(server.connection, "MATCH (l:Left) RETURN l.name") == "behind"


@unix
def test_a_server_that_does_not_stop_is_killed_by_its_heir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "STOP_SECONDS_MAX", 1.0)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    program = [sys.executable, "-c", deaf]
    for told in (True, False):
        with subprocess.Popen(program, stdout=subprocess.PIPE, start_new_session=True) as server:
            assert server.stdout is not None
            server.stdout.readline()
            heir = Heir(server.pid)
            if told:
                heir.dismiss()
                assert server.poll() is None
                server.kill()
                continue
            assert heir.shell.stdin is not None
            heir.shell.stdin.close()  # as the system does when the owner is killed
            assert server.wait(10) == -signal.SIGKILL
            assert heir.shell.wait(10) == 0


@unix
@pytest.mark.slow
def test_ctrl_c_stops_the_server_in_order(tmp_path: Path) -> None:
    with owner(tmp_path) as child:
        held = running(tmp_path)
        assert held is not None
        os.killpg(child.pid, signal.SIGINT)
        child.wait(30)
    assert not psutil.pid_exists(held.pid or 0)
    assert (tmp_path / "neo4j" / "logs" / "neo4j.log").read_text().rstrip().endswith("Stopped.")
    assert not (tmp_path / "neo4j" / "run" / "server.json").exists()


@unix
@pytest.mark.slow
def test_a_store_or_a_password_that_was_lost_is_told_and_never_replaced_in_silence(tmp_path: Path) -> None:
    with embedded(tmp_path, KEPT):
        pass
    (tmp_path / "neo4j" / "data").rename(tmp_path / "aside")
    with pytest.raises(UnavailableError, match="not the one that was there before"):
        embedded(tmp_path, KEPT).start()
    (tmp_path / "neo4j" / "password").unlink()
    with pytest.raises(UnavailableError, match="password"):
        embedded(tmp_path, KEPT).start()


@unix
def test_a_folder_may_have_any_name_and_then_browser_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL"):
        monkeypatch.setenv(name, "C")  # in which Java takes other letters for none
    home = tmp_path / "José ключ"
    shutil.copytree(cache() / "jars", home / "cache" / "jars", copy_function=linked)
    with EmbeddedNeo4j(home, KEPT) as server:
        assert server.connection is not None
        assert server.connection.browser is None
        assert ask_one(server.connection, "RETURN 1 AS one") == 1


def test_a_folder_that_java_cannot_read_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="Java cannot start") as refused, EmbeddedNeo4j(tmp_path / "📦", TEST):
        pass
    assert refused.value.field == "WHENCE_HOME"


def linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy(source, target)


@pytest.mark.slow
def test_a_server_that_dies_again_and_again_is_brought_back_each_time_a_little_later(tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    with embedded(tmp_path, TEST, lambda incident: told.append((incident.kind, time.monotonic()))) as server:
        for deaths in (1, 2, 3):
            server.restart()
            until(lambda: len(told) == 2 * deaths)  # noqa: B023  asked in this round only
            assert server.alive()
    assert [kind for kind, _ in told] == ["died", "restarted"] * 3
    assert told[5][1] - told[4][1] > 2.0


@pytest.mark.slow
def test_a_server_for_work_starts_with_the_memory_of_this_machine(tmp_path: Path) -> None:
    with embedded(tmp_path, SERVE) as server:
        assert server.connection is not None
        assert read_password(tmp_path / "neo4j") == server.connection.password
        settings = "SHOW SETTINGS YIELD name, value WHERE name = $name RETURN value"
        told = partial(ask_one, server.connection, settings)
        assert told(name="server.memory.pagecache.size") == f"{SERVE.page_cache_mib / 1024:.2f}GiB"
        assert told(name="db.tx_log.preallocate") == "true"
        assert told(name="dbms.usage_report.enabled") == "false"


@unix
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_class_archive_is_made_beside_a_long_run_and_a_broken_one_is_never_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graph.embedded.archive.DELAY_SECONDS", 0.0)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jars").symlink_to(cache() / "jars")
    archives, options = tmp_path / "cache" / "archives", tmp_path / "neo4j" / "conf" / "java.options"
    making = replace(TEST, archive=True)
    with EmbeddedNeo4j(tmp_path, making):
        pass  # too short for an archive, and what was begun is cleared away by the next
    with EmbeddedNeo4j(tmp_path, making):
        until(lambda: len(list(archives.glob("*.jsa"))) == 1, seconds=600)
        until(lambda: {file.suffix for file in archives.iterdir()} == {"", ".jsa", ".made"})
    with EmbeddedNeo4j(tmp_path, making):
        assert "SharedArchiveFile" in options.read_text()
    (archive,) = archives.glob("*.jsa")
    whole = archive.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[: 2**20] + os.urandom(len(whole) - 2**20), b""):
        archive.unlink()
        archive.write_bytes(broken)
        with EmbeddedNeo4j(tmp_path, TEST):
            assert "SharedArchiveFile" not in options.read_text()
        (note,) = archives.glob("*.made")
        note.write_text(f"{archive.stat().st_size} {archive.stat().st_mtime_ns}")
        with EmbeddedNeo4j(tmp_path, TEST):  # and when that went unseen, the JVM copes or the archive goes
            assert "SharedArchiveFile" in options.read_text() or not archive.exists()
