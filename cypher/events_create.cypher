// events_create: append events to the journal, each tied to its node, which stands on the evidence that came with it.
//
// kind:    write
// params:  project: str, rows: [map of event (its properties), and evidence (maps of records that are new)]
// returns: written: int
// bounds:  an event a row, and its evidence
UNWIND $rows AS row
WITH row.event AS event, row.evidence AS evidence
MATCH (n:Knowledge {project: $project, key: event.key, generation: event.generation})
CREATE (e:Event)-[:ABOUT]->(n)
SET e = event {.*, time: datetime(event.time), recorded_at: datetime(event.recorded_at)}
FOREACH (record IN evidence |
  CREATE (n)-[:EVIDENCED_BY {seq: event.seq}]->(v:Evidence)
  SET v = record {.*, project: $project, timestamp: datetime(record.timestamp)}
)
RETURN count(e) AS written
