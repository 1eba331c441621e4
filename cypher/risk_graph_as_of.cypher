// risk_graph_as_of: what nodes rested on at position $seq, down to what was retired by then.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int, most: int
// returns: key: str, generation: int, verified_seq: int, retired_seq: int or null, rests_on: [[key, generation]]
// bounds:  any depth, as rules.md section 5 asks; each node once; $most nodes
UNWIND $ids AS id
MATCH (start:Knowledge {project: $project, key: id[0], generation: id[1]})
MATCH (start)
  ((a:Knowledge)-[r:DEPENDS_ON|DERIVED_FROM]->(:Knowledge)
    WHERE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 AND (a.retired_seq IS NULL OR a.retired_seq > $seq))*
  (n:Knowledge)
WITH DISTINCT n
LIMIT $most
CALL (n) {
  MATCH (e:Event)-[:ABOUT]->(n)
  WHERE n.verified_seq IS NOT NULL AND e.verifies AND e.seq <= $seq
  RETURN coalesce(max(e.seq), 0) AS verified_seq
}
RETURN n.key AS key, n.generation AS generation, verified_seq,
  CASE WHEN n.retired_seq <= $seq THEN n.retired_seq END AS retired_seq,
  COLLECT {
    MATCH (n)-[s:DEPENDS_ON|DERIVED_FROM]->(t:Knowledge)
    WHERE size([u IN s.turns WHERE u <= $seq]) % 2 = 1 AND (n.retired_seq IS NULL OR n.retired_seq > $seq)
    RETURN [t.key, t.generation]
    ORDER BY t.key, t.generation
  } AS rests_on
