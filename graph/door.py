"""The one door of concepts: what becomes of something said, given what is known of the same name (rules.md section 8).

It is decided where events are, behind the project's lock, so that two who say something of one name at the same time
make one history. What a journal says of such a decision is enough to come to all that follows from it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from graph.commands import Command
from graph.concept import Concept, Verdict, concept_of, concept_record, contradicting_keys, merged, said_once
from graph.drafts import Draft
from graph.errors import MergeOutdatedError, PropositionConflictError
from graph.journal import Json
from graph.knowledge import ActorType, Node, Relation, State, Transition, same_claim
from graph.slices import Slice

SECOND = 2  # distinct sources confirm what was only proposed
AGAIN = "a second source says the same"  # the reason of that


def recorded(here: Slice, command: Command, node: Node, now: datetime) -> Draft:
    """The events that something said comes to where its name has a live node; it counts once, whatever it says.

    Raises:
        PropositionConflictError: the node of that name is no concept, or the keys of what contradicts it are taken.
        MergeOutdatedError: the consolidator was asked about another text than the one that is there now.
    """
    if node.concept is None:
        raise PropositionConflictError(
            f"{node.key!r} already holds a claim that is no concept", field="key", allowed="another name"
        )
    concept, said = concept_of(node.key, node.concept), said_once(command.payload["concept"])
    time = command.time if command.time is not None else max(now, node.created_at)
    draft = Draft(here, command, now)
    if same_claim(node.proposition, command.payload["proposition"]):
        return _sighted(draft, node, Verdict.SAME, said, time)
    if command.merge is not None and command.merge.against != node.proposition:
        raise MergeOutdatedError(f"{node.key!r} was changed meanwhile", field="key", allowed="the same request again")
    text = None if command.merge is None else command.merge.body
    # What a human confirmed an agent may only challenge; so a text that is no longer theirs stays one against it.
    human = node.confirmed_by is ActorType.HUMAN and command.actor.type is ActorType.AGENT
    if text is None or human:
        return _sighted(draft, node, Verdict.CONTRADICTING, said, time)
    record = concept_record(merged(concept.seen(said, counted=True), text))
    payload: Json = {"proposition": merged(concept, text).claim, "concept": record, "said": said}
    payload |= _evidence(command.payload)
    reason = "merged with what was said of it again"
    return draft.own(node.generation, node.state, time, Transition.CORRECTED, payload, reason)


def counted(here: Slice, command: Command) -> Command:
    """The command of a line that anybody may have written, with the counts of a concept as they are told here.

    What is said counts once, of one source; who corrects a concept carries its counts on.
    """
    payload = dict(command.payload)
    if "said" in payload:
        payload["said"] = said_once(payload["said"])
    if "concept" in payload:
        node = here.node(command.keyed, command.generation)
        counts = said_once(payload["concept"])
        if command.transition is Transition.CORRECTED and node is not None and node.concept is not None:
            known = concept_of(node.key, node.concept)
            counts = concept_record(known.seen(payload["said"], counted=True) if "said" in payload else known)
        payload["concept"] = {**payload["concept"], **{name: counts[name] for name in ("occurrences", "sources")}}
    return replace(command, payload=payload)


def sighted(draft: Draft, node: Node, time: datetime) -> Draft:
    """The event of a journal line that a concept was said again, or something against it, and what follows by rule.

    Which of both it is and how much it counts is told here, whatever the line says.

    Args:
        draft: Without events.
        node: The concept's, which lives.
        time: When.

    Raises:
        PropositionConflictError: the keys of what contradicts it are taken.
    """
    said = said_once(draft.command.payload["said"])
    same = same_claim(node.proposition, concept_of(node.key, said).claim)
    return _sighted(draft, node, Verdict.SAME if same else Verdict.CONTRADICTING, said, time)


def _sighted(draft: Draft, node: Node, verdict: Verdict, said: Mapping[str, Any], time: datetime) -> Draft:
    assert node.concept is not None, "only a concept is sighted"
    command = draft.command
    payload: Json = {"verdict": verdict.value, "said": said} | _evidence(command.payload)
    draft = draft.own(node.generation, node.state, time, Transition.SIGHTED, payload)
    concept = concept_of(node.key, node.concept)
    if verdict is Verdict.CONTRADICTING:
        return _contradicted(draft, node, concept_of(node.key, said))
    sources = concept.seen(said, counted=True).sources
    if node.state is State.PROPOSED and len(sources) >= SECOND and len(sources) > len(concept.sources):
        draft = draft.by_rule("sighting", Transition.CONFIRMED, node, reason=AGAIN)
    return draft


def _contradicted(draft: Draft, node: Node, said: Concept) -> Draft:
    """With the claim that stands against a concept, as a node of its own, and the challenge that it makes."""
    key = _key_against(draft.here, node, said.claim)
    against, cause = draft.here.node(key), f"{draft.command.event_id}#claim"
    link = {"relation": Relation.CONTRADICTS.value, "to": node.key}
    if against is None or against.retired:
        draft = draft.made_by_rule("claim", key, {"proposition": said.claim, "relations": [link]}).awaited(key, cause)
    elif not _linked(draft.here, against, node):
        draft = draft.by_rule("claim", Transition.LINKED, against, payload=link)
    else:
        cause = draft.command.event_id
    if node.state is State.CHALLENGED:
        return draft
    reason = f"contradicted by {key}"
    return draft.by_rule("contradiction", Transition.CHALLENGED, node, reason=reason, cause=cause)


def _key_against(here: Slice, node: Node, claim: str) -> str:
    """The key of the live node that says a claim against a concept, else one that it can have.

    Whoever corrected such a node, or proposed something under its key, made it say another thing.
    """
    keys = contradicting_keys(node.key, claim)
    live = {key: found for key in keys if (found := here.node(key)) is not None and not found.retired}
    saying = [key for key, found in live.items() if same_claim(found.proposition, claim)]
    free = [key for key in keys if key not in live]
    if not saying and not free:
        raise PropositionConflictError(
            f"the keys of a claim against {node.key!r} already hold other claims",
            field="key",
            allowed=f"one of {', '.join(keys)} that lives no more",
        )
    return (saying or free)[0]


def _linked(here: Slice, against: Node, node: Node) -> bool:
    edge = here.live_edge(against.id, Relation.CONTRADICTS, node.key)
    return edge is not None and edge.target == node.id


def _evidence(payload: Mapping[str, Any]) -> Json:
    return {"evidence": payload["evidence"]} if "evidence" in payload else {}
