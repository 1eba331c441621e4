// repair_strays: delete what leads from nodes, or to them, over the project's bounds or to what is no knowledge.
//
// kind:    write
// params:  project: str, ids: [[key, generation]]
// returns: dropped: int
// bounds:  the relationships of the named nodes
//
// A node's own vectors stay.
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
MATCH (n)-[r]-(t)
WHERE NOT (coalesce(t.project = $project, false)
  AND (t:Knowledge OR (t:Evidence AND startNode(r) = n) OR (t:Event AND endNode(r) = n)
    OR (t:Representation AND type(r) = 'REPRESENTED_BY' AND startNode(r) = n AND size(keys(r)) = 0
      AND coalesce([t.key, t.generation] = [n.key, n.generation], false))))
DELETE r
RETURN count(r) AS dropped
