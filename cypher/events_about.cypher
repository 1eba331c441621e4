// events_about: a page of the events about a node, oldest first.
//
// kind:    read
// params:  project: str, key: str, generation: int, after: int, until: int, first: int
// returns: event: map
// bounds:  $first events
MATCH (e:Event)-[:ABOUT]->(n:Knowledge {project: $project, key: $key, generation: $generation})
WHERE e.seq > $after AND e.seq <= $until
WITH e
ORDER BY e.seq
LIMIT $first
RETURN e {
  .project, .seq, .event_id, .transition, .key, .generation, .actor_issuer, .actor_subject, .actor_type,
  time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .payload,
  .state_after, .prev_hash, .hash, .newly_at_risk
} AS event
