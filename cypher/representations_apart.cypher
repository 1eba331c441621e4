// representations_apart: move a project's vectors from the index of their model to one of their own, some at a time.
//
// kind:    write
// params:  project: str, model: str, index: str, first: int
// returns: labelled: int
// bounds:  $first vectors, found among those of the project
//
// The index is that of the project once all its vectors have its label; the lock keeps others from adding some without.
MERGE (f:Filling {project: $project, model: $model})
SET f.seq = coalesce(f.seq, 0)
WITH f
CALL () {
  MATCH (r:Representation)
  WHERE r.project = $project AND r.model = $model AND r.key > '' AND r.generation >= 1 AND NOT $index IN labels(r)
  WITH r
  LIMIT $first
  SET r:$($index)
  REMOVE r:$($model)
  RETURN count(r) AS labelled
}
SET f.index = CASE WHEN labelled < $first THEN $index ELSE f.index END
RETURN labelled
