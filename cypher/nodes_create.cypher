// nodes_create: write nodes that are new to the project, their labels with them.
//
// kind:    write
// params:  project: str, rows: [map of node (its properties), and labels]
// returns: written: int
// bounds:  one node a row
//
// Each property is set once: one that is set as text and then as an instant is written twice.
UNWIND $rows AS row
WITH row.node AS node, row.labels AS labels
CREATE (n:Knowledge)
SET n = node {
  .*,
  project: $project,
  risk_seq: 0,
  valid_from: datetime(node.valid_from),
  valid_to: datetime(node.valid_to),
  created_at: datetime(node.created_at),
  updated_at: datetime(node.updated_at),
  verified_at: datetime(node.verified_at)
}
SET n:$(labels)
RETURN count(n) AS written
