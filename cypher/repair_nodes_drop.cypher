// repair_nodes_drop: delete nodes with all that hangs on them, as often as they are stored.
//
// kind:    write
// params:  project: str, ids: [[key, generation]]
// returns: dropped: int
// bounds:  the named nodes and their relationships
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
DETACH DELETE n
RETURN count(n) AS dropped
