// Where an item came from
// Upstream of the newest generation of $key, six steps at most, with the evidence that each stands on.
MATCH (n:Knowledge {project: $project, key: $key})
WITH n
ORDER BY n.generation DESC
LIMIT 1
MATCH path = (n)-[:DEPENDS_ON|DERIVED_FROM*0..6]->(source:Knowledge)
WHERE all(edge IN relationships(path) WHERE edge.until IS NULL)
OPTIONAL MATCH proof = (source)-[:EVIDENCED_BY]->(:Evidence)
RETURN path, proof
LIMIT 300
