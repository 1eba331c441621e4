"""Knowledge that can say where it came from, what rests on it, and what to doubt when something falls.

A *node* is a claim or an observation, known by (project, key, generation). Everything that changes a node is an
immutable *event* in its project's *journal*; nodes, edges, evidence links and at_risk marks are a *projection* of
that journal and come out equal when they are dropped and rebuilt.

The modules, from the inside out:

- ``errors``      every error that can reach a caller, each with a stable code
- ``embedded``    a real Neo4j that the command itself installs, starts and stops
- ``knowledge``   the nouns: nodes, edges, evidence, actors, and the bounds of their parts
- ``journal``     events, their canonical JSON and the chain of hashes
- ``commands``    the one door: a mutation or a journal line becomes a checked command
- ``slices``      the part of a projection that a batch of commands touches
- ``lifecycle``   a command and the state that it meets become events, or a refusal
- ``projection``  an event and the state before it become the state after it
- ``risk``        which live nodes rest on something retired: the reference rule
- ``graphml``     nodes and edges as a GraphML document, streamed
- ``graphml_reader``  such a document, read element by element
- ``queries``     finds and checks the statements in ``cypher/``
- ``rows``        nouns as rows of statements, and back
- ``schema``      labels, relationship types, constraints and indexes of the database
- ``batch``       one transaction's work in one project
- ``store``       the database: transactions, deadlines, errors
- ``scratch``     a projection on disk, beside the database
- ``stored``      what of a thing in the database is not as its journal makes it
- ``fold``        a journal, read in its order, checked and folded on a scratch
- ``audit``       whether a journal and what is stored of its project are whole
- ``rebuild``     puts right what is not
- ``exchange``    journals and graphs as files
- ``embedding``   texts as vectors, and the vectors in the database
- ``graphml_import``  a graph without its journal, as events that make it
- ``prov_export`` a project in the terms of W3C PROV
- ``service``     the use cases that the API and the command offer
"""
