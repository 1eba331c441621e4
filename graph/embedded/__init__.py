"""A Neo4j server from Python alone: no Docker, no Maven, no Java of the user's needed.

`EmbeddedNeo4j` starts and watches one; `running` finds the one that another program of ours holds.
"""

from graph.embedded.connection import Connection, holder, running
from graph.embedded.profile import SERVE, TEST, Profile
from graph.embedded.server import EmbeddedNeo4j, Incident
from graph.embedded.state import Holder

__all__ = [
    "SERVE",
    "TEST",
    "Connection",
    "EmbeddedNeo4j",
    "Holder",
    "Incident",
    "Profile",
    "holder",
    "running",
]
