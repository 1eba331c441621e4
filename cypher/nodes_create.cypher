// nodes_create: write nodes that are new to the project, their labels with them.
//
// kind:    write
// params:  project: str, rows: [map of node (its properties), and labels]
// returns: written: int
// bounds:  one node a row
UNWIND $rows AS row
CREATE (n:Knowledge)
SET n = row.node,
    n.project = $project,
    n.risk_seq = 0,
    n.valid_from = datetime(row.node.valid_from),
    n.valid_to = datetime(row.node.valid_to),
    n.created_at = datetime(row.node.created_at),
    n.updated_at = datetime(row.node.updated_at),
    n.verified_at = datetime(row.node.verified_at)
SET n:$(row.labels)
RETURN count(n) AS written
