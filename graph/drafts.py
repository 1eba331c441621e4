"""The events of one decision as they are put together: numbered, chained, and what was left out filled in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from graph.commands import Command, checked_event_id
from graph.concept import carried
from graph.errors import EventConflictError
from graph.journal import Event, Json, sealed
from graph.knowledge import Kind, Node, Relation, State, Transition, instant_text
from graph.slices import Slice, contradiction_id, link_id

_STATE_AFTER = {
    Transition.CONFIRMED: State.CONFIRMED,
    Transition.CHALLENGED: State.CHALLENGED,
    Transition.CORRECTED: State.CORRECTED,
    Transition.SUPERSEDED: State.SUPERSEDED,
    Transition.INVALIDATED: State.INVALIDATED,
    Transition.DISPROVED: State.INVALIDATED,
    Transition.PROPOSED: State.PROPOSED,
}


@dataclass(frozen=True, slots=True)
class Draft:
    """The events that a command comes to so far: its own first, then what follows from it by rule."""

    here: Slice
    command: Command
    now: datetime
    events: tuple[Event, ...] = ()

    def own(
        self,
        generation: int,
        state: State | None,
        time: datetime,
        transition: Transition | None = None,
        payload: Json | None = None,
        reason: str | None = None,
    ) -> Draft:
        """With the command's own event.

        Args:
            generation: Of the node that it is about.
            state: The node's before it; None for a new node.
            time: When it happened.
            transition: What it does, where that is not what the command asks for.
            payload: What it says, where that is not what the command says.
            reason: Why, where the command does not say.
        """
        command = self.command
        done = command.transition if transition is None else transition
        said = command.payload if payload is None else payload
        return self._with(
            command.event_id,
            done,
            (command.keyed, generation),
            time,
            _STATE_AFTER.get(done, state),
            command.reason or reason,
            command.caused_by,
            self._completed(done, said, time),
        )

    def by_rule(
        self,
        rule: str,
        transition: Transition,
        node: Node,
        *,
        reason: str | None = None,
        payload: Json | None = None,
        cause: str | None = None,
    ) -> Draft:
        """With an event that follows by a rule, about a node that is there.

        Args:
            rule: Its name, which the event's id ends with.
            transition: What it does.
            node: What it is about.
            reason: Why.
            payload: What it says.
            cause: The id of the event that it follows from; the command's own unless given.
        """
        return self._with(
            f"{self.command.event_id}#{rule}",
            transition,
            node.id,
            max(self.events[0].time, node.created_at),
            _STATE_AFTER.get(transition, node.state),
            reason,
            (self.command.event_id if cause is None else cause,),
            payload or {},
        )

    def made_by_rule(self, rule: str, key: str, payload: Json) -> Draft:
        """With the proposal of another node, the next generation of its key, that follows by a rule."""
        own = self.events[0]
        complete = {"kind": Kind.CLAIM.value, "valid_from": instant_text(own.time), **payload}
        node_id = (key, self.here.newest.get(key, 0) + 1)
        event_id = f"{self.command.event_id}#{rule}"
        return self._with(
            event_id, Transition.PROPOSED, node_id, own.time, State.PROPOSED, None, (own.event_id,), complete
        )

    def sourced(self, reason: str) -> Draft:
        """With the confirmation of the concept that the own event has just proposed: several sources say it."""
        own = self.events[0]
        event_id, causes = f"{own.event_id}#sighting", (own.event_id,)
        node_id = (own.key, own.generation)
        return self._with(event_id, Transition.CONFIRMED, node_id, own.time, State.CONFIRMED, reason, causes, {})

    def contradicting(self, relations: list[Relation], keys: list[str]) -> Draft:
        """With a challenge of each live node that the command's links contradict (rules.md section 3)."""
        draft, count = self, 0
        contradicted = dict.fromkeys(
            key for relation, key in zip(relations, keys, strict=True) if relation is Relation.CONTRADICTS
        )
        for key in contradicted:
            target = self.here.node(key)
            if target is None or target.retired:
                continue
            rule = contradiction_id("", count).removeprefix("#")
            reason = f"contradicted by {self.events[0].key}"
            draft = draft.by_rule(rule, Transition.CHALLENGED, target, reason=reason)
            count += 1
        return draft

    def awaited(self, key: str, cause: str) -> Draft:
        """With the links of all who waited for a key, which the event ``cause`` has just given a node (section 8)."""
        draft = self
        for count, waiting in enumerate(self.here.awaiting(key)):
            payload = {"relation": Relation.RELATED_TO.value, "to": key}
            rule = link_id("", count).removeprefix("#")
            draft = draft.by_rule(rule, Transition.LINKED, waiting, payload=payload, cause=cause)
        return draft

    def _with(
        self,
        event_id: str,
        transition: Transition,
        node_id: tuple[str, int],
        time: datetime,
        state_after: State | None,
        reason: str | None,
        caused_by: tuple[str, ...],
        payload: Json,
    ) -> Draft:
        assert state_after is not None, "only a proposal is about a node without a state"
        if event_id in self.here.events:
            raise EventConflictError(
                f"event {event_id!r}, which follows by rule, was taken before",
                field="event_id",
                allowed="a new event id",
            )
        if "#" in event_id:
            checked_event_id(event_id, "event_id")  # what is written can be read again
        last = self.events[-1] if self.events else None
        event = Event(
            project=self.here.project,
            seq=(last.seq if last else self.here.head.seq) + 1,
            event_id=event_id,
            transition=transition,
            key=node_id[0],
            generation=node_id[1],
            actor=self.command.actor,
            time=time,
            recorded_at=self.now,
            reason=reason,
            caused_by=caused_by,
            execution=self.command.execution,
            payload=payload,
            state_after=state_after,
            prev_hash=last.hash if last else self.here.head.hash,
        )
        events = (*self.events, sealed(event) if self.here.hashed else event)
        return Draft(self.here, self.command, self.now, events)

    def _completed(self, transition: Transition, said: Json, time: datetime) -> Json:
        payload: Json = dict(said)
        if transition is Transition.PROPOSED:
            payload = {"kind": Kind.CLAIM.value, "valid_from": instant_text(time), **payload}
            if "lineage" in payload:
                payload["lineage"] = {"created_at": instant_text(time), **payload["lineage"]}
        if transition is Transition.CORRECTED and "concept" not in payload:
            corrected = self.here.node(self.command.keyed)
            if corrected is not None and corrected.concept is not None:
                payload["concept"] = carried(corrected.key, corrected.concept, payload["proposition"])
        if "evidence" in payload:
            payload["evidence"] = [
                self._completed_evidence(record, f"e-{self.command.minted}-{at}", time)
                for at, record in enumerate(payload["evidence"])
            ]
        return payload

    def _completed_evidence(self, record: Json, key: str, time: datetime) -> Json:
        known = self.here.evidence.get(record.get("key", key))
        observed = time if known is None else known.timestamp
        return {"key": key, "timestamp": instant_text(observed), **record}
