// representations_nearest: the nodes of a project whose vectors of a model lie nearest to a vector, nearest first.
//
// kind:    read
// params:  project: str, model: str, vector: [float], exact_max: int, asked: int, wider: int, limit: int
// returns: nearest: [map of key, generation, cosine], stored: int, complete: bool
// bounds:  $exact_max vectors of the project, or $asked and then $wider of the index; $limit nodes
//
// One row. A project of up to $exact_max vectors is looked at whole; stored counts them, one more standing for any
// number. A larger one is found by the model's index, which knows no projects: where others crowd out some of the first
// $asked, it is asked for $wider, and where even those hold fewer than $limit of the project, complete is false.
CALL () {
  MATCH (r:Representation)
  WHERE r.project = $project AND r.model = $model AND r.key > '' AND r.generation >= 1
  WITH r
  LIMIT $exact_max + 1
  RETURN count(r) AS stored
}
CALL (stored) {
  WITH stored
  WHERE stored <= $exact_max
  MATCH (r:Representation)
  WHERE r.project = $project AND r.model = $model AND r.key > '' AND r.generation >= 1
  WITH r, 2 * vector.similarity.cosine(r.vector, $vector) - 1 AS cosine
  ORDER BY cosine DESC, r.key, r.generation
  LIMIT $limit
  RETURN collect(r) AS scanned
}
CALL (stored) {
  WITH stored
  WHERE stored > $exact_max
  CALL db.index.vector.queryNodes($model, $asked, $vector)
  YIELD node AS r
  WHERE r.project = $project
  RETURN collect(r) AS first
}
CALL (stored, first) {
  WITH stored, first
  WHERE stored > $exact_max AND size(first) < $limit
  CALL db.index.vector.queryNodes($model, $wider, $vector)
  YIELD node AS r
  WHERE r.project = $project
  RETURN collect(r) AS second
}
WITH stored, scanned + CASE size(second) WHEN 0 THEN first ELSE second END AS found
RETURN COLLECT {
  UNWIND found AS r
  MATCH (n:Knowledge)-[:REPRESENTED_BY]->(r)
  WITH n, 2 * vector.similarity.cosine(r.vector, $vector) - 1 AS cosine
  ORDER BY cosine DESC, n.key, n.generation
  LIMIT $limit
  RETURN n {.key, .generation, cosine: cosine}
} AS nearest, stored, stored <= $exact_max OR size(found) >= $limit AS complete
