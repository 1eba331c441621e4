// project_heads: how far the journals of some projects go; a project without events is left out.
//
// kind:    read
// params:  projects: [str]
// returns: project: str, seq: int
// bounds:  one node a project
UNWIND $projects AS name
MATCH (p:Project {name: name})
WHERE p.seq > 0
RETURN p.name AS project, p.seq AS seq
ORDER BY project
