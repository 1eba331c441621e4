// project_counts: how many nodes a project has of each kind and state, and how many of them are at risk or forgotten.
//
// kind:    read
// params:  project: str
// returns: kind: str, state: str, nodes: int, at_risk: int, forgotten: int
// bounds:  the nodes of the project
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key IS NOT NULL AND n.generation >= 1
RETURN n.kind AS kind, n.state AS state, count(n) AS nodes,
  count(CASE WHEN n:AtRisk THEN 1 END) AS at_risk, count(CASE WHEN n:Forgotten THEN 1 END) AS forgotten
ORDER BY kind, state
