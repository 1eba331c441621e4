// export_nodes: a page of all nodes that a project had at position $seq, in the order of their keys.
//
// kind:    read
// params:  project: str, seq: int, after_key: str, after_generation: int, first: int
// returns: node: map
// bounds:  $first nodes
//
// A node that events after $seq touched (updated_seq says so) is as it is now; the reader asks knowledge_as_of for it.
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key >= $after_key AND n.generation >= 1
  AND CASE n.key WHEN $after_key THEN n.generation > $after_generation ELSE true END
  AND n.created_seq <= $seq
WITH n
ORDER BY n.project, n.key, n.generation
LIMIT $first
RETURN n {
  .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
  valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
  updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
  .created_seq, .updated_seq, .verified_seq, .retired_seq, .risk_seq, .helpful, .harmful, .unsupported,
  .confirmed_by, .dangling, labels: labels(n),
  evidence: COLLECT {
    MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
    WHERE s.seq <= $seq
    RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
    ORDER BY s.seq, e.key
  }
} AS node
