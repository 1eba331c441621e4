// repair_events_untie: delete all that leads from events, and what leads to them from anything but events.
//
// kind:    write
// params:  project: str, seqs: [int]
// returns: dropped: int
// bounds:  the relationships of the named events
UNWIND $seqs AS seq
MATCH (e:Event {project: $project, seq: seq})
MATCH (e)-[r]-(s)
WHERE startNode(r) = e OR NOT (s:Event AND coalesce(s.project = $project, false))
DELETE r
RETURN count(r) AS dropped
