// compiled_knowledge: nodes for requests that wait at the same time, of each key the newest generation within bounds.
//
// kind:    read
// params:  together: [map of project, key, least and most generation]
// returns: found: [[index in together, columns of n]]
// bounds:  one node for each that is wanted
UNWIND range(0, size($together) - 1) AS i
WITH i, $together[i] AS wanted
CALL (wanted) {
  MATCH (n:Knowledge)
  WHERE n.project = wanted.project AND n.key = wanted.key
    AND n.generation >= wanted.least AND n.generation <= wanted.most
  RETURN n
  ORDER BY n.generation DESC
  LIMIT 1
}
RETURN collect([i, [n.key]]) AS found
