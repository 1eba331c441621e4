// schema_event_position: a journal has one event at each position.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE CONSTRAINT event_position IF NOT EXISTS
FOR (e:Event) REQUIRE (e.project, e.seq) IS UNIQUE
