// edges_put: write edges as the newest event left them.
//
// kind:    write
// params:  project: str, rows: [map of from, relation (a relationship type), to, turns, times, event_ids]
// returns: written: int
// bounds:  one edge a row
//
// No MERGE: with a type that comes as a value, and planned while the database is young, it reads every relationship
// that there is for every row.
UNWIND $rows AS row
MATCH (a:Knowledge {project: $project, key: row.from[0], generation: row.from[1]})
MATCH (b:Knowledge {project: a.project, key: row.to[0], generation: row.to[1]})
OPTIONAL MATCH (a)-[old:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(b)
WHERE type(old) = row.relation
CALL (a, b, row, old) {
  WITH a, b, row, old
  WHERE old IS NULL
  CREATE (a)-[r:$(row.relation)]->(b)
  RETURN r
  UNION ALL
  WITH old AS r
  WHERE r IS NOT NULL
  RETURN r
}
SET r.turns = row.turns,
    r.times = [t IN row.times | datetime(t)],
    r.event_ids = row.event_ids,
    r.since = datetime(row.since),
    r.until = datetime(row.until)
RETURN count(r) AS written
