// representation_get: the vector that a model has of a node.
//
// kind:    read
// params:  project: str, model: str, key: str, generation: int
// returns: vector: [float]
// bounds:  one row
MATCH (r:Representation {project: $project, model: $model, key: $key, generation: $generation})
RETURN r.vector AS vector
