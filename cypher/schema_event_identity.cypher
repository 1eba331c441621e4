// schema_event_identity: an event id is taken once in a project, for ever.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE CONSTRAINT event_identity IF NOT EXISTS
FOR (e:Event) REQUIRE (e.project, e.event_id) IS UNIQUE
