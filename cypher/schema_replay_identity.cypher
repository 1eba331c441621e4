// schema_replay_identity: a session is replayed into a project once.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  one constraint
CREATE CONSTRAINT replay_identity IF NOT EXISTS
FOR (r:Replay) REQUIRE (r.project, r.session) IS UNIQUE
