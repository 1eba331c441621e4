// compiled_impact: what is, or would be, at risk of the newest node of a key, in pages by key.
//
// kind:    read
// params:  project: str, key: str, after_key: str, after_generation: int, first: int
// returns: count: int, nodes: [columns of n]
// bounds:  any depth, as rules.md section 5 asks, each node once; $first nodes in the answer
MATCH (start:Knowledge)
WHERE start.project = $project AND start.key = $key AND start.generation >= 1
WITH start
ORDER BY start.generation DESC
LIMIT 1
CALL (start) {
  WITH start, coalesce(start.retired_seq, 9007199254740992) AS seq
  MATCH (start)
    ((:Knowledge)<-[r:DEPENDS_ON|DERIVED_FROM]-(b:Knowledge)
      WHERE r.until IS NULL AND b.retired_seq IS NULL AND coalesce(b.verified_seq, 0) < seq)+
    (n:Knowledge)
  WITH DISTINCT start, n
  WHERE n <> start
  RETURN count(n) AS count, collect(n) AS found
}
CALL (found) {
  UNWIND found AS n
  WITH n
  WHERE n.key > $after_key OR (n.key = $after_key AND n.generation > $after_generation)
  ORDER BY n.key, n.generation
  LIMIT $first
  RETURN collect([n.key]) AS nodes
}
RETURN count, nodes
