// schema_at_risk_identity: pages through the nodes at risk in the order of their keys.
//
// kind:    schema
// params:  none
// returns: none
// bounds:  none
CREATE INDEX at_risk_identity IF NOT EXISTS
FOR (n:AtRisk) ON (n.project, n.key, n.generation)
