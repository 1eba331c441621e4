"""The queries and mutations of the contract, and the schema that they make.

Queries read through the service and wrap its maps; mutations are written as journal lines and read by the
journal's one door, so that GraphQL and files meet the same checks.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import strawberry
from strawberry import UNSET
from strawberry.schema.config import StrawberryConfig

from api.execution import Checked, Parsed, Planned, Plans, ServedSchema, camel
from api.fields import SCALARS, DateTime, Direction, HintOutcome, Info, described, field
from api.ids import checked_first, place_after
from api.inputs import (
    EventInput,
    EvidenceInput,
    KnowledgeFilter,
    RelationInput,
    checked_hash,
    chosen,
    duration,
    duration_text,
    filter_of,
    given,
    tense_of,
)
from api.loaders import Row
from api.records import JournalCheck, JournalHead
from api.retrieved import Retrieving
from api.types import (
    Edge,
    Evidence,
    Impact,
    Knowledge,
    KnowledgeConnection,
    KnowledgeEvent,
    KnowledgeEventConnection,
    Node,
    Provenance,
    Risk,
    node_of_id,
    read_impact,
)
from graph import aging, executions
from graph.commands import read_command
from graph.errors import InternalError, KnowledgeError, ValidationError
from graph.knowledge import Kind, Relation, Transition, checked_key
from graph.store import Taken

# Fields of a journal line that stand under `event` in a mutation.
_OF_THE_EVENT = ("event_id", "time", "reason", "caused_by", "execution", "actor")


def _bare(row: Row, *, evidence: bool) -> Row:
    """The map without the empty list that stands for evidence that was not asked of the database."""
    if not evidence:
        row.pop("evidence", None)
    return row


@described
class Query(Retrieving):
    """What can be asked."""

    @field
    async def node(self, info: Info, id: strawberry.ID) -> Node | None:  # noqa: A002  the contract's name
        """Anything by its global id."""
        return await node_of_id(info, id)

    @field
    async def projects(self, info: Info) -> list[str]:
        """The names of all projects, sorted."""
        return await info.context.service.projects()

    @field
    async def aging_time(self, info: Info, project: str) -> str:
        """How long after it was last verified a live node of the project counts as stale, as ISO 8601."""
        return duration_text(await info.context.service.aging.of(checked_key(project, "project")))

    @field
    async def knowledge(
        self,
        info: Info,
        project: str,
        key: str,
        generation: int | None = UNSET,
        as_of: DateTime | None = UNSET,
    ) -> Knowledge | None:
        """The current generation of the key, or the one asked for.

        With `asOf`, as the journal had it at that instant.
        """
        if isinstance(generation, int) and generation < 1:
            raise ValidationError("generations count from 1", field="generation", allowed="1, 2, 3 …")
        tense, evidence = tense_of(as_of), info.asks("evidence")
        row = await info.context.service.knowledge(
            checked_key(project, "project"), key, given(generation), tense.instant, evidence=evidence
        )
        return None if row is None else Knowledge.of(_bare(row, evidence=evidence), tense)

    @field
    async def knowledge_list(
        self,
        info: Info,
        project: str,
        filter: KnowledgeFilter | None = UNSET,  # noqa: A002  the contract's name
        first: int | None = 50,
        after: str | None = UNSET,
    ) -> KnowledgeConnection:
        """The nodes that the filter lets through, by key and generation; forgotten ones are left out."""
        within = ("knowledgeList", checked_key(project, "project"))
        place = place_after(after, within, str, int)
        evidence = info.asks("edges", "node", "evidence")
        page = await info.context.service.page(
            project,
            filter_of(filter),
            checked_first(first, 50),
            (place[0], place[1]) if place else None,
            evidence=evidence,
        )
        rows = [_bare(row, evidence=evidence) for row in page.items]
        return KnowledgeConnection.of(rows, within, more=page.has_next, before=place is not None)

    @field
    async def provenance(
        self,
        info: Info,
        project: str,
        key: str,
        direction: Direction | None = Direction.UPSTREAM,
        relations: list[Relation] | None = UNSET,
        depth: int | None = 6,
        max_nodes: int | None = 1000,
        as_of: DateTime | None = UNSET,
    ) -> Provenance:
        """What a node came from or rests on, or what came from it."""
        tense = tense_of(as_of)
        below = (("evidence",), ("root", "evidence"), ("nodes", "evidence"))
        ends = (("edges", "from", "evidence"), ("edges", "to", "evidence"))
        evidence = any(info.asks(*path) for path in (*below, *ends))
        row = await info.context.service.provenance(
            checked_key(project, "project"),
            key,
            direction=(direction or Direction.UPSTREAM).value,
            relations=chosen(relations),
            depth=6 if depth is None else depth,
            max_nodes=1000 if max_nodes is None else max_nodes,
            as_of=tense.instant,
            evidence=evidence,
        )
        for node in (row["root"], *row["nodes"]):
            _bare(node, evidence=evidence)
        return Provenance.of(row, tense.instant)

    @field
    async def impact(self, info: Info, project: str, key: str) -> Impact:
        """What would be put at risk if the node were retired now; changes nothing."""
        checked_key(project, "project")
        asked = info.pages("nodes")
        first, after = asked[0] if asked else (1, UNSET)
        page = await read_impact(
            info,
            project,
            key,
            first if isinstance(first, int) else 100,
            after if isinstance(after, str) else None,
        )
        return Impact(project=project, key=key, read=page, count=page.row["count"])

    @field
    async def why_at_risk(self, info: Info, project: str, key: str) -> list[Risk]:
        """The retirements that put the node at risk, each with a shortest chain to it."""
        rows = await info.context.service.why_at_risk(checked_key(project, "project"), key)
        return [
            Risk(
                retired=Knowledge.of(row["retired"]),
                event=KnowledgeEvent.of(row["event"]),
                path=[Knowledge.of(node) for node in row["path"]],
            )
            for row in rows
        ]

    @field
    async def journal(
        self,
        info: Info,
        project: str,
        after_seq: int | None = 0,
        first: int | None = 100,
        after: Annotated[
            str | None, strawberry.argument(description="A cursor of this list, in place of `afterSeq`.")
        ] = UNSET,
    ) -> KnowledgeEventConnection:
        """The project's events behind a position, oldest first."""
        within = ("journal", checked_key(project, "project"))
        place = place_after(after, within, int)
        seq = place[0] if place else after_seq or 0
        page = await info.context.service.journal(project, seq, checked_first(first, 100))
        return KnowledgeEventConnection.of(page.items, within, more=page.has_next, before=seq > 0)

    @field
    async def journal_head(self, info: Info, project: str) -> JournalHead | None:
        """The newest event's position and hash; null for a project without events."""
        head = await info.context.service.head(checked_key(project, "project"))
        return None if head is None else JournalHead(seq=head.seq, hash=head.hash)

    @field
    async def verify_journal(
        self, info: Info, project: str, saved_seq: int | None = UNSET, saved_hash: str | None = UNSET
    ) -> JournalCheck:
        """With a head kept from before, a cut or rewritten journal shows too."""
        if isinstance(saved_seq, int) and saved_seq < 0:
            raise ValidationError("a position is not negative", field="savedSeq", allowed="0 or more")
        row = await info.context.service.verify(
            checked_key(project, "project"), given(saved_seq), checked_hash(saved_hash)
        )
        return JournalCheck(
            ok=row["ok"],
            events=row["events"],
            first_broken=row["first_broken"],
            projection_matches=row["projection_matches"],
            differences=row["differences"],
        )


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
    async def knowledge(self, info: Info) -> Knowledge:
        """The node that the event was about; after `correct` the retired one."""
        evidence = info.asks("evidence")
        taken = self.taken
        row = await info.context.service.knowledge(taken.project, taken.key, taken.generation, evidence=evidence)
        if row is None:
            raise InternalError("a taken event is about no node")
        return Knowledge.of(_bare(row, evidence=evidence))

    @field
    async def event(self, info: Info) -> KnowledgeEvent:
        """The event, or the one that had been taken before."""
        rows = await info.context.service.events_at(self.taken.project, [self.taken.seq])
        return KnowledgeEvent.of(rows[self.taken.seq])


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
        "payload": _present(payload),
        **_event_fields(event),
    }
    info.context.renew()
    with _as_the_caller_wrote(key_name):
        taken = await info.context.service.run(read_command(line, actor=info.context.actor))
    return Transitioned.of(taken)


