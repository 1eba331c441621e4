// schema_policy_identity: one policy of a project.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  one constraint
CREATE CONSTRAINT policy_identity IF NOT EXISTS
FOR (p:Policy) REQUIRE (p.project) IS UNIQUE
