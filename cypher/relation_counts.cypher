// relation_counts: how many live edges of each relation a project has.
//
// kind:    read
// params:  project: str
// returns: relation: str, edges: int
// bounds:  the edges of the project
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key IS NOT NULL AND n.generation >= 1
MATCH (n)-[r:DERIVED_FROM|SUPPORTS|CONTRADICTS|DEPENDS_ON|SUPERSEDES|RELATED_TO]->(:Knowledge)
WHERE r.until IS NULL
RETURN toLower(type(r)) AS relation, count(r) AS edges
ORDER BY relation
