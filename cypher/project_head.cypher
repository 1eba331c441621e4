// project_head: a project's newest event.
//
// kind:    read
// params:  project: str
// returns: seq: int, hash: str, recorded_at: str
// bounds:  one node
MATCH (p:Project {name: $project})
WHERE p.seq > 0
RETURN p.seq AS seq, p.hash AS hash, toString(p.recorded_at) AS recorded_at
