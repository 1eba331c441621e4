// risk_spread: mark what rests on a node as at risk of the retirement at $seq, any depth.
//
// kind:    write
// params:  project: str, key: str, generation: int, seq: int
// returns: marked: int, newly: int
// bounds:  any depth, as rules.md section 5 asks; each node once
//
// The start is the retired node, or a live one that was linked to something retired or at risk; a live start is
// marked too. The walk stops at retired nodes, at nodes that evidence confirmed since, and at nodes that a newer
// retirement has marked, for that one has marked all behind them as well. Labels say first whether a number needs to
// be looked at, since they lie in the node's own record: what is still proposed nothing has confirmed. No label is
// asked for that a scan could find, or the planner of a young database scans for each hop.
MATCH (start:Knowledge {project: $project, key: $key, generation: $generation})
MATCH (start)
  (()<-[r:DEPENDS_ON|DERIVED_FROM]-(b)
    WHERE r.until IS NULL AND NOT b:Retired
      AND (b:Proposed OR coalesce(b.verified_seq, 0) < $seq) AND (NOT b:AtRisk OR b.risk_seq < $seq))*
  (n)
WITH DISTINCT n
WHERE NOT n:Retired
WITH n, NOT n:AtRisk AS fresh
SET n:AtRisk, n.risk_seq = $seq
RETURN count(n) AS marked, sum(CASE WHEN fresh THEN 1 ELSE 0 END) AS newly
