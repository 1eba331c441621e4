// schema_evidence_identity: evidence is known by project and key.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE CONSTRAINT evidence_identity IF NOT EXISTS
FOR (e:Evidence) REQUIRE (e.project, e.key) IS UNIQUE