@contextmanager
def _as_the_caller_wrote(key_name: str = "key") -> Generator[None]:
    """Refusals name the fields as the mutation does."""
    try:
        yield
    except KnowledgeError as error:
        written, spoken = error.field, argument_name(error.field, key_name)
        if written and spoken and error.message.startswith(written):
            error.message = spoken + error.message.removeprefix(written)
        error.field = spoken
        raise


def argument_name(written: str | None, key_name: str = "key") -> str | None:
    """A field of a journal line as the mutation's caller wrote it (``payload.evidence[0].artifact_ref``)."""
    if written is None:
        return None
    name = written.removeprefix("payload.")
    if name == written and name.startswith(_OF_THE_EVENT):
        return camel(f"event.{name}")
    return key_name if name == written == "key" else camel(name)


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None and value is not UNSET}


def _event_fields(event: EventInput | None) -> dict[str, Any]:
    if not event:
        return {}
    fields = {name: getattr(event, name) for name in ("event_id", "time", "reason", "caused_by")}
    if given(event.execution):
        fields["execution"] = _present(vars(event.execution))
    if given(event.actor):
        fields["actor"] = vars(event.actor)
    return _present(fields)


def _records(evidence: list[EvidenceInput] | None) -> list[dict[str, Any]] | None:
    return None if evidence is None or evidence is UNSET else [_present(vars(record)) for record in evidence]


