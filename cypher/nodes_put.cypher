// nodes_put: write what the newest event left of nodes that are there, their labels with it.
//
// kind:    write
// params:  project: str, rows: [map of key, generation, what changes of a node, and labels]
// returns: written: int
// bounds:  one node a row
//
// What a node was made with never changes and is left alone. at_risk is not written here but by risk_spread and
// risk_clear; only retiring ends it, since what is retired is never itself at risk. The mark is 0 before there is one:
// to change a number costs half of what it costs to add one.
UNWIND $rows AS row
MATCH (n:Knowledge {project: $project, key: row.key, generation: row.generation})
SET n += row {
  .state,
  .updated_seq,
  .verified_seq,
  .retired_seq,
  .uses,
  .helpful,
  .harmful,
  .unsupported,
  .forgotten,
  .confirmed_by,
  .concept,
  .dangling,
  valid_to: datetime(row.valid_to),
  updated_at: datetime(row.updated_at),
  verified_at: datetime(row.verified_at)
}
REMOVE n:Proposed:Confirmed:Challenged:Corrected:Superseded:Invalidated:Forgotten:Dangling
SET n:$(row.labels)
FOREACH (_ IN CASE WHEN row.retired_seq IS NULL THEN [] ELSE [1] END |
  SET n.risk_seq = 0
  REMOVE n:AtRisk
)
RETURN count(n) AS written
