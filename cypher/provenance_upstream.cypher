// provenance_upstream: what a node came from or rests on, nearest first.
//
// kind:    read
// params:  project: str, key: str, generation: int, types: [relationship type], seq: int or null, max_nodes: int,
//          evidence: bool
// returns: root: [key, generation], nodes: [[key, generation, distance]], edges: [map], cut: bool, maps: [map]
// bounds:  100 hops, tightened to the asked depth; $max_nodes nodes
//
// Each node once, at its shortest distance; each edge between two kept nodes once. With $seq, the edges that lived at
// that position. `cut` says that an edge of the walk leads on to a node that was not kept.
MATCH (root:Knowledge {project: $project, key: $key, generation: $generation})
CALL (root) {
  MATCH path = (root)-[:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO*1..100]->(n:Knowledge)
  WHERE all(r IN relationships(path) WHERE type(r) IN $types
      AND CASE WHEN $seq IS NULL THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END)
    AND n <> root
  WITH n, min(length(path)) AS distance
  ORDER BY distance, n.key, n.generation
  LIMIT $max_nodes
  RETURN collect(n) AS walked, collect(distance) AS distances
}
WITH root, walked, distances, [root] + walked AS kept
CALL (kept) {
  UNWIND kept AS a
  MATCH (a)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(b:Knowledge)
  WHERE type(r) IN $types
    AND CASE WHEN $seq IS NULL THEN r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
  WITH DISTINCT r, b IN kept AND a IN kept AS inside
  WITH r, inside, startNode(r) AS a, endNode(r) AS b
  ORDER BY a.key, a.generation, type(r), b.key, b.generation
  RETURN collect(CASE WHEN inside THEN {
      project: $project, from: [a.key, a.generation], relation: toLower(type(r)), to: [b.key, b.generation],
      turns: r.turns, times: [t IN r.times | toString(t)], event_ids: r.event_ids
    } END) AS edges,
    coalesce(max(CASE WHEN inside THEN 0 ELSE 1 END), 0) = 1 AS cut
}
CALL (kept) {
  UNWIND kept AS n
  RETURN collect(n {
    .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
    valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
    updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
    .created_seq, .updated_seq,
    evidence: COLLECT {
      MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
      WHERE $evidence AND ($seq IS NULL OR s.seq <= $seq)
      RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
      ORDER BY s.seq, e.key
    }
  }) AS maps
}
RETURN [root.key, root.generation] AS root,
  [i IN range(0, size(walked) - 1) | [walked[i].key, walked[i].generation, distances[i]]] AS nodes, edges, cut, maps
