// evidence_drop: delete some of a project's evidence.
//
// kind:    write
// params:  project: str, first: int
// returns: dropped: int
// bounds:  $first nodes; called until none is left
MATCH (e:Evidence)
WHERE e.project = $project AND e.key IS NOT NULL
WITH e
LIMIT $first
DETACH DELETE e
RETURN count(*) AS dropped
