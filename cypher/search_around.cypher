// search_around: what nodes are linked to, and what stands on the same evidence.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int, now: bool, edges_max: int, shared_max: int
// returns: of: [key, generation], via: str, outgoing: bool, far: [key, generation]
// bounds:  of each node twice $edges_max edges and $shared_max others on its evidence; a hub's are taken as they come
//
// With $now the edges that live, otherwise those that lived at $seq. Relations that say which of two to believe are
// counted apart, so that a hub's other edges do not hide them.
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
CALL (n) {
  MATCH (n)-[r:CONTRADICTS|SUPERSEDES]-(m:Knowledge)
  WHERE CASE WHEN $now THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
  RETURN m, toLower(type(r)) AS via, startNode(r) = n AS outgoing
  LIMIT $edges_max
  UNION ALL
  MATCH (n)-[r:DERIVED_FROM|DEPENDS_ON|SUPPORTS|RELATED_TO]-(m:Knowledge)
  WHERE CASE WHEN $now THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
  RETURN m, toLower(type(r)) AS via, startNode(r) = n AS outgoing
  LIMIT $edges_max
  UNION ALL
  MATCH (n)-[s:EVIDENCED_BY]->(:Evidence)<-[t:EVIDENCED_BY]-(m:Knowledge)
  WHERE m <> n AND s.seq <= $seq AND t.seq <= $seq
  RETURN m, 'evidence' AS via, false AS outgoing
  LIMIT $shared_max
}
RETURN DISTINCT id AS of, via, outgoing, [m.key, m.generation] AS far
ORDER BY of[0], of[1], via, outgoing, far[0], far[1]
