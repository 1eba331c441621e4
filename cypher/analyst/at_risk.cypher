// What is at risk, and of what
// From each node at risk along what it rests on, to what was retired. Red rings are at risk, grey is retired.
MATCH path = (n:Knowledge {project: $project})-[:DEPENDS_ON|DERIVED_FROM*1..6]->(root:Retired)
WHERE n:AtRisk
  AND all(edge IN relationships(path) WHERE edge.until IS NULL)
  AND none(between IN nodes(path)[..-1] WHERE between:Retired)
RETURN path
LIMIT 100
