// search_around: what nodes are linked to, and what stands on the same evidence.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int, now: bool, edges_max: int, shared_max: int
// returns: of: [key, generation], via: str, outgoing: bool, far: [key, generation], among: int
// bounds:  of each node twice $edges_max edges, and $edges_max records of evidence with $shared_max others on each; a
//          hub's are taken as they come
//
// With $now the edges that live, otherwise those that lived at $seq. Relations that say which of two to believe are
// counted apart, so that a hub's other edges do not hide them. Evidence on which more than $shared_max others stand
// leads nowhere; among counts the others on the evidence that the fewest share, and is 1 for an edge.
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
CALL (n) {
  MATCH (n)-[r:CONTRADICTS|SUPERSEDES]-(m:Knowledge)
  WHERE CASE WHEN $now THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
  RETURN m, toLower(type(r)) AS via, startNode(r) = n AS outgoing, 1 AS among
  LIMIT $edges_max
  UNION ALL
  MATCH (n)-[r:DERIVED_FROM|DEPENDS_ON|SUPPORTS|RELATED_TO]-(m:Knowledge)
  WHERE CASE WHEN $now THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
  RETURN m, toLower(type(r)) AS via, startNode(r) = n AS outgoing, 1 AS among
  LIMIT $edges_max
  UNION ALL
  MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
  WHERE s.seq <= $seq
  WITH DISTINCT n, e
  LIMIT $edges_max
  CALL (n, e) {
    MATCH (e)<-[t:EVIDENCED_BY]-(m:Knowledge)
    WHERE t.seq <= $seq AND m <> n
    WITH DISTINCT m
    LIMIT $shared_max + 1
    RETURN collect(m) AS others
  }
  WITH others
  WHERE size(others) <= $shared_max
  UNWIND others AS m
  RETURN m, 'evidence' AS via, false AS outgoing, min(size(others)) AS among
}
RETURN DISTINCT id AS of, via, outgoing, [m.key, m.generation] AS far, among
ORDER BY of[0], of[1], via, outgoing, far[0], far[1]
