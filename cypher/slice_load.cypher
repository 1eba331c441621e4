// slice_load: the part of a project's projection that a batch of commands touches.
//
// kind:    read
// params:  project: str, keys: [key], generations: [[key, generation]], edges: [[key, relation, to]],
//          superseded: [key], evidence_keys: [key], standing: [key], event_ids: [str]
// returns: nodes: [map], edges: [map], evidence: [map], evidenced: [map], events: [map]
// bounds:  one node a key, the edges between named pairs, the SUPERSEDES chains of the named keys
CALL () {
  CALL () {
    UNWIND $keys AS key
    CALL (key) {
      MATCH (n:Knowledge)
      WHERE n.project = $project AND n.key = key AND n.generation >= 1
      RETURN n
      ORDER BY n.generation DESC
      LIMIT 1
    }
    RETURN n, n.generation AS newest
    UNION ALL
    UNWIND $generations AS wanted
    MATCH (n:Knowledge {project: $project, key: wanted[0], generation: wanted[1]})
    RETURN n, 0 AS newest
  }
  RETURN collect({
    key: n.key, generation: n.generation, proposition: n.proposition, kind: n.kind, state: n.state,
    valid_from: toString(n.valid_from), valid_to: toString(n.valid_to),
    created_at: toString(n.created_at), created_seq: n.created_seq,
    updated_at: toString(n.updated_at), updated_seq: n.updated_seq,
    verified_at: toString(n.verified_at), verified_seq: n.verified_seq,
    retired_seq: n.retired_seq, risk_seq: n.risk_seq,
    uses: n.uses, helpful: n.helpful, harmful: n.harmful, unsupported: n.unsupported,
    forgotten: n.forgotten, confirmed_by: n.confirmed_by, lineage: n.lineage,
    newest: newest, depended: EXISTS { (n)<-[:DEPENDS_ON|DERIVED_FROM]-(:Knowledge) }
  }) AS nodes
}
CALL () {
  UNWIND $edges AS pair
  MATCH (a:Knowledge)
  WHERE a.project = $project AND a.key = pair[0] AND a.generation >= 1
  MATCH (b:Knowledge)
  WHERE b.project = $project AND b.key = pair[2] AND b.generation >= 1
  MATCH (a)-[r]->(b)
  WHERE type(r) = pair[1]
  WITH DISTINCT a, r, b
  RETURN collect({
    from: [a.key, a.generation], relation: type(r), to: [b.key, b.generation],
    turns: r.turns, times: [t IN r.times | toString(t)], event_ids: r.event_ids
  }) AS pairs
}
CALL () {
  UNWIND $superseded AS key
  MATCH (n:Knowledge)
  WHERE n.project = $project AND n.key = key AND n.generation >= 1
  MATCH (n)-[:SUPERSEDES*0..100000]->(a:Knowledge)
  WITH DISTINCT a
  MATCH (a)-[r:SUPERSEDES]->(b:Knowledge)
  WHERE r.until IS NULL
  RETURN collect({
    from: [a.key, a.generation], relation: type(r), to: [b.key, b.generation],
    turns: r.turns, times: [t IN r.times | toString(t)], event_ids: r.event_ids
  }) AS chains
}
CALL () {
  UNWIND $standing AS key
  MATCH (n:Knowledge)
  WHERE n.project = $project AND n.key = key AND n.generation >= 1
  MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
  RETURN collect({node: [n.key, n.generation], evidence: e.key, seq: s.seq}) AS evidenced
}
CALL (evidenced) {
  UNWIND $evidence_keys + [s IN evidenced | s.evidence] AS key
  WITH DISTINCT key
  MATCH (e:Evidence {project: $project, key: key})
  RETURN collect(e {.key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata})
    AS evidence
}
CALL () {
  UNWIND $event_ids AS event_id
  MATCH (e:Event {project: $project, event_id: event_id})
  RETURN collect(e {
    .project, .seq, .event_id, .transition, .key, .generation, .actor_issuer, .actor_subject, .actor_type,
    time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .payload,
    .state_after, .prev_hash, .hash, .newly_at_risk
  }) AS events
}
RETURN nodes, pairs + chains AS edges, evidence, evidenced, events
