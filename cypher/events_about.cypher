// events_about: for each of some nodes a page of the events about it, oldest first.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], after: int, until: int, first: int
// returns: of: [key, generation], event: map
// bounds:  $first events an id
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
CALL (n) {
  MATCH (e:Event)-[:ABOUT]->(n)
  WHERE e.seq > $after AND e.seq <= $until
  RETURN e
  ORDER BY e.seq
  LIMIT $first
}
RETURN [n.key, n.generation] AS of, e {
  .project, .seq, .event_id, .transition, .key, .generation, .actor_issuer, .actor_subject, .actor_type,
  time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .payload,
  .state_after, .prev_hash, .hash, .newly_at_risk
} AS event
ORDER BY of[0], of[1], event.seq
