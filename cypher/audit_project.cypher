// audit_project: the head of a project as it is stored.
//
// kind:    read
// params:  project: str
// returns: labels: [str], properties: map, instants: [[name, text]], strays: int
// bounds:  one node and its relationships
MATCH (p:Project {name: $project})
RETURN labels(p) AS labels, properties(p) AS properties,
  [name IN keys(p) WHERE p[name] IS :: ZONED DATETIME | [name, toString(p[name])]] AS instants,
  COUNT { (p)--() } AS strays
