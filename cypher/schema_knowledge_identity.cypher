// schema_knowledge_identity: a node is known by project, key and generation.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE CONSTRAINT knowledge_identity IF NOT EXISTS
FOR (n:Knowledge) REQUIRE (n.project, n.key, n.generation) IS UNIQUE
