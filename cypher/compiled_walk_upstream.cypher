// compiled_walk_upstream: what a node came from or rests on at present, nearest first.
//
// kind:    read
// params:  project: str, key: str, depth: int, max_nodes: int
// returns: root: [columns of root], nodes: [columns of n], edges: [columns of r], evidence: [[key, columns of e]],
//          cut: bool, seq: int
// bounds:  100 hops, tightened to the asked depth; $max_nodes nodes
//
// Each node once, at its shortest distance; each edge between two kept nodes once. `cut` says that an edge of the
// walk leads on to a node that was not kept. Every node nearer than the last one is kept, and all within $depth where
// $max_nodes did not cut; so only the edges of the outermost nodes need a look at what is kept.
MATCH (root:Knowledge)
WHERE root.project = $project AND root.key = $key AND root.generation >= 1
WITH root
ORDER BY root.generation DESC
LIMIT 1
CALL (root) {
  MATCH path = (root)-[:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO*1..100]->(n:Knowledge)
  WHERE all(r IN relationships(path) WHERE r.until IS NULL) AND n <> root
  WITH n, min(length(path)) AS distance
  ORDER BY distance, n.key, n.generation
  LIMIT $max_nodes
  RETURN collect(n) AS walked, collect(distance) AS distances
}
WITH root, walked, [root] + walked AS kept, [0] + distances AS distances
CALL (kept, distances) {
  UNWIND range(0, size(kept) - 1) AS i
  WITH kept, kept[i] AS x, distances[i] + 1 < distances[-1] OR (
    size(kept) <= $max_nodes AND (distances[i] < distances[-1] OR distances[-1] < $depth)) AS sure
  MATCH (x)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(y:Knowledge)
  WHERE r.until IS NULL
  WITH DISTINCT r, startNode(r) AS a, endNode(r) AS b, sure OR y IN kept AS inside
  ORDER BY a.key, a.generation, type(r), b.key, b.generation
  RETURN collect(CASE WHEN inside THEN [type(r)] END) AS edges, false IN collect(inside) AS cut
}
CALL (walked) {
  UNWIND walked AS n
  RETURN collect([n.key]) AS nodes
}
RETURN [root.key] AS root, nodes, edges, [] AS evidence, cut,
  COLLECT {
    MATCH (p:Project {name: $project})
    RETURN p.seq
  }[0] AS seq
