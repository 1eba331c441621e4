"""The mutations of the contract: each is written as a journal line and read by the journal's one door.

So GraphQL and files meet the same checks; a refusal names the fields as the mutation does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from api.fields import DateTime, HintOutcome, Info, described, field
from api.ingested import Ingesting
from api.inputs import (
    EventInput,
    EvidenceInput,
    RelationInput,
    chosen,
    duration,
    duration_text,
    event_fields,
    given,
    present,
)
from api.loaders import bare
from api.records import Redacted
from api.spoken import as_the_caller_wrote
from api.types import (
    Knowledge,
    KnowledgeEvent,
)
from graph import aging, executions, recording
from graph.concept import Verdict
from graph.errors import InternalError
from graph.knowledge import Kind, Relation, Transition, checked_key
from graph.scope import Role
from graph.store import Taken


@described
class Transitioned:
    """What became of a mutation; what is asked of it is read after the mutation."""

    taken: strawberry.Private[Taken]
    applied: bool = strawberry.field(description="False where the very same event had been taken before.")
    newly_at_risk: int = strawberry.field(description="How many nodes this event newly put at risk.")

    @classmethod
    def of(cls, taken: Taken) -> Transitioned:
        """What became of a command."""
        return cls(taken=taken, applied=taken.applied, newly_at_risk=taken.newly_at_risk)

    @field
    def redacted(self) -> list[Redacted]:
        """What was taken out of what the caller said; of a repeat as well."""
        return Redacted.of(self.taken.redacted)

    @field
    async def knowledge(self, info: Info) -> Knowledge:
        """The node that the event was about; after `correct` the retired one."""
        evidence = info.asks("evidence")
        taken = self.taken
        row = await info.context.service.knowledge(taken.project, taken.key, taken.generation, evidence=evidence)
        if row is None:
            raise InternalError("a taken event is about no node")
        return Knowledge.of(bare(row, evidence=evidence))

    @field
    async def event(self, info: Info) -> KnowledgeEvent:
        """The event, or the one that had been taken before."""
        rows = await info.context.service.events_at(self.taken.project, [self.taken.seq])
        return KnowledgeEvent.of(rows[self.taken.seq])


@described
class ConceptRecorded:
    """What became of a concept that was said."""

    taken: strawberry.Private[Taken]
    verdict: Verdict
    applied: bool = strawberry.field(description="False where the very same event had been taken before.")

    @field
    def redacted(self) -> list[Redacted]:
        """What was taken out of what the caller said; of a repeat as well."""
        return Redacted.of(self.taken.redacted)

    @field
    async def knowledge(self, info: Info) -> Knowledge:
        """The concept as it is now; a claim against it has an edge to it."""
        row = await info.context.service.knowledge(self.taken.project, self.taken.key)
        if row is None:
            raise InternalError("a recorded concept is no node")
        return Knowledge.of(bare(row, evidence=False))


async def _take(
    info: Info,
    transition: Transition,
    project: str,
    key: str | None,
    event: EventInput | None,
    payload: Mapping[str, Any],
    *,
    key_name: str = "key",
) -> Transitioned:
    """Write the mutation as a journal line, read it by the journal's door, and have it taken.

    Raises:
        KnowledgeError: with the field as the mutation names it; ``key_name`` is what it calls the line's key.
    """
    line = {
        "project": project,
        "transition": transition.value,
        "key": key,
        "payload": present(payload),
        **event_fields(event),
    }
    info.context.renew()
    with as_the_caller_wrote(key_name):
        service = info.context.service
        taken = await service.run(await service.policies.read(line, actor=info.context.actor))
    return Transitioned.of(taken)


def _records(evidence: list[EvidenceInput] | None) -> list[dict[str, Any]] | None:
    return None if evidence is None or evidence is UNSET else [present(vars(record)) for record in evidence]


_From = Annotated[str, strawberry.argument(name="from")]


@described
class Mutation(Ingesting):
    """What can be said; each mutation is one event, and what follows from it by rule."""

    @field
    async def propose(
        self,
        info: Info,
        project: str,
        proposition: str,
        key: str | None = UNSET,
        kind: Kind | None = Kind.CLAIM,
        valid_from: DateTime | None = UNSET,
        valid_to: DateTime | None = UNSET,
        evidence: list[EvidenceInput] | None = UNSET,
        relations: list[RelationInput] | None = UNSET,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Says something new; the same claim again changes nothing."""
        payload: dict[str, Any] = {
            "proposition": proposition,
            "kind": kind,
            "valid_from": valid_from,
            "valid_to": valid_to,
            "evidence": _records(evidence),
            "relations": [vars(relation) for relation in chosen(relations) or ()],
        }
        return await _take(info, Transition.PROPOSED, project, given(key), event, payload)

    @field
    async def confirm(
        self,
        info: Info,
        project: str,
        key: str,
        evidence: list[EvidenceInput] | None = UNSET,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Says that it holds; with evidence that clears its risk."""
        return await _take(info, Transition.CONFIRMED, project, key, event, {"evidence": _records(evidence)})

    @field
    async def challenge(
        self,
        info: Info,
        project: str,
        key: str,
        evidence: list[EvidenceInput] | None = UNSET,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Says that it may not hold, and why."""
        return await _take(info, Transition.CHALLENGED, project, key, event, {"evidence": _records(evidence)})

    @field
    async def correct(
        self,
        info: Info,
        project: str,
        key: str,
        proposition: str,
        evidence: list[EvidenceInput] | None = UNSET,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Retires the node and proposes the corrected text as the key's next generation, which supersedes it."""
        payload = {"proposition": proposition, "evidence": _records(evidence)}
        return await _take(info, Transition.CORRECTED, project, key, event, payload)

    @field
    async def supersede(
        self, info: Info, project: str, key: str, by: str, event: EventInput | None = UNSET
    ) -> Transitioned:
        """Retires the node in favour of another."""
        return await _take(info, Transition.SUPERSEDED, project, key, event, {"by": by})

    @field
    async def invalidate(
        self,
        info: Info,
        project: str,
        key: str,
        evidence: list[EvidenceInput] | None = UNSET,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Retires the node, and says why."""
        return await _take(info, Transition.INVALIDATED, project, key, event, {"evidence": _records(evidence)})

    @field
    async def disprove(
        self,
        info: Info,
        project: str,
        key: str,
        evidence: list[EvidenceInput] | None = UNSET,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Retires the node on evidence against it, and says why."""
        return await _take(info, Transition.DISPROVED, project, key, event, {"evidence": _records(evidence)})

    @field
    async def use(self, info: Info, project: str, key: str, event: EventInput | None = UNSET) -> Transitioned:
        """Counts a reuse."""
        return await _take(info, Transition.USED, project, key, event, {})

    @field
    async def forget(self, info: Info, project: str, key: str, event: EventInput | None = UNSET) -> Transitioned:
        """Hides the node from lists; journal, history and export keep it."""
        return await _take(info, Transition.FORGOTTEN, project, key, event, {})

    @field
    async def recall(self, info: Info, project: str, key: str, event: EventInput | None = UNSET) -> Transitioned:
        """Shows a forgotten node again."""
        return await _take(info, Transition.RECALLED, project, key, event, {})

    @field
    async def hint(
        self,
        info: Info,
        project: str,
        key: str,
        outcome: HintOutcome,
        supported: bool | None = False,  # noqa: FBT001, FBT002  the contract's form
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Says how the node turned out in use."""
        payload = {"outcome": outcome.value, "supported": bool(supported)}
        return await _take(info, Transition.HINTED, project, key, event, payload)

    @field
    async def add_evidence(
        self,
        info: Info,
        project: str,
        key: str,
        evidence: list[EvidenceInput],
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Adds to what the node stands on."""
        return await _take(info, Transition.EVIDENCED, project, key, event, {"evidence": _records(evidence)})

    @field
    async def link(
        self,
        info: Info,
        project: str,
        source: _From,
        relation: Relation,
        to: str,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """States an edge between two nodes of the project."""
        payload = {"relation": relation, "to": to}
        return await _take(info, Transition.LINKED, project, source, event, payload, key_name="from")

    @field
    async def unlink(
        self,
        info: Info,
        project: str,
        source: _From,
        relation: Relation,
        to: str,
        event: EventInput | None = UNSET,
    ) -> Transitioned:
        """Ends an edge."""
        payload = {"relation": relation, "to": to}
        return await _take(info, Transition.UNLINKED, project, source, event, payload, key_name="from")

    @field
    async def transfer(
        self, info: Info, project: str, key: str, to_project: str, event: EventInput | None = UNSET
    ) -> Transitioned:
        """Copies the node to another project, where it is proposed."""
        return await _take(info, Transition.TRANSFERRED, project, key, event, {"to_project": to_project})

    @field
    async def observe_execution(
        self,
        info: Info,
        project: str,
        workspace: str,
        command: str,
        exit_code: int,
        operation_id: str,
        event: EventInput | None = UNSET,
    ) -> Transitioned | None:
        """A command that ran in a sandbox; null where it is no verification or build, or it failed."""
        info.context.require(Role.WRITER, project)
        ran = executions.Execution(project, workspace, command, exit_code, operation_id)
        info.context.renew()
        with as_the_caller_wrote():
            taken = await executions.observe(info.context.service, ran, info.context.actor, event_fields(event))
        return None if taken is None else Transitioned.of(taken)

    @field
    async def record_concept(
        self,
        info: Info,
        project: str,
        name: str,
        description: str,
        type: str,  # noqa: A002  the contract's name
        body: str,
        session: str,
        event: EventInput | None = UNSET,
    ) -> ConceptRecorded:
        """Says a concept: new, the same again, related to what is known of it, or contradicting that."""
        info.context.require(Role.WRITER, project)
        saying = recording.Saying(project, name, description, type, body, session)
        info.context.renew()
        with as_the_caller_wrote("name"):
            command = await recording.said(info.context.service, saying, info.context.actor, event_fields(event))
            taken = await recording.record(info.context.service, command, info.context.stages.consolidator)
        if taken.verdict is None:
            raise InternalError("a recorded concept has no verdict")
        return ConceptRecorded(taken=taken, verdict=taken.verdict, applied=taken.applied)

    @field
    async def sweep(self, info: Info, project: str, older_than: str) -> int:
        """Challenges what nothing verified for the ISO 8601 duration; the number challenged."""
        info.context.require(Role.WRITER, checked_key(project, "project"))
        info.context.renew()
        return await aging.sweep(info.context.service, project, duration(older_than, "olderThan"), info.context.actor)

    @field
    async def set_aging_time(self, info: Info, project: str, aging: str) -> str:
        """Sets the project's aging time, an ISO 8601 duration, from now on; what was set."""
        info.context.require(Role.ADMIN, checked_key(project, "project"))
        await info.context.service.aging.set(project, duration(aging, "aging"))
        return duration_text(await info.context.service.aging.of(project))

    @field
    async def set_unredacted_kinds(self, info: Info, project: str, kinds: list[str]) -> list[str]:
        """Sets which kinds of personal data stay in what is written to the project from now on; what was set."""
        info.context.require(Role.ADMIN, checked_key(project, "project"))
        policies = info.context.service.policies
        await policies.keep(project, kinds)
        return sorted((await policies.of(project)).kept)

    @field
    async def set_concept_types(self, info: Info, project: str, types: list[str]) -> list[str]:
        """Sets the types that concepts of the project may have from now on, the default ones for none; what was set."""
        info.context.require(Role.ADMIN, checked_key(project, "project"))
        policies = info.context.service.policies
        await policies.allow(project, types)
        return list((await policies.of(project)).types)
