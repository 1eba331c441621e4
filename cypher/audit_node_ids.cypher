// audit_node_ids: a page of the nodes that are stored for a project, in the order of their keys.
//
// kind:    read
// params:  project: str, after_key: str, after_generation: int, first: int
// returns: key: str, generation: int
// bounds:  $first nodes
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key >= $after_key AND n.generation >= 1
  AND CASE n.key WHEN $after_key THEN n.generation > $after_generation ELSE true END
WITH n
ORDER BY n.project, n.key, n.generation
LIMIT $first
RETURN n.key AS key, n.generation AS generation
