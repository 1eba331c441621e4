// events_named: events by event id.
//
// kind:    read
// params:  project: str, event_ids: [str]
// returns: event: map
// bounds:  one event an id
UNWIND $event_ids AS event_id
MATCH (e:Event {project: $project, event_id: event_id})
RETURN e {
  .project, .seq, .event_id, .transition, .key, .generation, .actor_issuer, .actor_subject, .actor_type,
  time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .payload,
  .state_after, .prev_hash, .hash, .newly_at_risk
} AS event
ORDER BY event.seq
