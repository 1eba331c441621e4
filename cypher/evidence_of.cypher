// evidence_of: the evidence that nodes stood on at position $seq.
//
// kind:    read
// params:  project: str, ids: [[key, generation]], seq: int
// returns: key: str, generation: int, evidence: [map]
// bounds:  one row an id
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
RETURN n.key AS key, n.generation AS generation, COLLECT {
  MATCH (n)-[s:EVIDENCED_BY]->(e:Evidence)
  WHERE s.seq <= $seq
  RETURN e {.project, .key, .type, .source, timestamp: toString(e.timestamp), .hash, .artifact_ref, .metadata}
  ORDER BY s.seq, e.key
} AS evidence
