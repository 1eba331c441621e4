// audit_nodes: nodes as they are stored, with all that leads from them and what leads to them from outside.
//
// kind:    read
// params:  project: str, ids: [[key, generation]]
// returns: key: str, generation: int, labels: [str], properties: map, instants: [[name, text]], outgoing: [map],
//          strays: int
// bounds:  the relationships of the named nodes
//
// A node that is stored twice has two rows. Instants stand beside the properties as text, since only text keeps all
// of their digits. A node's own vectors are no part of the journal, and are left out.
UNWIND $ids AS id
MATCH (n:Knowledge {project: $project, key: id[0], generation: id[1]})
RETURN n.key AS key, n.generation AS generation, labels(n) AS labels, properties(n) AS properties,
  [name IN keys(n) WHERE n[name] IS :: ZONED DATETIME | [name, toString(n[name])]] AS instants,
  COLLECT {
    MATCH (n)-[r]->(t)
    WHERE NOT (type(r) = 'REPRESENTED_BY' AND t:Representation AND size(keys(r)) = 0
      AND coalesce([t.project, t.key, t.generation] = [$project, n.key, n.generation], false))
    RETURN {
      type: type(r), labels: labels(t), project: t.project, key: t.key, generation: t.generation,
      properties: properties(r),
      instants: [name IN keys(r) WHERE r[name] IS :: ZONED DATETIME | [name, toString(r[name])]],
      times: CASE WHEN r.times IS :: LIST<ZONED DATETIME NOT NULL> NOT NULL THEN [u IN r.times | toString(u)] END
    }
  } AS outgoing,
  COUNT {
    MATCH (n)<--(s)
    WHERE NOT ((s:Knowledge OR s:Event) AND coalesce(s.project = $project, false))
  } AS strays
ORDER BY key, generation
