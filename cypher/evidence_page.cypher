// evidence_page: a page of a project's evidence, in the order of its keys.
//
// kind:    read
// params:  project: str, after_key: str, first: int
// returns: evidence: map
// bounds:  $first nodes
MATCH (e:Evidence)
WHERE e.project = $project AND e.key > $after_key
WITH e
ORDER BY e.project, e.key
LIMIT $first
RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
  AS evidence
