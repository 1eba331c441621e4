// unverified_page: a page of the confirmed nodes of a project that nothing has verified since an instant.
//
// kind:    read
// params:  project: str, before: str, key: str, generation: int, first: int
// returns: key: str, generation: int
// bounds:  $first nodes; reads on among the confirmed ones until as many are found
//
// Ordered by key and generation, after the node that $key and $generation name.
MATCH (n:Knowledge)
USING INDEX n:Knowledge(project, state, key, generation)
WHERE n.project = $project AND n.state = 'confirmed' AND n.key >= $key AND n.generation >= 1
  AND CASE n.key WHEN $key THEN n.generation > $generation ELSE true END
  AND coalesce(n.verified_at, n.created_at) < datetime($before)
WITH n
ORDER BY n.project, n.state, n.key, n.generation
LIMIT $first
RETURN n.key AS key, n.generation AS generation
