// search_words: nodes of a project that hold words, those that hold the rarest and the most of them first.
//
// kind:    read
// params:  project: str, words: str, seq: int, first: int
// returns: node: map or null, score: float
// bounds:  $first of the index's hits
//
// $words is what graph.words.query makes, scope included. A hit that is another project's, or was not there at $seq,
// is null, so that fewer than $first are all there are. What may be shown of the others the caller judges.
CALL db.index.fulltext.queryNodes('knowledge_texts', $words, {limit: $first})
YIELD node AS n, score
RETURN CASE WHEN n.project = $project AND n.created_seq <= $seq THEN n {
  .project, .key, .generation, .proposition, .kind, .state, at_risk: n:AtRisk, .forgotten, retired: n:Retired,
  valid_from: toString(n.valid_from), valid_to: toString(n.valid_to), created_at: toString(n.created_at),
  updated_at: toString(n.updated_at), verified_at: toString(n.verified_at), .uses, .lineage, .concept,
  .created_seq, .updated_seq
} END AS node, score
