// evidence_put: write evidence that is new to the project.
//
// kind:    write
// params:  project: str, rows: [map of an evidence record]
// returns: written: int
// bounds:  one node a row
UNWIND $rows AS row
MERGE (e:Evidence {project: $project, key: row.key})
  ON CREATE SET e.type = row.type,
    e.source = row.source,
    e.timestamp = datetime(row.timestamp),
    e.hash = row.hash,
    e.artifact_ref = row.artifact_ref,
    e.metadata = row.metadata
RETURN count(e) AS written
