"""The public audit of GraphQL over HTTP, as its package for Node has it, against the service as it runs."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import wipe
from served import served

from graph.embedded import Connection
from graph.store import Store

AUDIT = Path(__file__).with_name("http_audit")
RULES = 61
FETCH_SECONDS_MAX = 120
AUDIT_SECONDS_MAX = 120
NODE, NPM = shutil.which("node"), shutil.which("npm")

if NODE is None or NPM is None:
    pytest.skip("there is no Node on this machine", allow_module_level=True)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit with its packages, which are those of the lock or none."""
    assert NPM is not None
    folder = tmp_path_factory.mktemp("audit") / "program"
    shutil.copytree(AUDIT, folder)
    command = [NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    fetched = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX, check=False
    )
    if fetched.returncode and "EINTEGRITY" not in fetched.stderr:
        pytest.skip("its packages cannot be had from here")
    assert fetched.returncode == 0, fetched.stderr
    return folder / "audit.js"


def test_every_rule_of_graphql_over_http_is_kept(
    neo4j: Connection, open_store: Store, loop: asyncio.Runner, tmp_path: Path, audit: Path
) -> None:
    assert NODE is not None
    loop.run(wipe(open_store))
    with served(neo4j, tmp_path / "home") as service:
        command = [NODE, str(audit), f"{service.url}/graphql", service.bearer["authorization"].split()[1]]
        told = subprocess.run(command, capture_output=True, text=True, timeout=AUDIT_SECONDS_MAX, check=False)
    assert told.returncode == 0, told.stderr
    rules = json.loads(told.stdout)
    assert [(rule["name"], rule["reason"]) for rule in rules if rule["status"] != "ok"] == []
    assert len({rule["id"] for rule in rules}) == RULES
