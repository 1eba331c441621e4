// representations_indexes: the indexes that a project's vectors have, of all models.
//
// kind:    read
// params:  project: str
// returns: indexed_by: str, dimensions: int
// bounds:  one row a model, one vector of each looked at
MATCH (f:Filling)
WHERE f.project = $project AND f.model > ''
CALL (f) {
  MATCH (r:Representation)
  WHERE r.project = $project AND r.model = f.model AND r.key > '' AND r.generation >= 1
  RETURN size(r.vector) AS dimensions
  LIMIT 1
}
RETURN coalesce(f.index, f.model) AS indexed_by, dimensions
ORDER BY indexed_by
