// representations_alike: for each of several vectors of a model the nodes of a project that lie very near to it.
//
// kind:    read
// params:  project: str, model: str, vectors: [[float]], least: float, asked: int
// returns: at: int, near: [map of key, generation, cosine], crowded: bool
// bounds:  $asked of the index for each vector
//
// A row a vector, in their order; near has the nearest first. The index of all small projects knows none of them: where
// all that it gave lie so near and not one is of the project, crowded is true, and whoever wants to know asks for that
// vector by itself. The index's own score, (1 + cosine) / 2, is one of rounded vectors: with the default model it lies
// up to 0.007 of the cosine beside it. What it puts more than 0.05 below $least is not looked at.
OPTIONAL MATCH (f:Filling {project: $project, model: $model})
WITH coalesce(f.index, $model) AS searched
UNWIND range(0, size($vectors) - 1) AS at
CALL (at, searched) {
  CALL db.index.vector.queryNodes(searched, $asked, $vectors[at])
  YIELD node AS r, score
  WHERE 2 * score - 1 >= $least - 0.05
  WITH r, 2 * vector.similarity.cosine(r.vector, $vectors[at]) - 1 AS cosine
  WHERE cosine >= $least
  ORDER BY cosine DESC, r.key, r.generation
  RETURN count(r) AS found,
    collect(CASE WHEN r.project = $project THEN r {.key, .generation, cosine: cosine} END) AS near
}
RETURN at, near, found = $asked AND size(near) = 0 AS crowded
ORDER BY at
