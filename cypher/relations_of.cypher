// relations_of: the edges of nodes, in one direction or both.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], upstream: bool, downstream: bool, types: [relationship type],
//          seq: int or null, ended: bool, most: int
// returns: of: [key, generation], edge: map
// bounds:  the edges of the named nodes; $most edges
//
// With $seq, the edges that lived at that position; without it, those that live now, and with $ended the ended ones.
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
CALL (n) {
  MATCH (n)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(:Knowledge)
  WHERE $upstream
  RETURN r
  UNION ALL
  MATCH (n)<-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]-(:Knowledge)
  WHERE $downstream
  RETURN r
}
WITH n, r, startNode(r) AS a, endNode(r) AS b
WHERE type(r) IN $types
  AND CASE WHEN $seq IS NULL THEN $ended OR r.until IS NULL ELSE size([t IN r.turns WHERE t <= $seq]) % 2 = 1 END
WITH n, r, a, b
LIMIT $most
RETURN [n.key, n.generation] AS of, {
  project: $project, from: [a.key, a.generation], relation: toLower(type(r)), to: [b.key, b.generation],
  turns: r.turns, times: [t IN r.times | toString(t)], event_ids: r.event_ids
} AS edge
ORDER BY of[0], of[1], edge.relation, edge.from[0], edge.from[1], edge.to[0], edge.to[1]
