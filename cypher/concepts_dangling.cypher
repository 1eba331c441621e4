// concepts_dangling: concepts of a project with links to names that are not there yet, by their own names.
//
// kind:    read
// params:  project: str, first: int
// returns: key: str, targets: list
// bounds:  $first concepts, of all that wait
MATCH (n:Dangling)
WHERE n.project = $project
RETURN n.key AS key, n.dangling AS targets
ORDER BY key
LIMIT $first
