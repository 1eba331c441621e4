// schema_knowledge_kind: pages through the nodes of a kind in the order of their keys.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE INDEX knowledge_kind IF NOT EXISTS
FOR (n:Knowledge) ON (n.project, n.kind, n.key, n.generation)
