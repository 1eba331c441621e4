"""What the command asks the service for one answer: several questions put together, as maps that can go out as JSON."""

from __future__ import annotations

import json
from collections import deque
from datetime import datetime
from typing import Any

from graph import context, tokens
from graph.audit import known
from graph.errors import NotFoundError
from graph.knowledge import NodeId, State, checked_key, named
from graph.retrieval import Asked, Item, Retrieval
from graph.service import Moment, Service

HISTORY_MAX = 1_000  # newest events in an answer; `whence export journal` has them all
PROJECTS_MAX = 20  # names of projects in a sentence
NEIGHBOURS_MAX = 200  # nodes whose claims stand beside the relations that lead to them

Row = dict[str, Any]


async def require_project(service: Service, project: str) -> None:
    """Return when there is such a project.

    Raises:
        NotFoundError: there is none; names those that there are.
    """
    checked_key(project, "project")
    if await service.head(project) is None:
        known = await service.projects()
        names = ", ".join(known[:PROJECTS_MAX]) + (" …" if len(known) > PROJECTS_MAX else "")
        raise NotFoundError(
            f"there is no project {project!r}",
            field="project",
            allowed=names or "an import first: there is none yet",
        )


async def shown(service: Service, project: str, key: str, generation: int | None, as_of: datetime | None) -> Row:
    """All that is known of one node: itself, evidence, relations, history, cautions, and what rests on it.

    Args:
        service: Where to ask.
        project: Its project.
        key: Its key.
        generation: The newest unless given.
        as_of: The instant of the journal to answer for; the present unless given.

    Returns:
        node, evidence, relations (ended ones too, for the present), neighbours (the nodes that the first of them
        lead to), history (the newest events, oldest first), earlier_events (how many more there are), cautions, and
        for the newest generation in the present impact: the count and the first of the live nodes that its
        retirement puts, or would put, at risk.

    Raises:
        NotFoundError: no such project or no such node (then).
    """
    await require_project(service, project)
    node = await service.knowledge(project, key, generation, as_of)
    if node is None:
        raise NotFoundError(
            f"there is no node {key!r}"
            + ("" if generation is None else f" of generation {generation}")
            + ("" if as_of is None else " at that instant"),
            field="key",
            allowed="a key of this project",
        )
    at = None if as_of is None else await service.position(project, as_of)
    node_id: NodeId = (node["key"], node["generation"])
    relations = (await service.relations(project, [node_id], at=at, include_ended=at is None))[node_id]
    history, count = await _history(service, project, node_id, at)
    present = at is None and (generation is None or await _is_newest(service, project, node_id))
    why = await service.why_at_risk(project, key) if present and node["at_risk"] else []
    return {
        "node": plain_node(node),
        "evidence": [_plain_evidence(each) for each in (await service.evidence(project, [node_id], at))[node_id]],
        "relations": relations,
        "neighbours": await _neighbours(service, project, node_id, relations, at),
        "history": history,
        "earlier_events": count - len(history),
        "cautions": cautions(node, relations, history, why),
        "impact": await _impact(service, project, key) if present else None,
    }


async def _is_newest(service: Service, project: str, node_id: NodeId) -> bool:
    newest = await service.knowledge(project, node_id[0])
    return newest is not None and newest["generation"] == node_id[1]


async def _history(service: Service, project: str, node_id: NodeId, at: Moment | None) -> tuple[list[Row], int]:
    kept: deque[Row] = deque(maxlen=HISTORY_MAX)
    count, after, more = 0, 0, True
    while more:
        page = (await service.events_about(project, [node_id], HISTORY_MAX, after, at))[node_id]
        kept.extend(page.items)
        count += len(page.items)
        after, more = kept[-1]["seq"] if kept else 0, page.has_next
    return list(kept), count


async def _neighbours(
    service: Service, project: str, node_id: NodeId, relations: list[Row], at: Moment | None
) -> list[Row]:
    ends = [(end[0], end[1]) for edge in relations for end in (edge["from"], edge["to"])]
    wanted = list(dict.fromkeys(end for end in ends if end != node_id))[:NEIGHBOURS_MAX]
    found = await service.nodes(project, wanted, at)
    return [plain_node(found[end]) for end in wanted if end in found]


async def _impact(service: Service, project: str, key: str) -> Row:
    found = await service.impact(project, key, first=10)
    return {"count": found["count"], "first": [plain_node(node) for node in found["items"]]}


