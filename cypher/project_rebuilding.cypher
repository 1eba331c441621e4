// project_rebuilding: say that a project's projection is being rebuilt, or that it is whole again.
//
// kind:    write
// params:  project: str, rebuilding: bool
// returns: seq: int
// bounds:  one node
//
// Appends are refused in between, also after the rebuilding process died: the projection is not whole then.
MATCH (p:Project {name: $project})
SET p.rebuilding = CASE WHEN $rebuilding THEN true END
RETURN p.seq AS seq
