// replay_known: whether a stored session was replayed into a project to its end.
//
// kind:    read
// params:  project: str, session: str
// returns: session: str
// bounds:  one row
MATCH (r:Replay {project: $project, session: $session})
RETURN r.session AS session
