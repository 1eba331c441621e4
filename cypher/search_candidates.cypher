// search_candidates: nodes of a project that hold words, or whose vectors of a model lie nearest to a vector.
//
// kind:    read
// params:  project: str, words: str, seq: int, first: int, model: str, vector: [float],
//          scanned_max: int, asked: int, limit: int
// returns: node: map or null, score: float or null, cosine: float or null
// bounds:  $first of the index's hits by words, none where $words is empty; $scanned_max vectors of the project,
//          or $asked of its index; $limit of the nearest nodes
//
// score is that of the index, null where meaning alone found the node; cosine is told of all that have a vector of the
// model. A hit that is another project's, or was not there at $seq, is null as for search_words.
//
// A project without an index for its vectors has few, and all are looked at. The index of a large one holds no other's.
// What is scanned hangs on a variable: on a parameter the planner scans first and then sees that nothing was wanted.
CALL () {
  CALL () {
    WITH $words AS words
    WHERE words <> ''
    CALL db.index.fulltext.queryNodes('knowledge_texts', words, {limit: $first})
    YIELD node AS n, score
    RETURN n, score, NULL AS near
  }
  RETURN n, score, near
  UNION ALL
  OPTIONAL MATCH (f:Filling {project: $project, model: $model})
  CALL (f) {
    WITH CASE WHEN f.index IS NULL THEN $project END AS scanned
    WHERE scanned IS NOT NULL
    MATCH (r:Representation)
    WHERE r.project = scanned AND r.model = $model AND r.key > '' AND r.generation >= 1
    WITH r
    LIMIT $scanned_max
    WITH r, 2 * vector.similarity.cosine(r.vector, $vector) - 1 AS cosine
    ORDER BY cosine DESC, r.key, r.generation
    LIMIT $limit
    RETURN r
    UNION ALL
    WITH f
    WHERE f.index IS NOT NULL
    CALL db.index.vector.queryNodes(f.index, $asked, $vector)
    YIELD node AS r
    WHERE r.project = $project
    RETURN r
  }
  MATCH (n:Knowledge)-[:REPRESENTED_BY]->(r)
  WITH n, 2 * vector.similarity.cosine(r.vector, $vector) - 1 AS near
  ORDER BY near DESC, n.key, n.generation
  LIMIT $limit
  RETURN n, NULL AS score, near
}
WITH n, max(score) AS score, max(near) AS near
OPTIONAL MATCH (n)-[:REPRESENTED_BY]->(r:Representation)
WHERE near IS NULL AND r.model = $model
RETURN CASE WHEN n.project = $project AND n.created_seq <= $seq THEN n {
  .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
  valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
  updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
  .created_seq, .updated_seq
} END AS node, score, coalesce(near, 2 * vector.similarity.cosine(r.vector, $vector) - 1) AS cosine
