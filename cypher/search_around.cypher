// search_around: what nodes are linked to, and what stands on the same evidence.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int, now: bool, edges_max: int, shared_max: int, nodes_max: int
// returns: ties: [[of_key, of_generation, via, outgoing, far_key, far_generation, among]], nodes: [map]
// bounds:  of each node twice $edges_max edges, and $edges_max records of evidence with $shared_max others on each; a
//          hub's are taken as they come; $nodes_max maps
//
// nodes are all that the ties lead to, as they are now; none where they are more, or where the past is asked for.
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
WITH DISTINCT id, via, outgoing, m, m.key AS far_key, m.generation AS far_generation, among
ORDER BY id[0], id[1], via, outgoing, far_key, far_generation
WITH collect([id[0], id[1], via, outgoing, far_key, far_generation, among]) AS ties, collect(DISTINCT m) AS far
RETURN ties, CASE WHEN $now AND size(far) <= $nodes_max THEN [n IN far | n {
  .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
  valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
  updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
  .created_seq, .updated_seq
}] ELSE [] END AS nodes
