"""How much of the evidence for a question search brings among its first items, over a public set of conversations.

python bench/recall.py --data FOLDER [--embedder e5-small-v2-q|none] [--ranker fusion]
    [--conversations 10]

The set is LoCoMo (snap-research/locomo, CC BY-NC 4.0: to measure with, not to be passed on): FOLDER holds its JSON
files, one a conversation. A turn is a node, named by the set's own id; the session that it was said in is the evidence
that it stands on; turns that follow each other are related. Each conversation is a project of its own. A question is
asked as it stands, through the API, and recall@k is the share of its evidence turns among the first k items. No model
judges. The weights of words and meaning were set before anything was measured here; how links count was chosen on the
first five conversations, so that the other five tell whether it holds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import httpx
from connection import database
from platformdirs import user_data_path

from api.access import Everyone
from api.app import create_app
from api.settings import ANONYMOUS, Settings
from graph.embedding.choice import Choice, chosen
from graph.embedding.filler import Filler
from graph.embedding.semantic import Semantic
from graph.exchange import Terms, import_journal
from graph.knowledge import Actor, ActorType
from graph.rankers import DEFAULT, RANKERS
from graph.service import Service
from graph.store import Store

ACTOR = Actor("bench", "recall", ActorType.SYSTEM)
TURN = re.compile(r"D\d+:\d+")
KS = (5, 10)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open domain", 4: "single hop", 5: "adversarial"}
HEADLINE = (1, 2, 3, 4)
SEARCH = "query ($p: String!, $t: String!) { search(project: $p, text: $t, first: 10) { knowledge { key } } }"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the turns that answer it."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """One file: its turns by session, as (id, what was said), and its questions."""

    name: str
    sessions: dict[str, list[tuple[str, str]]]
    questions: list[Question]


def read(file: Path) -> Conversation:
    """A conversation from a file of the set; questions without an evidence turn that is there are left out."""
    data: dict[str, Any] = json.loads(file.read_text("utf-8"))
    said = cast("dict[str, Any]", data.get("conversation", data))
    sessions: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(name for name in said if re.fullmatch(r"session_\d+", name)):
        turns = cast("list[dict[str, str]]", said[name])
        sessions[name] = [(turn["dia_id"], _text(turn)) for turn in turns if _text(turn)]
    known = {key for turns in sessions.values() for key, _ in turns}
    questions = [
        Question(
            asked["question"], frozenset(TURN.findall(" ".join(asked.get("evidence", [])))) & known, asked["category"]
        )
        for asked in cast("list[dict[str, Any]]", data["qa"])
    ]
    return Conversation(f"conversation {file.stem}", sessions, [q for q in questions if q.evidence])


def _text(turn: dict[str, str]) -> str:
    pictured = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn.get('text', '')}{pictured}"


def journal(conversation: Conversation) -> Iterator[bytes]:
    """The turns of a conversation as proposals, in their order."""
    for name, turns in conversation.sessions.items():
        before: str | None = None
        for key, text in turns:
            payload: dict[str, Any] = {
                "proposition": text,
                "evidence": [{"key": name, "type": "session", "source": f"{conversation.name}, {name}"}],
                "relations": [{"relation": "related_to", "to": before}] if before else [],
            }
            yield json.dumps({"transition": "proposed", "key": key, "payload": payload}).encode() + b"\n"
            before = key


class Bench:
    """A service that is asked, and what came of it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.recalls: dict[int, list[dict[int, float]]] = {}
        self.seconds: list[float] = []

    async def ask(self, conversation: Conversation) -> str:
        """Ask all questions of a conversation; tells the recall of those of the headline."""
        headline: list[dict[int, float]] = []
        for question in conversation.questions:
            began = time.perf_counter()
            body = {"query": SEARCH, "variables": {"p": conversation.name, "t": question.text}}
            told = (await self._client.post("/graphql", json=body)).json()
            self.seconds.append(time.perf_counter() - began)
            assert "errors" not in told, told
            found = [item["knowledge"]["key"] for item in told["data"]["search"]]
            recall = {k: len(question.evidence & set(found[:k])) / len(question.evidence) for k in KS}
            self.recalls.setdefault(question.category, []).append(recall)
            if question.category in HEADLINE:
                headline.append(recall)
        return ", ".join(f"recall@{k} {100 * fmean(recall[k] for recall in headline):.1f}" for k in KS)

    def tell(self) -> None:
        """Print the table."""
        print(f"{'':24}{'questions':>10}" + "".join(f"{f'recall@{k}':>12}" for k in KS))
        headline = [recall for category in HEADLINE for recall in self.recalls.get(category, [])]
        for name, found in [(CATEGORIES[c], self.recalls[c]) for c in sorted(self.recalls)] + [("1 to 4", headline)]:
            cells = "".join(f"{100 * fmean(recall[k] for recall in found):>12.1f}" for k in KS)
            print(f"{name:24}{len(found):>10}{cells}")
        seconds = sorted(self.seconds)
        print(f"a question takes {seconds[len(seconds) // 2] * 1e3:.0f} ms, one in twenty more than", end=" ")
        print(f"{seconds[len(seconds) * 19 // 20] * 1e3:.0f} ms")


@asynccontextmanager
async def served(store: Store, embedder: str, ranker: str) -> AsyncGenerator[tuple[httpx.AsyncClient, Filler | None]]:
    """The API on a store, and what fills it with vectors."""
    made = chosen(Choice(embedder), user_data_path("whence", appauthor=False) / "cache")
    filler = None if made is None else Filler(store, made)
    semantic = None if filler is None else Semantic(filler.embedder, filler.representations)
    app = create_app(Service(store), Settings(home=Path.cwd(), ranker=ranker), Everyone(ANONYMOUS), semantic=semantic)
    try:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bench", timeout=60) as client:
            yield client, filler
    finally:
        if made is not None:
            await made.close()


async def main(files: Sequence[Path], embedder: str, ranker: str) -> None:
    """Load, ask, print."""
    with database() as connection:
        async with (
            Store.open(connection.uri, connection.username, connection.password) as store,
            served(store, embedder, ranker) as (client, filler),
        ):
            bench = Bench(client)
            for conversation in map(read, files):
                lines = list(journal(conversation))
                report = await import_journal(store, lambda lines=lines: iter(lines), Terms(conversation.name, ACTOR))
                assert report.refused == 0, report.refusals[:3]
                if filler is not None:
                    await filler.fill(conversation.name)
                told = await bench.ask(conversation)
                questions = len(conversation.questions)
                print(f"{conversation.name}: {len(lines)} turns, {questions} questions, {told}", flush=True)
            bench.tell()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--data", type=Path, required=True)
    arguments.add_argument("--embedder", default="e5-small-v2-q")
    arguments.add_argument("--ranker", default=DEFAULT, choices=RANKERS)
    arguments.add_argument("--conversations", type=int, default=10)
    given = arguments.parse_args()
    asyncio.run(main(sorted(given.data.glob("*.json"))[: given.conversations], given.embedder, given.ranker))
