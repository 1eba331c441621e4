// policies_kept: the kinds of personal data that projects keep, of those that keep any.
//
// kind:    read
// params:  first: int
// returns: project: str, kept: [str]
// bounds:  $first rows
MATCH (p:Policy)
WHERE p.project > ''
WITH p
ORDER BY p.project
LIMIT $first
WHERE size(p.kept) > 0
RETURN p.project AS project, p.kept AS kept
