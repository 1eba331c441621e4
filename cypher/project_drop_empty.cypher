// project_drop_empty: remove the head of a project that has no event, so that a refused request leaves nothing behind.
//
// kind:    write
// params:  project: str
// returns: dropped: int
// bounds:  one node
MATCH (p:Project {name: $project, seq: 0})
DELETE p
RETURN count(*) AS dropped
