// search_rivals: what contradicts nodes or superseded them, as search_around tells it.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int, now: bool, edges_max: int
// returns: of: [key, generation], via: str, outgoing: bool, far: [key, generation], among: int
// bounds:  of each node $edges_max edges; a hub's are taken as they come
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
CALL (n) {
  MATCH (n)-[r:CONTRADICTS|SUPERSEDES]-(m:Knowledge)
  WHERE CASE WHEN $now THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
  RETURN m, toLower(type(r)) AS via, startNode(r) = n AS outgoing
  LIMIT $edges_max
}
RETURN DISTINCT id AS of, via, outgoing, [m.key, m.generation] AS far, 1 AS among
ORDER BY of[0], of[1], via, outgoing, far[0], far[1]
