// propositions_at: what was proposed by the events at some positions; other events propose nothing.
//
// kind:    read
// params:  project: str, seqs: [int]
// returns: key: str, payload: str
// bounds:  one event a position
UNWIND $seqs AS seq
MATCH (e:Event {project: $project, seq: seq})
WHERE e.transition IN ['proposed', 'corrected']
RETURN e.key AS key, e.payload AS payload
