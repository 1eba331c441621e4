"""Concepts as their writers and readers meet them: what is said is taken through the one door, and read again.

Where there is a consolidator, it is asked about a text that differs from the one that is known; nothing waits for it
meanwhile, so its answer counts only for the text that it was asked about. Without one, differing texts contradict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from graph.commands import Command, read_command
from graph.concept import BODY_CHARS_MAX, Concept, Merge, concept_of
from graph.errors import MergeOutdatedError, ValidationError, quoted
from graph.knowledge import Actor, NodeId, Relation, checked_key, same_claim
from graph.policies import DEFAULT, Policy
from graph.redaction import redact
from graph.service import Moment, Service
from graph.store import Taken

MERGES_MAX = 3  # times that a consolidator is asked about one saying; whoever is overtaken so often contradicts
CONTRADICTIONS_MAX = 100  # of one concept that are shown


class Consolidator(Protocol):
    """Tells whether two texts of one concept go together, and how."""

    async def merged(self, known: Concept, said: Concept) -> str | None:
        """The text that says both; None where they contradict each other, or where that cannot be told."""
        ...


@dataclass(frozen=True, slots=True)
class Saying:
    """A concept as one session says it."""

    project: str
    name: str
    description: str
    type: str
    body: str
    session: str


async def said(service: Service, saying: Saying, actor: Actor, event: Mapping[str, Any]) -> Command:
    """The command that has a saying taken, as its project's policy wants it.

    Raises:
        ValidationError: as for ``recording``.
        UnavailableError: the database cannot be had.
    """
    return recording(saying, actor, event, await service.policies.of(checked_key(saying.project, "project")))


def recording(
    saying: Saying, actor: Actor, event: Mapping[str, Any] | None = None, policy: Policy = DEFAULT
) -> Command:
    """The command that has a saying taken.

    Args:
        saying: What was said.
        actor: Who said it, unless ``event`` says.
        event: Further fields of the journal line: event_id, time, reason, caused_by, execution, actor.
        policy: The project's.

    Raises:
        ValidationError: a field is not of its form, or no such type is allowed.
    """
    if saying.type not in policy.types:
        field = "payload.concept.type"
        message = f"{field} is none of the project's types: {quoted(saying.type)}"
        raise ValidationError(message, field=field, allowed=", ".join(policy.types))
    concept = {name: getattr(saying, name) for name in ("description", "type", "body")}
    line = {
        **(event or {}),
        "project": saying.project,
        "transition": "proposed",
        "key": saying.name,
        "payload": {"concept": {**concept, "sources": [saying.session]}},
    }
    return read_command(line, actor=actor, redacting=policy.redacting)


async def record(service: Service, command: Command, consolidator: Consolidator | None = None) -> Taken:
    """Take a command that records a concept; its answer tells the verdict.

    Raises:
        KnowledgeError: its refusal, or why it was not taken, or may not have been.
    """
    for _ in range(MERGES_MAX if consolidator is not None else 0):
        assert consolidator is not None, "without one nothing is merged"
        try:
            return await service.run(replace(command, merge=await _merge(service, command, consolidator)))
        except MergeOutdatedError:
            continue
    return await service.run(command)


async def _merge(service: Service, command: Command, consolidator: Consolidator) -> Merge | None:
    row = await service.knowledge(command.project, command.keyed)
    if row is None or row["retired"] or row["concept"] is None:
        return None
    if same_claim(row["proposition"], command.payload["proposition"]):
        return None
    known, said = concept_of(command.keyed, row["concept"]), concept_of(command.keyed, command.payload["concept"])
    text = await consolidator.merged(known, said)
    kinds = (await service.policies.of(command.project)).redacting
    text = None if text is None else redact(text, kinds)[0].strip()
    usable = text is not None and 0 < len(text) <= BODY_CHARS_MAX
    return Merge(row["proposition"], text if usable else None)


async def contradictions(
    service: Service, project: str, ids: Sequence[NodeId], at: Moment | None = None
) -> dict[NodeId, list[str]]:
    """The claims against concepts that live, now or at a moment, in the order of their keys; at most 100 of each."""
    edges = await service.relations(project, ids, "downstream", [Relation.CONTRADICTS], at)
    sources = {node_id: [(edge["from"][0], edge["from"][1]) for edge in found] for node_id, found in edges.items()}
    against = await service.nodes(project, sorted({each for found in sources.values() for each in found}), at)
    return {
        node_id: [against[each]["proposition"] for each in sorted(set(found)) if not against[each]["retired"]][
            :CONTRADICTIONS_MAX
        ]
        for node_id, found in sources.items()
    }
