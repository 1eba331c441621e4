// knowledge_get: one node, the newest generation of its key or a named one, with its evidence where asked.
//
// kind:    read
// params:  project: str, key: str, generation: int or null, evidence: bool
// returns: node: map
// bounds:  one node
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key = $key AND n.generation >= 1
  AND ($generation IS NULL OR n.generation = $generation)
WITH n
ORDER BY n.generation DESC
LIMIT 1
RETURN n {
  .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
  valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
  updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage,
  .created_seq, .updated_seq, .retired_seq,
  evidence: COLLECT {
    MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
    WHERE $evidence
    RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
    ORDER BY s.seq, e.key
  }
} AS node
