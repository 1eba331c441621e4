// knowledge_page_of_kinds: a page of a project's nodes of some kinds that are not forgotten.
//
// kind:    read
// params:  project: str, filters: map, prefix: str, key: str, generation: int, first: int, evidence: bool
// returns: node: map
// bounds:  $first nodes a kind; other filters read on until as many are found
//
// As knowledge_page, but each kind is read in its own order, so that a rare one costs no more than a common one.
UNWIND $filters.kinds AS kind
CALL (kind) {
  WITH kind, reduce(last = $prefix, _ IN range(1, 200) | last + '\uDBFF\uDFFF') AS last
  MATCH (n:Knowledge)
  USING INDEX n:Knowledge(project, kind, key, generation)
  WHERE n.project = $project AND n.kind = kind
    AND n.key >= $key AND n.key <= last AND n.generation >= 1
    AND left(n.key, size($prefix)) = $prefix
    AND CASE n.key WHEN $key THEN n.generation > $generation ELSE true END
    AND NOT n:Forgotten
    AND ($filters.states IS NULL OR n.state IN $filters.states)
    AND ($filters.at_risk IS NULL OR n:AtRisk = $filters.at_risk)
    AND ($filters.stale IS NULL
      OR (NOT n:Retired AND coalesce(n.verified_at, n.created_at) < datetime($filters.aged)) = $filters.stale)
    AND ($filters.updated_after IS NULL OR n.updated_at > datetime($filters.updated_after))
    AND ($filters.valid_at IS NULL
      OR (n.valid_from <= datetime($filters.valid_at)
        AND (n.valid_to IS NULL OR n.valid_to > datetime($filters.valid_at))))
  RETURN n
  ORDER BY n.project, n.kind, n.key, n.generation
  LIMIT $first
}
WITH n
ORDER BY n.key, n.generation
LIMIT $first
RETURN n {
  .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
  valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
  updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
  .created_seq, .updated_seq,
  evidence: COLLECT {
    MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
    WHERE $evidence
    RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
    ORDER BY s.seq, e.key
  }
} AS node
