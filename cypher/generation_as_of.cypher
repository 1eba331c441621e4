// generation_as_of: the newest generation that a key had at position $seq.
//
// kind:    read
// params:  project: str, key: str, seq: int
// returns: generation: int
// bounds:  one node
MATCH (n:Knowledge)
WHERE n.project = $project AND n.key = $key AND n.generation >= 1 AND n.created_seq <= $seq
RETURN n.generation AS generation
ORDER BY generation DESC
LIMIT 1
