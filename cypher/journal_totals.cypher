// journal_totals: how many projects there are, and how many events their journals hold together.
//
// kind:    read
// params:  none
// returns: projects: int, events: int
// bounds:  one node a project
MATCH (p:Project)
WHERE p.name IS NOT NULL AND p.seq > 0
RETURN count(p) AS projects, coalesce(sum(p.seq), 0) AS events
