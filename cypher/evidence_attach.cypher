// evidence_attach: let nodes stand on evidence, since the event that said so first.
//
// kind:    write
// params:  project: str, rows: [map of key, generation, evidence, seq]
// returns: written: int
// bounds:  one relationship a row
UNWIND $rows AS row
MATCH (n:Knowledge {project: $project, key: row.key, generation: row.generation})
MATCH (e:Evidence {project: n.project, key: row.evidence})
MERGE (n)-[s:EVIDENCED_BY]->(e)
  ON CREATE SET s.seq = row.seq
RETURN count(s) AS written
