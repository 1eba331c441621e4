// risk_graph: what nodes at risk rest on, as far as it is at risk or retired itself.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], most: int
// returns: key: str, generation: int, verified_seq: int, retired_seq: int or null, rests_on: [[key, generation]]
// bounds:  any depth, as rules.md section 5 asks; nodes at risk and the retired ones they lead to; $most nodes
//
// A chain that puts a node at risk runs over nodes at risk only, and ends at the first retired one.
UNWIND $ids AS id
MATCH (start:Knowledge {project: $project, key: id[0], generation: id[1]})
MATCH (start)
  ((a:Knowledge)-[r:DEPENDS_ON|DERIVED_FROM]->(b:Knowledge)
    WHERE r.until IS NULL AND NOT a:Retired AND (b:Retired OR b:AtRisk))*
  (n:Knowledge)
WITH DISTINCT n
LIMIT $most
RETURN n.key AS key, n.generation AS generation, coalesce(n.verified_seq, 0) AS verified_seq,
  n.retired_seq AS retired_seq,
  COLLECT {
    MATCH (n)-[s:DEPENDS_ON|DERIVED_FROM]->(t:Knowledge)
    WHERE s.until IS NULL AND NOT n:Retired AND (t:Retired OR t:AtRisk)
    RETURN [t.key, t.generation]
    ORDER BY t.key, t.generation
  } AS rests_on
