// risk_spread: mark what rests on a node as at risk of the retirement at $seq, any depth.
//
// kind:    write
// params:  project: str, key: str, generation: int, seq: int, watched: [key]
// returns: marked: int, newly: int, seen: [[key, generation]]
// bounds:  any depth, as rules.md section 5 asks; each node once
//
// The start is the retired node, or a live one that was linked to something retired or at risk; a live start is
// marked too. The walk stops at retired nodes, at nodes that evidence confirmed since, and at nodes that a newer
// retirement has marked, for that one has marked all behind them as well.
MATCH (start:Knowledge {project: $project, key: $key, generation: $generation})
MATCH (start)
  ((:Knowledge)<-[r:DEPENDS_ON|DERIVED_FROM]-(b:Knowledge)
    WHERE r.until IS NULL AND b.retired_seq IS NULL
      AND coalesce(b.verified_seq, 0) < $seq AND coalesce(b.risk_seq, 0) < $seq)*
  (n:Knowledge)
WITH DISTINCT n
WHERE n.retired_seq IS NULL
WITH n, NOT n:AtRisk AS fresh
SET n:AtRisk, n.risk_seq = $seq
RETURN count(n) AS marked,
  sum(CASE WHEN fresh THEN 1 ELSE 0 END) AS newly,
  collect(CASE WHEN n.key IN $watched THEN [n.key, n.generation] END) AS seen
