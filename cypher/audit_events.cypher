// audit_events: a page of a project's journal as it is stored, with all that leads from its events.
//
// kind:    read
// params:  project: str, after: int, until: int, first: int
// returns: seq: int, labels: [str], properties: map, instants: [[name, text]], outgoing: [map], strays: int
// bounds:  $first events
MATCH (e:Event)
WHERE e.project = $project AND e.seq > $after AND e.seq <= $until
WITH e
ORDER BY e.project, e.seq
LIMIT $first
RETURN e.seq AS seq, labels(e) AS labels, properties(e) AS properties,
  [name IN keys(e) WHERE e[name] IS :: ZONED DATETIME | [name, toString(e[name])]] AS instants,
  COLLECT {
    MATCH (e)-[r]->(t)
    RETURN {
      type: type(r), labels: labels(t), project: t.project, key: t.key, generation: t.generation,
      event_id: t.event_id, properties: properties(r)
    }
  } AS outgoing,
  COUNT {
    MATCH (e)<--(s)
    WHERE NOT (s:Event AND coalesce(s.project = $project, false))
  } AS strays
