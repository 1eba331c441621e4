// risk_clear: take back the marks that hang on one node's mark, and give each node the one that is left for it, if any.
//
// kind:    write
// params:  project: str, key: str, generation: int, seq: int
// returns: lifted: int, cleared: int
// bounds:  any depth, as rules.md section 5 asks; nodes at risk of the retirement at $seq, a few looks at each
//
// What is taken back is what is at risk of the same retirement as the start, $seq, and rests on it. The newest other
// retirement goes first, so that what it marks stops the walks of older ones and no node is marked twice.
MATCH (start:Knowledge {project: $project, key: $key, generation: $generation})
MATCH (start)
  (()<-[r:DEPENDS_ON|DERIVED_FROM]-(b) WHERE r.until IS NULL AND b.risk_seq = $seq)*
  (n)
WITH DISTINCT n
REMOVE n:AtRisk
SET n.risk_seq = 0
WITH collect(n) AS lifted
CALL (lifted) {
  UNWIND lifted AS n
  MATCH (n)-[r:DEPENDS_ON|DERIVED_FROM]->(t:Knowledge)
  WHERE r.until IS NULL AND (t:Retired OR t:AtRisk)
  WITH n, max(coalesce(t.retired_seq, t.risk_seq)) AS threat
  WHERE n:Proposed OR coalesce(n.verified_seq, 0) < threat
  WITH n, threat
  ORDER BY threat DESC
  CALL (n, threat) {
    MATCH (n)
      (()<-[r:DEPENDS_ON|DERIVED_FROM]-(b)
        WHERE r.until IS NULL AND NOT b:Retired
          AND (b:Proposed OR coalesce(b.verified_seq, 0) < threat) AND (NOT b:AtRisk OR b.risk_seq < threat))*
      (m)
    WHERE NOT n:AtRisk OR n.risk_seq < threat
    WITH DISTINCT m, threat
    SET m:AtRisk, m.risk_seq = threat
  }
  RETURN count(*) AS threats
}
UNWIND lifted AS n
RETURN count(n) AS lifted, sum(CASE WHEN n:AtRisk THEN 0 ELSE 1 END) AS cleared
