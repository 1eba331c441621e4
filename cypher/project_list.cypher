// project_list: the names of all projects.
//
// kind:    read
// params:  none
// returns: name: str
// bounds:  one node a project
MATCH (p:Project)
WHERE p.name IS NOT NULL AND p.seq > 0
RETURN p.name AS name
ORDER BY name
