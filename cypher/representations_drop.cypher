// representations_drop: delete vectors that a project has of a model, and with the last ones that it had any.
//
// kind:    write
// params:  project: str, model: str, first: int
// returns: dropped: int
// bounds:  $first vectors
CALL () {
  MATCH (r:Representation)
  WHERE r.project = $project AND r.model = $model AND r.key > '' AND r.generation >= 1
  WITH r
  LIMIT $first
  DETACH DELETE r
  RETURN count(r) AS dropped
}
CALL (dropped) {
  MATCH (f:Filling {project: $project, model: $model})
  WHERE dropped < $first
  DELETE f
}
RETURN dropped
