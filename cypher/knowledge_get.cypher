// knowledge_get: one node, the newest generation of its key that lies between two, with its evidence where asked.
//
// kind:    read
// params:  project: str, key: str, lowest: int, highest: int, evidence: bool
// returns: node: map
// bounds:  one node
//
// Any generation is one between 1 and a number above all; a null would be a plan of its own.
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key = $key AND n.generation >= $lowest AND n.generation <= $highest
WITH n
ORDER BY n.project DESC, n.key DESC, n.generation DESC
LIMIT 1
RETURN n {
  .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
  valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
  updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
  .created_seq, .updated_seq, .retired_seq,
  evidence: COLLECT {
    MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
    WHERE $evidence
    RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
    ORDER BY s.seq, e.key
  }
} AS node
