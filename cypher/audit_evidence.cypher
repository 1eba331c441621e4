// audit_evidence: evidence as it is stored, and how much leads from it or to it that should not.
//
// kind:    read
// params:  project: str, keys: [str]
// returns: key: str, labels: [str], properties: map, instants: [[name, text]], strays: int
// bounds:  the relationships of the named evidence
UNWIND $keys AS key
MATCH (e:Evidence {project: $project, key: key})
RETURN e.key AS key, labels(e) AS labels, properties(e) AS properties,
  [name IN keys(e) WHERE e[name] IS :: ZONED DATETIME | [name, toString(e[name])]] AS instants,
  COUNT {
    MATCH (e)-[r]-(s)
    WHERE NOT (s:Knowledge AND coalesce(s.project = $project, false) AND endNode(r) = e)
  } AS strays
ORDER BY key
