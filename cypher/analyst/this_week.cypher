// What changed this week
// The events that were recorded in the last seven days, the newest first.
MATCH (event:Event {project: $project})
WHERE event.recorded_at >= datetime() - duration({days: 7})
RETURN event.seq AS position, event.transition AS transition, event.key AS key, event.recorded_at AS recorded,
  event.actor_subject AS actor, event.reason AS reason
ORDER BY position DESC
LIMIT 200
