// access_tokens_named: tokens by their ids, ended ones too.
//
// kind:    read
// params:  token_ids: [str]
// returns: token: map
// bounds:  one row for each id
UNWIND $token_ids AS id
MATCH (t:AccessToken {token_id: id})
RETURN {
  id: t.token_id, hash: t.hash, label: t.label, projects: t.projects, role: t.role, issuer: t.issuer,
  subject: t.subject, type: t.type, created_at: toString(t.created_at), expires_at: toString(t.expires_at),
  revoked_at: toString(t.revoked_at), rate: t.rate
} AS token
