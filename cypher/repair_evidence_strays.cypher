// repair_evidence_strays: delete what leads from evidence, or to it from anything but the project's knowledge.
//
// kind:    write
// params:  project: str, keys: [str]
// returns: dropped: int
// bounds:  the relationships of the named evidence
UNWIND $keys AS key
MATCH (e:Evidence {project: $project, key: key})
MATCH (e)-[r]-(s)
WHERE NOT (s:Knowledge AND coalesce(s.project = $project, false) AND endNode(r) = e)
DELETE r
RETURN count(r) AS dropped
