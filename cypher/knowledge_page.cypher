// knowledge_page: a page of a project's nodes that are not forgotten, with their evidence where asked.
//
// kind:    read
// params:  project: str, filters: map, prefix: str, key: str, generation: int, first: int, evidence: bool
// returns: node: map
// bounds:  $first nodes; filters read on until as many are found
//
// Ordered by key and generation, after the node that $key and $generation name. An instant before $filters.aged that
// nothing came after makes a live node stale.
//
// $filters holds states, kinds, at_risk, stale, aged, updated_after and valid_at; null filters nothing. They come in
// one map because a plan is kept for each pattern of nulls and each size of each list that is a parameter of its own.
WITH reduce(last = $prefix, _ IN range(1, 200) | last + '\uDBFF\uDFFF') AS last
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key >= $key AND n.key <= last AND n.generation >= 1
  AND left(n.key, size($prefix)) = $prefix
  AND CASE n.key WHEN $key THEN n.generation > $generation ELSE true END
  AND NOT n:Forgotten
  AND ($filters.states IS NULL OR n.state IN $filters.states)
  AND ($filters.kinds IS NULL OR n.kind IN $filters.kinds)
  AND ($filters.at_risk IS NULL OR n:AtRisk = $filters.at_risk)
  AND ($filters.stale IS NULL
    OR (NOT n:Retired AND coalesce(n.verified_at, n.created_at) < datetime($filters.aged)) = $filters.stale)
  AND ($filters.updated_after IS NULL OR n.updated_at > datetime($filters.updated_after))
  AND ($filters.valid_at IS NULL
    OR (n.valid_from <= datetime($filters.valid_at)
      AND (n.valid_to IS NULL OR n.valid_to > datetime($filters.valid_at))))
WITH n
ORDER BY n.project, n.key, n.generation
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
