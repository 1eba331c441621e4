// representations_stored: the index of a project's vectors of a model, and how many there are where they have none.
//
// kind:    read
// params:  project: str, model: str, most: int
// returns: indexed_by: str or null, stored: int
// bounds:  $most vectors, which stand for any number
OPTIONAL MATCH (f:Filling {project: $project, model: $model})
RETURN f.index AS indexed_by, COUNT {
  MATCH (r:Representation)
  WHERE f.index IS NULL AND r.project = $project AND r.model = $model AND r.key > '' AND r.generation >= 1
  RETURN r
  LIMIT $most
} AS stored
