// schema_knowledge_dangling: finds who waits for a node, among the few of a project that wait at all.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE INDEX knowledge_dangling IF NOT EXISTS
FOR (n:Dangling) ON (n.project)
