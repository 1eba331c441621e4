// risk_reach: the marks that may be gone when this node's is: what rests on it and is at risk of the same retirement.
//
// kind:    read
// params:  project: str, key: str, generation: int, seq: int
// returns: key: str, generation: int, verified_seq: int, rests_on: [[key, generation, retired or at-risk seq]]
// bounds:  any depth, as rules.md section 5 asks; nodes at risk of one retirement, each once
MATCH (start:Knowledge {project: $project, key: $key, generation: $generation})
MATCH (start)
  ((:Knowledge)<-[r:DEPENDS_ON|DERIVED_FROM]-(b:Knowledge) WHERE r.until IS NULL AND b.risk_seq = $seq)*
  (n:Knowledge)
WITH DISTINCT n
RETURN n.key AS key, n.generation AS generation, coalesce(n.verified_seq, 0) AS verified_seq,
  COLLECT {
    MATCH (n)-[s:DEPENDS_ON|DERIVED_FROM]->(t:Knowledge)
    WHERE s.until IS NULL AND (t:Retired OR t:AtRisk)
    RETURN [t.key, t.generation, coalesce(t.retired_seq, t.risk_seq)]
  } AS rests_on
