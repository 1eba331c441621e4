// representation_index: the vector index of one model, or of one project's of it, whose label takes the place of Model.
//
// kind:    schema
// params:  index: str, dimensions: int
// returns: none
// bounds:  one index
CREATE VECTOR INDEX $index IF NOT EXISTS
FOR (r:Model) ON (r.vector)
OPTIONS {indexConfig: {`vector.dimensions`: $dimensions, `vector.similarity_function`: 'cosine'}}
