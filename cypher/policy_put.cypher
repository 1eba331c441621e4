// policy_put: set what a project lets in; what is null stays as it was.
//
// kind:    write
// params:  project: str, kept: [str] or null, types: [str] or null
// returns: kept: [str], types: [str]
// bounds:  one node
MERGE (p:Policy {project: $project})
SET p.kept = coalesce($kept, p.kept, []), p.types = coalesce($types, p.types, [])
RETURN p.kept AS kept, p.types AS types
