// events_put: append events to the journal.
//
// kind:    write
// params:  rows: [map of an event's properties]
// returns: written: int
// bounds:  one node a row
UNWIND $rows AS row
CREATE (e:Event)
SET e = row,
    e.time = datetime(row.time),
    e.recorded_at = datetime(row.recorded_at)
RETURN count(e) AS written
