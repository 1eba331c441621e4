// export_edges: the edges that lived at position $seq, in pages of nodes that they lead from.
//
// kind:    read
// params:  project: str, seq: int, after_key: str, after_generation: int, first: int, ended: bool
// returns: key: str, generation: int, edges: [map]
// bounds:  the outgoing edges of $first nodes
//
// With $ended, edges that had begun by then and were unlinked are among them.
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key >= $after_key AND n.generation >= 1
  AND CASE n.key WHEN $after_key THEN n.generation > $after_generation ELSE true END
  AND n.created_seq <= $seq
WITH n
ORDER BY n.project, n.key, n.generation
LIMIT $first
RETURN n.key AS key, n.generation AS generation, COLLECT {
  MATCH (n)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(t:Knowledge)
  WHERE CASE WHEN $ended THEN r.turns[0] <= $seq ELSE size([u IN r.turns WHERE u <= $seq]) % 2 = 1 END
  WITH r, t
  ORDER BY type(r), t.key, t.generation
  RETURN {
    project: $project, from: [n.key, n.generation], relation: toLower(type(r)), to: [t.key, t.generation],
    turns: r.turns, times: [u IN r.times | toString(u)], event_ids: r.event_ids,
    since: toString(r.since), until: toString(r.until)
  }
} AS edges
