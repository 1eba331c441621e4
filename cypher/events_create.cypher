// events_create: append events to the journal, each tied to its node, which stands on the evidence that came with it.
//
// kind:    write
// params:  project: str, rows: [map of event (its properties), and evidence (maps of records that are new)]
// returns: written: int
// bounds:  an event a row, and its evidence
UNWIND $rows AS row
MATCH (n:Knowledge {project: $project, key: row.event.key, generation: row.event.generation})
CREATE (e:Event)-[:ABOUT]->(n)
SET e = row.event,
    e.time = datetime(row.event.time),
    e.recorded_at = datetime(row.event.recorded_at)
FOREACH (record IN row.evidence |
  CREATE (n)-[:EVIDENCED_BY {seq: row.event.seq}]->(v:Evidence)
  SET v = record,
      v.project = $project,
      v.timestamp = datetime(record.timestamp)
)
RETURN count(e) AS written
