// repair_evidence: write evidence with exactly these properties and its one label.
//
// kind:    write
// params:  project: str, rows: [map of an evidence record, and surplus (labels that it must lose)]
// returns: written: int
// bounds:  one node a row
UNWIND $rows AS row
MERGE (e:Evidence {project: $project, key: row.key})
SET e = row.plain, e.timestamp = datetime(row.timestamp)
REMOVE e:$(row.surplus)
RETURN count(e) AS written
