// What nobody verified for long
// Live nodes that evidence has not confirmed for the project's aging time, the longest ago first.
OPTIONAL MATCH (setting:Aging {project: $project})
WITH setting
ORDER BY setting.since DESC
LIMIT 1
WITH datetime() - duration({seconds: coalesce(setting.seconds, 90 * 24 * 3600)}) AS since
MATCH (n:Knowledge {project: $project})
WHERE NOT n:Retired AND coalesce(n.verified_at, n.created_at) < since
RETURN n.key AS key, n.state AS state, coalesce(n.verified_at, n.created_at) AS verified,
  n.proposition AS proposition
ORDER BY verified, key
LIMIT 200
