// project_lock: take the project's head for this transaction; whoever comes next waits here.
//
// kind:    write
// params:  project: str
// returns: seq: int, hash: str, recorded_at: str (or null), rebuilding: bool
// bounds:  one node
//
// The write to a property that is removed again is what takes the lock; reading comes after it, or two writers
// would decide on the same state.
MERGE (p:Project {name: $project})
  ON CREATE SET p.seq = 0
SET p._lock = true
REMOVE p._lock
RETURN p.seq AS seq, p.hash AS hash, toString(p.recorded_at) AS recorded_at,
  coalesce(p.rebuilding, false) AS rebuilding
