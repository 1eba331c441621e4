// evidence_named: evidence by key.
//
// kind:    read
// params:  project: str, keys: [str]
// returns: evidence: map
// bounds:  one node a key
UNWIND $keys AS key
MATCH (e:Evidence {project: $project, key: key})
RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
  AS evidence
