// audit_census: how many nodes of ours are stored for each project, for none, and without what they are known by.
//
// kind:    read
// params:  projects: [str] or null for all
// returns: label: str, project: any, headed: bool, nodes: int, named: int
// bounds:  the nodes of the database, each looked at once; two rows a project and label
//
// What has no project, or no key, is in no index, and so in no page of the other statements.
CALL () {
  MATCH (n:Knowledge)
  RETURN 'Knowledge' AS label, n.project AS project, count(n) AS nodes,
    count(CASE WHEN n.key IS :: STRING NOT NULL AND n.generation >= 1 THEN 1 END) AS named
  UNION ALL
  MATCH (n:Evidence)
  RETURN 'Evidence' AS label, n.project AS project, count(n) AS nodes,
    count(CASE WHEN n.key IS :: STRING NOT NULL AND n.key <> '' THEN 1 END) AS named
  UNION ALL
  MATCH (n:Event)
  RETURN 'Event' AS label, n.project AS project, count(n) AS nodes,
    count(CASE WHEN n.event_id IS :: STRING NOT NULL AND n.seq >= 1 THEN 1 END) AS named
}
WITH label, project, nodes, named
WHERE $projects IS NULL OR project IN $projects
RETURN label, project, EXISTS {
  MATCH (p:Project)
  WHERE p.name = project AND p.seq >= 1
} AS headed, nodes, named
ORDER BY label, project
