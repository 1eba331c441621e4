// What happened to an item
// Every event about $key, of all its generations, in the order of the journal.
MATCH (event:Event)-[:ABOUT]->(n:Knowledge {project: $project, key: $key})
RETURN event.seq AS position, event.transition AS transition, n.generation AS generation, event.time AS time,
  event.actor_subject AS actor, event.reason AS reason
ORDER BY position
LIMIT 200
