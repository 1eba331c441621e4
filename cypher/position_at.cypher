// position_at: the position that a project's journal had reached at an instant.
//
// kind:    read
// params:  project: str, instant: str
// returns: seq: int
// bounds:  one event
MATCH (e:Event)
WHERE e.project = $project AND e.recorded_at <= datetime($instant)
WITH e.recorded_at AS recorded_at
ORDER BY e.project DESC, recorded_at DESC
LIMIT 1
MATCH (e:Event {project: $project, recorded_at: recorded_at})
RETURN max(e.seq) AS seq
