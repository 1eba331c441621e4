// aging_changes: what the aging time of a project was set to and when, the newest first.
//
// kind:    read
// params:  project: str, first: int
// returns: since: str, seconds: int
// bounds:  $first rows
MATCH (a:Aging)
WHERE a.project = $project AND a.since > datetime('0001-01-01T00:00:00Z')
WITH a
ORDER BY a.since DESC
LIMIT $first
RETURN toString(a.since) AS since, a.seconds AS seconds
