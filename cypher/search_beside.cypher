// search_beside: what contradicts nodes or superseded them, and what they stand on.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int, now: bool, edges_max: int, evidence_max: int
// returns: of: [key, generation], ties: [[via, outgoing, far_key, far_generation]], evidence: [map]
// bounds:  of each node $edges_max edges, a hub's as they come, and the newest $evidence_max records of evidence
//
// Edges are those of search_around; evidence comes in the order of the events that said so.
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
CALL (n) {
  MATCH (n)-[r:CONTRADICTS|SUPERSEDES]-(m:Knowledge)
  WHERE CASE WHEN $now THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
  WITH toLower(type(r)) AS via, startNode(r) = n AS outgoing, m
  LIMIT $edges_max
  WITH DISTINCT via, outgoing, m.key AS key, m.generation AS generation
  ORDER BY via, outgoing, key, generation
  RETURN collect([via, outgoing, key, generation]) AS ties
}
CALL (n) {
  MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
  WHERE $evidence_max > 0 AND s.seq <= $seq
  WITH s.seq AS since, e
  ORDER BY since DESC, e.key DESC
  LIMIT $evidence_max
  WITH since, e
  ORDER BY since, e.key
  RETURN collect(e {.type, .source}) AS evidence
}
RETURN id AS of, ties, evidence
