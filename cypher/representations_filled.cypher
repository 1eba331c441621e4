// representations_filled: up to which position of a project's journal a model has been filled, and where that ends.
//
// kind:    read
// params:  project: str, model: str
// returns: project: str, filled: int, head: int
// bounds:  one row, none for a project without a head
MATCH (p:Project {name: $project})
OPTIONAL MATCH (f:Filling {project: $project, model: $model})
RETURN p.name AS project, coalesce(f.seq, 0) AS filled, p.seq AS head
