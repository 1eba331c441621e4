"""Knowledge that can say where it came from, what rests on it, and what to doubt when something falls.

A *node* is a claim or an observation, known by (project, key, generation). Everything that changes a node is an
immutable *event* in its project's *journal*; nodes, edges, evidence links and at_risk marks are a *projection* of
that journal and come out equal when they are dropped and rebuilt.

The modules, from the inside out:

- ``errors``     every error that can reach a caller, each with a stable code
- ``knowledge``  the nouns: nodes, edges, evidence, actors; validated when they are made
- ``journal``    events, their canonical JSON and hash chain, and the journal as a file
- ``lifecycle``  a command and the state it meets become events, or a refusal; events become state
- ``risk``       which live nodes rest on something retired: the reference rule
- ``graphml``    nodes and edges as a GraphML document, streamed
- ``queries``    finds and checks the statements in ``cypher/``
- ``schema``     labels, relationship types, constraints and indexes of the database
- ``store``      runs those statements; the one place that knows the driver
- ``service``    the use cases that the API and the command offer
- ``embedded``   a real Neo4j that the command itself installs, starts and stops
"""
