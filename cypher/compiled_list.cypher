// compiled_list: a page of a project's nodes that are not forgotten.
//
// kind:    read
// params:  project: str, prefix: str, key: str, generation: int, first: int, wanted: map of filters
// returns: nodes: [columns of n]
// bounds:  $first nodes; filters read on until as many are found
//
// Ordered by key and generation, after the node that $key and $generation name. The filters of $wanted are kinds,
// at_risk, stale (with aged), updated_after and valid_at; null lets everything through.
WITH reduce(last = $prefix, _ IN range(1, 200) | last + '\uDBFF\uDFFF') AS last
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key >= $key AND n.key <= last AND n.generation >= 1 AND n.key STARTS WITH $prefix
  AND CASE n.key WHEN $key THEN n.generation > $generation ELSE true END
  AND NOT n:Forgotten
  AND ($wanted.kinds IS NULL OR n.kind IN $wanted.kinds)
  AND ($wanted.at_risk IS NULL OR n:AtRisk = $wanted.at_risk)
  AND ($wanted.stale IS NULL
    OR (NOT n:Retired AND coalesce(n.verified_at, n.created_at) < datetime($wanted.aged)) = $wanted.stale)
  AND ($wanted.updated_after IS NULL OR n.updated_at > datetime($wanted.updated_after))
  AND ($wanted.valid_at IS NULL
    OR (n.valid_from <= datetime($wanted.valid_at)
      AND (n.valid_to IS NULL OR n.valid_to > datetime($wanted.valid_at))))
WITH n
ORDER BY n.project, n.key, n.generation
LIMIT $first
RETURN collect([n.key]) AS nodes
