// project_advance: move the project's head to its newest event.
//
// kind:    write
// params:  project: str, seq: int, hash: str, recorded_at: str
// returns: seq: int
// bounds:  one node
MATCH (p:Project {name: $project})
SET p.seq = $seq, p.hash = $hash, p.recorded_at = datetime($recorded_at)
RETURN p.seq AS seq
