// events_at: the events at positions of a project's journal.
//
// kind:    read
// params:  project: str, seqs: [int]
// returns: event: map
// bounds:  one event a position
UNWIND $seqs AS seq
MATCH (e:Event {project: $project, seq: seq})
RETURN e {
  .project, .seq, .event_id, .transition, .key, .generation, .actor_issuer, .actor_subject, .actor_type,
  time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .payload,
  .state_after, .prev_hash, .hash, .newly_at_risk
} AS event
ORDER BY event.seq
