// schema_aging_identity: one aging time of a project at an instant; also the way to all of a project's.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  one constraint
CREATE CONSTRAINT aging_identity IF NOT EXISTS
FOR (a:Aging) REQUIRE (a.project, a.since) IS UNIQUE
