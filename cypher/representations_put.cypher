// representations_put: write a model's vectors of nodes, and up to which position of the journal it is filled.
//
// kind:    write
// params:  project: str, model: str, model_name: str, model_hash: str, after: int, until: int,
//          rows: [map of key, generation, text_sha256, vector]
// returns: written: int
// bounds:  one vector a row
//
// A node that is gone gets none. A vector's label is that of the index of its project, or else of its model. The
// position moves only from where it was when the page was read: who put it back meanwhile wants to see that page again.
// It is the driver's list that Neo4j's own procedure makes an array of 32-bit numbers of, half as large.
MERGE (f:Filling {project: $project, model: $model})
SET f.seq = CASE coalesce(f.seq, 0) WHEN $after THEN $until ELSE f.seq END, f.model_name = $model_name
WITH f
CALL (f) {
  UNWIND $rows AS row
  MATCH (n:Knowledge {project: $project, key: row.key, generation: row.generation})
  MERGE (r:Representation {project: $project, model: $model, key: row.key, generation: row.generation})
  SET r.model_name = $model_name, r.model_sha256 = $model_hash, r.text_sha256 = row.text_sha256
  SET r:$(coalesce(f.index, $model))
  MERGE (n)-[:REPRESENTED_BY]->(r)
  WITH r, row
  CALL db.create.setNodeVectorProperty(r, 'vector', row.vector)
  RETURN count(r) AS written
}
RETURN written
