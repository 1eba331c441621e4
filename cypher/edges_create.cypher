// edges_create: write edges that are new to the project.
//
// kind:    write
// params:  project: str, rows: [map of from, relation (a relationship type), to, turns, times, event_ids, since, until]
// returns: written: int
// bounds:  one edge a row
UNWIND $rows AS row
MATCH (a:Knowledge {project: $project, key: row.from[0], generation: row.from[1]})
MATCH (b:Knowledge {project: a.project, key: row.to[0], generation: row.to[1]})
CREATE (a)-[r:$(row.relation)]->(b)
SET r = row {
  .turns,
  .event_ids,
  times: [t IN row.times | datetime(t)],
  since: datetime(row.since),
  until: datetime(row.until)
}
RETURN count(r) AS written
