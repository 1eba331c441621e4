// export_counts: how many nodes, and edges that lived, a project had at position $seq.
//
// kind:    read
// params:  project: str, seq: int
// returns: nodes: int, edges: int
// bounds:  the nodes and edges of the project
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key IS NOT NULL AND n.generation >= 1 AND n.created_seq <= $seq
WITH n, COUNT {
  MATCH (n)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(:Knowledge)
  WHERE size([u IN r.turns WHERE u <= $seq]) % 2 = 1
} AS degree
RETURN count(n) AS nodes, coalesce(sum(degree), 0) AS edges
