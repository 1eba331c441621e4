// live_keys: which keys of a project name a live node, its newest generation.
//
// kind:    read
// params:  project: str, keys: [str]
// returns: key: str
// bounds:  one row a key
UNWIND $keys AS key
CALL (key) {
  MATCH (n:Knowledge)
  WHERE n.project = $project AND n.key = key AND n.generation >= 1
  WITH n
  ORDER BY n.generation DESC
  LIMIT 1
  RETURN n
}
WITH key, n
WHERE NOT n:Retired
RETURN DISTINCT key
ORDER BY key
