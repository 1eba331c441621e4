// access_tokens_page: all tokens, ended ones too, the oldest first; without their hashes.
//
// kind:    read
// params:  first: int
// returns: token: map
// bounds:  $first rows
MATCH (t:AccessToken)
WITH t
ORDER BY t.created_at, t.token_id
LIMIT $first
RETURN {
  id: t.token_id, label: t.label, projects: t.projects, role: t.role, issuer: t.issuer, subject: t.subject,
  type: t.type, created_at: toString(t.created_at), expires_at: toString(t.expires_at),
  revoked_at: toString(t.revoked_at), rate: t.rate
} AS token
