// replay_put: note that a stored session was replayed into a project to its end.
//
// kind:    write
// params:  project: str, session: str
// returns: session: str
// bounds:  one node
MERGE (r:Replay {project: $project, session: $session})
RETURN r.session AS session
