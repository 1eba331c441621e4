// nodes_put: write nodes as the newest event left them, their labels with them.
//
// kind:    write
// params:  project: str, rows: [map of a node's properties, and labels]
// returns: written: int
// bounds:  one node a row
//
// at_risk is not written here but by risk_spread and risk_clear; only retiring ends it, since what is retired is
// never itself at risk. The mark is 0 before there is one: to change a number costs half of what it costs to add one.
UNWIND $rows AS row
MERGE (n:Knowledge {project: $project, key: row.key, generation: row.generation})
SET n.proposition = row.proposition,
    n.kind = row.kind,
    n.state = row.state,
    n.valid_from = datetime(row.valid_from),
    n.valid_to = datetime(row.valid_to),
    n.created_at = datetime(row.created_at),
    n.created_seq = row.created_seq,
    n.updated_at = datetime(row.updated_at),
    n.updated_seq = row.updated_seq,
    n.verified_at = datetime(row.verified_at),
    n.verified_seq = row.verified_seq,
    n.retired_seq = row.retired_seq,
    n.uses = row.uses,
    n.helpful = row.helpful,
    n.harmful = row.harmful,
    n.unsupported = row.unsupported,
    n.forgotten = row.forgotten,
    n.confirmed_by = row.confirmed_by,
    n.lineage = row.lineage,
    n.risk_seq = CASE WHEN row.retired_seq IS NULL THEN coalesce(n.risk_seq, 0) ELSE 0 END
REMOVE n:Proposed:Confirmed:Challenged:Corrected:Superseded:Invalidated:Forgotten
SET n:$(row.labels)
FOREACH (_ IN CASE WHEN row.retired_seq IS NULL THEN [] ELSE [1] END |
  REMOVE n:AtRisk
)
RETURN count(n) AS written
