"""What a server is tuned for: one to work with, and a lean one to test against."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import psutil

MIB = 1024 * 1024
CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))

# Neo4j reaches into these packages of the JDK and does not start without.
OPENED = ("java.base/java.nio", "java.base/java.io", "java.base/sun.nio.ch", "java.base/java.util.concurrent")

# Both servers answer on the loopback only, phone nobody, load no plug-in, read no file and call no address from a
# query, and wait for a lock as long as a write may take, where the default is for ever. A transaction that is still
# there after two minutes is ended: a backstop, since every call of ours brings its own, shorter deadline. A plan is
# kept for ten minutes: the default makes it again every ten seconds while a young store grows, and ours are as good on
# the first day, as tests see to (test_cypher_explain.py). Pieces of an index of vectors are merged ten at a time: each
# look-up goes through every piece, and fifty of them, the default, made it twice as dear. Two more internal settings
# save ten seconds of quiet at each stop; the blocklist is the one that Neo4j itself recommends for Community.
SHARED = (
    ("server.default_listen_address", "127.0.0.1"),
    ("server.https.enabled", "false"),
    ("dbms.usage_report.enabled", "false"),
    ("client.allow_telemetry", "false"),
    ("db.logs.query.enabled", "OFF"),
    ("db.lock.acquisition.timeout", "30s"),
    ("db.transaction.timeout", "120s"),
    ("dbms.cypher.min_replan_interval", "10m"),
    ("dbms.security.procedures.allowlist", ""),
    ("dbms.security.allow_csv_import_from_file_urls", "false"),
    ("internal.dbms.index.vector.standard_merge_factor", "10"),
    ("internal.dbms.cypher_ip_blocklist", "0.0.0.0/0,::/0"),
    ("internal.dbms.bolt.netty_server_shutdown_quiet_period", "0"),
    ("internal.server.bolt.thread_pool_shutdown_wait_time", "0s"),
)


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a server listens on 127.0.0.1; `http` is None for one without Browser."""

    bolt: int
    http: int | None


@dataclass(frozen=True, slots=True)
class Profile:
    """How a server is started.

    A server that runs out of memory ends at once, for its owner to restart it: half of one would go on and answer
    nothing. To keep it from that, transactions are refused memory in time.

    Attributes:
        name: For logs and the state file.
        heap_mib: The most heap it may take.
        transaction_mib: How much of it one transaction may take; all of them together may take twice as much.
        page_cache_mib: Memory for the store's pages, beside the heap.
        flags: Other flags for the JVM.
        settings: Settings of Neo4j, on top of the shared ones.
        auth: Whether a password is asked for.
        browser: Whether it serves Neo4j Browser over HTTP.
        durable: Whether its store is worth an orderly stop; one that is not is killed.
        archive: Whether it may make a class archive in the background; one that is there is used by all.
        start_seconds_max: How long until it must have answered a query.
    """

    name: str
    heap_mib: int
    transaction_mib: int
    page_cache_mib: int
    flags: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    auth: bool
    browser: bool
    durable: bool
    archive: bool
    start_seconds_max: float

    def java_options(self, jars: tuple[Path, ...]) -> list[str]:
        """What belongs between `java` and the name of the class to run."""
        return [
            f"-Xmx{self.heap_mib}m",
            "-XX:+ExitOnOutOfMemoryError",
            *self.flags,
            *(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED),
            "-Dfile.encoding=UTF-8",
            "-cp",
            os.pathsep.join(map(str, jars)),  # one by one and sorted: a class archive holds for one order only
        ]

    def conf(self, ports: Ports) -> str:
        """The text of neo4j.conf."""
        listening = [
            ("server.bolt.listen_address", f"127.0.0.1:{ports.bolt}"),
            ("server.bolt.advertised_address", f"127.0.0.1:{ports.bolt}"),
            ("server.http.enabled", str(ports.http is not None).lower()),
        ]
        if ports.http is not None:
            listening += [
                ("server.http.listen_address", f"127.0.0.1:{ports.http}"),
                ("server.http.advertised_address", f"127.0.0.1:{ports.http}"),
                ("server.http_enabled_modules", "BROWSER"),
                ("dbms.security.http_access_control_allow_origin", f"http://127.0.0.1:{ports.http}"),
            ]
        own = [
            ("server.memory.pagecache.size", f"{self.page_cache_mib}M"),
            ("db.memory.transaction.max", f"{self.transaction_mib}M"),
            ("dbms.memory.transaction.total.max", f"{2 * self.transaction_mib}M"),
            ("dbms.security.auth_enabled", str(self.auth).lower()),
        ]
        lines = (f"{name}={value}" for name, value in (*SHARED, *listening, *own, *self.settings))
        return "# Written by Whence at every start; changes made here are lost.\n" + "\n".join(lines) + "\n"


def memory_bytes() -> int:
    """The memory that this machine, or the container around this process, has in all."""
    limits = [psutil.virtual_memory().total]
    for file in CGROUP_LIMITS:
        try:
            limits.append(int(file.read_text("ascii")))
        except (OSError, ValueError):  # no such version of cgroups, or "max"
            continue
    return min(limits)


def serving(memory: int) -> Profile:
    """A server for work, sized for a machine with so many bytes of memory.

    A quarter of the memory is heap (512 MiB to 4 GiB) and an eighth is page cache (64 MiB to 2 GiB), so that half is
    left to the API and to the rest of the machine. Log files are made at full size, since that came back from a full
    disk every time and making them piece by piece did not; 64 MiB each keeps a young store small. The compiler inlines
    less than by default: it takes half of the CPU, which is most of what a young server uses, sooner has what it makes
    warm, and what it makes is a few parts in a hundred slower at most (bench/README.md).
    """
    heap = max(512, min(4096, memory // 4 // MIB))
    return Profile(
        name="serve",
        heap_mib=heap,
        transaction_mib=heap // 4,
        page_cache_mib=max(64, min(2048, memory // 8 // MIB)),
        flags=("-XX:+UseG1GC", "-Xms256m", "-XX:FreqInlineSize=100", "-XX:InlineSmallCode=1200"),
        settings=(
            ("db.store.files.preallocate", "true"),
            ("db.tx_log.preallocate", "true"),
            ("db.tx_log.rotation.size", "64M"),
        ),
        auth=True,
        browser=True,
        durable=True,
        archive=True,
        start_seconds_max=180.0,  # measured 48 s on a machine busy with other work; a full disk hangs it for ever
    )


SERVE = serving(memory_bytes())

TEST = Profile(
    name="test",
    heap_mib=256,
    transaction_mib=96,
    page_cache_mib=32,
    flags=("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms64m", "-Xss512k"),
    settings=(
        ("db.tx_log.rotation.size", "16M"),
        ("db.store.files.preallocate", "false"),
        ("server.bolt.thread_pool_min_size", "1"),
    ),
    auth=False,
    browser=False,
    durable=False,
    archive=False,
    start_seconds_max=180.0,
)
