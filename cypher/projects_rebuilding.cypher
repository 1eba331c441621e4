// projects_rebuilding: the projects whose projection is not whole, so that their appends are refused.
//
// kind:    read
// params:  none
// returns: name: str
// bounds:  one node a project; at most 100 rows
MATCH (p:Project)
WHERE p.rebuilding
RETURN p.name AS name
ORDER BY name
LIMIT 100
