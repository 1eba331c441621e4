// journal_page: a page of a project's journal, oldest first.
//
// kind:    read
// params:  project: str, after: int, until: int, first: int
// returns: event: map
// bounds:  $first events
MATCH (e:Event)
WHERE e.project = $project AND e.seq > $after AND e.seq <= $until
WITH e
ORDER BY e.project, e.seq
LIMIT $first
RETURN e {
  .project, .seq, .event_id, .transition, .key, .generation, .actor_issuer, .actor_subject, .actor_type,
  time: toString(e.time), recorded_at: toString(e.recorded_at), .reason, .caused_by, .execution, .payload,
  .state_after, .prev_hash, .hash, .newly_at_risk
} AS event
