"""Who is let in, and that what lies outside a token's scope is not there."""

from __future__ import annotations

from graph.knowledge import Actor, ActorType

OURS, THEIRS, NOWHERE = "ours", "theirs", "nowhere"
PERSON = Actor("tests", "person", ActorType.HUMAN)
AGENT = Actor("tests", "agent", ActorType.AGENT)
SECRET = "Nobody else may read of the heron"
