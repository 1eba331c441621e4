// knowledge_as_of: nodes as the journal had them at position $seq, by key and generation, with their evidence.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int
// returns: node: map
// bounds:  one node an id; the events about it
//
// What was at risk then is not here: the risk_graph_as_of statement gives the graph, graph.risk the rule. A node that a
// correction made has that event among its own, where its state is not yet the corrected one's.
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
WHERE n.created_seq <= $seq
CALL (n) {
  MATCH (e:Event)-[:ABOUT]->(n)
  WHERE e.seq <= $seq
  WITH n, e
  ORDER BY e.seq
  WITH n, collect(e) AS events
  RETURN events[-1] AS newest,
    [e IN events WHERE e.transition IN ['forgotten', 'recalled'] | e.transition][-1] = 'forgotten' AS forgotten,
    size([e IN events WHERE e.transition = 'used']) AS uses,
    [e IN events WHERE e.verifies | e][-1] AS verified,
    [e IN events WHERE e.transition = 'sighted' | e.payload] AS sightings,
    events[0] AS creation
}
RETURN n {
  .project, .key, .generation, .proposition, .kind,
  state: CASE WHEN newest.generation = n.generation THEN newest.state_after ELSE 'proposed' END,
  at_risk: false, forgotten: coalesce(forgotten, false),
  retired: coalesce(n.retired_seq <= $seq, false),
  valid_from: toString(n.valid_from),
  valid_to: CASE WHEN n.retired_seq <= $seq THEN toString(n.valid_to) END,
  creation: creation.payload,
  created_at: toString(n.created_at), updated_at: toString(newest.recorded_at),
  verified_at: toString(verified.time), uses: uses,
  .lineage, .concept, sightings: sightings, .created_seq, updated_seq: newest.seq,
  evidence: COLLECT {
    MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
    WHERE s.seq <= $seq
    RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
    ORDER BY s.seq, e.key
  }
} AS node
