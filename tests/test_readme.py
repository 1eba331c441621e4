"""What the README shows is what the service says."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.access import Admission
from api.app import create_app
from api.limits import SEARCHES_MAX
from api.owner_token import OWNER
from api.settings import ANONYMOUS, Settings
from graph import errors, knowledge
from graph.access_tokens import AccessTokens, Grant
from graph.concept_folder import FolderTerms, dangling, export_folder, import_folder
from graph.context import BUDGET_MAX
from graph.exchange import Terms, import_journal
from graph.ingestion.pipeline import FACTS_MAX, TEXT_CHARS_MAX
from graph.reading import folder_provider, git_provider, insight, linking
from graph.retrieval import WANTED_MAX
from graph.scope import EVERY, Role
from graph.service import DEPTH_MAX, FIRST_MAX, NODES_MAX, Service

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
EXAMPLES = re.findall(r"```graphql\n(.*?)```\n\n```json\n(.*?)```", README, re.DOTALL)
SAMPLE = ROOT / "api" / "sample" / "peps.jsonl"


async def answers(service: Service, questions: list[str]) -> list[Any]:
    """What `/graphql` says to the service's owner, one question after the other."""
    tokens = AccessTokens(service.store)
    _, token = await tokens.create(Grant(OWNER, Role.ADMIN, [EVERY]))
    transport = httpx.ASGITransport(create_app(service, Settings.from_environment(), Admission(tokens)))
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(transport=transport, base_url="http://whence", headers=headers) as client:
        return [(await client.post("/graphql", json={"query": question})).json() for question in questions]


def test_the_worked_example_gives_the_answers_that_it_shows(service: Service, loop: asyncio.Runner) -> None:
    lines = SAMPLE.read_bytes().splitlines()
    report = loop.run(import_journal(service.store, lambda: lines, Terms("peps", ANONYMOUS, restore=True)))
    assert (report.taken, report.refused) == (1487, 0)
    said = loop.run(answers(service, [question for question, _ in EXAMPLES]))
    assert len(EXAMPLES) >= 6
    for (question, shown), answer in zip(EXAMPLES, said, strict=True):
        assert answer["data"] == json.loads(shown), question


def test_the_journal_file_that_it_shows_is_taken(service: Service, loop: asyncio.Runner) -> None:
    (shown,) = re.findall(r"```json lines\n(.*?)```", README, re.DOTALL)
    lines = [line.encode() for line in shown.splitlines()]
    report = loop.run(import_journal(service.store, lambda: lines, Terms("mine", ANONYMOUS)))
    assert (report.taken, report.refusals, report.newly_at_risk) == (4, [], 1)


def test_the_concept_file_that_it_shows_is_read(tmp_path: Path, service: Service, loop: asyncio.Runner) -> None:
    (shown,) = re.findall(r"```markdown\n(.*?)```", README, re.DOTALL)
    (tmp_path / "return-window.md").write_text(shown, "utf-8")
    report = loop.run(import_folder(service.store, tmp_path, FolderTerms("mine", ANONYMOUS)))
    assert (report.verdicts, report.faults, report.warnings) == ({"new": 1}, [], [])
    assert loop.run(dangling(service, "mine")) == [{"key": "return-window", "targets": ["receipt-rule"]}]
    assert loop.run(export_folder(service, "mine", tmp_path / "out")) == 1
    assert (tmp_path / "out" / "return-window.md").read_text("utf-8") == shown


def test_the_two_commands_stand_in_the_readme() -> None:
    assert re.search(r"^pip install uv && uv run whence up --demo\b", README, re.MULTILINE)
    assert re.search(r"^pip install uv && uv run pytest\b", README, re.MULTILINE)


@pytest.mark.parametrize(
    "bound",
    [
        knowledge.PROPOSITION_CHARS_MAX,
        knowledge.KEY_CHARS_MAX,
        knowledge.REASON_CHARS_MAX,
        knowledge.EVIDENCE_MAX,
        knowledge.RELATIONS_MAX,
        FIRST_MAX,
        DEPTH_MAX,
        NODES_MAX,
        WANTED_MAX,
        BUDGET_MAX,
        SEARCHES_MAX,
        TEXT_CHARS_MAX,
        FACTS_MAX,
        folder_provider.FILES_MAX,
        git_provider.COMMITS_MAX,
        insight.TRACE_CHARS_MAX,
        insight.GOAL_CHARS_MAX,
        linking.LINKS_MAX,
    ],
)
def test_the_limits_that_it_names_are_the_ones_in_force(bound: int) -> None:
    section = README.split("## Limits")[1].split("##")[0]
    assert f"{bound:,}" in section


def test_it_names_every_error_code() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.code for kind in kinds if issubclass(kind, errors.KnowledgeError)}
    assert codes == set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.MULTILINE))
