// compiled_list_of_states: a page of a project's nodes in some states that are not forgotten.
//
// kind:    read
// params:  project: str, states: [str], prefix: str, key: str, generation: int, first: int, wanted: map of filters
// returns: nodes: [columns of n]
// bounds:  $first nodes a state; filters read on until as many are found
//
// As compiled_list, but each state is read in its own order, so that a rare one costs no more than a common one.
UNWIND $states AS state
CALL (state) {
  WITH state, reduce(last = $prefix, _ IN range(1, 200) | last + '\uDBFF\uDFFF') AS last
  MATCH (n:Knowledge)
  WHERE n.project = $project AND n.state = state
    AND n.key >= $key AND n.key <= last AND n.generation >= 1 AND n.key STARTS WITH $prefix
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
  RETURN n
  ORDER BY n.project, n.state, n.key, n.generation
  LIMIT $first
}
WITH n
ORDER BY n.key, n.generation
LIMIT $first
RETURN collect([n.key]) AS nodes
