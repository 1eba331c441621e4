// representations_wanted: the nodes that a page of a journal is about, and what their vectors of a model were made of.
//
// kind:    read
// params:  project: str, model: str, after: int, first: int
// returns: until: int or null, nodes: [map of key, generation, proposition, text_sha256 (null without a vector)]
// bounds:  $first events and the nodes that they are about
//
// Every node is made by an event about it, and so is every change of it; so what is behind a position is all that may
// lack a vector since then. One row; until is null at the journal's end.
MATCH (e:Event)
WHERE e.project = $project AND e.seq > $after
WITH e
ORDER BY e.project, e.seq
LIMIT $first
WITH collect(e) AS events, max(e.seq) AS until
RETURN until, COLLECT {
  UNWIND events AS e
  MATCH (e)-[:ABOUT]->(n:Knowledge)
  WITH DISTINCT n
  WHERE n.project = $project
  RETURN n {
    .key, .generation, .proposition,
    text_sha256: head(COLLECT {
      MATCH (n)-[:REPRESENTED_BY]->(r:Representation)
      WHERE r.model = $model
      RETURN r.text_sha256
    })
  }
} AS nodes
