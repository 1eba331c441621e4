// audit_evidence_keys: a page of the evidence that is stored for a project, in the order of its keys.
//
// kind:    read
// params:  project: str, after_key: str, first: int
// returns: key: str
// bounds:  $first nodes
MATCH (e:Evidence)
WHERE e.project = $project AND e.key > $after_key
WITH e
ORDER BY e.project, e.key
LIMIT $first
RETURN e.key AS key
