// representations_fillings: a page of the projects that have vectors, and of which models, by project and model.
//
// kind:    read
// params:  project: str, model: str, first: int
// returns: project: str, model: str, name: str, seq: int, indexed_by: str or null
// bounds:  $first rows, behind $project and $model
MATCH (f:Filling)
WHERE f.project >= $project AND f.model > '' AND (f.project > $project OR f.model > $model)
RETURN f.project AS project, f.model AS model, coalesce(f.model_name, f.model) AS name, coalesce(f.seq, 0) AS seq,
  f.index AS indexed_by
ORDER BY project, model
LIMIT $first
