// repair_nameless_drop: delete what belongs to a project and lacks what a node or a piece of evidence is known by.
//
// kind:    write
// params:  project: str
// returns: dropped: int
// bounds:  the nodes of the database are looked at, since what has no key is in no index
MATCH (n:Knowledge|Evidence)
WHERE n.project = $project
  AND NOT coalesce(n.key IS :: STRING NOT NULL AND n.key <> '' AND (n:Evidence OR n.generation >= 1), false)
DETACH DELETE n
RETURN count(n) AS dropped
