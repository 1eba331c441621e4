// What rests on an item
// Downstream of the newest generation of $key, six steps at most: what retiring it would put in doubt.
MATCH (n:Knowledge {project: $project, key: $key})
WITH n
ORDER BY n.generation DESC
LIMIT 1
MATCH path = (n)<-[:DEPENDS_ON|DERIVED_FROM*0..6]-(dependent:Knowledge)
WHERE all(edge IN relationships(path) WHERE edge.until IS NULL)
  AND none(below IN nodes(path)[1..] WHERE below:Retired)
RETURN path
LIMIT 300
