// position_at: the position that a project's journal had reached at an instant; no row before its first event.
//
// kind:    read
// params:  project: str, instant: str
// returns: seq: int
// bounds:  one event
//
// Recorded times never fall along a journal, and several events may share one: the last of them counts.
MATCH (e:Event)
USING INDEX e:Event(project, recorded_at, seq)
WHERE e.project = $project AND e.recorded_at <= datetime($instant) AND e.seq >= 1
RETURN e.seq AS seq
ORDER BY e.project DESC, e.recorded_at DESC, e.seq DESC
LIMIT 1
