// schema_filling_identity: one position for a project and a model.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  one constraint
CREATE CONSTRAINT filling_identity IF NOT EXISTS
FOR (f:Filling) REQUIRE (f.project, f.model) IS UNIQUE
