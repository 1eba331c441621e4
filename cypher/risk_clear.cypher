// risk_clear: take back the marks that hang on one node's mark, and give each node the one that is left for it, if any.
//
// kind:    write
// params:  project: str, key: str, generation: int, seq: int, watched: [key]
// returns: cleared: int, seen: [[key, generation, seq or 0]]
// bounds:  any depth, as rules.md section 5 asks; nodes at risk of the retirement at $seq, a few looks at each
//
// What is taken back is what is at risk of the same retirement as the start, $seq, and rests on it. The newest other
// retirement goes first, so that what it marks stops the walks of older ones and no node is marked twice.
MATCH (start:Knowledge {project: $project, key: $key, generation: $generation})
MATCH (start)
  ((:Knowledge)<-[r:DEPENDS_ON|DERIVED_FROM]-(b:Knowledge) WHERE r.until IS NULL AND b.risk_seq = $seq)*
  (n:Knowledge)
WITH DISTINCT n
REMOVE n:AtRisk
SET n.risk_seq = 0
WITH collect(n) AS lifted
CALL (lifted) {
  UNWIND lifted AS n
  MATCH (n)-[r:DEPENDS_ON|DERIVED_FROM]->(t:Knowledge)
  WHERE r.until IS NULL AND coalesce(t.retired_seq, t.risk_seq, 0) > coalesce(n.verified_seq, 0)
  WITH n, max(coalesce(t.retired_seq, t.risk_seq)) AS threat
  ORDER BY threat DESC
  CALL (n, threat) {
    MATCH (n)
      ((:Knowledge)<-[r:DEPENDS_ON|DERIVED_FROM]-(b:Knowledge)
        WHERE r.until IS NULL AND b.retired_seq IS NULL
          AND coalesce(b.verified_seq, 0) < threat AND coalesce(b.risk_seq, 0) < threat)*
      (m:Knowledge)
    WHERE coalesce(n.risk_seq, 0) < threat
    WITH DISTINCT m, threat
    SET m:AtRisk, m.risk_seq = threat
  }
  RETURN count(*) AS threats
}
CALL (lifted) {
  UNWIND lifted AS n
  RETURN sum(CASE WHEN n:AtRisk THEN 0 ELSE 1 END) AS cleared,
    collect(CASE WHEN n.key IN $watched THEN [n.key, n.generation, n.risk_seq] END) AS seen
}
RETURN cleared, seen
