// repair_ties_drop: delete what leads from one node to another node or to evidence, by type, as often as it is there.
//
// kind:    write
// params:  project: str, rows: [map of from, type, label, to (key and generation, null for evidence)]
// returns: dropped: int
// bounds:  the relationships between two nodes for each row
UNWIND $rows AS row
MATCH (n:Knowledge {project: $project, key: row.from[0], generation: row.from[1]})
MATCH (n)-[r]->(t)
WHERE type(r) = row.type AND row.label IN labels(t) AND t.project = $project AND t.key = row.to[0]
  AND (row.to[1] IS NULL OR t.generation = row.to[1])
DELETE r
RETURN count(r) AS dropped
