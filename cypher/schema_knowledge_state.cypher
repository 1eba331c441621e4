// schema_knowledge_state: pages through the nodes of a state in the order of their keys.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE INDEX knowledge_state IF NOT EXISTS
FOR (n:Knowledge) ON (n.project, n.state, n.key, n.generation)
