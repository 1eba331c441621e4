"""Graphs to measure on, as proposals that name what they rest on; the same seed gives the same graph."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, LiteralString

from graph.commands import read_command
from graph.errors import KnowledgeError
from graph.journal import GENESIS_HASH, Event, canonical, sealed
from graph.knowledge import Actor, ActorType, State, Transition, instant_text
from graph.service import Service
from graph.store import Store
from graph.words import scope

ACTOR = Actor("bench", "graphs", ActorType.HUMAN)
BATCH = 1_000  # proposals a transaction, as many as an import takes
ROOTS = 200  # nodes that rest on nothing, from which a heavy-tailed graph grows

Dependencies = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Hub:
    """A node and how many nodes rest on it, directly and in all."""

    at: int
    direct: int
    dependents: int


def heavy_tailed(nodes: int, seed: int = 4) -> list[list[int]]:
    """What each node rests on: one to three earlier ones, seven in ten drawn by how much rests on them already."""
    draw = random.Random(seed)
    drawn = list(range(ROOTS))
    found: list[list[int]] = [[] for _ in range(ROOTS)]
    for at in range(ROOTS, nodes):
        wanted = 0 if draw.random() < 0.03 else draw.choice((1, 1, 2, 2, 2, 3))
        targets: set[int] = set()
        while len(targets) < wanted:
            targets.add(drawn[draw.randrange(len(drawn))] if draw.random() < 0.7 else draw.randrange(at))
        found.append(sorted(targets))
        drawn += [*found[-1], at]
    return found


def hubs(dependencies: Dependencies, most: int = 40) -> list[Hub]:
    """The nodes on which most rests directly, with all that rests on them, the largest first."""
    dependents: list[list[int]] = [[] for _ in dependencies]
    for at, targets in enumerate(dependencies):
        for target in targets:
            dependents[target].append(at)
    tried = sorted(range(len(dependents)), key=lambda at: -len(dependents[at]))[:most]
    found = [Hub(at, len(dependents[at]), _reached(at, dependents)) for at in tried]
    return sorted(found, key=lambda hub: -hub.dependents)


def _reached(start: int, dependents: Dependencies) -> int:
    seen, waiting = {start}, deque([start])
    while waiting:
        for at in dependents[waiting.popleft()]:
            if at not in seen:
                seen.add(at)
                waiting.append(at)
    return len(seen) - 1


def ladder(layers: int) -> list[list[int]]:
    """Layers of three nodes, each resting on all three of the layer before: 3 to the power of the layers chains."""
    return [[] if at < 3 else [at // 3 * 3 - 3 + place for place in range(3)] for at in range(3 * layers)]


def key(at: int) -> str:
    """The key of a node of a graph."""
    return f"k-{at:08d}"


def proposals(dependencies: Dependencies) -> Iterator[dict[str, Any]]:
    """A journal line for each node, which proposes it, its evidence and what it rests on."""
    for at, targets in enumerate(dependencies):
        payload: dict[str, Any] = {
            "proposition": f"Claim {at}: as measured as measured as measured as measured as measured as measured",
            "evidence": [{"key": f"e-{at}", "type": "log", "source": f"https://example.org/{at}"}],
        }
        if targets:
            names = ("depends_on", "derived_from")
            payload["relations"] = [{"relation": names[target % 2], "to": key(target)} for target in targets]
        yield {"event_id": f"p{at}", "transition": "proposed", "key": key(at), "payload": payload}


async def write(service: Service, project: str, lines: Iterator[dict[str, Any]]) -> None:
    """Take lines through the service, a thousand a transaction; raises the first refusal."""
    while batch := list(islice(lines, BATCH)):
        commands = [read_command(line, actor=ACTOR, project=project) for line in batch]
        for answer in await service.store.append(commands, datetime.now(UTC), seconds=120):
            if isinstance(answer, KnowledgeError):
                raise answer


_FILL: tuple[LiteralString, ...] = (
    """
    UNWIND $rows AS row
    WITH row, datetime($now) AS now
    CREATE (n:Knowledge:Proposed:Claim {
      project: $project, scope: $scope, key: row.key, generation: 1, proposition: row.proposition, kind: 'claim',
      state: 'proposed', valid_from: now, created_at: now, created_seq: row.seq, updated_at: now,
      updated_seq: row.seq, uses: 0, helpful: 0, harmful: 0, unsupported: 0, forgotten: false, risk_seq: 0
    })
    CREATE (n)<-[:ABOUT]-(:Event {
      project: $project, seq: row.seq, event_id: row.event_id, transition: 'proposed', key: row.key, generation: 1,
      actor_issuer: $issuer, actor_subject: $subject, actor_type: 'human', time: now, recorded_at: now,
      payload: row.payload, state_after: 'proposed', verifies: false, newly_at_risk: 0, caused_by: [],
      prev_hash: row.prev_hash, hash: row.hash
    })
    FOREACH (e IN row.evidence |
      CREATE (n)-[:EVIDENCED_BY {seq: row.seq}]->(:Evidence {
        project: $project, key: e.key, type: e.type, source: e.source, timestamp: now
      })
    )
    """,
    """
    UNWIND $rows AS row
    UNWIND row.relations AS relation
    MATCH (a:Knowledge {project: $project, key: row.key, generation: 1})
    MATCH (b:Knowledge {project: $project, key: relation.to, generation: 1})
    CREATE (a)-[r:$(toUpper(relation.relation))]->(b)
    SET r.turns = [row.seq], r.times = [datetime($now)], r.event_ids = [row.event_id], r.since = datetime($now)
    """,
    """
    MERGE (p:Project {name: $project})
    SET p.seq = $rows[-1].seq, p.hash = $rows[-1].hash, p.recorded_at = datetime($now)
    """,
)


async def fill(store: Store, project: str, lines: Iterator[dict[str, Any]]) -> None:
    """Write into an empty project what taking proposals would, in a tenth of the time."""
    now = datetime.now(UTC)
    shared = {
        "project": project,
        "scope": scope(project),
        "issuer": ACTOR.issuer,
        "subject": ACTOR.subject,
        "now": instant_text(now),
    }
    rows = _rows(project, lines, now)
    while batch := list(islice(rows, BATCH)):
        for text in _FILL:
            await store.driver.execute_query(text, shared | {"rows": batch}, database_=store.database)


def _rows(project: str, lines: Iterator[dict[str, Any]], now: datetime) -> Iterator[dict[str, Any]]:
    """What is written for each proposal, with the hash that ties its event to the one before."""
    last = GENESIS_HASH
    for seq, line in enumerate(lines, start=1):
        said = line["payload"]
        evidence = [record | {"timestamp": instant_text(now)} for record in said["evidence"]]
        payload = said | {"kind": "claim", "valid_from": instant_text(now), "evidence": evidence}
        event = sealed(
            Event(
                project, seq, line["event_id"], Transition.PROPOSED, line["key"], 1, ACTOR, now, now,
                reason=None, caused_by=(), execution=None, payload=payload, state_after=State.PROPOSED, prev_hash=last,
            )
        )  # fmt: skip
        last, tied = event.hash, {"prev_hash": event.prev_hash, "hash": event.hash}
        yield line | said | tied | {"seq": seq, "payload": canonical(payload)}
