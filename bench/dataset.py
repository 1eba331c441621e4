"""The graph that reads are measured on: 20 projects of 5,000 nodes, made through the service's own import.

Each node is proposed on one piece of evidence, rests on none to three older nodes (a heavy tail: most carry one or two,
a few close to a hundred), and is then confirmed, challenged, invalidated or given no more than a second piece of
evidence. A seed gives the same graph everywhere.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PROJECTS = 20
NODES = 5_000  # a project
EVENTS = 2  # a node
SEED = 7
HOPS = 6
WALK_NODES = range(50, 201)
SAMPLE = 2_000  # subjects of each kind that a load goes through
FOUNDATIONS = 10  # a project's first nodes, which rest on nothing
RESTS_ON = (1, 1, 2, 2, 2, 3)  # how many nodes one rests on, drawn
POPULAR = 0.7  # how often a node rests on one that others rest on already
UNFOUNDED = 0.03
RETIRED_DEPENDENTS_MAX = 2  # with retired foundations nearly every node would be at risk
PROPOSITION_CHARS = 120
WORDS = (
    "cache",
    "shard",
    "tenant",
    "queue",
    "policy",
    "schema",
    "region",
    "quota",
    "holds",
    "exceeds",
    "bounds",
    "every",
)

Rests = list[list[tuple[int, str]]]
"""For each node, the older nodes that it rests on and by which relation."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """What a load asks about.

    Attributes:
        points: (project, key) of any nodes.
        walks: (project, key) of nodes with 50 to 200 others within six hops upstream.
        projects: Names.
    """

    points: list[tuple[str, str]]
    walks: list[tuple[str, str]]
    projects: list[str]

    @classmethod
    def read(cls, file: Path) -> Subjects:
        """As ``write`` left them."""
        told = json.loads(file.read_bytes())
        points, walks = ([(project, key) for project, key in told[name]] for name in ("points", "walks"))
        return cls(points, walks, told["projects"])

    def write(self, file: Path) -> None:
        """Keep them beside the graph."""
        file.write_text(json.dumps(asdict(self)), "utf-8")


def graphs(projects: int = PROJECTS, nodes: int = NODES) -> dict[str, Rests]:
    """By project, what its nodes rest on."""
    return {f"project-{at:02d}": _graph(random.Random(f"{SEED}/{at}"), nodes) for at in range(projects)}


def _graph(draw: random.Random, nodes: int) -> Rests:
    rests: Rests = [[] for _ in range(nodes)]
    bag = list(range(min(FOUNDATIONS, nodes)))  # a node stands in it once, and once more for each that rests on it
    for node in range(len(bag), nodes):
        chosen: set[int] = set()
        wanted = 0 if draw.random() < UNFOUNDED else draw.choice(RESTS_ON)
        while len(chosen) < wanted:
            chosen.add(draw.choice(bag) if draw.random() < POPULAR else draw.randrange(node))
        for target in sorted(chosen):
            rests[node].append((target, "depends_on" if draw.random() < 0.6 else "derived_from"))
        bag += [*sorted(chosen), node]
    return rests


def subjects(graphs: dict[str, Rests]) -> Subjects:
    """Nodes to ask about."""
    draw = random.Random(f"{SEED}/subjects")
    every = [(project, node) for project, rests in graphs.items() for node in range(len(rests))]
    draw.shuffle(every)
    far = ((project, node) for project, node in every if _upstream(graphs[project], node) in WALK_NODES)
    return Subjects(
        points=[(project, key(node)) for project, node in every[:SAMPLE]],
        walks=[(project, key(node)) for (project, node), _ in zip(far, range(SAMPLE), strict=False)],
        projects=list(graphs),
    )


def _upstream(rests: Rests, node: int) -> int:
    seen, front = {node}, {node}
    for _ in range(HOPS):
        front = {target for each in front for target, _ in rests[each]} - seen
        seen |= front
    return len(seen) - 1


def key(node: int) -> str:
    """The key of a project's node."""
    return f"claim-{node:05d}"


def journal(graphs: dict[str, Rests]) -> Iterator[bytes]:
    """The events of every project, one project after the other, as lines of a journal file.

    Retirements come last: what is confirmed after one would have its marks looked for again, node by node.
    """
    for project, rests in graphs.items():
        draw = random.Random(f"{SEED}/{project}")
        for node, targets in enumerate(rests):
            payload = {
                "proposition": _proposition(draw, node),
                "relations": [{"relation": relation, "to": key(target)} for target, relation in targets],
                "evidence": [_evidence(draw, node, 0)],
            }
            yield _line(project, node, "proposed", payload)
        followed = _followed(draw, rests)
        for node in sorted(range(len(rests)), key=lambda each: (followed[each] == "invalidated", draw.random())):
            yield _line(project, node, followed[node], {"evidence": [_evidence(draw, node, 1)]})


def _followed(draw: random.Random, rests: Rests) -> Sequence[str]:
    """What becomes of each node after its proposal."""
    dependents = [0] * len(rests)
    for targets in rests:
        for target, _ in targets:
            dependents[target] += 1
    fates = draw.choices(("confirmed", "challenged", "evidenced", "invalidated"), (70, 15, 10, 5), k=len(rests))
    return [
        "confirmed" if fate == "invalidated" and count > RETIRED_DEPENDENTS_MAX else fate
        for fate, count in zip(fates, dependents, strict=True)
    ]


def _proposition(draw: random.Random, node: int) -> str:
    text = f"Claim {node}:"
    while len(text) < PROPOSITION_CHARS:
        text += " " + draw.choice(WORDS)
    return text[:PROPOSITION_CHARS].rstrip()


def _evidence(draw: random.Random, node: int, count: int) -> dict[str, str]:
    return {
        "key": f"evidence-{node:05d}-{count}",
        "type": draw.choice(("log", "document", "test")),
        "source": f"https://example.org/{node}/{count}",
        "timestamp": "2026-01-01T00:00:00Z",
        "hash": f"sha256:{draw.getrandbits(256):064x}",
    }


def _line(project: str, node: int, transition: str, payload: Mapping[str, object]) -> bytes:
    line = {"event_id": f"{transition}-{node}", "project": project, "transition": transition, "key": key(node)}
    reason = {"reason": "measured otherwise"} if transition in ("challenged", "invalidated") else {}
    return json.dumps({**line, **reason, "payload": payload}).encode()
