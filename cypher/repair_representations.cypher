// repair_representations: delete the vectors of a project that belong to no node, and have the others looked at again.
//
// kind:    write
// params:  project: str
// returns: dropped: int
// bounds:  the vectors of the project
//
// Positions up to which models were filled say nothing any more once nodes were made anew outside of the journal. The
// indexes stay.
CALL () {
  MATCH (f:Filling)
  WHERE f.project = $project AND f.model > ''
  SET f.seq = 0
}
MATCH (r:Representation)
WHERE r.project = $project AND r.model > '' AND r.key > '' AND r.generation >= 1
  AND NOT EXISTS { (r)<-[:REPRESENTED_BY]-(:Knowledge) }
DETACH DELETE r
RETURN count(r) AS dropped
