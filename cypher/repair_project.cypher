// repair_project: write a project's head with exactly these properties, its one label and no relationships.
//
// kind:    write
// params:  project: str, seq: int, hash: str, recorded_at: str, surplus: [label that it must lose]
// returns: seq: int
// bounds:  one node and its relationships
MERGE (p:Project {name: $project})
SET p = {name: $project, seq: $seq, hash: $hash, recorded_at: datetime($recorded_at)}
REMOVE p:$($surplus)
WITH p
OPTIONAL MATCH (p)-[r]-()
DELETE r
RETURN DISTINCT p.seq AS seq
