// schema_store_format_identity: one record of the form in which a store is written.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  one constraint
CREATE CONSTRAINT store_format_identity IF NOT EXISTS
FOR (f:StoreFormat) REQUIRE (f.name) IS UNIQUE
