"""What a command comes to in the state that it meets: events, or a refusal (rules.md sections 1 to 4).

Pure: the slices are only read. ``projection`` folds what is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from graph import door
from graph.commands import Command, repeats
from graph.concept import BODY_CHARS_MAX, concept_of, concept_record
from graph.drafts import Draft
from graph.errors import (
    AuthorityError,
    NotFoundError,
    PropositionConflictError,
    RelationRefusedError,
    TerminalStateError,
    ValidationError,
    missing_node,
)
from graph.journal import Event, Head, Json, canonical, evidence_record
from graph.knowledge import (
    TIME_AHEAD_MAX,
    ActorType,
    Evidence,
    Node,
    NodeId,
    Relation,
    State,
    Transition,
    instant_text,
    same_claim,
)
from graph.slices import Slice, standing_on

UNSUPPORTED_HARM_MAX = 2  # the first harmful hint only challenges; the second without support invalidates


@dataclass(frozen=True, slots=True)
class Decision:
    """What a command comes to: the events to append (the command's own first), or what was there already.

    ``standing`` is the position of the event that answers a repeat or a proposal of the same claim, which is then about
    ``node``; then nothing is appended.
    """

    events: tuple[Event, ...] = ()
    standing: int | None = None
    node: NodeId | None = None


def decide(slices: Mapping[str, Slice], command: Command, now: datetime, *, rules: bool = True) -> Decision:
    """The events that a command comes to, in the order of the journal.

    Args:
        slices: By project; holds what ``needs(command)`` names, and for a transfer the target project too.
        command: Checked by ``commands.read_command``.
        now: The recorded time; never before the project's newest event.
        rules: Whether the events that follow by rule are added; a restored journal carries them already.

    Returns:
        A decision; the slices are not changed.

    Raises:
        KnowledgeError: a refusal, in this order of precedence: EVENT_CONFLICT, VALIDATION of the time, NOT_FOUND,
            PROPOSITION_CONFLICT, TERMINAL_STATE, AUTHORITY, RELATION_REFUSED.
    """
    here = slices[command.project]
    command = _as_it_stands(here, command)
    if rules:  # a written event is about the very node that it names
        command = _as_spelled(here, command)
    if known := here.events.get(command.event_id):
        repeats(known, command)
        return Decision(standing=known.seq, node=(known.key, known.generation))
    if command.counted_here and rules:
        command = door.counted(here, command)
    _refuse_future(command, now)
    _refuse_unknown_causes(here, command)
    if command.transition is Transition.PROPOSED:
        return _decide_proposal(here, command, now, rules=rules)
    return _decide_on(slices, _known_node(here, command), command, now, rules=rules)


def _as_it_stands(here: Slice, command: Command) -> Command:
    """The command that the state of its node asks for; of one that was taken before, the one that it was then.

    What says nothing of the claim that is alive under its key stays the proposal, which is refused there.
    """
    if command.in_state is None:
        return command
    if known := here.events.get(command.event_id):
        return next((c for c in command.in_state.values() if c.transition is known.transition), command)
    node = here.node(command.keyed)
    if node is None or not (node.retired or same_claim(node.proposition, command.payload["proposition"])):
        return command
    return command.in_state[node.state]


def _as_spelled(here: Slice, command: Command) -> Command:
    """The command with its keys as they are stored: they are compared after NFC."""
    payload = dict(command.payload)
    for name in payload.keys() & {"to", "by"}:
        payload[name] = here.spelling(payload[name])
    if "relations" in payload:
        payload["relations"] = [{**each, "to": here.spelling(each["to"])} for each in payload["relations"]]
    key = None if command.key is None else here.spelling(command.key)
    return command if (key, payload) == (command.key, command.payload) else replace(command, key=key, payload=payload)


def _known_node(here: Slice, command: Command) -> Node:
    node = here.node(command.keyed, command.generation)
    if node is None:
        raise missing_node(command.key)
    return node


def _decide_on(slices: Mapping[str, Slice], node: Node, command: Command, now: datetime, *, rules: bool) -> Decision:
    here = slices[command.project]
    _refuse_unknown_end(here, node, command)
    _refuse_retirement(node, command)
    _refuse_before_creation(node, command)
    time = command.time if command.time is not None else max(now, node.created_at)
    empty = Draft(here, command, now)
    if command.transition is Transition.SIGHTED:
        _refuse_other_than_concept(node)
        if rules:
            return _decided(here, door.sighted(empty, node, time))
    own = empty.own(node.generation, node.state, time)
    match command.transition:
        case Transition.SUPERSEDED:
            _refuse_supersession(here, node, command)
        case Transition.CORRECTED:
            _refuse_longer_than_concept(node, command)
        case Transition.LINKED | Transition.UNLINKED:
            _refuse_link(here, node, command)
            if rules and command.transition is Transition.LINKED:
                own = own.contradicting([Relation(command.payload["relation"])], [command.payload["to"]])
        case Transition.HINTED if rules:
            own = _hinted(own, node)
        case Transition.TRANSFERRED if rules:
            return _decide_transfer(slices, command, node, own, now)
        case _:
            pass
    return _decided(here, own)


def _decided(here: Slice, draft: Draft) -> Decision:
    _refuse_other_evidence(here, draft.events[0])
    return Decision(draft.events)


def _decide_proposal(here: Slice, command: Command, now: datetime, *, rules: bool) -> Decision:
    relations = [(Relation(r["relation"]), str(r["to"])) for r in command.payload.get("relations", ())]
    for at, (relation, to) in enumerate(relations):
        _refuse_end(here, command.keyed, relation, to, f"payload.relations[{at}].to")
    newest = here.node(command.keyed)
    if newest is not None and not newest.retired:
        if command.is_concept and rules:
            _refuse_before_creation(newest, command)
            return _decided(here, door.recorded(here, command, newest, now))
        if same_claim(newest.proposition, command.payload["proposition"]):
            return Decision(standing=newest.created_seq, node=newest.id)
        raise PropositionConflictError(
            f"{command.key!r} already holds another claim",
            field="proposition",
            allowed="the same claim, another key, or correct",
        )
    generation = 1 if newest is None else newest.generation + 1
    if command.generation not in (None, generation):
        raise ValidationError(
            f"the next generation of {command.key!r} is {generation}", field="generation", allowed=str(generation)
        )
    time = command.time if command.time is not None else now
    draft = Draft(here, command, now).own(generation, None, time)
    _refuse_empty_validity(draft.events[0].payload)
    if rules:
        draft = _followed(draft, relations)
    return _decided(here, draft)


def _followed(draft: Draft, relations: Sequence[tuple[Relation, str]] = ()) -> Draft:
    """A proposal with what follows from it by rule: who says it, what it contradicts, and who waited for it."""
    command = draft.command
    if command.is_concept and len(command.payload["concept"]["sources"]) >= door.SECOND:
        draft = draft.sourced(door.AGAIN)
    draft = draft.contradicting([relation for relation, _ in relations], [to for _, to in relations])
    return draft.awaited(command.keyed, command.event_id)


def _decide_transfer(slices: Mapping[str, Slice], command: Command, node: Node, own: Draft, now: datetime) -> Decision:
    to_project = command.payload["to_project"]
    if to_project == command.project:
        raise ValidationError(
            "a node is not transferred to its own project", field="payload.to_project", allowed="another project"
        )
    there = slices[to_project]
    here = slices[command.project]
    evidence = [here.evidence[key] for _, key in sorted(standing_on(here, node))]
    copy = Command(
        project=to_project,
        transition=Transition.PROPOSED,
        key=there.spelling(node.key),
        payload=_transferred_payload(node, evidence),
        actor=command.actor,
        event_id=f"{command.event_id}#transfer",
        time=command.time,
        reason=command.reason,
    )
    when = not_before(now, there.head)
    copied = decide({to_project: there}, copy, when, rules=False).events
    if copied:
        copied = _followed(Draft(there, copy, when, copied)).events
    return Decision((*own.events, *copied))


def _transferred_payload(node: Node, evidence: list[Evidence]) -> Json:
    source = f"{node.project}/{node.key}" + (f"#{node.generation}" if node.generation > 1 else "")
    payload: Json = {
        "proposition": node.proposition,
        "kind": node.kind.value,
        "valid_from": instant_text(node.valid_from),
        "lineage": {"sources": [{"type": "knowledge", "id": source}], "method": "transfer"},
    }
    if node.valid_to is not None:
        payload["valid_to"] = instant_text(node.valid_to)
    if node.concept is not None:
        payload["concept"] = concept_record(concept_of(node.key, node.concept))
    if evidence:
        payload["evidence"] = [evidence_record(e) for e in evidence]
    return payload


def _hinted(draft: Draft, node: Node) -> Draft:
    """With what the hint does to the node's state (rules.md section 3)."""
    command = draft.command
    transition = _hint_moves(node, command)
    if transition is None:
        return draft
    reason = command.reason or f"hint: {command.payload['outcome']}"
    return draft.by_rule("hint", transition, node, reason=reason)


def _refuse_longer_than_concept(node: Node, command: Command) -> None:
    if node.concept is not None and len(command.payload["proposition"]) > BODY_CHARS_MAX:
        raise ValidationError(
            f"{node.key!r} is a concept, whose proposition is its body",
            field="payload.proposition",
            position=BODY_CHARS_MAX,
            allowed=f"1 to {BODY_CHARS_MAX} characters",
        )


def _refuse_other_than_concept(node: Node) -> None:
    if node.concept is None:
        raise ValidationError(f"{node.key!r} is no concept", field="key", allowed="the name of a concept")


def _hint_moves(node: Node, command: Command) -> Transition | None:
    if node.retired:
        return None
    if command.payload["outcome"] == "helpful":
        return Transition.CONFIRMED if node.state is State.PROPOSED else None
    unsupported = node.unsupported + (0 if command.payload["supported"] else 1)
    if unsupported < UNSUPPORTED_HARM_MAX or command.payload["supported"] or _forbidden(node, command):
        return Transition.CHALLENGED
    return Transition.INVALIDATED


def _forbidden(node: Node, command: Command) -> bool:
    return node.confirmed_by is ActorType.HUMAN and command.actor.type is ActorType.AGENT


_RETIRES = frozenset({Transition.CORRECTED, Transition.SUPERSEDED, Transition.INVALIDATED, Transition.DISPROVED})
_MOVES = _RETIRES | {Transition.CONFIRMED, Transition.CHALLENGED, Transition.SIGHTED}


def _refuse_retirement(node: Node, command: Command) -> None:
    if command.transition in _MOVES and node.retired:
        raise TerminalStateError(
            f"{node.key!r} is {node.state.value} and stays so",
            field="key",
            allowed="propose the key again, which makes its next generation",
        )
    if command.transition in _RETIRES and _forbidden(node, command):
        raise AuthorityError(
            f"a human confirmed {node.key!r} last", field="actor", allowed="challenge, or a human, system or service"
        )


def _refuse_future(command: Command, now: datetime) -> None:
    if command.time is not None and command.time > now + TIME_AHEAD_MAX:
        raise ValidationError(
            "the event's time lies ahead", field="time", allowed="at most five minutes after the present"
        )


def _refuse_before_creation(node: Node, command: Command) -> None:
    if command.time is not None and command.time < node.created_at:
        raise ValidationError(
            f"the event's time lies before the creation of {node.key!r}",
            field="time",
            allowed=f"{instant_text(node.created_at)} or later",
        )


def _refuse_unknown_causes(here: Slice, command: Command) -> None:
    for at, cause in enumerate(command.caused_by):
        if cause not in here.events:
            raise NotFoundError(
                f"there is no event {cause!r}",
                field=f"caused_by[{at}]",
                position=at,
                allowed="ids of earlier events of this project",
            )


def _refuse_empty_validity(payload: Json) -> None:
    if "valid_to" in payload and datetime.fromisoformat(payload["valid_to"]) < datetime.fromisoformat(
        payload["valid_from"]
    ):
        raise ValidationError(
            "validity ends before it starts", field="payload.valid_to", allowed=f"{payload['valid_from']} or later"
        )


def _refuse_end(here: Slice, key: str, relation: Relation, to: str, name: str) -> None:
    if to == key:
        raise RelationRefusedError(
            f"{key!r} cannot be related to itself", field=name, allowed=f"{relation.value} another node"
        )
    if here.node(to) is None:
        raise missing_node(to, name)


def _refuse_unknown_end(here: Slice, node: Node, command: Command) -> None:
    if command.transition is Transition.SUPERSEDED:
        _refuse_end(here, node.key, Relation.SUPERSEDES, command.payload["by"], "payload.by")
    elif command.transition in (Transition.LINKED, Transition.UNLINKED):
        _refuse_end(here, node.key, Relation(command.payload["relation"]), command.payload["to"], "payload.to")


def _refuse_link(here: Slice, node: Node, command: Command) -> None:
    relation, to = Relation(command.payload["relation"]), command.payload["to"]
    if command.transition is Transition.UNLINKED:
        if here.live_edge(node.id, relation, to) is None:
            raise NotFoundError(
                f"there is no edge {node.key!r} {relation.value} {to!r}",
                field="payload.to",
                allowed="an edge that is not yet unlinked",
            )
        return
    target = here.node(to)
    if relation is Relation.SUPERSEDES and target is not None:
        _refuse_ring(here, node.id, target.id, "payload.to")


def _refuse_supersession(here: Slice, node: Node, command: Command) -> None:
    successor = here.node(command.payload["by"])
    if successor is not None:
        _refuse_ring(here, successor.id, node.id, "payload.by")


def _refuse_ring(here: Slice, newer: NodeId, older: NodeId, name: str) -> None:
    """Refuse ``newer SUPERSEDES older`` where ``older`` already supersedes ``newer``, over any steps."""
    seen, waiting = {older}, [older]
    while waiting:
        for edge in here.live_edges(waiting.pop(), Relation.SUPERSEDES):
            if edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)
    if newer in seen:
        raise RelationRefusedError(
            f"{newer[0]!r} is itself superseded by {older[0]!r}, directly or over others",
            field=name,
            allowed="chains of SUPERSEDES without rings",
        )


def _refuse_other_evidence(here: Slice, event: Event) -> None:
    for at, record in enumerate(event.payload.get("evidence", ())):
        known = here.evidence.get(record["key"])
        if known is not None and canonical(evidence_record(known)) != canonical(record):
            raise ValidationError(
                f"evidence {record['key']!r} is already there with other content",
                field=f"payload.evidence[{at}].key",
                position=at,
                allowed="the same content, or another key",
            )


def not_before(now: datetime, head: Head) -> datetime:
    """The recorded time for an event behind ``head``: a clock that is set back does not turn the journal back."""
    return now if head.recorded_at is None else max(now, head.recorded_at)


def refuse_other(decided: Event, written: Event) -> None:
    """Refuse a written event that does not come out of the journal before it as it stands.

    Raises:
        ValidationError: with the first field that differs.
    """
    if decided.hash != written.hash:
        line = written.line()
        wrong = next(name for name, value in decided.line().items() if line[name] != value)
        raise ValidationError(
            f"the event does not follow from the journal before it: {wrong} differs",
            field=wrong,
            allowed="a journal as it was written, from its first event on",
        )
