// What is disputed
// Live claims against live claims, and what was challenged without a rival.
MATCH (n:Knowledge {project: $project})
WHERE n:Challenged
OPTIONAL MATCH path = (rival:Knowledge)-[edge:CONTRADICTS]->(n)
WHERE edge.until IS NULL AND NOT rival:Retired
RETURN n, path
LIMIT 100
