// marks_put: give live nodes the marks that they come out with, 0 for none.
//
// kind:    write
// params:  project: str, rows: [[key, generation, seq or 0]]
// returns: written: int
// bounds:  one node a row
UNWIND $rows AS row
MATCH (n:Knowledge {project: $project, key: row[0], generation: row[1]})
SET n.risk_seq = row[2]
FOREACH (_ IN CASE row[2] WHEN 0 THEN [1] ELSE [] END | REMOVE n:AtRisk)
FOREACH (_ IN CASE row[2] WHEN 0 THEN [] ELSE [1] END | SET n:AtRisk)
RETURN count(n) AS written
