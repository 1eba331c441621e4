"""A project of the service as an agent's ``KnowledgeStore``: each operation is a command or a read of the service."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from graph.commands import Command
from graph.concept import described_by
from graph.embedding.profile import Profile
from graph.embedding.representations import LIMIT_MAX, Representations, Wanted
from graph.embedding.semantic import Semantic
from graph.errors import KnowledgeError, LimitError, NotFoundError, ValidationError
from graph.filters import Filter
from graph.fold import ALWAYS
from graph.ingestion.stages import Quality
from graph.knowledge import Actor, Kind, NodeId, Relation, State, checked_key, checked_text
from graph.knowledge_store import Change, HybridQuery, KnowledgeObject, ObjectPage, Representation, Scored
from graph.rankers import Match, Question, hybrid
from graph.retrieval import TEXT_CHARS_MAX, Asked, Retrieval
from graph.rows import Row, id_of
from graph.service import Service
from graph.store import BATCH_SECONDS, Taken
from graph.words import likeness, query, stems, words

OBJECTS_MAX = 1_000  # of one call, which is one transaction
_STATUSES = {
    State.CONFIRMED: "confirmed",
    State.CHALLENGED: "challenged",
    State.SUPERSEDED: "superseded",
    State.INVALIDATED: "invalidated",
}


class ProjectStore:
    """The objects of one project; ``KnowledgeStore`` by its form.

    Args:
        service: Whose project.
        project: Its name.
        actor: Who changes what is changed here.
        semantic: The model by whose meaning ``search`` may find; None for words alone.
    """

    def __init__(self, service: Service, project: str, actor: Actor, semantic: Semantic | None = None) -> None:
        self._service = service
        self._project = checked_key(project, "project")
        self._actor = actor
        self._semantic = semantic
        self._installed: set[str] = set()  # models whose index is there

    async def save(self, *objects: KnowledgeObject) -> list[Taken | KnowledgeError]:
        """Propose objects; what was forgotten under their keys is recalled with them."""
        if len(objects) > OBJECTS_MAX:
            raise LimitError(f"{len(objects)} objects at once", field="objects", allowed=f"at most {OBJECTS_MAX}")
        answers = await self._service.run_many(
            [await self._command("proposed", one.key, _proposal(one)) for one in objects]
        )
        standing = [(each.key, each.generation) for each in answers if isinstance(each, Taken) and not each.applied]
        nodes = await self._service.nodes(self._project, standing) if standing else {}
        hidden = [await self._command("recalled", key) for (key, _), node in nodes.items() if node["forgotten"]]
        for answer in await self._service.run_many(hidden) if hidden else ():
            if isinstance(answer, KnowledgeError):
                raise answer
        return answers

    async def get(self, key: str) -> KnowledgeObject:
        """The newest generation of a key, unless it was forgotten."""
        return (await self._objects([await self._node(key)]))[0]

    async def query(self, wanted: Filter, first: int = 50, after: NodeId | None = None) -> ObjectPage:
        """A page of the objects that a filter lets through."""
        page = await self._service.page(self._project, wanted, first, after)
        return ObjectPage(await self._objects(page.items), id_of(page.items[-1]) if page.has_next else None)

    async def delete(self, key: str, event_id: str | None = None) -> Taken:
        """Forget an object."""
        return await self._service.run(await self._command("forgotten", key, event_id=event_id))

    async def search(self, text: str, limit: int = 20, model: str | None = None) -> list[KnowledgeObject]:
        """What retrieval finds, the order being its own."""
        semantic = None if model is None else self._meaning(model)
        found = await Retrieval(self._service, semantic).search(Asked(self._project, text), limit)
        return await self._objects([item.node for item in found.items])

    async def save_representation(self, representation: Representation) -> None:
        """Write a vector, and have the indexes of its model."""
        vector = _unit(representation.vector, representation.profile)
        node = await self._node(representation.key)
        representations = Representations(self._service.store, representation.profile)
        if representations.model not in self._installed:
            await representations.install()
            self._installed.add(representations.model)
        wanted = Wanted(*id_of(node), node["proposition"])
        await representations.add(self._project, [(wanted, vector)], seconds=BATCH_SECONDS)

    async def get_representation(self, key: str, profile: Profile) -> Representation:
        """Read a vector."""
        node = await self._node(key)
        rows = await self._service.store.read(
            "representation_get",
            project=self._project,
            model=profile.model,
            key=node["key"],
            generation=node["generation"],
        )
        if not rows:
            message = f"{profile.name} has no vector of {key!r}"
            raise NotFoundError(message, field="profile", allowed="a model that has one")
        return Representation(key, profile, rows[0]["vector"])

    async def hybrid_search(self, wanted: HybridQuery) -> list[Scored]:
        """Score the candidates of both tiers by the ranker ``hybrid``."""
        checked_text(wanted.text, "text", chars_max=TEXT_CHARS_MAX)
        _check_numbers(wanted)
        rows = [row for row in await self._candidates(wanted) if _wanted(row["node"], wanted)]
        nodes = {id_of(row["node"]): row["node"] for row in rows}
        matches = {id_of(row["node"]): Match(_text(row["node"]), 0.0, row["cosine"]) for row in rows}
        said = stems(wanted.text)
        scores = hybrid(Question(said, 1.0), matches)[0].scores
        best = sorted((i for i in scores if scores[i] >= wanted.score_min), key=lambda i: (-scores[i], i))
        best = best[: wanted.limit]
        objects = await self._objects(await self._service.aged(self._project, [nodes[i] for i in best]))
        return [
            Scored(one, matches[i].cosine, likeness(said, stems(matches[i].text)), scores[i])
            for i, one in zip(best, objects, strict=True)
        ]

    async def list_by_status(self, status: State, limit: int = 50) -> list[KnowledgeObject]:
        """The first page of the objects in a state."""
        return (await self.query(Filter(states=(status,)), limit)).objects

    async def update_status(self, key: str, status: State, change: Change | None = None) -> Taken:
        """Run the command that leads to a state."""
        given = change or Change()
        if status not in _STATUSES:
            raise ValidationError(
                f"nothing becomes {status.value} by itself", field="status", allowed=", ".join(_STATUSES.values())
            )
        if status is State.SUPERSEDED:
            payload: Mapping[str, Any] = {"by": given.by}
        else:
            payload = {"evidence": list(given.evidence)}
        command = await self._command(_STATUSES[status], key, payload, given.event_id, given.reason)
        return await self._service.run(command)

    async def promote(self, key: str, quality: Quality, event_id: str | None = None) -> Taken:
        """Confirm an object."""
        return await self._service.run(await self._command("confirmed", key, {}, event_id, quality.text()))

    async def _command(
        self,
        transition: str,
        key: str,
        payload: Mapping[str, Any] | None = None,
        event_id: str | None = None,
        reason: str | None = None,
    ) -> Command:
        line = {"transition": transition, "key": key, "payload": payload or {}, "event_id": event_id, "reason": reason}
        return await self._service.policies.read(line, actor=self._actor, project=self._project)

    async def _node(self, key: str) -> Row:
        node = await self._service.knowledge(self._project, key)
        if node is None or node["forgotten"]:
            raise NotFoundError(f"there is no object {key!r}", field="key", allowed="a key of this project")
        return node

    async def _objects(self, nodes: Sequence[Row]) -> list[KnowledgeObject]:
        """Nodes with their evidence and edges, in their order."""
        if not nodes:
            return []
        ids = [id_of(node) for node in nodes]
        evidence = await self._service.evidence(self._project, ids)
        edges = await self._service.relations(self._project, ids, "upstream")
        return [
            KnowledgeObject(
                key=node["key"],
                proposition=node["proposition"],
                kind=Kind(node["kind"]),
                evidence=tuple(_record(record) for record in evidence.get(i, ())),
                relations=tuple((Relation(edge["relation"]), edge["to"][0]) for edge in edges[i]),
                lineage=None if node["lineage"] is None else json.loads(node["lineage"]),
                generation=node["generation"],
                state=State(node["state"]),
                at_risk=node["at_risk"],
                stale=node["stale"],
            )
            for i, node in zip(ids, nodes, strict=True)
        ]

    def _meaning(self, model: str) -> Semantic:
        if self._semantic is None or self._semantic.profile.name != model:
            allowed = "none, for words alone" if self._semantic is None else self._semantic.profile.name
            raise ValidationError(f"the model {model!r} is not in use", field="model", allowed=allowed)
        return self._semantic

    async def _candidates(self, wanted: HybridQuery) -> list[Row]:
        terms = words(wanted.text)
        given: dict[str, Any] = {
            "project": self._project,
            "words": query(terms, self._project) if terms else "",
            "seq": ALWAYS,
            "first": wanted.candidates,
        }
        store = self._service.store
        if wanted.vector is None or wanted.profile is None:
            if wanted.vector is not None:
                message = "a vector says nothing without its model"
                raise ValidationError(message, field="profile", allowed="the profile of the model that made it")
            rows = await store.read("search_words", **given) if terms else []
            return [row | {"cosine": None} for row in rows]
        vector = _unit(wanted.vector, wanted.profile)
        sought = Representations(store, wanted.profile).sought(vector, wanted.candidates)
        return await store.read("search_candidates", **given, **sought)


def _proposal(one: KnowledgeObject) -> Mapping[str, Any]:
    return {
        "proposition": one.proposition,
        "kind": one.kind.value,
        "evidence": [dict(record) for record in one.evidence],
        "relations": [{"relation": relation.value, "to": to} for relation, to in one.relations],
        **({} if one.lineage is None else {"lineage": one.lineage}),
    }


def _record(evidence: Row) -> Row:
    """A record as it can be saved again."""
    record = {name: value for name, value in evidence.items() if name != "project" and value is not None}
    return record | ({"metadata": json.loads(record["metadata"])} if "metadata" in record else {})


def _wanted(node: Row | None, wanted: HybridQuery) -> bool:
    if node is None or node["forgotten"]:
        return False
    return node["state"] in wanted.states and (wanted.kinds is None or node["kind"] in wanted.kinds)


def _text(node: Row) -> str:
    return f"{node['key']} {node['proposition']} {described_by(node['concept']) or ''}"


def _check_numbers(wanted: HybridQuery) -> None:
    if wanted.candidates > LIMIT_MAX:
        message = f"candidates is {wanted.candidates}"
        raise LimitError(message, field="candidates", allowed=f"1 to {LIMIT_MAX}")
    if wanted.candidates < 1:
        message = f"candidates is {wanted.candidates}"
        raise ValidationError(message, field="candidates", allowed=f"1 to {LIMIT_MAX}")
    if not 1 <= wanted.limit <= wanted.candidates:
        raise ValidationError(f"limit is {wanted.limit}", field="limit", allowed=f"1 to {wanted.candidates}")


def _unit(vector: Sequence[float], profile: Profile) -> list[float]:
    """A vector of length 1 in the same direction.

    Raises:
        ValidationError: it has not the dimensions of the model, or no direction.
    """
    length = math.hypot(*vector)
    if len(vector) != profile.dimensions or not math.isfinite(length) or length == 0:
        raise ValidationError(
            f"no vector of {profile.name}",
            field="vector",
            allowed=f"{profile.dimensions} finite numbers that are not all 0",
        )
    return [number / length for number in vector]
