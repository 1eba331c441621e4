// projection_drop: delete some of a project's nodes of knowledge, with their edges, marks and ties to events.
//
// kind:    write
// params:  project: str, first: int
// returns: dropped: int
// bounds:  $first nodes; called until none is left
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key IS NOT NULL AND n.generation >= 1
WITH n
LIMIT $first
DETACH DELETE n
RETURN count(*) AS dropped
