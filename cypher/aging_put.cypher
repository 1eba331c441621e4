// aging_put: set the aging time of a project from an instant on.
//
// kind:    write
// params:  project: str, since: str, lasts: int
// returns: seconds: int
// bounds:  one node, none for a project without events
//
// A clock that went back does not make it older than what was set before.
MATCH (p:Project {name: $project})
WHERE p.seq > 0
OPTIONAL MATCH (newest:Aging)
WHERE newest.project = $project AND newest.since >= datetime($since)
WITH p, max(newest.since) AS newest
MERGE (a:Aging {project: $project, since: coalesce(newest, datetime($since))})
SET a.seconds = $lasts
RETURN a.seconds AS seconds
