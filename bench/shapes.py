"""The four questions, as each server is asked them, and what an answer comes to whoever gave it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from dataset import Subjects

BODIES = 2_000  # requests that a load goes through before it comes round
EVIDENCE = "evidence { key type source hash }"
Json = dict[str, Any]
Variables = dict[str, str]


@dataclass(frozen=True, slots=True)
class Shape:
    """One question.

    Attributes:
        name: As on the command line, and the route of the bare driver.
        title: For people.
        whence: Our GraphQL.
        peer: The peer's.
        peer_ratio_min: How many times the peer's requests per second Whence is to reach.
        flat: What our answer, and that of the bare driver, comes to: a map that does not show which server made it.
        flat_peer: The same of the peer's.
    """

    name: str
    title: str
    whence: str
    peer: str
    peer_ratio_min: float
    flat: Callable[[Json], Json]
    flat_peer: Callable[[Json], Json]


def _plain(value: Any) -> Any:
    """Lists in one order, and names of states, kinds and relations as they are stored."""
    if isinstance(value, dict):
        fields = cast("Mapping[str, Any]", value)
        return {
            name: inner.lower() if name in ("state", "kind", "relation") else _plain(inner)
            for name, inner in fields.items()
        }
    if isinstance(value, list):
        return sorted(
            (_plain(each) for each in cast("list[Any]", value)), key=lambda each: json.dumps(each, sort_keys=True)
        )
    return value


def _risk(node: Json) -> Json:
    """The peer's node: at risk when the position of a retirement is stored."""
    return {
        ("atRisk" if name == "riskSeq" else name): (value is not None if name == "riskSeq" else value)
        for name, value in node.items()
    }


def _one(data: Json) -> Json:
    return _plain(data["knowledge"])


def _one_of_peer(data: Json) -> Json:
    return _plain(data["knowledge"][0])


def _hop_of_peer(data: Json) -> Json:
    node = _risk(data["knowledge"][0])
    ends = [("depends_on", node.pop("dependsOn")), ("derived_from", node.pop("derivedFrom"))]
    relations = [{"relation": relation, "to": _risk(end)} for relation, found in ends for end in found]
    return _plain({**node, "relations": relations})


def _walk(data: Json) -> Json:
    edges = [
        {"from": e["from"]["key"], "relation": e["relation"], "to": e["to"]["key"]} for e in data["provenance"]["edges"]
    ]
    return _plain({"nodes": data["provenance"]["nodes"], "edges": edges})


def _walk_of_peer(data: Json) -> Json:
    return _plain(data["walk"])


def _list(data: Json) -> Json:
    return _plain({"nodes": [edge["node"] for edge in data["knowledgeList"]["edges"]]})


def _list_of_peer(data: Json) -> Json:
    return _plain({"nodes": [_risk(node) for node in data["knowledge"]]})


_KEYED = "$project: String!, $key: String!"
_NAMED = "project: $project, key: $key"
_PEER_NAMED = "where: {project: {eq: $project}, key: {eq: $key}, generation: {eq: 1}}"
_END = "key proposition kind state"

SHAPES = (
    Shape(
        "Q1",
        "point read",
        whence=f"query Point({_KEYED}) {{ knowledge({_NAMED}) {{ key proposition state }} }}",
        peer=f"query Point({_KEYED}) {{ knowledge: knowledges({_PEER_NAMED}) {{ key proposition state }} }}",
        peer_ratio_min=3.0,
        flat=_one,
        flat_peer=_one_of_peer,
    ),
    Shape(
        "Q2",
        "node with one hop",
        whence=f"""query Hop({_KEYED}) {{ knowledge({_NAMED}) {{
            key generation proposition kind state atRisk uses {EVIDENCE}
            relations(direction: UPSTREAM, types: [DEPENDS_ON, DERIVED_FROM]) {{ relation to {{ {_END} atRisk }} }}
        }} }}""",
        peer=f"""query Hop({_KEYED}) {{ knowledge: knowledges({_PEER_NAMED}) {{
            key generation proposition kind state riskSeq uses {EVIDENCE}
            dependsOn {{ {_END} riskSeq }} derivedFrom {{ {_END} riskSeq }}
        }} }}""",
        peer_ratio_min=4.0,
        flat=_one,
        flat_peer=_hop_of_peer,
    ),
    Shape(
        "Q3",
        "walk of 50 to 200 nodes",
        whence=f"""query Walk({_KEYED}) {{
            provenance({_NAMED}, relations: [DEPENDS_ON, DERIVED_FROM], depth: 6) {{
                nodes {{ {_END} atRisk {EVIDENCE} }}
                edges {{ from {{ key }} relation to {{ key }} }}
                truncated
            }}
        }}""",
        peer=f"""query Walk({_KEYED}) {{ walk({_NAMED}) {{
            nodes {{ {_END} atRisk {EVIDENCE} }}
            edges {{ from relation to }}
        }} }}""",
        peer_ratio_min=2.8,
        flat=_walk,
        flat_peer=_walk_of_peer,
    ),
    Shape(
        "Q4",
        "list of 100 with evidence",
        whence=f"""query List($project: String!) {{
            knowledgeList(project: $project, filter: {{states: [CONFIRMED]}}, first: 100) {{
                edges {{ node {{ {_END} atRisk {EVIDENCE} }} }}
            }}
        }}""",
        peer=f"""query List($project: String!) {{ knowledge: knowledges(
            where: {{
                project: {{eq: $project}}, state: {{eq: "confirmed"}}, key: {{startsWith: ""}}, generation: {{gte: 1}}
            }}
            sort: [{{project: ASC}}, {{state: ASC}}, {{key: ASC}}, {{generation: ASC}}], limit: 100
        ) {{ {_END} riskSeq {EVIDENCE} }} }}""",
        peer_ratio_min=3.5,
        flat=_list,
        flat_peer=_list_of_peer,
    ),
)


def bodies(shape: Shape, server: str, subjects: Subjects) -> list[str]:
    """Requests for a load, the same questions for every server; the bare driver is sent the variables alone."""
    draw = random.Random(shape.name)
    asked = [_variables(shape, draw, subjects) for _ in range(BODIES)]
    if server == "bare":
        return [json.dumps(variables) for variables in asked]
    query = shape.peer if server == "peer" else shape.whence
    return [json.dumps({"query": query, "variables": variables}) for variables in asked]


def _variables(shape: Shape, draw: random.Random, subjects: Subjects) -> Variables:
    if shape.name == "Q4":
        return {"project": draw.choice(subjects.projects)}
    project, key = draw.choice(subjects.walks if shape.name == "Q3" else subjects.points)
    return {"project": project, "key": key}


def flat(shape: Shape, server: str, data: Json) -> Json:
    """What a server's answer comes to."""
    return (shape.flat_peer if server == "peer" else shape.flat)(data)
