// What most rests on
// Live nodes by how many live ones depend on them or were derived from them directly.
MATCH (n:Knowledge {project: $project})<-[edge:DEPENDS_ON|DERIVED_FROM]-(dependent:Knowledge)
WHERE edge.until IS NULL AND NOT n:Retired AND NOT dependent:Retired
RETURN n.key AS key, n.state AS state, count(DISTINCT dependent) AS dependents, n.proposition AS proposition
ORDER BY dependents DESC, key
LIMIT 50