def cautions(node: Row, relations: list[Row], history: list[Row], why: list[Row]) -> list[Row]:
    """What to bear in mind before a node is used, each with the keys that it is because of and a reason.

    Args:
        node: As the service gives it.
        relations: Its edges, ended ones or not.
        history: Its newest events.
        why: For a node at risk, the chains to what was retired, where they are known.

    Returns:
        Maps of caution (``retired``, ``unconfirmed``, ``disputed``, ``at_risk``, ``stale``, ``forgotten``), because
        (keys) and reason (a text, or None).
    """
    mine = [node["key"], node["generation"]]
    towards = [edge for edge in relations if list(edge["to"]) == mine and edge["until"] is None]
    found: list[Row] = []

    def caution(name: str, because: list[str], reason: str | None = None) -> None:
        found.append({"caution": name, "because": because, "reason": reason})

    def reason_of(*transitions: str) -> str | None:
        return next((e["reason"] for e in reversed(history) if e["transition"] in transitions), None)

    if node["retired"]:
        newer = [named(edge["from"]) for edge in towards if edge["relation"] == "supersedes"]
        why_so = reason_of("corrected", "superseded", "invalidated", "disproved")
        caution("retired", newer if node["state"] != State.INVALIDATED else [], why_so)
    elif node["state"] == State.PROPOSED:
        caution("unconfirmed", [])
    elif node["state"] == State.CHALLENGED:
        against = [named(edge["from"]) for edge in towards if edge["relation"] == "contradicts"]
        caution("disputed", against, reason_of("challenged"))
    if node["at_risk"]:
        caution("at_risk", [named((each["retired"]["key"], each["retired"]["generation"])) for each in why])
    if node["stale"]:
        caution("stale", [], f"not verified since {node['verified_at'] or node['created_at']}")
    if node["forgotten"]:
        caution("forgotten", [])
    return found


async def found(retrieval: Retrieval, question: Asked, first: int) -> Row:
    """What answers a question: items (node, score, tier, via, cautions), best first, what was left out, embedder."""
    answer = await retrieval.search(question, first)
    left_out = _left_out(answer.omitted, answer.omissions)
    return {"items": [_plain_item(item) for item in answer.items], **left_out, "embedder": answer.embedder}


async def block(retrieval: Retrieval, question: Asked, budget: int, form: str) -> Row:
    """A context block: text, tokens, budget, tokenizer, items (each with its tokens), what was left out, at_seq."""
    made = await context.block(retrieval, question, budget, context.Format(form.upper()))
    return {
        "text": made.text,
        "tokens": made.tokens,
        "budget": budget,
        "tokenizer": tokens.TOKENIZER,
        "embedder": made.embedder,
        "items": [_plain_item(item) | {"tokens": size} for item, size in made.items],
        **_left_out(made.omitted, made.omissions),
        "at_seq": made.seq,
    }


def _plain_item(item: Item) -> Row:
    via = None if item.via is None else " ".join(item.via)
    return {
        "node": plain_node(item.node),
        "score": item.score,
        "tier": item.tier,
        "via": via,
        "cautions": list(item.cautions),
    }


def _left_out(count: int, first: list[tuple[str, str]]) -> Row:
    return {"omitted": count, "omissions": [{"key": key, "reason": reason} for key, reason in first]}


async def verified(service: Service, project: str, saved_seq: int | None, saved_hash: str | None) -> Row:
    """Whether a project is whole, and the head to keep for the next time.

    Raises:
        NotFoundError: no such project, and no saved head that says that there was one.
        ValidationError: half a saved head.
    """
    if saved_seq is None and saved_hash is None and not await known(service.store, project):
        await require_project(service, project)
    answer = await service.verify(project, saved_seq, saved_hash)
    last = (await service.events_at(project, [answer["events"]])).get(answer["events"])
    head = None if last is None else {"seq": last["seq"], "hash": last["hash"]}
    return {"project": project, **answer, "head": head}


def plain_node(node: Row, *, evidence: bool = False) -> Row:
    """A node for readers outside: texts that hold JSON become what they mean, positions of our own go.

    Args:
        node: As the service gives it.
        evidence: Whether the node carries the evidence that it stands on.
    """
    ours = ("created_seq", "updated_seq", "retired_seq", "evidence")
    plain = {name: value for name, value in node.items() if name not in ours}
    plain["lineage"] = _parsed(node["lineage"])
    return plain | ({"evidence": [_plain_evidence(each) for each in node["evidence"]]} if evidence else {})


def plain_walk(walk: Row, *, evidence: bool) -> Row:
    """A provenance map for readers outside, as ``plain_node`` makes of each node."""
    return {
        **walk,
        "root": plain_node(walk["root"], evidence=evidence),
        "nodes": [plain_node(node, evidence=evidence) for node in walk["nodes"]],
        "evidence": [_plain_evidence(each) for each in walk["evidence"]],
    }


def _plain_evidence(evidence: Row) -> Row:
    return {**evidence, "metadata": _parsed(evidence["metadata"])}


def _parsed(text: str | None) -> object:
    return None if text is None else json.loads(text)