_From = Annotated[str, strawberry.argument(name="from")]


@described
class Mutation:
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
        ran = executions.Execution(project, workspace, command, exit_code, operation_id)
        info.context.renew()
        with _as_the_caller_wrote():
            taken = await executions.observe(info.context.service, ran, info.context.actor, _event_fields(event))
        return None if taken is None else Transitioned.of(taken)

    @field
    async def sweep(self, info: Info, project: str, older_than: str) -> int:
        """Challenges what nothing verified for the ISO 8601 duration; the number challenged."""
        info.context.renew()
        checked_key(project, "project")
        return await aging.sweep(info.context.service, project, duration(older_than, "olderThan"), info.context.actor)

    @field
    async def set_aging_time(self, info: Info, project: str, aging: str) -> str:
        """Sets the project's aging time, an ISO 8601 duration, from now on; what was set."""
        await info.context.service.aging.set(checked_key(project, "project"), duration(aging, "aging"))
        return duration_text(await info.context.service.aging.of(project))


def build_schema(plans: Plans | None = None) -> ServedSchema:
    """The schema, as often as one is wanted.

    Args:
        plans: Where the plans of its queries are kept; without it no plans are made, and the executor answers all.
    """
    planned = [] if plans is None else [lambda: Planned(plans)]
    return ServedSchema(
        Query,
        Mutation,
        types=[Edge, Evidence, KnowledgeEvent],
        extensions=[Parsed, Checked, *planned],
        config=StrawberryConfig(scalar_map=SCALARS, info_class=Info, disable_field_suggestions=True),
    )


if __name__ == "__main__":
    Path(__file__).with_suffix(".graphql").write_text(build_schema().as_str() + "\n", "utf-8")
