// schema_event_recorded: finds the position that a journal had reached at an instant.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE INDEX event_recorded IF NOT EXISTS
FOR (e:Event) ON (e.project, e.recorded_at, e.seq)
