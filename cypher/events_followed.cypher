// events_followed: a project's events behind a position, oldest first, without what only a journal's file needs.
//
// kind:    read
// params:  project: str, after: int, first: int
// returns: event: map
// bounds:  $first events
MATCH (e:Event)
WHERE e.project = $project AND e.seq > $after
WITH e
ORDER BY e.project, e.seq
LIMIT $first
RETURN e {
  .project, .seq, .event_id, .transition, .key, .generation,
  actor: {issuer: e.actor_issuer, subject: e.actor_subject, type: e.actor_type},
  time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .state_after, .hash
} AS event
