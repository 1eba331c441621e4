// representations_leave: have a project's vectors of a model stand without an index, and nothing filled.
//
// kind:    write
// params:  project: str, model: str
// returns: stored: int
// bounds:  one node is changed; the vectors of the project are counted
MATCH (f:Filling {project: $project, model: $model})
SET f.seq = 0
REMOVE f.index
RETURN COUNT {
  MATCH (r:Representation)
  WHERE r.project = $project AND r.model = $model AND r.key > '' AND r.generation >= 1
} AS stored
