// events_attach: tie events to the nodes they are about and to the events that caused them.
//
// kind:    write
// params:  project: str, rows: [map of seq, nodes, caused_by]
// returns: written: int
// bounds:  two relationships and the causes of a row
UNWIND $rows AS row
MATCH (e:Event {project: $project, seq: row.seq})
CALL (e, row) {
  UNWIND row.nodes AS node
  MATCH (n:Knowledge {project: $project, key: node[0], generation: node[1]})
  MERGE (e)-[:ABOUT]->(n)
}
CALL (e, row) {
  UNWIND row.caused_by AS event_id
  MATCH (cause:Event {project: $project, event_id: event_id})
  MERGE (e)-[:CAUSED_BY]->(cause)
}
RETURN count(e) AS written
