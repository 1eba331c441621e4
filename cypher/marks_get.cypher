// marks_get: which of these nodes are at risk, and of which retirement.
//
// kind:    read
// params:  project: str, ids: [[key, generation]]
// returns: key: str, generation: int, risk_seq: int
// bounds:  one node an id
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
WHERE n:AtRisk
RETURN n.key AS key, n.generation AS generation, n.risk_seq AS risk_seq
