// compiled_list: a page of a project's nodes that are not forgotten.
//
// kind:    read
// params:  project: str, prefix: str, key: str, generation: int, first: int, filters: map
// returns: nodes: [columns of n]
// bounds:  $first nodes; filters read on until as many are found
//
// Ordered by key and generation, after the node that $key and $generation name. The filters are kinds,
// at_risk, stale (with aged), updated_after and valid_at; null lets everything through.
WITH reduce(last = $prefix, _ IN range(1, 200) | last + '\uDBFF\uDFFF') AS last
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key >= $key AND n.key <= last AND n.generation >= 1
  AND left(n.key, size($prefix)) = $prefix
  AND CASE n.key WHEN $key THEN n.generation > $generation ELSE true END
  AND NOT n:Forgotten
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
RETURN collect([n.key]) AS nodes
