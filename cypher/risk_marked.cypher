// risk_marked: all nodes of a project that are at risk now.
//
// kind:    read
// params:  project: str
// returns: key: str, generation: int
// bounds:  the nodes of the project
MATCH (n:Knowledge)
USING INDEX n:Knowledge(project, key, generation)
WHERE n.project = $project AND n.key IS NOT NULL AND n.generation >= 1 AND n:AtRisk
RETURN n.key AS key, n.generation AS generation
ORDER BY key, generation
