// project_list: the names of all projects, or of those among some.
//
// kind:    read
// params:  projects: [str] or null for all
// returns: name: str
// bounds:  one node a project
MATCH (p:Project)
WHERE p.name IS NOT NULL AND p.seq > 0 AND ($projects IS NULL OR p.name IN $projects)
RETURN p.name AS name
ORDER BY name
