// representations_due: a page of the projects whose journals go on behind what a model has been filled up to.
//
// kind:    read
// params:  model: str, after: str, first: int
// returns: project: str, filled: int, head: int
// bounds:  the heads of the projects behind $after, $first rows
MATCH (p:Project)
WHERE p.name > $after AND p.seq >= 1
OPTIONAL MATCH (f:Filling {project: p.name, model: $model})
WITH p, coalesce(f.seq, 0) AS filled
WHERE filled < p.seq
RETURN p.name AS project, filled, p.seq AS head
ORDER BY project
LIMIT $first
