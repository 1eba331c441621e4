// impact_walk: what is, or would be, at risk of one node, in pages by key.
//
// kind:    read
// params:  project: str, key: str, generation: int, seq: int, after_key: str, after_generation: int, first: int
// returns: count: int, nodes: [map]
// bounds:  any depth, as rules.md section 5 asks, each node once; $first nodes in the answer
//
// $seq is the position of the node's retirement, or a number above all positions where it is still alive.
MATCH (start:Knowledge {project: $project, key: $key, generation: $generation})
MATCH (start)
  ((:Knowledge)<-[r:DEPENDS_ON|DERIVED_FROM]-(b:Knowledge)
    WHERE r.until IS NULL AND b.retired_seq IS NULL AND coalesce(b.verified_seq, 0) < $seq)+
  (n:Knowledge)
WITH DISTINCT start, n
WHERE n <> start
WITH count(n) AS count, collect(n) AS found
CALL (found) {
  UNWIND found AS n
  WITH n
  WHERE n.key > $after_key OR (n.key = $after_key AND n.generation > $after_generation)
  ORDER BY n.key, n.generation
  LIMIT $first
  RETURN collect(n {
    .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
    valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
    updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
    .created_seq, .updated_seq
  }) AS nodes
}
RETURN count, nodes
