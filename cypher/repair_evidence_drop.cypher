// repair_evidence_drop: delete evidence with all that hangs on it, as often as it is stored.
//
// kind:    write
// params:  project: str, keys: [str]
// returns: dropped: int
// bounds:  the named evidence and its relationships
UNWIND $keys AS key
MATCH (e:Evidence {project: $project, key: key})
DETACH DELETE e
RETURN count(e) AS dropped
