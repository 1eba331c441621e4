// slice_load: the part of a project's projection that a batch of commands touches.
//
// kind:    read
// params:  project: str, wanted: map of lists
// returns: nodes: [map], edges: [map], evidence: [map], evidenced: [map], events: [map]
// bounds:  one node a key, the edges between named pairs, the SUPERSEDES chains of the named keys
//
// The lists of $wanted are keys, generations ([key, generation]), edges ([key, relation, to]), superseded (keys),
// evidence_keys, standing (keys), awaited (keys) and event_ids. They come in one map because a plan is kept for each
// size of each list that is a parameter of its own, and planning this statement takes half a second.
WITH COLLECT {
  UNWIND $wanted.standing AS key
  MATCH (n:Knowledge)-[s:EVIDENCED_BY]->(e:Evidence)
  WHERE n.project = $project AND n.key = key AND n.generation >= 1
  RETURN {node: [n.key, n.generation], evidence: e.key, seq: s.seq}
} AS evidenced
RETURN COLLECT {
  CALL () {
    UNWIND $wanted.keys AS key
    CALL (key) {
      MATCH (n:Knowledge)
      WHERE n.project = $project AND n.key = key AND n.generation >= 1
      RETURN n
      ORDER BY n.generation DESC
      LIMIT 1
    }
    RETURN n, n.generation AS newest
    UNION ALL
    UNWIND $wanted.generations AS wanted
    MATCH (n:Knowledge {project: $project, key: wanted[0], generation: wanted[1]})
    RETURN n, 0 AS newest
    UNION ALL
    MATCH (n:Dangling)
    WHERE n.project = $project AND size($wanted.awaited) > 0 AND any(key IN n.dangling WHERE key IN $wanted.awaited)
    RETURN n, n.generation AS newest
  }
  RETURN {
    key: n.key, generation: n.generation, proposition: n.proposition, kind: n.kind, state: n.state,
    valid_from: toString(n.valid_from), valid_to: toString(n.valid_to),
    created_at: toString(n.created_at), created_seq: n.created_seq,
    updated_at: toString(n.updated_at), updated_seq: n.updated_seq,
    verified_at: toString(n.verified_at), verified_seq: n.verified_seq,
    retired_seq: n.retired_seq, risk_seq: n.risk_seq,
    uses: n.uses, helpful: n.helpful, harmful: n.harmful, unsupported: n.unsupported,
    forgotten: n.forgotten, confirmed_by: n.confirmed_by, lineage: n.lineage,
    concept: n.concept, dangling: n.dangling,
    newest: newest, depended: EXISTS { (n)<-[:DEPENDS_ON|DERIVED_FROM]-(:Knowledge) }
  }
} AS nodes,
COLLECT {
  CALL () {
    UNWIND $wanted.edges AS pair
    MATCH (a:Knowledge)
    WHERE a.project = $project AND a.key = pair[0] AND a.generation >= 1
    MATCH (b:Knowledge)
    WHERE b.project = a.project AND b.key = pair[2] AND b.generation >= 1
    WITH DISTINCT a, b, pair[1] AS relation
    MATCH (a)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(b)
    WHERE type(r) = relation
    RETURN r
    UNION
    UNWIND $wanted.superseded AS key
    MATCH (n:Knowledge)
    WHERE n.project = $project AND n.key = key AND n.generation >= 1
    MATCH (n)-[:SUPERSEDES*0..100000]->(a:Knowledge)
    WITH DISTINCT a
    MATCH (a)-[r:SUPERSEDES]->(:Knowledge)
    WHERE r.until IS NULL
    RETURN r
  }
  WITH r, startNode(r) AS a, endNode(r) AS b
  RETURN {
    from: [a.key, a.generation], relation: type(r), to: [b.key, b.generation],
    turns: r.turns, times: [t IN r.times | toString(t)], event_ids: r.event_ids
  }
} AS edges,
COLLECT {
  UNWIND $wanted.evidence_keys + [row IN evidenced | row.evidence] AS key
  WITH DISTINCT key
  MATCH (e:Evidence {project: $project, key: key})
  RETURN e {.key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
} AS evidence, evidenced,
COLLECT {
  UNWIND $wanted.event_ids AS event_id
  MATCH (e:Event {project: $project, event_id: event_id})
  RETURN e {
    .project, .seq, .event_id, .transition, .key, .generation, .actor_issuer, .actor_subject, .actor_type,
    time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .payload,
    .state_after, .prev_hash, .hash, .newly_at_risk
  }
} AS events
