// repair_nodes: write nodes with exactly these properties and labels.
//
// kind:    write
// params:  project: str, rows: [map of a node's properties, labels, and surplus (labels that it must lose)]
// returns: written: int
// bounds:  one node a row
UNWIND $rows AS row
MERGE (n:Knowledge {project: $project, key: row.key, generation: row.generation})
SET n = row.plain,
    n.valid_from = datetime(row.valid_from),
    n.valid_to = datetime(row.valid_to),
    n.created_at = datetime(row.created_at),
    n.updated_at = datetime(row.updated_at),
    n.verified_at = datetime(row.verified_at)
REMOVE n:$(row.surplus)
SET n:$(row.labels)
RETURN count(n) AS written
