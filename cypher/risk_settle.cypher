// risk_settle: give nodes the mark that they come out with, or none.
//
// kind:    write
// params:  project: str, rows: [[key, generation, seq or null]]
// returns: written: int
// bounds:  one node a row
UNWIND $rows AS row
MATCH (n:Knowledge {project: $project, key: row[0], generation: row[1]})
SET n.risk_seq = row[2]
FOREACH (_ IN CASE WHEN row[2] IS NULL THEN [1] ELSE [] END | REMOVE n:AtRisk)
FOREACH (_ IN CASE WHEN row[2] IS NULL THEN [] ELSE [1] END | SET n:AtRisk)
RETURN count(n) AS written
