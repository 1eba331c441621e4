// edges_put: write edges that are there as the newest event left them.
//
// kind:    write
// params:  project: str, rows: [map of from, relation (a relationship type), to, turns, times, event_ids, since, until]
// returns: written: int
// bounds:  one edge a row
UNWIND $rows AS row
MATCH (a:Knowledge {project: $project, key: row.from[0], generation: row.from[1]})
MATCH (b:Knowledge {project: a.project, key: row.to[0], generation: row.to[1]})
MATCH (a)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(b)
WHERE type(r) = row.relation
SET r = row {
  .turns,
  .event_ids,
  times: [t IN row.times | datetime(t)],
  since: datetime(row.since),
  until: datetime(row.until)
}
RETURN count(r) AS written
