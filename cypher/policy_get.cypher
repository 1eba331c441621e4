// policy_get: what a project lets in, if that was ever set.
//
// kind:    read
// params:  project: str
// returns: kept: [str], types: [str]
// bounds:  one row
MATCH (p:Policy {project: $project})
RETURN p.kept AS kept, p.types AS types
