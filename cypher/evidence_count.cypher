// evidence_count: how many pieces of evidence a project has.
//
// kind:    read
// params:  project: str
// returns: evidence: int
// bounds:  the evidence of the project
MATCH (e:Evidence)
WHERE e.project = $project AND e.key IS NOT NULL
RETURN count(e) AS evidence
