// schema_representation_identity: at most one vector of a model for a node; also the way to all of a project's.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  one constraint
CREATE CONSTRAINT representation_identity IF NOT EXISTS
FOR (r:Representation) REQUIRE (r.project, r.model, r.key, r.generation) IS UNIQUE
