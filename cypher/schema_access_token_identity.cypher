// schema_access_token_identity: one token of an id.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  one constraint
CREATE CONSTRAINT access_token_identity IF NOT EXISTS
FOR (t:AccessToken) REQUIRE (t.token_id) IS UNIQUE
